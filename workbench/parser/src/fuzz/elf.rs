// SPDX-License-Identifier: GPL-2.0

//! One search in an ELF file's headers, which may change between reads.

use super::input::Input;
use crate::check;
use crate::parse::elf::Target;

/// Three machines: one whose files have tables, one with large pages, and one more.
fn target(architecture: u8) -> Target {
    match architecture {
        0 => Target::AMD64,
        1 => Target { machine: 183, page_size: 0x1_0000 },
        _ => Target { machine: 243, page_size: 4096 },
    }
}

/// Searches a file whose headers change between reads, and reads the same bytes as notes.
///
/// The address to look up is the place in the file. The length of the script (two bytes) and the
/// script precede the file's bytes.
pub(crate) fn elf(data: &[u8]) {
    if let Some(input) = Input::new(data)
        && let Some((script, input)) = input.script()
    {
        let target = target(input.architecture);
        let look = || {
            check::object(&input.memory(script), input.len, input.pc, &target, input.units).result
        };

        assert_eq!(look(), look(), "the same search twice");
        check::notes(&input.memory(script), input.len);
    }
}
