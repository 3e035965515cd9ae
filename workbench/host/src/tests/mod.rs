// SPDX-License-Identifier: GPL-2.0

//! Tests of the parser: what it answers, and what it survives.
//!
//! Each property runs a number of cases that suits it; `PROPTEST_CASES` sets another number for
//! all, and `PROPTEST_RNG_SEED` makes them the same each time.

mod arrays;
mod corrupted;
mod eh_frame;
mod elf;
mod generator;
mod hostile;
mod known;
mod linear;
mod memory;
mod real;
mod rules;
mod unreliable;
mod valid;
mod vectors;
mod words;

use proptest::test_runner::Config;

use crate::parse::sframe::{Abi, Header};
use crate::parse::{AArch64, Amd64, Budget, Error, Register, Rule, S390x, Value};
use crate::vectors::Arch;
use linear::{Function, Row, Table};
use memory::Memory;

/// Units that any lookup can pay from.
const ENOUGH: u32 = 1_000_000;

/// All architectures.
const ARCHES: [Arch; 3] = [Arch::Amd64, Arch::AArch64, Arch::S390x];

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
/// of reads.  (`memory` checks where they are.)  Every rule is one that the architecture can have.
fn lookup(arch: Arch, memory: &Memory<'_>, base: u64, pc: u64, units: u32) -> Lookup {
    match arch {
        Arch::Amd64 => checked_lookup::<Amd64>(arch, memory, base, pc, units),
        Arch::AArch64 => checked_lookup::<AArch64>(arch, memory, base, pc, units),
        Arch::S390x => checked_lookup::<S390x>(arch, memory, base, pc, units),
    }
}

fn checked_lookup<A: Abi>(
    arch: Arch,
    memory: &Memory<'_>,
    base: u64,
    pc: u64,
    units: u32,
) -> Lookup {
    let mut budget = Budget::new(units);
    let header = Header::<A>::read(memory, memory.len());
    let before = memory.reads();

    assert!(before <= 1, "a header was read in {before} pieces");
    let result = header.and_then(|header| header.rule(memory, base, pc, &mut budget));
    let reads = memory.reads() - before;
    assert!(budget.left() <= units, "a budget grew");
    let spent = units - budget.left();
    // One is the attribute, one the words of the row that was found; all others are paid for.
    assert!(reads <= spent + 2, "{reads} reads for {spent} units");
    if let Ok(rule) = result {
        assert!(is_possible(arch, &rule), "{rule:?} for {arch:?}");
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

/// Whether a rule is one that a table of this architecture can say.
fn is_possible(arch: Arch, rule: &Rule) -> bool {
    let numbers = match arch {
        Arch::Amd64 => 0..16,
        _ => 0..32,
    };
    let known = |value| match value {
        Value::Register(Register::Other(number), _)
        | Value::AtRegister(Register::Other(number), _) => numbers.contains(&number),
        _ => true,
    };
    let silent = [rule.cfa(), rule.ra(), rule.fp()] == [Value::Unchanged; 3];

    if rule.is_outermost() || *rule == Rule::signal_frame() {
        return silent && rule.signed_ra().is_none();
    }
    [rule.cfa(), rule.ra(), rule.fp()].into_iter().all(known)
        && matches!(rule.cfa(), Value::Register(..) | Value::AtRegister(..))
        && (arch != Arch::Amd64 || rule.ra() != Value::Unchanged)
        && (arch == Arch::AArch64 || rule.signed_ra().is_none())
        && (rule.cfa_above() == 0 || matches!(rule.cfa(), Value::AtRegister(..)))
}

/// Reads all functions and rows of the table `bytes` that stands at `base`, one after the other.
///
/// What the parser does not find wrong then, a table may say; but this does not see their order.
fn read_all(arch: Arch, bytes: &[u8], base: u64) -> Result<Table, Error> {
    match arch {
        Arch::Amd64 => read_all_of::<Amd64>(bytes, base),
        Arch::AArch64 => read_all_of::<AArch64>(bytes, base),
        Arch::S390x => read_all_of::<S390x>(bytes, base),
    }
}

fn read_all_of<A: Abi>(bytes: &[u8], base: u64) -> Result<Table, Error> {
    let memory = Memory::new(bytes);
    let budget = &mut Budget::new(u32::MAX);
    let header = Header::<A>::read(&memory, memory.len())?;
    let mut functions = Vec::new();

    assert!(header.table_len() <= memory.len());
    for nth in 0..header.functions() {
        let function = header.function(&memory, base, nth, budget)?;
        let mut rows = function.rows(&header, &memory)?;
        let attribute = rows.attribute();
        let mut decoded = Vec::new();
        while let Some(row) = rows.next(budget)? {
            let rule = rows.rule(&row)?;
            decoded.push(Row {
                start: row.start,
                rule,
            });
        }
        assert_eq!(decoded.len(), attribute.rows.into());
        // There is nothing behind the last one.
        assert_eq!(rows.next(budget)?, None);
        functions.push(Function {
            start: function.start,
            size: function.size,
            block: attribute.block,
            flexible: attribute.flexible,
            signal: attribute.signal,
            rows: decoded,
        });
    }
    let behind = header.function(&memory, base, header.functions(), budget);
    assert_eq!(behind.err(), Some(Error::NotFound));
    Ok(Table { functions })
}

/// Decodes a table by the linear reader, and checks that the parser thinks the same of all of it.
fn decode(arch: Arch, bytes: &[u8], base: u64) -> Option<Table> {
    let decoded = Table::decode(arch, bytes, base);
    let read = read_all(arch, bytes, base).ok();

    assert_eq!(read.filter(Table::is_sorted), decoded);
    decoded
}

/// The rule for `pc` in the table `bytes` that stands at `base`.
fn rule(arch: Arch, bytes: &[u8], base: u64, pc: u64) -> Result<Rule, Error> {
    lookup(arch, &Memory::new(bytes), base, pc, ENOUGH).result
}

/// How many of `bytes` are a table, if they start with the header of one that they can hold.
fn table_len(arch: Arch, bytes: &[u8]) -> Option<u64> {
    fn table_len<A: Abi>(bytes: &[u8]) -> Option<u64> {
        let memory = Memory::new(bytes);

        Some(Header::<A>::read(&memory, memory.len()).ok()?.table_len())
    }

    match arch {
        Arch::Amd64 => table_len::<Amd64>(bytes),
        Arch::AArch64 => table_len::<AArch64>(bytes),
        Arch::S390x => table_len::<S390x>(bytes),
    }
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
