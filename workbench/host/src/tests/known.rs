// SPDX-License-Identifier: GPL-2.0

//! The vectors that the kernel's own tests use, and corners that deserve a table of their own.

use super::linear::Table;
use super::{ENOUGH, lookup, rule};
use crate::parse::{Base, Error, Frame, Malformed, Reason, Rule};
use crate::tests::memory::Memory;
use crate::vectors::{BASE, LOOKUPS, MALFORMED, TABLE};

#[test]
fn lookups() {
    for (pc, expected) in LOOKUPS {
        assert_eq!(rule(&TABLE, BASE, *pc), *expected, "at {pc:#x}");
    }
}

#[test]
fn malformed() {
    for (at, byte, pc, reason, offset) in MALFORMED {
        let mut table = TABLE;

        assert_ne!(table[*at], *byte, "no change at {at:#x}");
        table[*at] = *byte;
        let expected = Err(Error::Malformed(Malformed {
            reason: *reason,
            offset: *offset,
        }));
        assert_eq!(rule(&table, BASE, *pc), expected, "{byte:#x} at {at:#x}");
        assert_eq!(Table::decode(&table, BASE), None, "{byte:#x} at {at:#x}");
    }
}

/// The linear reader is right about the vectors, and the parser agrees with it everywhere.
#[test]
fn every_address() {
    let table = Table::decode(&TABLE, BASE).unwrap();

    for (pc, expected) in LOOKUPS {
        assert_eq!(table.rule(*pc).ok_or(Error::NotFound), *expected);
    }
    for pc in 0x40_0f00..0x40_1200 {
        let expected = table.rule(pc).ok_or(Error::NotFound);
        assert_eq!(rule(&TABLE, BASE, pc), expected, "at {pc:#x}");
    }
}

/// A table is as long as its header says, or longer.
#[test]
fn every_length() {
    for len in 0..TABLE.len() {
        let table = &TABLE[..len];
        let expected = if len + 1 < TABLE.len() {
            None
        } else {
            Some(())
        };
        let found = rule(table, BASE, 0x40_1020).ok().map(drop);
        assert_eq!(found, expected, "with {len} bytes");
    }
}

/// A table of functions at `BASE + 0x1000`, each with the one row of SP + 8 there is.
fn one_row(functions: &[(i64, u32)]) -> Vec<u8> {
    let count = functions.len() as u32;
    let mut table = vec![0xe2, 0xde, 3, 1, 3, 0, 0xf8, 0];

    for word in [count, count, 8, 0, 16 * count] {
        table.extend(word.to_le_bytes());
    }
    for (start, size) in functions {
        table.extend((0x1000 + start).to_le_bytes());
        table.extend(size.to_le_bytes());
        table.extend([0; 4]);
    }
    table.extend([1, 0, 0, 0, 0, 0, 3, 8]);
    table
}

const SP_8: Rule = Rule::Frame(Frame {
    base: Base::Sp,
    cfa: 8,
    ra: -8,
    fp: None,
});

/// Empty functions hide the one they stand next to from nobody, up to a number.
#[test]
fn empty_neighbours() {
    for empty in 0..20 {
        for before in 0..=empty {
            let mut functions = vec![(-0x10, 0x10)];
            functions.extend(vec![(0, 0); before]);
            functions.push((0, 0x10));
            functions.extend(vec![(0, 0); empty - before]);
            functions.push((0x10, 0x10));
            let table = one_row(&functions);

            assert_eq!(rule(&table, BASE, BASE + 0xfff), Ok(SP_8));
            assert_eq!(rule(&table, BASE, BASE + 0x1010), Ok(SP_8));
            // Eight are looked behind.
            let expected = if empty - before <= 8 {
                Ok(SP_8)
            } else {
                Err(Error::NotFound)
            };
            for pc in [BASE + 0x1000, BASE + 0x100f] {
                assert_eq!(
                    rule(&table, BASE, pc),
                    expected,
                    "{before} of {empty} before"
                );
            }
        }
    }
}

/// Of two functions that start at the same address, the later one in the index is asked.
#[test]
fn equal_starts() {
    let table = one_row(&[(0, 0x20), (0, 0x10), (0, 0)]);

    assert_eq!(rule(&table, BASE, BASE + 0x100f), Ok(SP_8));
    assert_eq!(rule(&table, BASE, BASE + 0x1010), Err(Error::NotFound));
}

/// A table of a function of 65,535 rows, of one data byte each.
fn many_rows() -> Vec<u8> {
    let mut table = one_row(&[(0, 65_535)]);
    let mut rows = vec![0xff, 0xff, 1, 0, 0];

    for row in 0..65_535_u16 {
        rows.extend(row.to_le_bytes());
        rows.extend([3, row as u8]);
    }
    table.truncate(28 + 16);
    table[0x10..0x14].copy_from_slice(&(rows.len() as u32).to_le_bytes());
    table.extend(rows);
    table
}

/// The largest function there can be costs what its rows cost, and no more than one is ready to
/// pay.
#[test]
fn most_rows() {
    let table = many_rows();
    let memory = Memory::new(&table);
    let found = lookup(&memory, BASE, BASE + 0x1000 + 65_534, ENOUGH);
    let Ok(Rule::Frame(frame)) = found.result else {
        panic!("{:?}", found.result);
    };

    assert_eq!(frame.cfa, -2);
    assert_eq!(found.spent, 4 + 65_535);
    // Bytes are read once, in pieces of about 64.
    assert!(found.reads < 4400, "{} reads", found.reads);

    for units in [0, 3, 4, 5, 100, 4 + 65_534] {
        let memory = Memory::new(&table);
        let lookup = lookup(&memory, BASE, BASE + 0x1000 + 65_534, units);
        assert_eq!(lookup.result, Err(Error::Budget));
    }
}

/// The error of the table with `byte` at `at`.
fn reason(at: usize, byte: u8) -> Option<Reason> {
    let mut table = TABLE;

    table[at] = byte;
    match rule(&table, BASE, BASE - 0x1058) {
        Err(Error::Malformed(malformed)) => Some(malformed.reason),
        _ => None,
    }
}

/// All values of bytes of which most are undefined, in the header, an attribute and a row.
#[test]
fn undefined_values() {
    for byte in 0..=u8::MAX {
        if byte & !5 != 0 {
            assert_eq!(reason(0x03, byte), Some(Reason::Flags), "{byte:#x}");
        }
        if byte & 0x60 != 0 || byte & 0xf > 2 {
            // A block without a size is wrong, too.
            let found = reason(0x85, byte);
            let block = byte & 0x70 == 0x10 && found == Some(Reason::BlockSize);
            assert!(block || found == Some(Reason::FunctionInfo), "{byte:#x}");
        }
        if byte > 1 {
            assert_eq!(reason(0x86, byte), Some(Reason::FunctionInfo), "{byte:#x}");
        }
        let words = (byte >> 1) & 0xf;
        if byte & 0x80 != 0 || byte & 0x60 == 0x60 || (words == 0 && byte != 0) {
            assert_eq!(reason(0x89, byte), Some(Reason::RowInfo), "{byte:#x}");
        } else if words > 2 {
            // Unless what follows these words is no row, which is met before.
            assert!(reason(0x89, byte).is_some(), "{byte:#x}");
        }
    }
}

/// A function may end at the end of the address space, not beyond.
#[test]
fn end_of_address_space() {
    let table = one_row(&[(0, 0x10)]);
    let base = u64::MAX - 0x1010;

    assert_eq!(rule(&table, base, u64::MAX - 1), Ok(SP_8));
    let expected = Err(Reason::FunctionStart.at(0x1c));
    assert_eq!(rule(&table, base + 1, u64::MAX), expected);
}
