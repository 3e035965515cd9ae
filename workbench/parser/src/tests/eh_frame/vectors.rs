// SPDX-License-Identifier: GPL-2.0

//! The test vectors of the kernel.

use std::collections::HashSet;

use super::super::unreliable::fault_at_each_read;
use super::super::vectors::{all_differ, changed};
use super::{ENOUGH, lookup, place};
use crate::memory::Memory;
use crate::parse::Unsupported;
use crate::parse::eh_frame::Reason;
use crate::parse::{self, Error};
use crate::vectors::{EH_FRAME_TABLES, Table};

#[test]
fn lookups() {
    for table in EH_FRAME_TABLES {
        for (pc, expected) in table.lookups {
            let found = lookup(table, &Memory::new(table.bytes), *pc, ENOUGH).result;

            assert_eq!(found, expected.result(), "{}, at {pc:#x}", table.name);
            if let (Ok(rule), Some(values)) = (found, expected.values()) {
                assert_eq!([rule.cfa(), rule.ra(), rule.fp()], values);
            }
        }
    }
}

#[test]
fn changes() {
    let mut wrong = Vec::new();

    changed(EH_FRAME_TABLES, |table, vector, bytes, _| {
        let found = lookup(table, &Memory::new(bytes), vector.pc, ENOUGH).result;

        if found != vector.expected.result() {
            wrong.push(format!("{}: {}: {found:?}", table.name, vector.name));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Each reason and each unsupported case has a vector.
#[test]
fn every_reason() {
    let mut reasons = HashSet::new();
    let mut causes = HashSet::new();
    let mut note = |result| match result {
        Err(Error::Malformed(malformed)) => {
            let parse::Reason::EhFrame(reason) = malformed.reason else {
                panic!("a reason of another format");
            };
            reasons.insert(reason as u8);
        }
        Err(Error::Unsupported(cause)) => {
            causes.insert(cause as u8);
        }
        _ => {}
    };

    changed(EH_FRAME_TABLES, |_, vector, _, _| note(vector.expected.result()));
    for table in EH_FRAME_TABLES {
        for (_, expected) in table.lookups {
            note(expected.result());
        }
    }
    for reason in Reason::ALL {
        assert!(reasons.contains(&(*reason as u8)), "no vector for {reason:?}");
    }
    for cause in Unsupported::ALL {
        assert!(causes.contains(&(*cause as u8)), "no vector for {cause:?}");
    }
}

/// What is wrong with the index concerns the whole table, anything else one function.
#[test]
fn reasons_of_the_index() {
    let mut seen = [0; 2];

    changed(EH_FRAME_TABLES, |table, vector, bytes, _| {
        let Err(Error::Malformed(malformed)) = vector.expected.result() else {
            return;
        };
        let start = place(table) as usize;
        let byte = |at: usize| usize::from(bytes.get(start + at).copied().unwrap_or(0));
        // No table here has more than 255 functions.
        let count = byte(8) + byte(11);
        let end = start + 12 + count * if byte(3) == 0x3c { 16 } else { 8 };
        let at = malformed.offset as usize;
        let in_index = (start..end).contains(&at) || bytes.len() < start + 12;

        assert_eq!(malformed.reason.is_of_table(), in_index, "{}", vector.name);
        seen[usize::from(in_index)] += 1;
    });
    assert!(seen.iter().all(|seen| *seen > 20), "{seen:?}");
}

#[test]
fn reasons_differ() {
    let (reasons, causes) = (Reason::ALL.iter(), Unsupported::ALL.iter());

    all_differ(&Vec::from_iter(reasons.map(|it| (it.name(), it.text()))));
    all_differ(&Vec::from_iter(causes.map(|it| (it.name(), it.text()))));
}

#[test]
fn faults() {
    let check = |table: &Table, bytes: &[u8], pc| {
        fault_at_each_read(bytes, pc, |memory| lookup(table, memory, pc, ENOUGH).result);
    };

    for table in EH_FRAME_TABLES {
        for (pc, _) in table.lookups {
            check(table, table.bytes, *pc);
        }
    }
    changed(EH_FRAME_TABLES, |table, vector, bytes, _| check(table, bytes, vector.pc));
}

/// A lookup succeeds with units for its cost, and fails with less.
#[test]
fn budgets() {
    for table in EH_FRAME_TABLES {
        for (pc, expected) in table.lookups {
            let with = |units| lookup(table, &Memory::new(table.bytes), *pc, units);
            let spent = with(ENOUGH).spent;

            assert_eq!(with(spent).result, expected.result());
            for less in 0..spent {
                assert_eq!(with(less).result, Err(Error::Budget), "{less} units");
            }
        }
    }
}
