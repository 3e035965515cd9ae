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
                    // A lookup reads at most the whole table, twice.
                    assert!(spent <= 32 + 2 * (7 + 3 * bytes.len() as u32), "{spent} units");
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

const REMEMBER_STATE: u8 = 0x0a;
const RESTORE_STATE: u8 = 0x0b;

/// The budget ends the lookup in a very long record.
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
    // This is the longest program that the budget of a lookup pays for.
    let mut most = 0;
    for len in (0..).step_by(1024) {
        bytes[0x9c..0xa0].copy_from_slice(&(len + 16u32).to_le_bytes());
        let found = lookup(table, &Memory::new(&bytes), 0x40_1000, 27_648);
        if found.result == Err(Error::Budget) {
            break;
        }
        most = len;
    }
    assert!((24_000..26_000).contains(&most), "{most} bytes");

    // To remember a state and to restore it costs two more units each, wherever a block ends.
    bytes[0x9c..0xa0].copy_from_slice(&(16u32 + 1025).to_le_bytes());
    let spent = |bytes: &[u8]| lookup(table, &Memory::new(bytes), 0x40_1000, ENOUGH).spent;
    let nops = spent(&bytes);
    let program = &mut bytes[0xad..0xa0 + 16 + 1025];
    for (nth, code) in program.iter_mut().enumerate() {
        *code = if nth % 2 == 0 { REMEMBER_STATE } else { RESTORE_STATE };
    }
    let codes = program.len() as u32;
    assert_eq!(spent(&bytes), nops + 2 * codes);
}

proptest! {
    #![proptest_config(cases(3000))]

    /// Some bytes are changed.
    #[test]
    fn mutated(
        nth in 0..3usize,
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
    fn changing(nth in 0..3usize, seed in any::<u64>(), one_in in 1..=u8::MAX, from in 0..8u32) {
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
