// SPDX-License-Identifier: GPL-2.0

//! Lookups with checks that apply to any table. Tests and fuzz targets look up with these
//! functions.

use crate::listing;
use crate::memory::{Memory, Recorder};
use crate::model;
use crate::parse::elf::{Absence, Headers, Object, Segment, Target, are_of_go};
use crate::parse::{Arch, Error, Malformed, Reader, Register, Rule, Value, eh_frame, sframe};

/// The largest cost of a lookup in SFrame: the search, 8 entries of functions that share a start,
/// and all rows in pieces of 104 bytes, of which each may be the first of a row of 63.
const SFRAME: u32 = 32 * (33 + 8) + (65_535 * 65 + 104) * 3;

/// The result and the cost of a lookup.
#[cfg_attr(not(test), allow(dead_code, reason = "only tests use the cost"))]
pub(crate) struct Lookup<T, E> {
    pub(crate) result: Result<T, E>,
    /// The units that the lookup took.
    pub(crate) spent: u32,
    /// The number of reads, without those of the header.
    pub(crate) reads: u32,
}

/// Looks `pc` up in the SFrame table `memory` at address `base`, for at most `units`. They limit the
/// number of reads; `memory` checks their places.
pub(crate) fn sframe<A: Arch>(
    memory: &Memory<'_>,
    base: u64,
    pc: u64,
    units: u32,
) -> Lookup<Rule, Error> {
    let header = sframe::Header::<A>::read(memory, memory.len());
    let header_reads = memory.reads();

    assert!(header_reads <= 1, "a header in {header_reads} pieces");
    memory.allow(units);
    let result = header.and_then(|header| {
        assert!(listing::table_len(&header) <= memory.len(), "a table longer than told");
        header.rule(memory, base, pc)
    });

    let lookup = lookup::<A>(result, memory, units, header_reads);
    if lookup.result != Err(Error::Budget) {
        assert!(lookup.spent <= SFRAME, "{} units for one lookup", lookup.spent);
    }
    lookup
}

/// Looks `pc` up in the table `memory`, whose `.eh_frame_hdr` is at `place`, for at most `units`. The
/// rule has register `tracked` in place of the frame pointer.
pub(crate) fn eh_frame<A: Arch>(
    memory: &Memory<'_>,
    place: u32,
    base: u64,
    pc: u64,
    tracked: u32,
    units: u32,
) -> Lookup<Rule, Error> {
    let len = u32::try_from(memory.len()).unwrap_or(u32::MAX);
    let header = eh_frame::Header::<A>::read(memory, place, len);
    let header_reads = memory.reads();

    assert!(header_reads <= 2, "a header in {header_reads} pieces");
    memory.allow(units);
    let result = header.and_then(|header| header.rule(memory, base, pc, tracked));
    lookup::<A>(result, memory, units, header_reads)
}

/// Checks a result: its cost, faults, rules and errors.
fn lookup<A: Arch>(
    result: Result<Rule, Error>,
    memory: &Memory<'_>,
    units: u32,
    header_reads: u32,
) -> Lookup<Rule, Error> {
    let spent = units - memory.left();
    let reads = memory.reads() - header_reads;

    // A step of a search costs as much as a read.
    assert!(reads <= spent / 32, "{reads} reads for {spent} units");
    assert_eq!(result == Err(Error::Fault), memory.faulted());
    match result {
        Ok(found) => rule::<A>(found),
        // The place is in the table, or at its end.
        Err(Error::Malformed(Malformed { offset, .. })) => {
            assert!(u64::from(offset) <= memory.len(), "{result:?} of {} bytes", memory.len());
        }
        Err(Error::Budget) => assert_eq!(memory.left(), 0, "the units were not used up"),
        Err(Error::NotFound | Error::Unsupported(_) | Error::Fault) => {}
        Err(Error::Absent(absence)) => panic!("{absence:?} in a table"),
    }
    Lookup { result, spent, reads }
}

/// Searches a file of which `len` bytes are mapped for byte `offset`.
fn search(reader: &impl Reader, len: u64, offset: u64, target: &Target) -> Result<Object, Error> {
    let headers = Headers::read(reader, len, target)?;

    if headers.end() > len {
        return Err(Absence::Headers.into());
    }
    headers.object(reader, headers.place, offset, target)
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
) -> Lookup<Object, Error> {
    let recorder = Recorder::new(memory, len);
    memory.allow(units);
    let result = search(&recorder, len, offset, target);
    let (reads, spent) = (memory.reads(), units - memory.left());

    assert!(reads <= 1 + 128, "{reads} reads");
    assert!(spent <= 64 + 128 * 56, "{spent} units");
    if result == Err(Error::Budget) {
        assert_eq!(memory.left(), 0, "the units were not used up");
    }
    assert_eq!(result == Err(Error::Fault), memory.faulted());
    if let Ok(object) = &result {
        check_object(object, offset, target);
    }
    if !matches!(result, Err(Error::Fault | Error::Budget)) {
        // The model sees the bytes of all reads, so it knows the answer even if the bytes change.
        let expected = model::object(&recorder.reads.borrow(), len, offset, target);
        assert_eq!(result, expected.map_err(Error::Absent), "{offset:#x}");
    }
    Lookup { result, spent, reads }
}

/// Reads the bytes as notes: whatever they are, few are read, and none behind `len`.
pub(crate) fn notes(memory: &Memory<'_>, len: u64) {
    let before = memory.reads();
    let recorder = Recorder::new(memory, len);

    memory.allow(u32::MAX);
    match are_of_go(&recorder, len) {
        Ok(are_of_go) => {
            let reads = recorder.reads.borrow();
            let last = reads.last().map(|(_, bytes)| bytes.ends_with(b"Go\0\0"));
            assert!(!are_of_go || last == Some(true));
        }
        Err(error) => assert_eq!(error, Error::Fault),
    }
    assert!(memory.reads() - before <= 8);
}

/// Checks the promises that callers rely on.
fn check_object(object: &Object, offset: u64, target: &Target) {
    let Object { text, sframe, eh_frame, notes } = object;
    let tables = || sframe.iter().chain(eh_frame);
    let page = |offset: u64| offset / target.page_size;
    let ends = |Segment { offset, address, len }: &Segment| [offset + len, address + len];

    for end in tables().chain([text]).chain(notes).flat_map(ends) {
        assert!(end < 1 << 63);
    }
    assert!(text.len > 0 && tables().next().is_some());
    assert!(tables().all(|table| (1..1 << 32).contains(&table.len)));
    assert_eq!(text.offset % target.page_size, text.address % target.page_size);
    assert!(page(text.offset) <= page(offset));
    assert!(page(offset) <= page(text.offset + text.len - 1));
}

/// Checks the invariants of a rule.
pub(crate) fn rule<A: Arch>(rule: Rule) {
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
            // A call may leave the return address in a register.
            assert!(ra != Value::Unchanged || A::FIXED_RA == 0);
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
