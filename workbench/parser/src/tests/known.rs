// SPDX-License-Identifier: GPL-2.0

//! Corner cases.

use super::generator::{Parts, to_bytes};
use super::{ARCHES, ENOUGH, lookup, rule};
use crate::memory::Memory;
use crate::parse::sframe::Reason;
use crate::parse::{Error, Register, Rule, Value};
use crate::vectors::Arch;

/// The address of each table.
const BASE: u64 = 0x40_2000;
/// The address of the first function.
const TEXT: u64 = BASE + 0x1000;

/// A table of functions. All have the same attribute and rows. A start is relative to `TEXT`.
fn table(arch: Arch, functions: &[(i64, u32)], rows: &[u8]) -> Vec<u8> {
    let functions = functions.iter().map(|(start, size)| (0x1000 + start, *size, 0));

    Parts::new(arch, functions.collect(), rows.to_vec()).bytes()
}

/// The same with one row: the CFA is SP + 8.
fn one_row(arch: Arch, functions: &[(i64, u32)]) -> Vec<u8> {
    table(arch, functions, &[1, 0, 0, 0, 0, 0, 3, 8])
}

fn cfa_at(arch: Arch, word: i32) -> Rule {
    let ra = match arch {
        Arch::Amd64 => Value::AtCfa(-8),
        Arch::AArch64 => Value::Unchanged,
    };

    Rule::frame(Value::Register(Register::Sp, word), ra, Value::Unchanged).expect("a frame")
}

/// A lookup finds a function next to up to eight empty functions at its start.
#[test]
fn empty_neighbours() {
    for arch in ARCHES {
        let found = Ok(cfa_at(arch, 8));

        for empty in 0..20 {
            for before in 0..=empty {
                let mut functions = vec![(-0x10, 0x10)];
                functions.extend(vec![(0, 0); before]);
                functions.push((0, 0x10));
                functions.extend(vec![(0, 0); empty - before]);
                functions.push((0x10, 0x10));
                let table = one_row(arch, &functions);

                assert_eq!(rule(arch, &table, BASE, TEXT - 1), found);
                assert_eq!(rule(arch, &table, BASE, TEXT + 0x10), found);
                // A lookup looks past eight empty functions.
                let expected = if empty - before <= 8 { found } else { Err(Error::NotFound) };
                for pc in [TEXT, TEXT + 0xf] {
                    assert_eq!(
                        rule(arch, &table, BASE, pc),
                        expected,
                        "{before} of {empty} before"
                    );
                }
            }
        }
    }
}

/// A lookup in the longest function reads its rows once, in pieces.
#[test]
fn most_rows() {
    for arch in ARCHES {
        // Each row has one data byte.
        let mut rows = vec![0xff, 0xff, 1, 0, 0];
        for row in 0..65_535_u16 {
            rows.extend(to_bytes(row.into(), 2));
            rows.extend([3, row as u8 % 15]);
        }
        let table = table(arch, &[(0, 65_535)], &rows);
        let find = |units| lookup(arch, &Memory::new(&table), BASE, TEXT + 65_534, units);

        let found = find(ENOUGH);
        assert_eq!(found.result, Ok(cfa_at(arch, 14)));
        // One element: a step, and the read of the rest. A piece starts with the first row whose
        // head is not all in the last one, so it may leave out words, and reads no row twice.
        let len = 5 + 4 * 65_535_u32;
        let pieces = len.div_ceil(103);
        assert!((2 * 32 + len - pieces..=2 * 32 + len).contains(&found.spent));
        assert!(found.reads <= 2 + pieces, "{} reads", found.reads);
        for units in [0, 31, 32, 33, 100, found.spent - 1] {
            assert_eq!(find(units).result, Err(Error::Budget));
        }
    }
}

/// A row may be longer than the piece that the parser reads at once. The parser skips such a row,
/// although it does not know the meaning of its words, and finds the row behind it.
#[test]
fn longest_row() {
    for arch in ARCHES {
        for (kind, info) in [(0, 3_u8), (1, 0)] {
            let mut rows = to_bytes(2, 2);
            rows.extend([2, kind, 0]);
            rows.extend([0; 4]);
            // 15 words of four bytes.
            rows.push(0x40 | 15 << 1);
            rows.extend([0; 60]);
            rows.extend(to_bytes(4, 4));
            rows.push(info);
            rows.extend(vec![8; usize::from(info != 0)]);
            let table = table(arch, &[(0, 8)], &rows);
            let expected = if kind == 0 { cfa_at(arch, 8) } else { Rule::outermost() };

            assert_eq!(rule(arch, &table, BASE, TEXT + 4), Ok(expected));
            let place = (28 + 16 + 5 + 4) as u64;
            let found = rule(arch, &table, BASE, TEXT);
            assert_eq!(found, Err(Reason::WordCount.at(place)), "{arch:?}");
        }
    }
}

/// A function and a table may end at the end of the address space, but not wrap.
#[test]
fn end_of_address_space() {
    for arch in ARCHES {
        let table = one_row(arch, &[(0, 0x10)]);
        let base = u64::MAX - 0x1010;

        assert_eq!(rule(arch, &table, base, u64::MAX - 1), Ok(cfa_at(arch, 8)));
        let expected = Err(Reason::FunctionStart.at(0x1c));
        assert_eq!(rule(arch, &table, base + 1, u64::MAX), expected);

        // The address of an entry may wrap, and so may a start that is relative to it.
        let mut table = one_row(arch, &[(0, 0x10)]);
        table[3] = 5;
        table[0x1c..0x24].copy_from_slice(&to_bytes(-0x100, 8));
        for base in [u64::MAX - 0x1c, u64::MAX - 0x1b, u64::MAX] {
            let start = base.wrapping_add(0x1c).wrapping_sub(0x100);
            assert_eq!(rule(arch, &table, base, start), Ok(cfa_at(arch, 8)));
            assert_eq!(rule(arch, &table, base, start - 1), Err(Error::NotFound));
        }
    }
}

/// The parser also checks the row behind the found one, at any width of starts and any place.
#[test]
fn next_row() {
    for arch in ARCHES {
        for (code, width) in [(0, 1), (1, 2), (2, 4)] {
            for good in 1..40_u8 {
                let mut rows = to_bytes(i64::from(good) + 1, 2);
                rows.extend([code, 0, 0]);
                for start in 0..=good {
                    rows.extend(to_bytes(start.into(), width));
                    // One word of one byte.
                    rows.extend([3, 8]);
                }
                let info = rows.len() - 2;
                let table_of = |info_byte: u8| {
                    let mut rows = rows.clone();
                    rows[info] = info_byte;
                    table(arch, &[(0, 0x100)], &rows)
                };
                let find = |info_byte, pc| rule(arch, &table_of(info_byte), BASE, pc);
                let before = TEXT + u64::from(good) - 1;
                let place = (28 + 16 + info) as u64;

                assert_eq!(find(3, before), Ok(cfa_at(arch, 8)));
                assert_eq!(find(3, before + 1), Ok(cfa_at(arch, 8)));
                for pc in [before, before + 1] {
                    // An invalid width of words, and flags without words.
                    assert_eq!(find(0x63, pc), Err(Reason::WordWidth.at(place)));
                    assert_eq!(find(0x41, pc), Err(Reason::RowInfo.at(place)));
                }
                if good > 1 {
                    // The parser does not check further rows.
                    assert_eq!(find(0x63, before - 1), Ok(cfa_at(arch, 8)));
                }
            }
        }
    }
}
