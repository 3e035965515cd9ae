// SPDX-License-Identifier: GPL-2.0

//! Lookups in `.eh_frame`.

mod hostile;
mod index;
mod program;
mod vectors;

use super::for_arch;
use crate::check::{self, Lookup};
use crate::memory::Memory;
use crate::parse::eh_frame::{Abi, Header};
use crate::parse::{Budget, Error, Rule};
use crate::vectors::{Format, Table};

/// A budget that is enough for any lookup here.
const ENOUGH: u32 = 1_000_000;

/// The place of a table's index.
fn place(table: &Table) -> u32 {
    match table.format {
        Format::EhFrame(place) => place,
        Format::SFrame => panic!("{} is another table", table.name),
    }
}

/// Looks `pc` up in `memory` at the address of `table`, with a budget of `units`.
fn lookup(table: &Table, memory: &Memory<'_>, pc: u64, units: u32) -> Lookup<Rule, Error> {
    for_arch!(table.arch, A => lookup_of::<A>(table, memory, pc, units))
}

fn lookup_of<A: Abi>(
    table: &Table,
    memory: &Memory<'_>,
    pc: u64,
    units: u32,
) -> Lookup<Rule, Error> {
    let (lookup, _) = check::eh_frame::<A>(memory, place(table), table.base, pc, A::FP, units);

    if lookup.result != Err(Error::Budget) {
        same_with_a_known_cie::<A>(table, memory, pc, &lookup.result);
    }
    lookup
}

/// A lookup with a known CIE has the same answer, and costs no more.
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

/// The answer for `pc` with the CIE that a lookup of `first` has left.
fn after(table: &Table, first: u64, pc: u64) -> Result<Rule, Error> {
    for_arch!(table.arch, A => after_of::<A>(table, first, pc))
}

fn after_of<A: Abi>(table: &Table, first: u64, pc: u64) -> Result<Rule, Error> {
    let memory = Memory::new(table.bytes);
    let header = Header::<A>::read(&memory, place(table), memory.len() as u32)?;
    let mut budget = Budget::new(ENOUGH);
    let mut known = None;
    // This result does not matter.
    let _ = header.rule_with(&mut known, &memory, table.base, first, &mut budget);

    header.rule_with(&mut known, &memory, table.base, pc, &mut budget)
}
