// SPDX-License-Identifier: GPL-2.0

//! Tests of the parser, with good and with hostile tables.
//!
//! [`look`], [`lookup`] and [`Memory`] check what is true of any lookup: see `crate::check`.
//!
//! Each property has its own number of cases. `PROPTEST_CASES` sets another number for all of them,
//! and `PROPTEST_RNG_SEED` makes each run the same.

mod arrays;
mod calls;
mod eh_frame;
mod elf;
mod generator;
mod known;
mod linear;
mod real;
mod rules;
mod tables;
mod vectors;

use proptest::test_runner::Config;

use crate::check::{self, Lookup};
use crate::listing::{self, Table};
use crate::memory::{Behaviour, Memory};
use crate::parse::sframe::Header;
use crate::parse::{self, Error, Rule};
use crate::vectors::{self as kernel, Arch, Format};

/// Units that are enough for any lookup.
const ENOUGH: u32 = 10_000_000;

/// All architectures.
const ARCHES: [Arch; 2] = [Arch::Amd64, Arch::AArch64];

/// Evaluates an expression for any architecture, whose type is `$abi`.
macro_rules! for_arch {
    ($arch:expr, $abi:ident => $do:expr) => {
        match $arch {
            $crate::vectors::Arch::Amd64 => {
                type $abi = $crate::parse::Amd64;
                $do
            }
            $crate::vectors::Arch::AArch64 => {
                type $abi = $crate::parse::AArch64;
                $do
            }
        }
    };
}

/// Looks `pc` up in `memory`, in place of a table of the kernel's, for at most `units`.
fn look(table: &kernel::Table, memory: &Memory<'_>, pc: u64, units: u32) -> Lookup<Rule, Error> {
    for_arch!(table.arch, A => match table.format {
        Format::SFrame => check::sframe::<A>(memory, table.base, pc, units),
        Format::EhFrame(place) => {
            let tracked = <A as parse::Arch>::FP;
            check::eh_frame::<A>(memory, place, table.base, pc, tracked, units)
        }
    })
}

/// Looks `pc` up in the SFrame table `memory` at address `base`, for at most `units`.
fn lookup(arch: Arch, memory: &Memory<'_>, base: u64, pc: u64, units: u32) -> Lookup<Rule, Error> {
    for_arch!(arch, A => check::sframe::<A>(memory, base, pc, units))
}

/// The rule for `pc` in the SFrame table `bytes` at address `base`.
fn rule(arch: Arch, bytes: &[u8], base: u64, pc: u64) -> Result<Rule, Error> {
    lookup(arch, &Memory::new(bytes), base, pc, ENOUGH).result
}

/// Decodes an SFrame table with the linear reader, and checks that the parser lists the same
/// functions.
fn decode(arch: Arch, bytes: &[u8], base: u64) -> Option<Table> {
    let memory = Memory::new(bytes);
    let read = for_arch!(arch, A => {
        let header = Header::<A>::read(&memory, memory.len());
        header.and_then(|header| Table::read(&header, &memory, base))
    });
    let decoded = linear::decode(arch, bytes, base);

    assert_eq!(read.ok().filter(Table::is_sorted), decoded);
    decoded
}

/// The length of the SFrame table in `bytes`, by its header, if the header is good and `bytes` are
/// long enough.
fn table_len(arch: Arch, bytes: &[u8]) -> Option<u64> {
    let memory = Memory::new(bytes);

    for_arch!(arch, A => {
        Header::<A>::read(&memory, memory.len()).map(|header| listing::table_len(&header)).ok()
    })
}

/// Lets each read of a lookup in `bytes` fail in turn: the lookup ends there. Then the reads of each
/// byte from one of `holes` on: the lookup fails if it gets there.
fn faults<T: PartialEq + std::fmt::Debug + Copy>(
    bytes: &[u8],
    holes: impl IntoIterator<Item = u64>,
    look: impl Fn(&Memory<'_>) -> Result<T, Error>,
) {
    let steady = Memory::new(bytes);
    let expected = look(&steady);
    let each = (0..=steady.reads()).map(Behaviour::FaultAt);

    assert_ne!(expected, Err(Error::Fault));
    for behaviour in each.chain(holes.into_iter().map(Behaviour::Hole)) {
        let memory = Memory::behaving(bytes, behaviour, 1);
        let found = look(&memory);

        if let Behaviour::FaultAt(nth) = behaviour {
            assert_eq!(memory.faulted(), nth < steady.reads());
            assert_eq!(memory.reads(), steady.reads().min(nth + 1));
        }
        assert_eq!(
            found,
            if memory.faulted() { Err(Error::Fault) } else { expected },
            "{behaviour:?}"
        );
    }
}

/// Checks that a lookup succeeds with units for its cost, and fails with less.
fn budget<T: PartialEq + std::fmt::Debug + Copy>(look: impl Fn(u32) -> Lookup<T, Error>) {
    let all = look(ENOUGH);
    let exact = look(all.spent);
    let step = if all.spent < 10_000 { 1 } else { 997 };

    assert_eq!((exact.result, exact.spent, exact.reads), (all.result, all.spent, all.reads));
    for less in (0..all.spent).rev().step_by(step) {
        assert_eq!(look(less).result, Err(Error::Budget), "{less} of {} units", all.spent);
    }
}

/// The number of cases of a property, unless the environment sets another number.
fn cases(cases: u32) -> Config {
    let mut config = Config::default();

    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    // Each step of shrinking prints the message of its panic.
    config.max_shrink_iters = 500;
    // Otherwise proptest would write failures into the source tree.
    config.failure_persistence = None;
    config
}
