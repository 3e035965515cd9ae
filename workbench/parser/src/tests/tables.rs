// SPDX-License-Identifier: GPL-2.0

//! Properties of lookups in SFrame tables: well-formed, mutated, partly unreadable, and changing.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::generator::{Built, header, tables, to_bytes};
use super::{ARCHES, ENOUGH, budget, cases, decode, faults, lookup, rule, table_len};
use crate::memory::{Behaviour, Memory};
use crate::parse::Error;
use crate::vectors::{Arch, TABLES};

/// The largest number of functions of a table.
const FUNCTIONS: usize = 200;
/// The cost of a read, at least, and of a step of a search.
const STEP: u32 = 32;
/// The number of bytes of rows that the parser reads at once.
const PIECE: usize = 104;
/// The largest number of bytes that rows of two pieces share.
const OVERLAP: usize = 64;

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

/// Applies mutations. If `first` bytes are spared, as a header, lookups get to the other parts.
pub(super) fn mutate(bytes: &mut Vec<u8>, first: usize, mutations: &[Mutation]) {
    for mutation in mutations {
        let len = bytes.len();
        if len <= first {
            return;
        }
        let place = |at: &Index| first + at.index(len - first);
        let copy = |bytes: &mut Vec<u8>, at, piece: &[u8]| {
            bytes.iter_mut().skip(at).zip(piece).for_each(|(to, from)| *to = *from);
        };

        match mutation {
            Mutation::Flip(at, bit) => bytes[place(at)] ^= 1 << bit,
            Mutation::Set(at, byte) => bytes[place(at)] = *byte,
            Mutation::Number(at, number) => copy(bytes, place(at) & !3, &number.to_le_bytes()),
            Mutation::Truncate(at) => bytes.truncate(place(at)),
            Mutation::Splice(from, to, count) => {
                let from = from.index(len);
                let piece = bytes[from..len.min(from + count)].to_vec();
                copy(bytes, place(to), &piece);
            }
            Mutation::Remove(at, count) => {
                bytes.drain(place(at)..len.min(place(at) + count));
            }
        }
    }
}

/// Looks up `picks`. If `bytes` are well-formed, also compares all answers with the linear reader.
fn survive(arch: Arch, bytes: &[u8], base: u64, picks: &[u64]) {
    for pc in picks {
        for units in [ENOUGH, *pc as u32 % 64] {
            lookup(arch, &Memory::new(bytes), base, *pc, units);
        }
    }
    let Some(table) = decode(arch, bytes, base) else {
        return;
    };
    for pc in table.boundaries().iter().chain(picks) {
        assert_eq!(rule(arch, bytes, base, *pc), table.rule(*pc), "at {pc:#x}");
    }
}

/// The starts of functions, addresses in them or just behind, and `any`.
fn picks(built: &Built, any: &[u64]) -> Vec<u64> {
    let near = built.table.0.iter().zip(any.iter().cycle()).flat_map(|(function, pick)| {
        let offset = pick % (u64::from(function.size).min(0x200) + 2);
        [function.start, function.start.saturating_add(offset)]
    });

    near.chain(any.iter().copied()).collect()
}

proptest! {
    #![proptest_config(cases(300))]

    /// The parser finds the meaning of the table, and a lookup has its price: it searches once,
    /// looks at empty functions at the start that it finds, and reads the rows of one function in
    /// pieces, up to the row behind the found one.
    #[test]
    fn meaning_and_costs(built in tables(FUNCTIONS), any in vec(any::<u64>(), 32)) {
        let functions = &built.table.0;
        let steps = functions.len().checked_ilog2().map_or(0, |log| log + 1);

        for pc in built.table.boundaries().into_iter().chain(picks(&built, &any)) {
            let found = lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, ENOUGH);
            prop_assert_eq!(found.result, built.table.rule(pc), "at {:#x}", pc);

            let start = built.table.candidates(pc).next().map(|function| function.start);
            let here = functions.iter().zip(&built.rows_len);
            let here = here.filter(|(function, _)| Some(function.start) == start);
            let empty = here.clone().filter(|(function, _)| function.size == 0).count() as u32;
            // One more, which is not empty, or starts elsewhere.
            let entries = if empty == 0 { 0 } else { empty.min(8) + 1 };
            let len = here.map(|(_, len)| *len).max().unwrap_or(0);
            // And the words of the found row, if it is at the end of a piece.
            let pieces = 2 + (len / (PIECE - OVERLAP)) as u32;
            let price = STEP * (steps + 1 + entries) + PIECE as u32 * pieces;

            prop_assert!(found.spent <= price, "{} units at {:#x}", found.spent, pc);
            let reads = steps + 1 + entries + pieces;
            prop_assert!(found.reads <= reads, "{} reads at {:#x}", found.reads, pc);
        }
    }

    /// A lookup succeeds with units for its cost, and fails with less.
    #[test]
    fn budgets(built in tables(60), pick: Index) {
        let pcs = built.table.boundaries();
        let pc = *pick.get(&pcs);

        budget(|units| lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, units));
    }

    /// The parser accepts a table of the length that its header says, and no shorter one.
    #[test]
    fn length(built in tables(20)) {
        let number = |at: usize| {
            let bytes: [u8; 4] = *built.bytes[at..].first_chunk().unwrap();
            u32::from_le_bytes(bytes) as usize
        };
        let header_len = 28 + usize::from(built.bytes[7]);
        let index_end = number(0x14) + 16 * number(0x08);
        let rows_end = number(0x18) + number(0x10);
        let needed = header_len + index_end.max(rows_end);

        for len in 0..=built.bytes.len() {
            let accepted = table_len(built.arch, &built.bytes[..len]);
            prop_assert_eq!(accepted, (len >= needed).then_some(needed as u64), "{} bytes", len);
        }
    }

    /// Reads fail, in a good table and in a mutated one.
    #[test]
    fn unreadable(
        built in tables(60),
        mutations in vec(mutation(), 0..4),
        holes in vec(any::<Index>(), 8),
    ) {
        let mut mutated = built.bytes.clone();

        mutate(&mut mutated, 28, &mutations);
        for bytes in [&built.bytes, &mutated] {
            for pc in built.table.boundaries().into_iter().step_by(7) {
                let holes = holes.iter().map(|hole| hole.index(bytes.len() + 1) as u64);
                let look = |memory: &Memory<'_>| lookup(built.arch, memory, built.base, pc, ENOUGH).result;
                faults(bytes, holes, look);
            }
        }
    }

    /// The bytes differ at each read.
    #[test]
    fn changing(
        built in tables(60),
        other in tables(60),
        one_in in 1..=u8::MAX,
        seeds in vec(any::<u64>(), 4),
    ) {
        for pc in built.table.boundaries().into_iter().step_by(5) {
            for behaviour in [
                Behaviour::NoiseFrom(u32::from(one_in) % 8),
                Behaviour::Flicker(one_in),
                Behaviour::Alternate(&other.bytes),
            ] {
                for seed in &seeds {
                    let memory = Memory::behaving(&built.bytes, behaviour, *seed);
                    let found = lookup(built.arch, &memory, built.base, pc, ENOUGH).result;
                    prop_assert_ne!(found, Err(Error::Fault));
                }
            }
        }
    }

    /// Another table replaces the table between two reads. Before the first read, the answer is
    /// that of the new table; after the last one, that of the old table. In between, any answer is
    /// allowed.
    #[test]
    fn rewritten(built in tables(60), mutations in vec(mutation(), 0..4)) {
        let mut other = built.bytes.clone();
        mutate(&mut other, 28, &mutations);
        other.resize(built.bytes.len(), 0);

        for pc in built.table.boundaries().into_iter().step_by(5) {
            let before = Memory::new(&built.bytes);
            let old = lookup(built.arch, &before, built.base, pc, ENOUGH).result;
            let new = rule(built.arch, &other, built.base, pc);
            for nth in 0..=before.reads() {
                let behaviour = Behaviour::RewrittenAt(nth, &other);
                let memory = Memory::behaving(&built.bytes, behaviour, pc);
                let found = lookup(built.arch, &memory, built.base, pc, ENOUGH).result;
                prop_assert_ne!(found, Err(Error::Fault));
                prop_assert!(nth != 0 || found == new);
                prop_assert!(nth != before.reads() || found == old);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    /// Arbitrary bytes, alone and behind a header that has functions.
    #[test]
    fn bytes(
        mut bytes in vec(any::<u8>(), 0..600),
        base in prop_oneof![any::<u64>(), (0..0x1000_u64).prop_map(|below| u64::MAX - below)],
        mut picks in vec(any::<u64>(), 8),
        functions in 0..16_usize,
        (pc_relative, tame) in any::<(bool, bool)>(),
        arch in select(ARCHES.to_vec()),
    ) {
        survive(arch, &bytes, base, &picks);

        let index = 16 * functions;
        let numbers = [functions, 0, bytes.len().saturating_sub(index), 0, index];
        if tame {
            // All functions start at the base, and their rows are near the first ones.
            for entry in bytes.chunks_exact_mut(16).take(functions) {
                let near = entry[12].into();
                entry[..8].fill(0);
                entry[12..].copy_from_slice(&to_bytes(near, 4));
            }
        }
        let table = [header(arch, pc_relative, &[], numbers), bytes].concat();
        picks.extend(picks.clone().iter().map(|pick| base.wrapping_add(pick >> 40)));
        survive(arch, &table, base, &picks);
    }

    /// A well-formed table and the vectors', mutated; and the front of the one with the back of
    /// another.
    #[test]
    fn mutated(
        built in tables(60),
        other in tables(60),
        mutations in vec(mutation(), 1..6),
        spare_header in prop::bool::weighted(0.7),
        at: Index,
        any in vec(any::<u64>(), 8),
    ) {
        let first = if spare_header { 28 } else { 0 };
        let mut bytes = built.bytes.clone();
        mutate(&mut bytes, first, &mutations);
        survive(built.arch, &bytes, built.base, &picks(&built, &any));

        let at = at.index(built.bytes.len());
        let spliced = [&built.bytes[..at], other.bytes.get(at..).unwrap_or(&[])].concat();
        survive(built.arch, &spliced, built.base, &picks(&built, &any));
        survive(other.arch, &spliced, other.base, &picks(&other, &any));

        for table in TABLES {
            let mut bytes = table.bytes.to_vec();
            let picks: Vec<u64> = table.lookups.iter().map(|(pc, _)| *pc).chain(any.clone()).collect();
            mutate(&mut bytes, first, &mutations);
            survive(table.arch, &bytes, table.base, &picks);
        }
    }
}
