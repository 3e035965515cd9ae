// SPDX-License-Identifier: GPL-2.0

//! The search in ELF headers: the test vectors of the kernel, changed headers, and arbitrary ones.
//!
//! [`find`] compares each answer with that of a model, which sees the bytes of each read.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::tables::{mutate, mutation};
use super::vectors::all_differ;
use super::{budget, cases, faults};
use crate::check::{Lookup, object as find};
use crate::memory::{Behaviour, Memory};
use crate::parse::elf::{Absence, Object, Target, are_of_go};
use crate::parse::{Error, sframe};
use crate::vectors::Bytes;
use crate::vectors::elf::{Expected, FILES, File, NOTES};

/// Program headers never reach so far.
const MOST: usize = 8192;
/// Units that are enough for any file.
const ENOUGH: u32 = 10_000;
/// Files of a machine with pages of 64 KiB.
const LARGE_PAGES: Target = Target { machine: 183, page_size: 0x1_0000 };

fn bytes(bytes: &Bytes<'_>) -> Vec<u8> {
    bytes.first(MOST).collect()
}

/// Searches a file that is mapped as a whole.
fn search(memory: &Memory<'_>, offset: u64, target: &Target, units: u32) -> Lookup<Object, Error> {
    find(memory, memory.len(), offset, target, units)
}

/// The answer for a file of these bytes.
pub(super) fn object(bytes: &[u8], offset: u64, target: &Target) -> Result<Object, Error> {
    search(&Memory::new(bytes), offset, target, ENOUGH).result
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

/// Each absence has a vector. Whatever is read may fail, and no search costs more than it has.
#[test]
fn files() {
    let mut seen = HashSet::new();

    each(|name, bytes, len, offset, expected| {
        let look = |memory: &Memory<'_>, units| find(memory, len, offset, &Target::AMD64, units);
        let found = look(&Memory::new(bytes), ENOUGH).result;
        assert_eq!(found, expected.map_err(Error::Absent), "{name}");
        seen.extend(expected.err().map(Absence::name));

        faults(bytes, (0..=bytes.len() as u64).step_by(8), |memory| look(memory, ENOUGH).result);
        budget(|units| look(&Memory::new(bytes), units.min(ENOUGH)));
    });
    for absence in Absence::ALL {
        assert!(seen.contains(absence.name()), "no vector for {absence:?}");
    }
}

/// What notes say does not depend on what is behind them, and nothing there is read.
#[test]
fn notes() {
    for notes in NOTES {
        let bytes = bytes(&notes.bytes());
        let len = bytes.len() as u64;
        assert_eq!(are_of_go(&Memory::new(&bytes), len), Ok(notes.are_of_go), "{}", notes.name);

        for less in 0..len {
            let found = are_of_go(&Memory::new(&bytes[..less as usize]), less);
            assert!(found.is_ok_and(|found| !found || notes.are_of_go), "{}", notes.name);
        }
        let missing = Memory::behaving(&bytes, Behaviour::FaultAt(0), 0);
        let expected = if len < 16 { Ok(false) } else { Err(Error::Fault) };
        assert_eq!(are_of_go(&missing, len), expected);
    }
}

/// User space sees these names. They must not change, and each must be unique.
#[test]
fn names() {
    let names = [
        c"not-elf",
        c"elf-class",
        c"elf-byte-order",
        c"elf-version",
        c"elf-type",
        c"elf-machine",
        c"program-headers",
        c"no-text",
        c"no-table",
        c"table-range",
    ];
    let absences = Absence::ALL.iter();
    let reasons = sframe::Reason::ALL.iter().map(|reason| (reason.name(), reason.text()));

    assert!(absences.clone().map(|absence| absence.name()).eq(names));
    all_differ(absences.map(|absence| (absence.name(), absence.text())).chain(reasons));
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
        let (offset, expected) = file.lookups[file.lookups.len() / 2];

        for count in 7..=128_u16 {
            let found =
                search(&Memory::new(&with_count(file, count)), offset, &Target::AMD64, ENOUGH);
            assert_eq!(found.result, expected.map_err(Error::Absent));
            assert_eq!(
                (found.reads, found.spent),
                (1 + u32::from(count), 64 + 56 * u32::from(count))
            );
        }
        for count in [0, 129, 130, 256, 0x7fff, 0xfffe, 0xffff] {
            let found = object(&with_count(file, count), offset, &Target::AMD64);
            assert_eq!(found, Err(Error::Absent(Absence::Headers)));
        }
    }
}

/// The program headers may end at 2^64 - 1. There, nothing is readable.
#[test]
fn far_headers() {
    for file in FILES {
        let mut bytes = bytes(&file.unchanged());
        let last = u64::MAX - 56 * u64::from(bytes[0x38]);

        for (place, expected) in [(last, Error::Fault), (last + 1, Absence::Headers.into())] {
            bytes[0x20..0x28].copy_from_slice(&place.to_le_bytes());
            let memory = Memory::scripted(&bytes, u64::MAX, false, &[]);
            let found = search(&memory, file.lookups[0].0, &Target::AMD64, ENOUGH);
            assert_eq!(found.result, Err(expected));
        }
    }
}

/// Each change of one byte.
#[test]
fn every_byte() {
    for file in FILES {
        let bytes = bytes(&file.unchanged());
        let (mut same, mut different, mut absent) = (0, 0, 0);

        for at in 0..bytes.len() {
            for change in 1..=u8::MAX {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                for (offset, expected) in file.lookups.iter().step_by(2) {
                    let found = object(&bytes, *offset, &Target::AMD64);
                    match found {
                        _ if found == expected.map_err(Error::Absent) => same += 1,
                        Ok(_) => different += 1,
                        Err(_) => absent += 1,
                    }
                }
            }
        }
        // Enough answers must stay the same, and enough must change.
        let counts = (same, different, absent);
        assert!(same > 50_000 && different > 10_000 && absent > 10_000, "{counts:?}");
    }
}

/// The numbers of a program header, in their order.
type Entry = (u32, u32, u64, u64, u64, u64, u64, u64);

/// A number, often near one where an answer changes.
fn number() -> impl Strategy<Value = u64> {
    let near = select(vec![
        0_u64,
        1 << 12,
        1 << 13,
        1 << 16,
        1 << 17,
        1 << 32,
        1 << 63,
        (1 << 63) - (1 << 12),
        (1 << 63) - (1 << 16),
        0_u64.wrapping_sub(1 << 12),
    ]);

    prop_oneof![
        6 => 0..0x3000_u64,
        6 => (near.clone(), -4..4_i64).prop_map(|(near, by)| near.wrapping_add_signed(by)),
        2 => (near, 0..0x3000_u64).prop_map(|(near, by)| near.wrapping_add(by)),
        1 => any::<u64>(),
    ]
}

/// A program header, often of a text or a table that can be mapped.
fn entry() -> impl Strategy<Value = Entry> {
    let kind = prop_oneof![
        5 => Just(1_u32),
        3 => Just(0x6474_e554),
        1 => select(vec![0_u32, 2, 0x6474_e550, 0x6474_e551]),
        1 => any::<u32>(),
    ];
    let flags = prop_oneof![4 => Just(5_u32), 1 => 0..8_u32, 1 => any::<u32>()];
    let sizes = (number(), number(), 0..4_u8).prop_map(|(file, memory, which)| match which {
        0 => (file, memory),
        1 => (file, file.wrapping_add(1)),
        _ => (file, file),
    });
    let places = (number(), number(), 0..4_u8).prop_map(|(offset, other, which)| match which {
        0 => (offset, other),
        1 => (offset, offset.wrapping_add(other & !0xfff)),
        2 => (offset, offset.wrapping_add(other & !0xffff)),
        _ => (offset, offset),
    });

    (kind, flags, places, sizes, any::<u64>(), any::<u64>()).prop_map(
        |(kind, flags, (offset, address), (file, memory), other, align)| {
            (kind, flags, offset, address, other, file, memory, align)
        },
    )
}

/// The bytes of a file with these program headers at byte `place`.
fn file(entries: &[Entry], machine: u16, place: usize) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();

    bytes.extend(machine.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend([0x11; 8]);
    bytes.extend((place as u64).to_le_bytes());
    bytes.extend([0x22; 14]);
    bytes.extend(56_u16.to_le_bytes());
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend([0x33; 6]);
    assert_eq!(bytes.len(), 64);
    bytes.resize(place, 0x44);
    for (kind, flags, offset, address, other, file, memory, align) in entries {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        for number in [offset, address, other, file, memory, align] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes
}

/// The edges of the first segments and of their pages, and `any`.
fn places(entries: &[Entry], any: &[u64]) -> Vec<u64> {
    let mut places = any.to_vec();

    for (_, _, offset, _, _, size, _, _) in entries.iter().take(12) {
        let end = offset.wrapping_add(*size);
        for edge in [*offset, end, offset & !0xfff, end.wrapping_add(0xfff) & !0xfff] {
            places.extend([edge, edge.wrapping_sub(1)]);
        }
    }
    places
}

proptest! {
    #![proptest_config(cases(4000))]

    /// Headers that are partly good.
    #[test]
    fn headers(
        entries in prop_oneof![4 => vec(entry(), 0..12), 1 => vec(entry(), 120..132)],
        place in 64..200_usize,
        cut in prop_oneof![4 => Just(0_usize), 1 => 0..64_usize],
        machine in select(vec![62, 183]),
        any in vec(number(), 4),
    ) {
        let mut bytes = file(&entries, machine, place);

        bytes.truncate(bytes.len().saturating_sub(cut));
        for offset in places(&entries, &any) {
            let found = [Target::AMD64, LARGE_PAGES].map(|target| object(&bytes, offset, &target));
            prop_assert!(found.iter().any(|found| found.is_err()));
        }
    }

    /// Arbitrary bytes, alone and behind a good ELF header.
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..600), any in vec(number(), 4)) {
        let mut headed = file(&[(0, 0, 0, 0, 0, 0, 0, 0); 3], 62, 64);

        headed.truncate(64);
        headed.extend(&bytes);
        for offset in any {
            let _ = object(&bytes, offset, &Target::AMD64);
            let _ = object(&headed, offset, &Target::AMD64);
        }
    }

    /// Good files, mutated.
    #[test]
    fn mutated(mutations in vec(mutation(), 1..6), any in vec(number(), 4)) {
        for file in FILES {
            let mut bytes = bytes(&file.unchanged());

            mutate(&mut bytes, 0, &mutations);
            for offset in file.lookups.iter().map(|(offset, _)| offset).chain(&any) {
                let _ = object(&bytes, *offset, &Target::AMD64);
            }
        }
    }

    /// The bytes differ at each read. The model sees the bytes of each read.
    #[test]
    fn changing(
        entries in vec(entry(), 1..20),
        others in vec(entry(), 1..20),
        place in 64..200_usize,
        one_in in 1..=u8::MAX,
        nth in 0..8_u32,
        seed in any::<u64>(),
        any in vec(number(), 2),
    ) {
        let bytes = file(&entries, 62, place);
        let other = file(&others, 62, place);

        for offset in places(&entries, &any).into_iter().chain(places(&others, &[])) {
            for behaviour in [
                Behaviour::NoiseFrom(nth),
                Behaviour::Flicker(one_in),
                Behaviour::Alternate(&other),
                Behaviour::RewrittenAt(nth, &other),
            ] {
                let memory = Memory::behaving(&bytes, behaviour, seed ^ offset);
                let found = search(&memory, offset, &Target::AMD64, ENOUGH);
                prop_assert_ne!(found.result, Err(Error::Fault));
            }
        }
    }

    /// Reads fail, and units are few.
    #[test]
    fn refused(
        entries in vec(entry(), 1..140),
        hole in any::<Index>(),
        nth in 0..40_u32,
        units in 0..3000_u32,
        offset in number(),
    ) {
        let bytes = file(&entries, 62, 64);
        let hole = Behaviour::Hole(hole.index(bytes.len()) as u64);

        for behaviour in [Behaviour::FaultAt(nth), hole, Behaviour::Steady] {
            let memory = Memory::behaving(&bytes, behaviour, offset);
            search(&memory, offset, &Target::AMD64, units);
        }
    }
}
