// SPDX-License-Identifier: GPL-2.0

//! ELF headers: what is found in them, and what is survived.
//!
//! [`find`] compares every answer with that of a [`model`], which sees what was read.

mod hostile;
mod model;
mod real;
mod vectors;

use std::cell::RefCell;

use super::memory::Memory;
use crate::parse::elf::{self, Error, Object, Target};
use crate::parse::{Array, Budget, Element, Fault, Lost, Reader};

/// Units that any file costs less than.
const ENOUGH: u32 = 1000;

/// Files of a machine with pages of 64 KiB.
const LARGE_PAGES: Target = Target {
    machine: 183,
    page_size: 0x1_0000,
};

/// A file that writes down what is read of it.
struct Recorder<'a, 'b> {
    memory: &'a Memory<'b>,
    len: u64,
    reads: RefCell<Vec<model::Read>>,
}

impl Reader for Recorder<'_, '_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let end = offset
            .checked_add(buf.len() as u64)
            .expect("it does not wrap");

        assert!(end <= self.len, "read up to {end:#x} of {:#x}", self.len);
        self.memory.read(offset, buf)?;
        self.reads.borrow_mut().push((offset, buf.to_vec()));
        Ok(())
    }

    fn bisect(&self, _: &Array, _: u64) -> Result<Element, Lost> {
        panic!("there is nothing to search")
    }
}

/// What a search came to.
struct Found {
    result: Result<Object, Error>,
    /// Units of the budget it cost.
    spent: u32,
}

/// Searches a file of which `len` bytes are mapped, which `memory` is, for byte `offset`.
///
/// Checks what holds of every search: what it reads, what it costs, and what it finds in that.
fn find(memory: &Memory<'_>, len: u64, offset: u64, target: &Target, units: u32) -> Found {
    let mut budget = Budget::new(units);
    let recorder = Recorder {
        memory,
        len,
        reads: RefCell::default(),
    };
    let result = elf::object(&recorder, len, offset, target, &mut budget);
    let reads = recorder.reads.into_inner();
    let spent = units - budget.left();

    assert!(memory.reads() <= 1 + 32, "{} reads", memory.reads());
    assert_eq!(result == Err(Error::Fault), memory.faulted());
    if result == Err(Error::Budget) {
        // It was paid as long as it could be.
        assert_eq!(budget.left(), 0);
        assert_eq!(memory.reads(), units / 8);
    } else {
        assert_eq!(spent, 8 * memory.reads());
    }
    if !matches!(result, Err(Error::Fault | Error::Budget)) {
        let expected = model::object(&reads, len, offset, target).map_err(Error::Absent);
        assert_eq!(result, expected, "for {offset:#x}");
    }
    Found { result, spent }
}

/// What is found for `offset` in a file of these bytes, all of which are mapped.
fn object(bytes: &[u8], offset: u64, target: &Target) -> Result<Object, Error> {
    find(
        &Memory::new(bytes),
        bytes.len() as u64,
        offset,
        target,
        ENOUGH,
    )
    .result
}
