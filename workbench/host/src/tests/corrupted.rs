// SPDX-License-Identifier: GPL-2.0

//! Every corruption of one byte, of the vectors' table and of what is read.

use super::linear::Table;
use super::memory::Memory;
use super::{ENOUGH, lookup, rule};
use crate::parse::{Error, Rule};
use crate::vectors::{BASE, TABLE};

/// All addresses of the table's functions, those around, and the ends of the address space.
fn addresses() -> impl Iterator<Item = u64> {
    (0x40_0ff0..0x40_10d0).chain([0, 1, BASE, u64::MAX - 1, u64::MAX])
}

/// No corruption does harm; one that leaves the table well-formed changes the answers to those
/// that it now has.
#[test]
fn every_byte() {
    let (mut good, mut different, mut malformed) = (0, 0, 0);

    for at in 0..TABLE.len() {
        for change in 1..=u8::MAX {
            let mut table = TABLE;
            table[at] ^= change;

            let decoded = Table::decode(&table, BASE);
            good += u32::from(decoded.is_some());
            for pc in addresses() {
                let found = lookup(&Memory::new(&table), BASE, pc, ENOUGH).result;
                malformed += u32::from(matches!(found, Err(Error::Malformed(_))));
                if let Some(decoded) = &decoded {
                    let expected = decoded.rule(pc).ok_or(Error::NotFound);
                    assert_eq!(found, expected, "{change:#x} at {at:#x}, for {pc:#x}");
                    different += u32::from(found != rule(&TABLE, BASE, pc));
                }
            }
        }
    }
    // Not a test if all of the tables were malformed, or none.
    assert!(good > 10_000 && different > 100_000 && malformed > 1_000_000);
}

/// What the lookups yield is not what stands in the vectors by chance: each byte of a function's
/// rows makes a difference somewhere.
#[test]
fn every_byte_of_rows_counts() {
    let before: Vec<Result<Rule, Error>> = addresses().map(|pc| rule(&TABLE, BASE, pc)).collect();

    // Not the unused size of a block, and the byte that belongs to nothing.
    let unused = [0x80, 0x87, 0x96, 0xaf, 0xb7];
    for at in (0x7c..TABLE.len()).filter(|at| !unused.contains(at)) {
        let differs = (1..=u8::MAX).any(|change| {
            let mut table = TABLE;
            table[at] ^= change;
            let after = addresses().map(|pc| rule(&table, BASE, pc));
            !after.eq(before.iter().copied())
        });
        assert!(differs, "nothing depends on {at:#x}");
    }
}
