// SPDX-License-Identifier: GPL-2.0

//! `.eh_frame` that asks for more work than anyone wants to wait for.

use std::time::{Duration, Instant};

use super::common::*;
use crate::check::check_bytes;
use crate::report::{Report, Verdict};

/// How long any file may take, on a slow and busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Bytes of the CIE that the builder makes, with its length.
const CIE: usize = 24;

/// A file with this `.eh_frame` and a text of 4 GiB. Behind the records is an index, with the start
/// of each function from [`TEXT`], and where its FDE is in `.eh_frame`.
fn file(eh_frame: &[u8], entries: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = eh_frame.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let header = EH_FRAME + bytes.len() as u64;

    bytes.extend([1, 0x1b, 0x03, 0x3c]);
    bytes.extend((EH_FRAME.wrapping_sub(header + 4) as u32).to_le_bytes());
    bytes.extend((entries.len() as u32).to_le_bytes());
    for (start, fde) in entries {
        bytes.extend((TEXT + start).wrapping_sub(header).to_le_bytes());
        bytes.extend((EH_FRAME + fde).wrapping_sub(header).to_le_bytes());
    }
    let len = bytes.len() as u64;
    let segments = [
        (1, 4, LOAD, 0x1000),
        (1, 5, TEXT, 1 << 32),
        (1, 4, EH_FRAME_HDR, EH_FRAME - EH_FRAME_HDR + len),
        (0x6474_e550, 4, header, 12 + 16 * entries.len() as u64),
    ];
    let segments = segments.map(|(kind, flags, address, size)| Segment {
        kind,
        flags,
        address,
        size,
    });
    elf_of(X86_64, &segments, &[], &bytes)
}

/// Checks a file, which may not take long.
fn check(file: &[u8]) -> Report {
    let mut report = Report::new("file".into());
    let started = Instant::now();

    check_bytes(file, &mut report).expect("it is an ELF file");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    report
}

/// Whether not all of a file was checked.
fn is_too_large(report: &Report) -> bool {
    report.verdict == Verdict::Refused
        && report
            .problems
            .iter()
            .any(|problem| problem.kind == "too-large")
}

/// Functions of nearly 4 GiB, of which each byte is looked at: one has a rule that depends on the
/// address, the other one a row that gimli has no word for.
#[test]
fn large_functions() {
    let linkage: &[u8] = &[
        0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
    ];
    let no_parts: &[u8] = &[0x0f, 2, 0x77, 8, 0x0e, 16];

    // Gimli computes an end for the last one that is before its start.
    for (cfi, size) in [
        (linkage, 0x7fff_ffff),
        (no_parts, 0x7fff_ffff),
        (no_parts, u32::MAX),
    ] {
        let records = eh_frame(X86_64, 0, size, cfi);
        let report = check(&file(&records, &[(0, CIE as u64)]));
        assert!(is_too_large(&report));
        let index = report.eh_frame.index.expect("the kernel has it");
        assert_eq!(index.functions, 1);
    }
}

/// An FDE whose program is all that follows: with an advance, and then no-operations. So many of
/// them have the same program.
fn nested(count: usize, nops: usize) -> (Vec<u8>, Vec<(u64, u64)>) {
    const FDE: usize = 24;
    let mut bytes = eh_frame(X86_64, 0, 1, &[])[..CIE].to_vec();
    let end = CIE + count * FDE + nops;
    let mut entries = Vec::new();

    for nth in 0..count {
        let place = bytes.len();
        let start = TEXT + 16 * nth as u64;
        entries.push((16 * nth as u64, place as u64));
        bytes.extend(((end - place - 4) as u32).to_le_bytes());
        bytes.extend(((place + 4) as u32).to_le_bytes());
        bytes.extend((start.wrapping_sub(EH_FRAME + place as u64 + 8) as u32).to_le_bytes());
        bytes.extend(16_u32.to_le_bytes());
        // The other FDEs are its augmentation data, whose length has five bytes.
        let skip = (count - nth) * FDE - 21;
        bytes.extend((0..5).map(|at| {
            let more = if at < 4 { 0x80 } else { 0 };
            (skip >> (7 * at)) as u8 & 0x7f | more
        }));
        bytes.resize(place + FDE, 0);
    }
    bytes.push(0x41);
    bytes.resize(end, 0);
    (bytes, entries)
}

#[test]
fn programs_within_each_other() {
    // So few are good.
    let (records, entries) = nested(4, 1000);
    let report = check(&file(&records, &entries));
    assert_eq!(report.verdict, Verdict::Good);
    // Gimli finds two rows of the first, and does not find the others, whose rows are alike.
    assert_eq!(report.eh_frame.index.expect("there is one").rows, 2 + 3);

    let (records, entries) = nested(20_000, 1 << 20);
    assert!(is_too_large(&check(&file(&records, &entries))));
}

/// A CIE with a long name that all FDEs have in common.
#[test]
fn a_long_cie() {
    let mut bytes = vec![0; 4];
    bytes.extend([0, 0, 0, 0, 1]);
    bytes.resize(1 << 20, b'z');
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let cie = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&cie.to_le_bytes());
    let mut entries = Vec::new();

    for nth in 0..40_000_u64 {
        let place = bytes.len() as u32;
        entries.push((16 * nth, u64::from(place)));
        bytes.extend(12_u32.to_le_bytes());
        bytes.extend((place + 4).to_le_bytes());
        bytes.extend([0; 8]);
    }
    let report = check(&file(&bytes, &entries));
    assert_eq!(report.eh_frame.unsupported["augmentation"].rows, 40_000);
}

/// An index of 2^28 entries in a file of a few hundred bytes.
#[test]
fn an_index_that_is_not_there() {
    let records = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);
    let mut segments = segments(X86_64, &[], &records);
    for segment in &mut segments[2..] {
        segment.size = (1 << 32) - 0x1000;
    }
    let mut file = elf_of(X86_64, &segments, &[], &records);
    let count = place(EH_FRAME_HDR) + 8;
    file[count..count + 4].copy_from_slice(&(1_u32 << 28).to_le_bytes());
    let report = check(&file);

    assert_eq!(report.verdict, Verdict::Refused);
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.kind == "fault")
    );
}
