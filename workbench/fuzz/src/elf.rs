// SPDX-License-Identifier: GPL-2.0

//! One search in a file's headers, which may change while they are read.

use std::cell::RefCell;

use crate::input::Input;
use crate::memory::Memory;
use crate::model::{self, Read};
use crate::parse::elf::{self, Error, Object, Segment, Target};
use crate::parse::{Array, Budget, Element, Fault, Lost, Reader};

/// A file that writes down what is read of it.
struct Recorder<'a> {
    memory: Memory<'a>,
    reads: RefCell<Vec<Read>>,
}

impl Reader for Recorder<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        self.memory.read(offset, buf)?;
        self.reads.borrow_mut().push((offset, buf.to_vec()));
        Ok(())
    }

    fn bisect(&self, _: &Array, _: u64) -> Result<Element, Lost> {
        panic!("there is nothing to search")
    }
}

/// What the files of a machine are like: the one that has tables, one with large pages, and one
/// more.
fn target(architecture: u8) -> Target {
    match architecture {
        0 => Target::AMD64,
        1 => Target {
            machine: 183,
            page_size: 0x1_0000,
        },
        _ => Target {
            machine: 22,
            page_size: 4096,
        },
    }
}

/// Searches the file that `memory` is, and checks what holds of every search.
fn find(memory: Memory<'_>, input: &Input<'_>) -> Result<Object, Error> {
    let mut budget = Budget::new(input.units);
    let target = target(input.architecture);
    let file = Recorder {
        memory,
        reads: RefCell::default(),
    };
    let result = elf::object(&file, input.len, input.pc, &target, &mut budget);

    let reads = file.memory.reads();
    assert!(reads <= 1 + 32, "{reads} reads");
    if result == Err(Error::Budget) {
        assert_eq!((budget.left(), reads), (0, input.units / 8));
    } else {
        assert_eq!(input.units - budget.left(), 8 * reads);
    }
    assert_eq!(result == Err(Error::Fault), file.memory.faulted());
    match result {
        Ok(object) => check_object(&object, input.pc, &target),
        Err(Error::Absent(absence)) => {
            assert!(!absence.name().is_empty());
            assert!(!absence.text().is_empty());
        }
        Err(Error::Fault | Error::Budget) => return result,
    }
    // The model sees what was read, and so knows the answer whatever it was.
    let expected = model::object(&file.reads.borrow(), input.len, input.pc, &target);
    assert_eq!(result, expected.map_err(Error::Absent));
    result
}

/// What callers may rely on.
fn check_object(object: &Object, offset: u64, target: &Target) {
    let Object {
        text,
        sframe,
        eh_frame,
    } = object;
    let tables = || sframe.iter().chain(eh_frame);
    let page = |offset: u64| offset / target.page_size;
    let ends = |Segment {
                    offset,
                    address,
                    len,
                }: &Segment| [offset + len, address + len];

    for end in tables().chain([text]).flat_map(ends) {
        assert!(end < 1 << 63);
    }
    assert!(text.len > 0 && tables().next().is_some());
    assert!(tables().all(|table| (1..1 << 32).contains(&table.len)));
    assert_eq!(
        text.offset % target.page_size,
        text.address % target.page_size
    );
    assert!(page(text.offset) <= page(offset));
    assert!(page(offset) <= page(text.offset + text.len - 1));
}

/// Searches a file that changes while its headers are read.
///
/// The address to look up is the place in the file. The length of the script, of two bytes, and the
/// script stand before the file's bytes.
pub fn elf(data: &[u8]) {
    if let Some(input) = Input::new(data)
        && let Some((len, rest)) = input.table.split_first_chunk()
        && let Some((script, file)) = rest.split_at_checked(u16::from_le_bytes(*len).into())
    {
        let input = input.with_table(file);
        let look = || find(Memory::changing(&input, script), &input);

        assert_eq!(look(), look(), "the same search twice");
    }
}
