// SPDX-License-Identifier: GPL-2.0

//! The vectors that the kernel's own tests use.

use super::{ARCHES, decode, rule};
use crate::parse::sframe::Reason;
use crate::parse::{self, Error};
use crate::vectors::{Bytes, TABLES, Table, Vector};

/// The bytes, in a piece of memory.
fn bytes(bytes: &Bytes<'_>) -> Vec<u8> {
    bytes.first(bytes.len).collect()
}

/// Calls `test` with every table that is a change of another one, and how it differs.
pub(super) fn changed(mut test: impl FnMut(&Table, &Vector, Vec<u8>, &Bytes<'_>)) {
    for table in TABLES {
        for vector in table.vectors {
            vector.for_each(table, |patched| {
                test(table, vector, bytes(patched), patched);
            });
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

/// Changed tables; the linear reader refuses those, and only those, that are malformed.
#[test]
fn changes() {
    changed(|table, vector, bytes, patched| {
        let name = format!("{}: {} ({:x?})", table.name, vector.name, patched.patches);
        let expected = vector.expected.result();
        let found = rule(table.arch, &bytes, table.base, vector.pc);
        let decoded = decode(table.arch, &bytes, table.base);

        assert_eq!(found, expected, "{name}");
        if matches!(expected, Err(Error::Malformed(_))) {
            assert_eq!(decoded, None, "{name}");
        } else {
            let decoded = decoded.expect(&name);
            assert_eq!(
                decoded.rule(vector.pc).ok_or(Error::NotFound),
                expected,
                "{name}"
            );
        }
        assert_ne!(bytes, table.bytes, "{name}: no change");
    });
}

/// No statement of the format goes without a vector.
#[test]
fn every_reason() {
    let mut seen = Vec::new();

    changed(|_, vector, _, _| {
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

/// What is counted and told of reasons: each has a number, a name and a text of its own.
#[test]
fn reasons_differ() {
    for (nth, reason) in Reason::ALL.iter().enumerate() {
        for other in &Reason::ALL[..nth] {
            assert_ne!(*reason as u8, *other as u8);
            assert_ne!(reason.name(), other.name());
            assert_ne!(reason.text(), other.text());
        }
    }
}

/// No table is taken for one of another architecture.
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

/// The parser agrees with the linear reader wherever answers change, and near to it.
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
