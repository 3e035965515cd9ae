// SPDX-License-Identifier: GPL-2.0

//! Properties of lookups in well-formed tables: the right answer at the right cost.

use proptest::collection::vec;
use proptest::prelude::*;

use super::generator::{Built, tables};
use super::{ENOUGH, cases, decode, lookup, table_len};
use crate::memory::Memory;
use crate::parse::Error;

/// The largest number of functions of a table.
const FUNCTIONS: usize = 200;
/// The cost of a read, at least, and of a step of a search.
const STEP: u32 = 32;
/// The number of bytes of rows that the parser reads at once.
const PIECE: usize = 104;
/// The largest number of bytes that rows of two pieces share.
const OVERLAP: usize = 64;

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

    /// A lookup searches once, looks at empty functions at the start that it finds, and reads the rows
    /// of one function in pieces, up to the row behind the found one.
    #[test]
    fn costs(built in tables(FUNCTIONS), picks in vec(any::<u64>(), 32)) {
        let functions = &built.table.functions;
        let steps = functions.len().checked_ilog2().map_or(0, |log| log + 1);

        for pc in addresses(&built, &picks) {
            let found = lookup(built.arch, &Memory::new(&built.bytes), built.base, pc, ENOUGH);
            // The lookup may look at all empty functions at this start, and at the function before
            // them.
            let start = functions.iter().map(|function| function.start).rfind(|start| *start <= pc);
            let here = functions.iter().zip(&built.rows_len).filter(|(function, _)| {
                Some(function.start) == start
            });
            let empty = here.clone().filter(|(function, _)| function.size == 0).count() as u32;
            let entries = if empty == 0 { 0 } else { empty + 1 };
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
            u32::from_le_bytes(bytes) as usize
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
