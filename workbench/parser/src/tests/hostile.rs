// SPDX-License-Identifier: GPL-2.0

//! Properties of lookups in arbitrary and mutated tables: each ends, and breaks no promise.
//!
//! [`lookup`] and [`Memory`] check the places and number of reads, and the budget.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::generator::{Built, preamble, tables};
use super::words::to_bytes;
use super::{ARCHES, ENOUGH, cases, decode, lookup};
use crate::memory::Memory;
use crate::parse::Error;
use crate::vectors::{Arch, TABLES};

/// A change of a table.
#[derive(Clone, Debug)]
pub(super) enum Mutation {
    Flip(Index, u8),
    Set(Index, u8),
    /// Sets four aligned bytes, as numbers in the header and the index are.
    Number(Index, u32),
    Truncate(Index),
    /// Copies bytes from one place to another one.
    Splice(Index, Index, usize),
    Remove(Index, usize),
}

pub(super) fn mutation() -> impl Strategy<Value = Mutation> {
    let number = prop_oneof![
        any::<u32>(),
        (0..64_u32).prop_map(|number| number << 26),
        (-64..64_i32).prop_map(|number| number as u32),
    ];

    prop_oneof![
        4 => (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Mutation::Flip(at, bit)),
        4 => any::<(Index, u8)>().prop_map(|(at, byte)| Mutation::Set(at, byte)),
        2 => (any::<Index>(), number).prop_map(|(at, number)| Mutation::Number(at, number)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
        2 => (any::<Index>(), any::<Index>(), 1..64_usize)
            .prop_map(|(from, to, len)| Mutation::Splice(from, to, len)),
        1 => (any::<Index>(), 1..20_usize).prop_map(|(at, len)| Mutation::Remove(at, len)),
    ]
}

impl Mutation {
    /// Changes `bytes`, but not before byte `first`.
    fn apply(&self, bytes: &mut Vec<u8>, first: usize) {
        let len = bytes.len();
        if len <= first {
            return;
        }
        let place = |at: &Index| first + at.index(len - first);

        match self {
            Mutation::Flip(at, bit) => bytes[place(at)] ^= 1 << bit,
            Mutation::Set(at, byte) => bytes[place(at)] = *byte,
            Mutation::Number(at, number) => {
                let at = place(at) & !3;
                for (to, from) in bytes.iter_mut().skip(at).zip(number.to_le_bytes()) {
                    *to = from;
                }
            }
            Mutation::Truncate(at) => bytes.truncate(place(at)),
            Mutation::Splice(from, to, count) => {
                let from = from.index(len);
                let piece = bytes[from..len.min(from + count)].to_vec();
                for (to, from) in bytes.iter_mut().skip(place(to)).zip(piece) {
                    *to = from;
                }
            }
            Mutation::Remove(at, count) => {
                let at = place(at);
                bytes.drain(at..len.min(at + count));
            }
        }
    }
}

/// Applies mutations. If the header is spared, lookups get to the other parts.
pub(super) fn mutate(bytes: &mut Vec<u8>, spare_header: bool, mutations: &[Mutation]) {
    for mutation in mutations {
        mutation.apply(bytes, if spare_header { 28 } else { 0 });
    }
}

/// Looks up `picks`. If `bytes` are well-formed, also compares all answers with the linear reader.
fn survive(arch: Arch, bytes: &[u8], base: u64, picks: &[u64]) {
    for pc in picks {
        for units in [ENOUGH, *pc as u32 % 64] {
            lookup(arch, &Memory::new(bytes), base, *pc, units);
        }
    }
    let Some(table) = decode(arch, bytes, base).filter(|table| !table.is_crowded()) else {
        return;
    };
    for pc in table.boundaries() {
        let found = lookup(arch, &Memory::new(bytes), base, pc, ENOUGH).result;
        assert_eq!(found, table.rule(pc).ok_or(Error::NotFound), "at {pc:#x}");
    }
}

/// The starts of functions, addresses near them, and `any`.
fn picks(built: &Built, any: &[u64]) -> Vec<u64> {
    let starts = built.table.functions.iter().map(|function| function.start);
    let mut picks: Vec<u64> = starts.clone().collect();

    picks.extend(any);
    picks.extend(
        starts.zip(any.iter().cycle()).map(|(start, pick)| start.saturating_add(pick % 0x200)),
    );
    picks
}

proptest! {
    #![proptest_config(cases(2000))]

    /// Arbitrary bytes.
    #[test]
    fn bytes(
        bytes in vec(any::<u8>(), 0..400),
        base in any::<u64>(),
        picks in vec(any::<u64>(), 8),
        arch in prop::sample::select(ARCHES.to_vec()),
    ) {
        survive(arch, &bytes, base, &picks);
    }

    /// Arbitrary bytes behind a header that has functions.
    #[test]
    fn bytes_after_a_header(
        mut rest in vec(any::<u8>(), 0..600),
        base in prop_oneof![any::<u64>(), (0..0x1000_u64).prop_map(|below| u64::MAX - below)],
        picks in vec(any::<u64>(), 8),
        functions in 0..16_u64,
        pc_relative in any::<bool>(),
        tame in any::<bool>(),
        arch in prop::sample::select(ARCHES.to_vec()),
    ) {
        let rows = 16 * functions;
        let mut table = preamble(arch, 1 | u8::from(pc_relative) << 2, 0);

        for number in [functions, 0, (rest.len() as u64).saturating_sub(rows), 0, rows] {
            table.extend(to_bytes(number, 4));
        }
        if tame {
            // All functions start at the base, and their rows are near the first ones.
            for entry in rest.chunks_exact_mut(16).take(functions as usize) {
                let near = u64::from(entry[12]);
                entry[..8].fill(0);
                entry[12..].copy_from_slice(&to_bytes(near, 4));
            }
        }
        table.extend(rest);
        survive(arch, &table, base, &picks);
        let near: Vec<u64> = picks.iter().map(|pick| base.wrapping_add(pick >> 40)).collect();
        survive(arch, &table, base, &near);
    }

    /// The vectors' tables, mutated.
    #[test]
    fn mutated_vectors(
        mutations in vec(mutation(), 1..6),
        spare_header in any::<bool>(),
        any in vec(any::<u64>(), 4),
    ) {
        for table in TABLES {
            let mut bytes = table.bytes.to_vec();
            let mut picks: Vec<u64> = table.lookups.iter().map(|(pc, _)| *pc).collect();

            picks.extend(&any);
            mutate(&mut bytes, spare_header, &mutations);
            survive(table.arch, &bytes, table.base, &picks);
        }
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    /// A well-formed table, mutated.
    #[test]
    fn mutated_tables(
        built in tables(60),
        mutations in vec(mutation(), 1..6),
        spare_header in prop::bool::weighted(0.7),
        any in vec(any::<u64>(), 8),
    ) {
        let mut bytes = built.bytes.clone();

        mutate(&mut bytes, spare_header, &mutations);
        survive(built.arch, &bytes, built.base, &picks(&built, &any));
    }

    /// The front of a well-formed table, and the back of another one.
    #[test]
    fn spliced_tables(
        built in tables(60),
        other in tables(60),
        at in any::<Index>(),
        any in vec(any::<u64>(), 8),
    ) {
        let at = at.index(built.bytes.len());
        let mut bytes = built.bytes[..at].to_vec();

        bytes.extend(other.bytes.iter().skip(at));
        survive(built.arch, &bytes, built.base, &picks(&built, &any));
        survive(other.arch, &bytes, other.base, &picks(&other, &any));
    }
}
