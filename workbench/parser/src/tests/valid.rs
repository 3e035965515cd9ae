// SPDX-License-Identifier: GPL-2.0

//! Properties of lookups in well-formed tables: the right answer at the right cost.

use proptest::collection::vec;
use proptest::prelude::*;

use super::generator::{Built, tables};
use super::{ENOUGH, cases, decode, lookup, table_len};
use crate::memory::Memory;
use crate::parse::Error;
use crate::vectors::Arch;

/// The largest number of functions of a table.
const FUNCTIONS: usize = 200;
/// The number of bytes of rows that the parser reads at once.
const WINDOW: usize = 64;
/// The cost of the search for a function.
const FIND: u32 = 32;
/// The cost of the rows that are read at once behind those that the search has read.
const READ_ON: u32 = 64;
/// How many bytes of these are new at least.
const PIECE: usize = 232 - 4 * 13;
/// The largest cost of an unusual row: the parser reads and skips it, and reads it again.
const STEP: u32 = 14;

/// The addresses where answers change, and the given addresses, also moved near functions.
fn addresses(built: &Built, picks: &[u64]) -> Vec<u64> {
    let mut addresses = built.table.boundaries();

    addresses.extend(picks);
    for pick in picks {
        let nth = *pick as u8 as usize;
        if let Some(function) = built.table.functions.iter().cycle().nth(nth) {
            let offset = (pick >> 8) % (u64::from(function.size) + 2);
            addresses.push(function.start.saturating_add(offset));
        }
    }
    addresses
}

proptest! {
    #![proptest_config(cases(300))]

    /// A lookup at the start of each row finds this row, or the last one with this start.
    #[test]
    fn all(built in tables(60)) {
        let table = decode(built.arch, &built.bytes, built.base);
        prop_assert_eq!(table.as_ref(), Some(&built.table));

        for function in &built.table.functions {
            let end = function.block.map_or(function.size, |block| function.size.min(block.into()));
            let is_last = |nth: usize, start| {
                function.rows.get(nth + 1).is_none_or(|next| next.start != start)
            };
            let rows = function.rows.iter().enumerate();
            let rows = rows.filter(|(nth, row)| row.start < end && is_last(*nth, row.start));
            for (_, row) in rows {
                let pc = function.start + u64::from(row.start);
                let found = lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, ENOUGH);
                // A later function that starts at or before `pc` hides this one.
                let hidden = built.table.functions.iter().rfind(|other| {
                    other.start <= pc && other.size != 0
                });
                if hidden == Some(function) {
                    prop_assert_eq!(found.result, Ok(row.rule), "at {:#x}", pc);
                }
            }
        }
    }

    /// The parser and the linear reader find the meaning of the table.
    #[test]
    fn meaning(built in tables(FUNCTIONS), picks in vec(any::<u64>(), 32)) {
        let decoded = decode(built.arch, &built.bytes, built.base);
        prop_assert_eq!(decoded.as_ref(), Some(&built.table));
        prop_assert!(!built.table.is_crowded());

        for pc in addresses(&built, &picks) {
            let found = lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, ENOUGH).result;
            let meant = built.table.rule(pc).ok_or(Error::NotFound);
            prop_assert_eq!(found, meant, "at {:#x}", pc);
        }
    }

    /// A lookup reads as many entries as a binary search needs, twice if it finds none, and reads
    /// rows of the usual size once.
    #[test]
    fn reads(built in tables(FUNCTIONS), picks in vec(any::<u64>(), 32)) {
        let functions = &built.table.functions;
        // The starts of the search, and two more numbers of the last entry.
        let search = functions.len().checked_ilog2().map_or(0, |log| log + 3);

        for pc in addresses(&built, &picks) {
            let found = lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, ENOUGH);
            // The lookup may look at all empty functions at this start, and at the function before
            // them.
            let start = functions.iter().map(|function| function.start).rfind(|start| *start <= pc);
            let here = functions.iter().zip(&built.rows_len).filter(|(function, _)| {
                Some(function.start) == start
            });
            let empty = here.clone().filter(|(function, _)| function.size == 0).count() as u32;
            let searches = if start.is_none() { 2 } else { 1 };
            let entries = searches * search + if empty == 0 { 0 } else { empty + 1 };
            if here.clone().all(|(_, len)| *len <= WINDOW) {
                let reads = found.reads;
                // A large block is read in 29 words. Then there are three reads of unusual rows:
                // the first rows, the rows behind them, and words of a row before these.
                prop_assert!(reads <= entries + 29 + 3, "{} reads at {:#x}", reads, pc);
            }
            // The lookup reads the rows up to the one behind the found one.
            let pieces = here.clone().map(|(_, len)| 1 + len / PIECE).max().unwrap_or(0);
            let rows = here.map(|(function, _)| {
                let block = function.block.map_or(u64::MAX, u64::from);
                let wanted = (pc - function.start) % block;
                let rows = &function.rows;
                let passed = rows.iter().filter(|row| u64::from(row.start) <= wanted).count();
                rows.len().min(passed + 1) as u32
            });
            let price = FIND * (searches + if empty == 0 { 0 } else { empty + 1 })
                + READ_ON * pieces as u32
                + STEP * rows.max().unwrap_or(0);
            prop_assert!(found.spent <= price, "{} units at {:#x}", found.spent, pc);
        }
    }

    /// A lookup succeeds with a budget of its cost, and fails with less.
    #[test]
    fn budget(built in tables(FUNCTIONS), picks in vec(any::<u64>(), 4), less in any::<u32>()) {
        for pc in addresses(&built, &picks) {
            let with = |units| lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, units);
            let all = with(ENOUGH);

            let exact = with(all.spent);
            prop_assert_eq!(exact.result, all.result);
            prop_assert_eq!(exact.spent, all.spent);
            prop_assert_eq!(exact.reads, all.reads);
            if let Some(most) = all.spent.checked_sub(1) {
                for units in [most, less % all.spent, 0] {
                    prop_assert_eq!(with(units).result, Err(Error::Budget));
                }
            }
        }
    }

    /// The parser accepts a table of the length that its header says, and no shorter one.
    #[test]
    fn length(built in tables(20)) {
        let number = |at: usize| {
            let bytes: [u8; 4] = *built.bytes[at..].first_chunk().unwrap();
            match built.arch {
                Arch::S390x => u32::from_be_bytes(bytes) as usize,
                _ => u32::from_le_bytes(bytes) as usize,
            }
        };
        let header_len = 28 + usize::from(built.bytes[7]);
        let index_end = number(0x14) + 16 * number(0x08);
        let rows_end = number(0x18) + number(0x10);
        let needed = header_len + index_end.max(rows_end);

        for len in 0..=built.bytes.len() {
            let accepted = table_len(built.arch, &built.bytes[..len]);
            let expected = (len >= needed).then_some(needed as u64);
            prop_assert_eq!(accepted, expected, "with {} bytes", len);
        }
    }
}
