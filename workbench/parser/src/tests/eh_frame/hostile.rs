// SPDX-License-Identifier: GPL-2.0

//! Changed tables, and tables that change between reads.
//!
//! `lookup()` checks each answer.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::cases;
use super::{ENOUGH, lookup};
use crate::memory::{Behaviour, Memory};
use crate::parse::Error;
use crate::vectors::{EH_FRAME_TABLES, Table};

/// The addresses of the vectors.
fn pcs(table: &Table) -> impl Iterator<Item = u64> + '_ {
    table.lookups.iter().map(|(pc, _)| *pc)
}

/// Each byte takes each value. A lookup must stay cheap.
#[test]
fn every_byte() {
    for table in EH_FRAME_TABLES {
        let mut bytes = table.bytes.to_vec();

        for at in 0..bytes.len() {
            let before = bytes[at];
            for value in 0..=u8::MAX {
                bytes[at] = value;
                for pc in pcs(table).step_by(3) {
                    let spent = lookup(table, &Memory::new(&bytes), pc, ENOUGH).spent;
                    // A lookup reads at most the whole table, twice, in pieces of 8 bytes at least.
                    assert!(spent <= 32 * 8 + 2 * 4 * bytes.len() as u32, "{spent} units");
                }
            }
            bytes[at] = before;
        }
    }
}

#[test]
fn every_length() {
    for table in EH_FRAME_TABLES {
        for len in 0..table.bytes.len() {
            for pc in pcs(table) {
                let found = lookup(table, &Memory::new(&table.bytes[..len]), pc, ENOUGH).result;
                assert_ne!(found, Err(Error::Fault));
            }
        }
    }
}

/// A lookup in a very long record ends when its units are used up.
#[test]
fn a_long_program() {
    let table = EH_FRAME_TABLES[0];
    let mut bytes = table.bytes.to_vec();

    bytes.resize(1 << 20, 0);
    bytes[0x9c..0xa0].copy_from_slice(&((1u32 << 20) - 0xa0).to_le_bytes());
    bytes[0xad..].fill(0);
    for units in [1_000, 27_648, 110_592] {
        let found = lookup(table, &Memory::new(&bytes), 0x40_1000, units);
        assert_eq!((found.result, found.spent), (Err(Error::Budget), units));
    }
    // A byte costs a unit, beside some 10 pieces that are short, and the search.
    for len in [1024, 24 * 1024] {
        bytes[0x9c..0xa0].copy_from_slice(&(len + 16u32).to_le_bytes());
        let found = lookup(table, &Memory::new(&bytes), 0x40_1000, ENOUGH);
        assert!((len..len + 32 * 16).contains(&found.spent), "{} units", found.spent);
    }
}

proptest! {
    #![proptest_config(cases(3000))]

    /// Some bytes are changed.
    #[test]
    fn mutated(
        nth in 0..EH_FRAME_TABLES.len(),
        changes in vec((any::<Index>(), any::<u8>()), 1..12),
    ) {
        let table = EH_FRAME_TABLES[nth];
        let mut bytes = table.bytes.to_vec();

        for (at, value) in changes {
            *at.get_mut(&mut bytes[..]) = value;
        }
        for pc in pcs(table) {
            lookup(table, &Memory::new(&bytes), pc, ENOUGH);
        }
    }

    /// The bytes differ at each read.
    #[test]
    fn changing(nth in 0..EH_FRAME_TABLES.len(), seed in any::<u64>(), one_in in 1..=u8::MAX, from in 0..8u32) {
        let table = EH_FRAME_TABLES[nth];

        for behaviour in [Behaviour::NoiseFrom(from), Behaviour::Flicker(one_in)] {
            for pc in pcs(table) {
                let memory = Memory::behaving(table.bytes, behaviour, seed);
                let found = lookup(table, &memory, pc, ENOUGH).result;
                prop_assert_ne!(found, Err(Error::Fault));
            }
        }
    }
}
