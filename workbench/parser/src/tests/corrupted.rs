// SPDX-License-Identifier: GPL-2.0

//! Each change of one byte in the vectors' tables.

use std::collections::BTreeSet;

use super::{ENOUGH, decode, lookup, rule};
use crate::memory::Memory;
use crate::parse::{Error, Rule};
use crate::vectors::{TABLES, Table};

/// The addresses where answers change in a table, and the ends of the address space.
fn addresses(table: &Table) -> BTreeSet<u64> {
    let decoded = decode(table.arch, table.bytes, table.base).expect(table.name);
    let mut addresses = BTreeSet::from([1, table.base, u64::MAX - 1]);

    addresses.extend(decoded.boundaries());
    addresses.extend(table.lookups.iter().map(|(pc, _)| pc));
    addresses
}

/// The answers of `bytes`, in place of `table`, at these addresses.
fn answers<'a>(
    table: &'a Table,
    bytes: &'a [u8],
    addresses: &'a BTreeSet<u64>,
) -> impl Iterator<Item = Result<Rule, Error>> + 'a {
    let answer = |pc: &u64| rule(table.arch, bytes, table.base, *pc);

    addresses.iter().map(answer)
}

/// A change breaks no promise. If the table stays well-formed, the parser gives its new answers.
fn every_byte_of(table: &Table) {
    let (mut good, mut different, mut malformed) = (0, 0, 0);
    let addresses = addresses(table);
    let before: Vec<_> = answers(table, table.bytes, &addresses).collect();

    for at in 0..table.bytes.len() {
        for change in 1..=u8::MAX {
            let mut bytes = table.bytes.to_vec();
            bytes[at] ^= change;

            let decoded = decode(table.arch, &bytes, table.base);
            good += u32::from(decoded.is_some());
            for (pc, before) in addresses.iter().zip(&before) {
                let memory = Memory::new(&bytes);
                let found = lookup(table.arch, &memory, table.base, *pc, ENOUGH).result;
                malformed += u32::from(matches!(found, Err(Error::Malformed(_))));
                if let Some(decoded) = &decoded {
                    let expected = decoded.rule(*pc).ok_or(Error::NotFound);
                    assert_eq!(found, expected, "{change:#x} at {at:#x}, for {pc:#x}");
                    different += u32::from(found != *before);
                }
            }
        }
    }
    // Enough changed tables must be well-formed, differ, and be malformed.
    let counts = (good, different, malformed);
    assert!(good > 5_000 && different > 20_000 && malformed > 400_000, "{counts:?}");
}

#[test]
fn every_byte_of_default_functions() {
    every_byte_of(TABLES[0]);
}

#[test]
fn every_byte_of_flexible_functions() {
    every_byte_of(TABLES[1]);
}

#[test]
fn every_byte_of_other_architectures() {
    for table in &TABLES[2..] {
        every_byte_of(table);
    }
}

/// Each byte of the rows affects an answer, so the vectors test each of them.
#[test]
fn every_byte_of_rows_counts() {
    for table in TABLES {
        let addresses = addresses(table);
        let before: Vec<_> = answers(table, table.bytes, &addresses).collect();
        let number = |at: usize| {
            let bytes = *table.bytes[at..].first_chunk().expect("a header");
            u32::from_le_bytes(bytes) as usize
        };
        let start = 28 + usize::from(table.bytes[7]) + number(0x18);

        for at in start..start + number(0x10) {
            let differs = (1..=u8::MAX).any(|change| {
                let mut bytes = table.bytes.to_vec();
                bytes[at] ^= change;
                !answers(table, &bytes, &addresses).eq(before.iter().copied())
            });
            assert!(differs, "{}: nothing depends on {at:#x}", table.name);
        }
    }
}
