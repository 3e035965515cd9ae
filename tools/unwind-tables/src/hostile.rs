// SPDX-License-Identifier: GPL-2.0

//! Files that lie. Whatever they say, there is an answer, soon.

#[path = "../tests/common/mod.rs"]
mod common;
mod eh_frame;
#[path = "../tests/toolchain/mod.rs"]
mod toolchain;

use std::time::{Duration, Instant};

use common::*;

use crate::check::check_bytes;
use crate::dump::dump_bytes;
use crate::report::{Report, Verdict};

/// Checks and dumps a file, and prints the report both ways; the verdict on it.
fn survive(data: &[u8]) -> Verdict {
    let mut report = Report::new("file".into());
    let mut out = Vec::new();

    if let Err(error) = check_bytes(data, &mut report) {
        report.end(Verdict::Unreadable, error.to_string());
    }
    for verbose in [false, true] {
        crate::human::print(&mut out, &report, verbose).expect("memory can be written");
    }
    serde_json::to_string(&report).expect("it can be written");
    out.clear();
    let _ = dump_bytes(&mut out, data, &[]);
    let _ = dump_bytes(&mut out, data, &[0, TEXT, TEXT + 0x11, u64::MAX]);
    report.verdict
}

/// The same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// The bytes of a file that are not zero: all others mean nothing.
fn places(file: &[u8]) -> Vec<usize> {
    (0..file.len())
        .filter(|&at| file[at] != 0 && file[at] != 0x90)
        .collect()
}

/// Every beginning of a file, and many with a few changed bytes.
fn damage(file: &[u8], rounds: usize) {
    let places = places(file);
    let mut random = Random(0x5f72_616d_6521);
    let mut verdicts = [0; Verdict::COUNT];

    for &len in &places {
        survive(&file[..len]);
    }
    for _ in 0..rounds {
        let mut changed = file.to_vec();
        for _ in 0..=random.below(3) {
            let at = places[random.below(places.len())] + random.below(4);
            if let Some(byte) = changed.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        verdicts[survive(&changed) as usize] += 1;
    }
    // Else the damage is not where it matters.
    for verdict in [Verdict::Good, Verdict::Refused, Verdict::Unreadable] {
        assert_ne!(verdicts[verdict as usize], 0, "{verdict:?} of {verdicts:?}");
    }
}

#[test]
fn damaged_files() {
    for file in [good(), good_eh_frame()] {
        assert_eq!(survive(&file), Verdict::Good);
        damage(&file, 10_000);
    }
}

/// What a compiler makes.
#[test]
fn damaged_compiled_file() {
    let Some(file) = toolchain::build("hostile", "gcc", "c", toolchain::PROGRAM, &[]) else {
        return;
    };
    assert_eq!(survive(&file), Verdict::Good);

    let mut random = Random(1);
    for _ in 0..200 {
        survive(&file[..random.below(file.len())]);
        let mut changed = file.clone();
        for _ in 0..1 + random.below(100) {
            let at = random.below(changed.len());
            changed[at] = random.below(256) as u8;
        }
        survive(&changed);
    }
}

/// Writes a number over the header of a table.
fn with_header(table: &[u8], at: usize, number: u32) -> Vec<u8> {
    let mut table = table.to_vec();

    table[at..at + 4].copy_from_slice(&number.to_le_bytes());
    table
}

#[test]
fn functions_that_are_not_there() {
    let count = (1 << 28) - 1;
    let huge = with_header(&table(X86_64, &[PUSH_AND_POP]), 8, count);
    let started = Instant::now();

    // More than the segment holds: refused at once.
    assert_eq!(survive(&elf(X86_64, &huge, &[])), Verdict::Refused);
    // A segment that would hold them, in a file that does not.
    let huge = with_header(&huge, 0x18, 16 * count);
    let segments =
        [(1, 5, TEXT), (1, 4, TABLE), (0x6474_e554, 4, TABLE)].map(|(kind, flags, address)| {
            Segment {
                kind,
                flags,
                address,
                size: if address == TEXT { 0x100 } else { 1 << 40 },
            }
        });
    let file = elf_of(X86_64, &segments, &huge, &[]);
    assert_eq!(survive(&file), Verdict::Refused);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn segments_anywhere() {
    let good = table(X86_64, &[PUSH_AND_POP]);

    for address in [0, 1, TABLE, 1 << 63, u64::MAX - 100, u64::MAX] {
        for size in [1, 27, 28, 1 << 32, 1 << 63, u64::MAX] {
            let segments =
                [(1, 5), (1, 4), (0x6474_e554, 4), (0x6474_e550, 4)].map(|(kind, flags)| Segment {
                    kind,
                    flags,
                    address,
                    size,
                });
            survive(&elf_of(X86_64, &segments, &good, &[]));
        }
    }
}

/// Many functions with the same 65,535 rows ask for more than anyone wants to wait for.
#[test]
fn shared_rows() {
    let rows: Vec<u8> = (0..u16::MAX)
        .flat_map(|at| [at as u8, (at >> 8) as u8, 3, 8])
        .collect();
    let functions: Vec<_> = (0..2000)
        .map(|_| Function {
            at: 0,
            size: 0x10000,
            count: 0,
            info: [1, 0, 0],
            rows: &[],
        })
        .collect();
    let mut bytes = table(X86_64, &functions);
    let attributes = 28 + functions.len() * 16;
    // All of them take the attribute and the rows of the last one.
    let last = attributes + (functions.len() - 1) * 5;
    for nth in 0..functions.len() {
        let at = 28 + nth * 16 + 12;
        bytes[at..at + 4].copy_from_slice(&((last - attributes) as u32).to_le_bytes());
    }
    bytes[last..last + 2].fill(0xff);
    bytes.extend(&rows);
    let rows_len = (bytes.len() - attributes) as u32;
    let segments = [(1, 5, TEXT), (1, 4, TABLE), (0x6474_e554, 4, TABLE)];
    let segments = segments.map(|(kind, flags, address)| Segment {
        kind,
        flags,
        address,
        size: 0x10_0000,
    });
    let bytes = with_header(&bytes, 0x10, rows_len);
    let file = elf_of(X86_64, &segments, &bytes, &[]);

    let mut report = Report::new("file".into());
    check_bytes(&file, &mut report).expect("it is an ELF file");
    assert_eq!(report.verdict, Verdict::Refused);
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.kind == "too-large")
    );
}
