// SPDX-License-Identifier: GPL-2.0

//! Tests of the parser, with good and with hostile tables.
//!
//! Each property has its own number of cases. `PROPTEST_CASES` sets another number for all of them,
//! and `PROPTEST_RNG_SEED` makes each run the same.

mod arrays;
mod calls;
mod corrupted;
mod eh_frame;
mod elf;
mod generator;
mod hostile;
mod known;
mod linear;
mod rules;
mod unreliable;
mod valid;
mod vectors;
mod words;

use proptest::test_runner::Config;

use crate::check::{self, Lookup};
use crate::listing;
use crate::memory::Memory;
use crate::parse::sframe::Header;
use crate::parse::{self, Error, Rule};
use crate::vectors::Arch;
use linear::Table;

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
use for_arch;

/// Looks `pc` up in the table `memory` at address `base`, for at most `units`.
fn lookup(arch: Arch, memory: &Memory<'_>, base: u64, pc: u64, units: u32) -> Lookup<Rule, Error> {
    for_arch!(arch, A => check::sframe::<A>(memory, base, pc, units))
}

/// Reads all functions and rows of the table `bytes` at address `base`.
///
/// This finds all errors of a table but a wrong order of functions.
fn read_all<A: parse::Arch>(bytes: &[u8], base: u64) -> Result<Table, Error> {
    let memory = Memory::new(bytes);
    let header = Header::<A>::read(&memory, memory.len())?;

    assert!(listing::table_len(&header) <= memory.len());
    Ok(Table { functions: listing::functions(&header, &memory, base)? })
}

/// Decodes a table with the linear reader, and checks that the parser lists the same functions.
fn decode(arch: Arch, bytes: &[u8], base: u64) -> Option<Table> {
    let decoded = Table::decode(arch, bytes, base);
    let read = for_arch!(arch, A => read_all::<A>(bytes, base)).ok();

    assert_eq!(read.filter(Table::is_sorted), decoded);
    decoded
}

/// The rule for `pc` in the table `bytes` at address `base`.
fn rule(arch: Arch, bytes: &[u8], base: u64, pc: u64) -> Result<Rule, Error> {
    lookup(arch, &Memory::new(bytes), base, pc, ENOUGH).result
}

/// The length of the table in `bytes`, by its header, if the header is good and `bytes` are long
/// enough.
fn table_len(arch: Arch, bytes: &[u8]) -> Option<u64> {
    let memory = Memory::new(bytes);
    let read = for_arch!(arch, A => {
        Header::<A>::read(&memory, memory.len()).map(|header| listing::table_len(&header))
    });

    read.ok()
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
