// SPDX-License-Identifier: GPL-2.0

//! The test vectors of the kernel.

use super::{ARCHES, decode, rule};
use crate::parse::sframe::Reason;
use crate::parse::{self, Error};
use crate::vectors::{Bytes, TABLES, Table, Vector};

/// Calls `test` with each changed table of these tables' vectors.
pub(super) fn changed(tables: &[&Table], mut test: impl FnMut(&Table, &Vector, &[u8], &Bytes<'_>)) {
    for table in tables {
        for vector in table.vectors {
            vector.for_each(table, |patched| {
                let bytes: Vec<u8> = patched.first(patched.len).collect();
                assert_ne!(bytes, table.bytes, "{}: no change", vector.name);
                test(table, vector, &bytes, patched);
            });
        }
    }
}

/// Checks that names and texts differ.
pub(super) fn all_differ<N: PartialEq, T: PartialEq>(all: &[(N, T)]) {
    for (nth, one) in all.iter().enumerate() {
        for other in &all[..nth] {
            assert!(one.0 != other.0 && one.1 != other.1);
        }
    }
}

#[test]
fn lookups() {
    for table in TABLES {
        let decoded = decode(table.arch, table.bytes, table.base).expect(table.name);

        for (pc, expected) in table.lookups {
            let (expected, values) = (expected.result(), expected.values());
            let found = rule(table.arch, table.bytes, table.base, *pc);
            assert_eq!(found, expected, "{}, at {pc:#x}", table.name);
            if let (Ok(rule), Some(values)) = (found, values) {
                assert_eq!([rule.cfa(), rule.ra(), rule.fp()], values);
            }
            let decoded = decoded.rule(*pc).ok_or(Error::NotFound);
            assert_eq!(decoded, expected, "{}, at {pc:#x}", table.name);
        }
    }
}

/// The linear reader refuses exactly the tables that are malformed, or name an unknown register.
#[test]
fn changes() {
    changed(TABLES, |table, vector, bytes, patched| {
        let name = format!("{}: {} ({:x?})", table.name, vector.name, patched.patches);
        let expected = vector.expected.result();
        let found = rule(table.arch, bytes, table.base, vector.pc);
        let decoded = decode(table.arch, bytes, table.base);

        assert_eq!(found, expected, "{name}");
        if matches!(expected, Err(Error::Malformed(_) | Error::Unsupported(_))) {
            assert_eq!(decoded, None, "{name}");
        } else {
            let decoded = decoded.expect(&name);
            assert_eq!(decoded.rule(vector.pc).ok_or(Error::NotFound), expected, "{name}");
        }
    });
}

/// Each reason has a vector.
#[test]
fn every_reason() {
    let mut seen = Vec::new();

    changed(TABLES, |_, vector, _, _| {
        if let Err(Error::Malformed(malformed)) = vector.expected.result() {
            let parse::Reason::SFrame(reason) = malformed.reason else {
                panic!("a reason of another format");
            };
            seen.push(reason);
        }
    });
    for reason in Reason::ALL {
        assert!(seen.contains(reason), "no vector for {reason:?}");
    }
}

#[test]
fn reasons_differ() {
    all_differ(&Vec::from_iter(Reason::ALL.iter().map(|it| (it.name(), it.text()))));
}

/// A table of another architecture is refused.
#[test]
fn other_architectures() {
    for table in TABLES {
        for arch in ARCHES.into_iter().filter(|arch| *arch != table.arch) {
            for (pc, _) in table.lookups {
                let Err(Error::Malformed(malformed)) = rule(arch, table.bytes, table.base, *pc)
                else {
                    panic!("{} for {arch:?}", table.name);
                };
                assert!(matches!(
                    malformed.reason,
                    parse::Reason::SFrame(Reason::Abi | Reason::ByteOrder)
                ));
            }
            assert_eq!(decode(arch, table.bytes, table.base), None);
        }
    }
}

/// The parser agrees with the linear reader at and near addresses where answers change.
#[test]
fn every_address() {
    for table in TABLES {
        let decoded = decode(table.arch, table.bytes, table.base).expect(table.name);

        for boundary in decoded.boundaries() {
            for pc in boundary.saturating_sub(20)..=boundary.saturating_add(20) {
                let expected = decoded.rule(pc).ok_or(Error::NotFound);
                let found = rule(table.arch, table.bytes, table.base, pc);
                assert_eq!(found, expected, "{}, at {pc:#x}", table.name);
            }
        }
    }
}
