// SPDX-License-Identifier: GPL-2.0

//! One lookup in a table that changes between reads.

use super::input::{Input, Target};
use crate::check;
use crate::parse::Arch;

/// The script of the reads: see `Behaviour::Script`.
struct Changing<'a>(&'a [u8]);

impl Target for Changing<'_> {
    fn run<A: Arch>(&self, input: &Input<'_>) {
        // Each result is allowed.
        let memory = input.memory(self.0);
        check::sframe::<A>(&memory, input.base, input.pc, input.units);
    }
}

/// Looks an address up in a table that changes between reads.
///
/// The length of the script (two bytes) and the script precede the table's bytes.
pub(crate) fn changing(data: &[u8]) {
    if let Some(input) = Input::new(data)
        && let Some((script, input)) = input.script()
    {
        input.run(&Changing(script));
    }
}
