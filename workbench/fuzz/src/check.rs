// SPDX-License-Identifier: GPL-2.0

//! What holds of every lookup, in any table.

use crate::memory::Memory;
use crate::parse::sframe::{Abi, Header};
use crate::parse::{Arch, Budget, Error, Malformed, Register, Rule, Value};

/// What it costs to find a function: once, and 8 more times to look at equals.
const INDEX: u32 = 32 * (1 + 8);
/// What all rows of a function cost.
const ROWS: u32 = 7 * u16::MAX as u32;

/// Looks `pc` up in the table of `len` bytes that `memory` is, standing at `base`, with a budget of
/// `units`.
pub(crate) fn lookup<A: Abi>(
    memory: &Memory<'_>,
    len: u64,
    base: u64,
    pc: u64,
    units: u32,
) -> Result<Rule, Error> {
    let mut budget = Budget::new(units);
    let header = Header::<A>::read(memory, len);
    let header_reads = memory.reads();

    assert!(header_reads <= 1, "a header in {header_reads} pieces");
    if let Ok(header) = &header {
        assert!(header.table_len() <= len, "a table longer than told");
    }
    let result = header.and_then(|header| header.rule(memory, base, pc, &mut budget));

    assert!(budget.left() <= units, "a budget grew");
    let spent = units - budget.left();
    let reads = memory.reads() - header_reads;
    // What is paid for is to compare 32 starts: neither the rest of the entry, two numbers, nor the
    // first rows and the data words.
    assert!(reads <= spent + 4, "{reads} reads for {spent} units");
    if result == Err(Error::Budget) {
        assert_eq!(budget.left(), 0, "a budget was not used up");
    } else {
        assert!(spent <= INDEX + ROWS, "{spent} units for one lookup");
    }
    assert_eq!(result == Err(Error::Fault), memory.faulted());

    match result {
        Ok(rule) => check_rule::<A>(rule, A::FIXED_RA == 0),
        Err(Error::Malformed(malformed)) => check_malformed(malformed, len),
        Err(_) => {}
    }
    result
}

/// What is malformed has a name, and is inside the table or missing at its end.
pub(crate) fn check_malformed(malformed: Malformed, len: u64) {
    assert!(!malformed.reason.name().is_empty());
    assert!(!malformed.reason.text().is_empty());
    assert!(
        u64::from(malformed.offset) <= len,
        "{malformed:?} in a table of {len} bytes"
    );
}

/// A rule keeps its invariants, and means what it was made of.
///
/// On some architectures calls leave the return address `in_register`.
pub(crate) fn check_rule<A: Arch>(rule: Rule, in_register: bool) {
    let (cfa, ra, fp) = (rule.cfa(), rule.ra(), rule.fp());

    for value in [cfa, ra, fp] {
        check_register::<A>(value);
    }
    assert!(A::SIGNED_RA || rule.signed_ra().is_none());
    match Rule::frame(cfa, ra, fp) {
        Some(frame) => {
            let again = frame
                .with_cfa_above(rule.cfa_above())
                .unwrap()
                .with_signal(rule.is_signal())
                .with_signed_ra(rule.signed_ra());
            assert_eq!(again, rule);
            assert!(!rule.is_outermost());
            assert!(ra != Value::Unchanged || in_register);
            assert!(rule.cfa_above() == 0 || matches!(cfa, Value::AtRegister(..)));
        }
        None => {
            let outermost = Rule::outermost().with_signal(rule.is_signal());
            assert!(rule == outermost || rule == Rule::signal_frame());
            assert_eq!([cfa, ra, fp], [Value::Unchanged; 3]);
        }
    }
}

/// A value's register is one of the architecture's.
fn check_register<A: Arch>(value: Value) {
    if let Value::Register(Register::Other(number), _)
    | Value::AtRegister(Register::Other(number), _) = value
    {
        assert!(number < A::REGISTERS);
        assert!(![A::SP, A::FP].contains(&number.into()));
    }
}
