// SPDX-License-Identifier: GPL-2.0

//! The test vectors of the kernel; failed reads, costs and limits.

use std::collections::BTreeSet;

use super::{ENOUGH, Error, LARGE_PAGES, find, object};
use crate::check::search;
use crate::memory::{Behaviour, Memory};
use crate::parse::elf::{Absence, Object, Segment, Target, are_of_go};
use crate::parse::sframe::Reason;
use crate::parse::{Array, Element, Reader};
use crate::vectors::Bytes;
use crate::vectors::elf::{Expected, FILES, File, NOTES};

/// Program headers never reach so far.
const MOST: usize = 8192;

fn bytes(bytes: &Bytes<'_>) -> Vec<u8> {
    bytes.first(MOST).collect()
}

/// Calls `test` with each file, changed and unchanged: its name, its bytes, its length, a place,
/// and the expected answer.
fn each(mut test: impl FnMut(&str, &[u8], u64, u64, Expected)) {
    for file in FILES {
        let unchanged = bytes(&file.unchanged());

        for (offset, expected) in file.lookups {
            test(file.name, &unchanged, unchanged.len() as u64, *offset, *expected);
        }
        for vector in file.vectors {
            let name = format!("{}: {}", file.name, vector.name);
            vector.for_each(file, |patched| {
                let bytes = bytes(patched);
                assert_ne!(bytes, unchanged, "{name}: no change");
                test(&name, &bytes, patched.len as u64, vector.offset, vector.expected);
            });
        }
    }
}

#[test]
fn files() {
    each(|name, bytes, len, offset, expected| {
        let found = find(&Memory::new(bytes), len, offset, &Target::AMD64, ENOUGH);
        assert_eq!(found.result, expected.map_err(Error::Absent), "{name}");
    });
}

/// What notes say does not depend on what is behind them, and nothing there is read.
#[test]
fn notes() {
    for notes in NOTES {
        let bytes = bytes(&notes.bytes());
        let len = bytes.len() as u64;
        let memory = Memory::new(&bytes);
        assert_eq!(are_of_go(&memory, len), Ok(notes.are_of_go), "{}", notes.name);

        for less in 0..len {
            let found = are_of_go(&Memory::new(&bytes[..less as usize]), less);
            assert!(found.is_ok_and(|found| !found || notes.are_of_go), "{}", notes.name);
        }
        let missing = Memory::behaving(&bytes, Behaviour::FaultAt(0), 0);
        let expected = if len < 16 { Ok(false) } else { Err(Error::Fault) };
        assert_eq!(are_of_go(&missing, len), expected);
    }
}

/// Each absence has a vector.
#[test]
fn every_absence() {
    let mut seen = Vec::new();

    each(|_, _, _, _, expected| seen.extend(expected.err()));
    for absence in Absence::ALL {
        assert!(seen.contains(absence), "no vector for {absence:?}");
    }
}

/// User space sees these names. They must not change, and each must be unique.
#[test]
fn names() {
    let names: Vec<_> =
        Absence::ALL.iter().map(|absence| absence.name().to_str().expect("it is text")).collect();
    let texts: BTreeSet<_> = Absence::ALL.iter().map(|absence| absence.text()).collect();

    assert_eq!(
        names,
        [
            "not-elf",
            "elf-class",
            "elf-byte-order",
            "elf-version",
            "elf-type",
            "elf-machine",
            "program-headers",
            "no-text",
            "no-table",
            "table-range",
        ]
    );
    assert_eq!(texts.len(), names.len());
    for absence in Absence::ALL {
        let taken = |reason: &Reason| reason.name() == absence.name();
        assert!(!Reason::ALL.iter().any(taken), "{absence:?}");
    }
}

/// Each read fails in turn. The search must end there. The same for each unreadable byte.
#[test]
fn faults() {
    each(|name, bytes, len, offset, expected| {
        let find = |behaviour| {
            let memory = Memory::behaving(bytes, behaviour, offset);
            let found = find(&memory, len, offset, &Target::AMD64, ENOUGH);
            (found.result, memory.reads(), memory.faulted())
        };
        let expected = expected.map_err(Error::Absent);
        let (_, reads, _) = find(Behaviour::Steady);

        for nth in 0..reads {
            let found = find(Behaviour::FaultAt(nth));
            assert_eq!(found, (Err(Error::Fault), nth + 1, true), "{name}");
        }
        let found = find(Behaviour::FaultAt(reads));
        assert_eq!(found, (expected, reads, false), "{name}");
    });
    for file in FILES {
        let bytes = bytes(&file.unchanged());
        let (offset, expected) = file.lookups[file.lookups.len() / 2];

        // The bytes end with the last program header.
        for hole in 0..=bytes.len() as u64 {
            let memory = Memory::behaving(&bytes, Behaviour::Hole(hole), hole);
            let len = bytes.len() as u64;
            let found = find(&memory, len, offset, &Target::AMD64, ENOUGH).result;
            let expected = match hole < len {
                true => Err(Error::Fault),
                false => expected.map_err(Error::Absent),
            };
            assert_eq!(found, expected, "{}, hole at {hole:#x}", file.name);
        }
    }
}

/// With fewer units than its cost, a search fails.
#[test]
fn budgets() {
    each(|name, bytes, len, offset, expected| {
        let with = |units| find(&Memory::new(bytes), len, offset, &Target::AMD64, units);
        let spent = with(ENOUGH).spent;

        for units in 0..spent {
            assert_eq!(with(units).result, Err(Error::Budget), "{name}");
        }
        let found = with(spent);
        assert_eq!(found.result, expected.map_err(Error::Absent), "{name}");
        assert_eq!(found.spent, spent);
    });
}

/// The bytes of a file with this number of program headers. The additional ones are empty.
fn with_count(file: &File, count: u16) -> Vec<u8> {
    let mut bytes = bytes(&file.unchanged());
    let place = usize::from(bytes[0x20]);

    bytes[0x38..0x3a].copy_from_slice(&count.to_le_bytes());
    bytes.resize(place + 56 * usize::from(count), 0);
    bytes
}

/// The cost of a search depends on the number of program headers alone.
#[test]
fn costs() {
    for file in FILES {
        for count in 7..=128_u16 {
            let bytes = with_count(file, count);
            let memory = Memory::new(&bytes);
            let (offset, expected) = file.lookups[file.lookups.len() / 2];
            let len = bytes.len() as u64;
            let found = find(&memory, len, offset, &Target::AMD64, ENOUGH);

            assert_eq!(found.result, expected.map_err(Error::Absent));
            assert_eq!(memory.reads(), 1 + u32::from(count));
            assert_eq!(found.spent, 64 + 56 * u32::from(count));
        }
        for count in [0, 129, 130, 256, 0x7fff, 0xfffe, 0xffff] {
            let bytes = with_count(file, count);
            let found = object(&bytes, file.lookups[0].0, &Target::AMD64);
            assert_eq!(found, Err(Error::Absent(Absence::Headers)));
        }
    }
}

/// A search finds a table and a text at any place among 128 program headers.
#[test]
fn every_place() {
    let file = FILES[0];
    let full = with_count(file, 128);
    let entry = |nth: usize| 64 + 56 * nth..64 + 56 * (nth + 1);
    let (text, table) = (full[entry(1)].to_vec(), full[entry(5)].to_vec());
    let expected = file.lookups[5].1.map_err(Error::Absent);

    assert!(expected.is_ok());
    for first in 0..128 {
        for second in [0, 3, 4, 63, 126, 127] {
            if first != second {
                let mut bytes = full.clone();
                bytes[64..].fill(0);
                bytes[entry(first)].copy_from_slice(&text);
                bytes[entry(second)].copy_from_slice(&table);
                assert_eq!(object(&bytes, 0x1234, &Target::AMD64), expected);
            }
        }
    }
}

/// The program headers may be at any place in the file.
#[test]
fn far_headers() {
    for file in FILES {
        let (offset, expected) = file.lookups[file.lookups.len() / 2];
        let near = bytes(&file.unchanged());
        let (place, count) = (usize::from(near[0x20]), u64::from(near[0x38]));

        for far in 64..400_u64 {
            let mut bytes = near[..64].to_vec();
            bytes[0x20..0x28].copy_from_slice(&far.to_le_bytes());
            bytes.resize(far as usize, 0xee);
            bytes.extend(&near[place..]);
            let found = object(&bytes, offset, &Target::AMD64);
            assert_eq!(found, expected.map_err(Error::Absent));
            bytes.pop();
            let found = object(&bytes, offset, &Target::AMD64);
            assert_eq!(found, Err(Error::Absent(Absence::Headers)));
        }

        // The program headers end at 2^64 - 1, and all bytes are mapped.
        let mut bytes = near.clone();
        let last = u64::MAX - 56 * count;
        bytes[0x20..0x28].copy_from_slice(&last.to_le_bytes());
        let memory = Memory::new(&bytes);
        let found = search(&Far { memory, last }, u64::MAX, offset, &Target::AMD64);
        assert_eq!(found, Err(Error::Fault));
    }
}

/// A file whose second read must be at byte `last`, and fails.
struct Far<'a> {
    memory: Memory<'a>,
    last: u64,
}

impl Reader for Far<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        if self.memory.reads() == 0 {
            return self.memory.read(offset, buf);
        }
        assert_eq!(offset, self.last);
        Err(Error::Fault)
    }

    fn bisect(&self, _: &Array, _: u64) -> Result<Element, Error> {
        panic!("there is nothing to search")
    }
}

/// Files of another machine, with larger pages.
#[test]
fn other_targets() {
    let mut bytes = bytes(&FILES[0].unchanged());
    let absent = |absence| Err(Error::Absent(absence));

    assert_eq!(object(&bytes, 0x1234, &LARGE_PAGES), absent(Absence::Machine));
    bytes[0x12] = 183;
    assert_eq!(object(&bytes, 0x1234, &Target::AMD64), absent(Absence::Machine));
    // The text is at byte 0x1010 and address 0x2010.
    assert_eq!(object(&bytes, 0x1234, &LARGE_PAGES), absent(Absence::NoText));
    bytes[0x88..0x90].copy_from_slice(&0x7_1010_u64.to_le_bytes());
    let object_at = |offset| object(&bytes, offset, &LARGE_PAGES);
    let found = Ok(Object {
        text: Segment { offset: 0x1010, address: 0x7_1010, len: 0x1825 },
        sframe: Some(Segment { offset: 0x3148, address: 0x4148, len: 0x5c }),
        eh_frame: None,
        notes: None,
    });
    for offset in [0, 0xfff, 0x1010, 0x3000, 0xffff] {
        assert_eq!(object_at(offset), found);
    }
    assert_eq!(object_at(0x1_0000), absent(Absence::NoText));
}
