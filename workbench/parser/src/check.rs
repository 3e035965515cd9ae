// SPDX-License-Identifier: GPL-2.0

//! Lookups with checks that apply to any table. Tests and fuzz targets look up with these
//! functions.

use crate::memory::{Memory, Recorder};
use crate::model;
use crate::parse::elf::{Object, Segment, Target};
use crate::parse::{
    Arch, Budget, Error, Malformed, Register, Rule, Unsupported, Value, eh_frame, elf, sframe,
};

/// The largest cost of the search for a function: one search, and 8 more for functions that share
/// its start.
const INDEX: u32 = 32 * (1 + 8);
/// The largest cost of the rows of a function. If the wanted one is unusual, the lookup passes them
/// all twice.
const ROWS: u32 = 8 * u16::MAX as u32;
/// The cost of a search, and of a block of 64 bytes of `.eh_frame`.
const SEARCH: u32 = 32;
const BLOCK: u32 = 7;

/// The result and the cost of a lookup.
#[cfg_attr(not(test), allow(dead_code, reason = "only tests use the cost"))]
pub(crate) struct Lookup<T, E> {
    pub(crate) result: Result<T, E>,
    /// The units of the budget that the lookup took.
    pub(crate) spent: u32,
    /// The number of reads, without those of the header.
    pub(crate) reads: u32,
}

/// Looks `pc` up in the SFrame table `memory` at address `base`, with a budget of `units`. The
/// budget limits the number of reads; `memory` checks their places.
pub(crate) fn sframe<A: sframe::Abi>(
    memory: &Memory<'_>,
    base: u64,
    pc: u64,
    units: u32,
) -> Lookup<Rule, Error> {
    let mut budget = Budget::new(units);
    let len = memory.len();
    let header = sframe::Header::<A>::read(memory, len);
    let header_reads = memory.reads();

    assert!(header_reads <= 1, "a header in {header_reads} pieces");
    // A search pays for 32 starts. Other reads are free: two numbers of the entry, the first rows,
    // data words, and the 29 words of a large block. If the index is short, the search reads fewer
    // starts than it pays for.
    let mut free = 4 + 29;
    if let Ok(header) = &header {
        assert!(header.table_len() <= len, "a table longer than told");
        if header.functions() < 1 << 30 {
            free = 2 + 29;
        }
    }
    let result = header.and_then(|header| header.rule(memory, base, pc, &mut budget));

    assert!(budget.left() <= units, "a budget grew");
    let spent = units - budget.left();
    let reads = memory.reads() - header_reads;
    assert!(reads <= spent + free, "{reads} reads for {spent} units");
    if result != Err(Error::Budget) {
        assert!(spent <= INDEX + ROWS, "{spent} units for one lookup");
    }
    check_result::<A>(&result, memory, &budget, A::FIXED_RA == 0);
    Lookup { result, spent, reads }
}

/// Looks `pc` up in the table `memory`, whose `.eh_frame_hdr` is at `place`. Also returns the
/// header. The rule has register `tracked` in place of the frame pointer.
pub(crate) fn eh_frame<A: eh_frame::Abi>(
    memory: &Memory<'_>,
    place: u32,
    base: u64,
    pc: u64,
    tracked: u32,
    units: u32,
) -> (Lookup<Rule, Error>, Result<eh_frame::Header<A>, Error>) {
    let mut budget = Budget::new(units);
    let len = u32::try_from(memory.len()).unwrap_or(u32::MAX);
    let header = eh_frame::Header::<A>::read(memory, place, len);
    let header_reads = memory.reads();

    assert!(header_reads <= 2, "a header in {header_reads} pieces");
    let result = match &header {
        Ok(header) => header.rule_of(tracked, memory, base, pc, &mut budget),
        Err(error) => Err(*error),
    };
    let spent = units - budget.left();
    let reads = memory.reads() - header_reads;
    // The lookup pays before it reads: for the search, then for each block.
    assert!(
        reads <= SEARCH + spent.saturating_sub(SEARCH) / BLOCK,
        "{reads} reads for {spent} units"
    );
    check_result::<A>(&result, memory, &budget, A::LINK_REGISTER);
    let lookup = Lookup { result, spent, reads };
    (lookup, header)
}

/// Checks a result: faults, rules, errors and an empty budget.
fn check_result<A: Arch>(
    result: &Result<Rule, Error>,
    memory: &Memory<'_>,
    budget: &Budget,
    in_register: bool,
) {
    assert_eq!(*result == Err(Error::Fault), memory.faulted());
    match *result {
        Ok(found) => rule::<A>(found, in_register),
        Err(Error::Malformed(error)) => malformed(error, memory.len()),
        Err(Error::Unsupported(cause)) => assert!(Unsupported::ALL.contains(&cause)),
        Err(Error::Budget) => assert_eq!(budget.left(), 0, "a budget was not used up"),
        Err(Error::NotFound | Error::Fault) => {}
    }
}

/// Searches the file `memory`, of which `len` bytes are mapped, for byte `offset`.
///
/// Checks the reads, the cost and the result.
pub(crate) fn object(
    memory: &Memory<'_>,
    len: u64,
    offset: u64,
    target: &Target,
    units: u32,
) -> Lookup<Object, elf::Error> {
    let mut budget = Budget::new(units);
    let recorder = Recorder::new(memory, len);
    let result = elf::object(&recorder, len, offset, target, &mut budget);
    let (reads, spent) = (memory.reads(), units - budget.left());

    assert!(reads <= 1 + 32, "{reads} reads");
    if result == Err(elf::Error::Budget) {
        // The search has paid until the budget was empty.
        assert_eq!((budget.left(), reads), (0, units / 8));
    } else {
        assert_eq!(spent, 8 * reads);
    }
    assert_eq!(result == Err(elf::Error::Fault), memory.faulted());
    match &result {
        Ok(object) => check_object(object, offset, target),
        Err(elf::Error::Absent(absence)) => {
            assert!(!absence.name().is_empty());
            assert!(!absence.text().is_empty());
        }
        Err(elf::Error::Fault | elf::Error::Budget) => {}
    }
    if !matches!(result, Err(elf::Error::Fault | elf::Error::Budget)) {
        // The model sees the bytes of all reads, so it knows the answer even if the bytes change.
        let expected = model::object(&recorder.reads.borrow(), len, offset, target);
        assert_eq!(result, expected.map_err(elf::Error::Absent), "{offset:#x}");
    }
    Lookup { result, spent, reads }
}

/// Checks the promises that callers rely on.
fn check_object(object: &Object, offset: u64, target: &Target) {
    let Object { text, sframe, eh_frame } = object;
    let tables = || sframe.iter().chain(eh_frame);
    let page = |offset: u64| offset / target.page_size;
    let ends = |Segment { offset, address, len }: &Segment| [offset + len, address + len];

    for end in tables().chain([text]).flat_map(ends) {
        assert!(end < 1 << 63);
    }
    assert!(text.len > 0 && tables().next().is_some());
    assert!(tables().all(|table| (1..1 << 32).contains(&table.len)));
    assert_eq!(text.offset % target.page_size, text.address % target.page_size);
    assert!(page(text.offset) <= page(offset));
    assert!(page(offset) <= page(text.offset + text.len - 1));
}

/// The reason has a name, and its place is inside the table or at its end.
fn malformed(error: Malformed, len: u64) {
    assert!(!error.reason.name().is_empty());
    assert!(!error.reason.text().is_empty());
    assert!(u64::from(error.offset) <= len, "{error:?} in a table of {len} bytes");
}

/// Checks the invariants of a rule.
///
/// On some architectures a call leaves the return address (RA) `in_register`.
pub(crate) fn rule<A: Arch>(rule: Rule, in_register: bool) {
    let (cfa, ra, fp) = (rule.cfa(), rule.ra(), rule.fp());

    for value in [cfa, ra, fp] {
        register::<A>(value);
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

/// Checks that a value's register exists.
fn register<A: Arch>(value: Value) {
    if let Value::Register(Register::Other(number), _)
    | Value::AtRegister(Register::Other(number), _) = value
    {
        assert!(number < A::REGISTERS);
        assert!(![A::SP, A::FP].contains(&number.into()));
    }
}
