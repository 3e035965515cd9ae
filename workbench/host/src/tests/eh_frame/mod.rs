// SPDX-License-Identifier: GPL-2.0

//! `.eh_frame`: what is found in it, and what is survived.

mod hostile;
mod program;
mod vectors;

use super::is_possible;
use super::memory::Memory;
use crate::parse::eh_frame::{Abi, Header, Unsupported};
use crate::parse::{AArch64, Amd64, Budget, Error, Rule, S390x};
use crate::vectors::{Arch, Format, Table};

/// Units that any lookup here can pay from.
const ENOUGH: u32 = 1_000_000;

/// What a lookup came to.
struct Lookup {
    result: Result<Rule, Error>,
    /// Units of the budget it cost.
    spent: u32,
}

/// Where the index of a table is.
fn place(table: &Table) -> u32 {
    match table.format {
        Format::EhFrame(place) => place,
        Format::SFrame => panic!("{} is another table", table.name),
    }
}

/// Looks `pc` up in `memory`, which stands where `table` does, with a budget of `units`.
///
/// Checks what holds of every lookup, in any table: what it reads is paid for, and a rule is one
/// that the architecture can have.
fn lookup(table: &Table, memory: &Memory<'_>, pc: u64, units: u32) -> Lookup {
    match table.arch {
        Arch::Amd64 => lookup_of::<Amd64>(table, memory, pc, units),
        Arch::AArch64 => lookup_of::<AArch64>(table, memory, pc, units),
        Arch::S390x => lookup_of::<S390x>(table, memory, pc, units),
    }
}

fn lookup_of<A: Abi>(table: &Table, memory: &Memory<'_>, pc: u64, units: u32) -> Lookup {
    let mut budget = Budget::new(units);
    let header = Header::<A>::read(memory, place(table), memory.len() as u32);
    let before = memory.reads();

    assert!(before <= 2, "a header was read in {before} pieces");
    let result = header.and_then(|header| header.rule(memory, table.base, pc, &mut budget));
    let reads = memory.reads() - before;
    let spent = units - budget.left();
    // Nothing is read that was not paid for before: the search, and then each block.
    assert!(
        reads <= 32 + spent.saturating_sub(32) / 7,
        "{reads} reads for {spent} units"
    );
    match result {
        Ok(rule) => assert!(is_possible(table.arch, &rule), "{rule:?}"),
        Err(Error::Budget) => assert_eq!(budget.left(), 0),
        // All that names a place names one in the table, or its end.
        Err(Error::Malformed(malformed)) => assert!(u64::from(malformed.offset) <= memory.len()),
        Err(Error::Unsupported(cause)) => assert!(Unsupported::ALL.contains(&cause)),
        Err(Error::NotFound | Error::Fault) => {}
    }
    if result != Err(Error::Budget) {
        same_with_a_known_cie::<A>(table, memory, pc, &result);
    }
    Lookup { result, spent }
}

/// Once the CIE is known the answer is the same, and costs no more.
fn same_with_a_known_cie<A: Abi>(
    table: &Table,
    memory: &Memory<'_>,
    pc: u64,
    expected: &Result<Rule, Error>,
) {
    let (mut known, mut last) = (None, u32::MAX);
    let Some(memory) = memory.again() else {
        return;
    };
    let Ok(header) = Header::<A>::read(&memory, place(table), memory.len() as u32) else {
        return;
    };

    for _ in 0..2 {
        let mut budget = Budget::new(ENOUGH);
        let result = header.rule_with(&mut known, &memory, table.base, pc, &mut budget);
        let spent = ENOUGH - budget.left();

        assert_eq!(&result, expected, "at {pc:#x}");
        assert!(spent <= last);
        last = spent;
    }
}

/// What is found at `pc` after a lookup of `first` with the same knowledge of CIEs.
fn after(table: &Table, first: u64, pc: u64) -> Result<Rule, Error> {
    match table.arch {
        Arch::Amd64 => after_of::<Amd64>(table, first, pc),
        Arch::AArch64 => after_of::<AArch64>(table, first, pc),
        Arch::S390x => after_of::<S390x>(table, first, pc),
    }
}

fn after_of<A: Abi>(table: &Table, first: u64, pc: u64) -> Result<Rule, Error> {
    let memory = Memory::new(table.bytes);
    let header = Header::<A>::read(&memory, place(table), memory.len() as u32)?;
    let mut budget = Budget::new(ENOUGH);
    let mut known = None;
    // Whatever it comes to.
    let _ = header.rule_with(&mut known, &memory, table.base, first, &mut budget);

    header.rule_with(&mut known, &memory, table.base, pc, &mut budget)
}
