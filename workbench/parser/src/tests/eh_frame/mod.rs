// SPDX-License-Identifier: GPL-2.0

//! Lookups in `.eh_frame`.

mod hostile;
mod index;
mod program;
mod vectors;

use super::for_arch;
use crate::check::{self, Lookup};
use crate::memory::Memory;
use crate::parse::{Error, Rule};
use crate::vectors::{Format, Table};

/// Units that are enough for any lookup here.
const ENOUGH: u32 = 1_000_000;

/// The place of a table's index.
fn place(table: &Table) -> u32 {
    match table.format {
        Format::EhFrame(place) => place,
        Format::SFrame => panic!("{} is another table", table.name),
    }
}

/// Looks `pc` up in `memory` at the address of `table`, for at most `units`.
fn lookup(table: &Table, memory: &Memory<'_>, pc: u64, units: u32) -> Lookup<Rule, Error> {
    for_arch!(table.arch, A => {
        let tracked = <A as crate::parse::Arch>::FP;
        check::eh_frame::<A>(memory, place(table), table.base, pc, tracked, units)
    })
}
