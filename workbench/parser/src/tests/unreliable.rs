// SPDX-License-Identifier: GPL-2.0

//! Tables that are partly unreadable, or change between reads.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::generator::tables;
use super::hostile::{mutate, mutation};
use super::vectors::changed;
use super::{ENOUGH, cases, lookup};
use crate::memory::{Behaviour, Memory};
use crate::parse::{Error, Rule};
use crate::vectors::{Arch, TABLES};

/// Lets each read of a lookup in `bytes` fail in turn. The result of `look` must then be a fault.
pub(super) fn fault_at_each_read(
    bytes: &[u8],
    pc: u64,
    look: impl Fn(&Memory<'_>) -> Result<Rule, Error>,
) {
    let steady = Memory::new(bytes);
    let expected = look(&steady);

    for nth in 0..=steady.reads() {
        let memory = Memory::behaving(bytes, Behaviour::FaultAt(nth), pc);
        let found = look(&memory);
        assert_eq!(memory.faulted(), nth < steady.reads());
        let expected = if memory.faulted() { Err(Error::Fault) } else { expected };
        assert_eq!(found, expected, "read {nth} at {pc:#x}");
    }
    assert_ne!(expected, Err(Error::Fault));
}

/// Lets each read of a byte at or after `hole` fail.
fn fault_from(arch: Arch, bytes: &[u8], base: u64, pc: u64, hole: u64) {
    let expected = lookup(arch, &Memory::new(bytes), base, pc, ENOUGH).result;
    let memory = Memory::behaving(bytes, Behaviour::Hole(hole), pc);
    let found = lookup(arch, &memory, base, pc, ENOUGH).result;
    let expected = if memory.faulted() { Err(Error::Fault) } else { expected };

    assert_eq!(found, expected, "hole at {hole:#x}, for {pc:#x}");
}

#[test]
fn vectors() {
    for table in TABLES {
        for (pc, _) in table.lookups {
            fault_at_each_read(table.bytes, *pc, |memory| {
                lookup(table.arch, memory, table.base, *pc, ENOUGH).result
            });
            for hole in 0..=table.bytes.len() as u64 {
                fault_from(table.arch, table.bytes, table.base, *pc, hole);
            }
        }
    }
    changed(TABLES, |table, vector, bytes, _| {
        fault_at_each_read(bytes, vector.pc, |memory| {
            lookup(table.arch, memory, table.base, vector.pc, ENOUGH).result
        });
    });
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn faults(
        built in tables(60),
        mutations in vec(mutation(), 0..4),
        holes in vec(any::<Index>(), 8),
    ) {
        let mut bytes = built.bytes.clone();

        for spoil in [false, true] {
            if spoil {
                mutate(&mut bytes, true, &mutations);
            }
            for pc in built.table.boundaries().into_iter().step_by(7) {
                fault_at_each_read(&bytes, pc, |memory| {
                    lookup(built.arch, memory, built.base, pc, ENOUGH).result
                });
                for hole in &holes {
                    fault_from(built.arch, &bytes, built.base, pc, hole.index(bytes.len() + 1) as u64);
                }
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
        mutate(&mut other, true, &mutations);
        other.resize(built.bytes.len(), 0);

        for pc in built.table.boundaries().into_iter().step_by(5) {
            let before = Memory::new(&built.bytes);
            let old = lookup(built.arch, &before, built.base, pc, ENOUGH).result;
            let new = lookup(built.arch, &Memory::new(&other), built.base, pc, ENOUGH).result;
            for nth in 0..=before.reads() {
                let behaviour = Behaviour::RewrittenAt(nth, &other);
                let memory = Memory::behaving(&built.bytes, behaviour, pc);
                let found = lookup(built.arch, &memory, built.base, pc, ENOUGH).result;
                prop_assert_ne!(found, Err(Error::Fault));
                if nth == 0 {
                    prop_assert_eq!(found, new);
                }
                if nth == before.reads() {
                    prop_assert_eq!(found, old);
                }
            }
        }
    }
}
