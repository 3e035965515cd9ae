// SPDX-License-Identifier: GPL-2.0

//! Properties of searches in arbitrary headers, and in headers that change between reads.
//!
//! [`find`] compares each answer with that of the model.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{ENOUGH, Error, LARGE_PAGES, find};
use crate::memory::{Behaviour, Memory};
use crate::parse::elf::{Object, Target};
use crate::tests::cases;
use crate::tests::hostile::{mutate, mutation};
use crate::vectors::elf::FILES;

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

/// The answer if the whole file is mapped. [`find`] checks it.
fn search(bytes: &[u8], offset: u64, target: &Target) -> Result<Object, Error> {
    let memory = Memory::new(bytes);

    find(&memory, memory.len(), offset, target, ENOUGH).result
}

/// Each change of one byte.
#[test]
fn every_byte() {
    for file in FILES {
        let bytes: Vec<u8> = file.unchanged().first(usize::MAX).collect();
        let (mut same, mut different, mut absent) = (0, 0, 0);

        for at in 0..bytes.len() {
            for change in 1..=u8::MAX {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                for (offset, expected) in file.lookups.iter().step_by(2) {
                    let found = search(&bytes, *offset, &Target::AMD64);
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

proptest! {
    #![proptest_config(cases(4000))]

    /// Headers that are partly good.
    #[test]
    fn headers(
        entries in prop_oneof![4 => vec(entry(), 0..12), 1 => vec(entry(), 120..132)],
        place in 64..200_usize,
        cut in prop_oneof![4 => Just(0_usize), 1 => 0..64_usize],
        target in select(vec![Target::AMD64, LARGE_PAGES]),
        any in vec(number(), 4),
    ) {
        let mut bytes = file(&entries, target.machine, place);

        bytes.truncate(bytes.len().saturating_sub(cut));
        for offset in places(&entries, &any) {
            let _ = search(&bytes, offset, &target);
        }
    }

    /// Arbitrary bytes, alone and behind a good ELF header.
    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..600), any in vec(number(), 4)) {
        let mut headed = file(&[(0, 0, 0, 0, 0, 0, 0, 0); 3], 62, 64);

        headed.truncate(64);
        headed.extend(&bytes);
        for offset in any {
            let _ = search(&bytes, offset, &Target::AMD64);
            let _ = search(&headed, offset, &Target::AMD64);
        }
    }

    /// Good files, mutated.
    #[test]
    fn mutated(mutations in vec(mutation(), 1..6), any in vec(number(), 4)) {
        for file in FILES {
            let mut bytes: Vec<u8> = file.unchanged().first(usize::MAX).collect();

            mutate(&mut bytes, false, &mutations);
            for offset in file.lookups.iter().map(|(offset, _)| offset).chain(&any) {
                let _ = search(&bytes, *offset, &Target::AMD64);
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
                let found = find(&memory, memory.len(), offset, &Target::AMD64, ENOUGH);
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
            find(&memory, memory.len(), offset, &Target::AMD64, units);
        }
    }
}
