// SPDX-License-Identifier: GPL-2.0

//! Tests of the parser: what it answers, and what it survives.
//!
//! Each property runs a number of cases that suits it; `PROPTEST_CASES` sets another number for
//! all, and `PROPTEST_RNG_SEED` makes them the same each time.

mod corrupted;
mod generator;
mod hostile;
mod known;
mod linear;
mod memory;
mod real;
mod unreliable;
mod valid;

use proptest::test_runner::Config;

use crate::parse::sframe::Header;
use crate::parse::{Budget, Error, Rule};
use memory::Memory;

/// Units that any lookup can pay from.
const ENOUGH: u32 = 1_000_000;

/// What a lookup came to.
struct Lookup {
    result: Result<Rule, Error>,
    /// Units of the budget it cost.
    spent: u32,
    /// How often the table was read, the header not counted.
    reads: u32,
}

/// Looks `pc` up in the table that `memory` is, standing at `base`, with a budget of `units`.
///
/// Checks what holds of every lookup, in any table: the budget never grows, and bounds the number
/// of reads.  (`memory` checks where they are.)
fn lookup(memory: &Memory<'_>, base: u64, pc: u64, units: u32) -> Lookup {
    let mut budget = Budget::new(units);
    let header = Header::read(memory, memory.len());
    let before = memory.reads();

    assert!(before <= 1, "a header was read in {before} pieces");
    let result = header.and_then(|header| header.rule(memory, base, pc, &mut budget));
    let reads = memory.reads() - before;
    assert!(budget.left() <= units, "a budget grew");
    let spent = units - budget.left();
    // One is the attribute, two are data words; all others are paid for.
    assert!(reads <= spent + 3, "{reads} reads for {spent} units");
    if let Ok(Rule::Frame(frame)) = result {
        assert_eq!(frame.ra, -8, "this architecture has no other place");
    }
    if result == Err(Error::Budget) {
        assert_eq!(budget.left(), 0);
    }
    Lookup {
        result,
        spent,
        reads,
    }
}

/// The rule for `pc` in the table `bytes` that stands at `base`.
fn rule(bytes: &[u8], base: u64, pc: u64) -> Result<Rule, Error> {
    lookup(&Memory::new(bytes), base, pc, ENOUGH).result
}

/// Runs a property on `cases` cases, unless the environment says how many.
fn cases(cases: u32) -> Config {
    let mut config = Config::default();

    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    // Every step to a smaller case that panics, prints.
    config.max_shrink_iters = 500;
    // A failure prints its smallest case; nothing is written into the source tree.
    config.failure_persistence = None;
    config
}
