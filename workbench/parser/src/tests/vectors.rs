// SPDX-License-Identifier: GPL-2.0

//! The test vectors of the kernel, and changes of their tables.

use std::collections::{BTreeSet, HashSet};
use std::ffi::CStr;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{ARCHES, ENOUGH, budget, cases, decode, faults, look, rule};
use crate::memory::{Behaviour, Memory};
use crate::parse::{Error, Reason, Unsupported, eh_frame, sframe};
use crate::vectors::{Bytes, EH_FRAME_TABLES, Format, TABLES, Table, Vector, all_tables};

/// Calls `test` with each changed table of the vectors.
fn changed(mut test: impl FnMut(&Table, &Vector, &[u8], &Bytes<'_>)) {
    for table in all_tables() {
        for vector in table.vectors {
            vector.for_each(table, |patched| {
                let bytes: Vec<u8> = patched.first(patched.len).collect();
                assert_ne!(bytes, table.bytes, "{}: no change", vector.name);
                test(table, vector, &bytes, patched);
            });
        }
    }
}

/// Calls `test` with each table, changed and unchanged, and an address of a vector.
fn each(mut test: impl FnMut(&Table, &[u8], u64)) {
    for table in all_tables() {
        table.lookups.iter().for_each(|(pc, _)| test(table, table.bytes, *pc));
    }
    changed(|table, vector, bytes, _| test(table, bytes, vector.pc));
}

/// Checks that names and texts differ, and are not empty.
pub(super) fn all_differ<'a>(all: impl Iterator<Item = (&'a CStr, &'a str)>) {
    let all: Vec<_> = all.collect();
    let names: HashSet<_> = all.iter().map(|(name, _)| *name).collect();
    let texts: HashSet<_> = all.iter().map(|(_, text)| *text).collect();

    assert!(!names.contains(c"") && !texts.contains(""));
    assert_eq!((names.len(), texts.len()), (all.len(), all.len()));
}

#[test]
fn lookups() {
    for table in all_tables() {
        for (pc, expected) in table.lookups {
            let found = look(table, &Memory::new(table.bytes), *pc, ENOUGH).result;
            assert_eq!(found, expected.result(), "{}, at {pc:#x}", table.name);
            if let (Ok(rule), Some(values)) = (found, expected.values()) {
                assert_eq!([rule.cfa(), rule.ra(), rule.fp()], values);
            }
        }
    }
}

/// The linear reader refuses exactly the tables that are malformed, or name an unknown register.
#[test]
fn changes() {
    changed(|table, vector, bytes, patched| {
        let name = format!("{}: {} ({:x?})", table.name, vector.name, patched.patches);
        let expected = vector.expected.result();
        let found = look(table, &Memory::new(bytes), vector.pc, ENOUGH).result;

        assert_eq!(found, expected, "{name}");
        if table.format == Format::SFrame {
            let is_bad = matches!(expected, Err(Error::Malformed(_) | Error::Unsupported(_)));
            let decoded = decode(table.arch, bytes, table.base);
            assert_eq!(
                decoded.map(|table| table.rule(vector.pc)),
                (!is_bad).then_some(expected),
                "{name}"
            );
        }
    });
}

/// The parser agrees with the linear reader at and near addresses where answers change.
#[test]
fn every_address() {
    for table in TABLES {
        let decoded = decode(table.arch, table.bytes, table.base).expect(table.name);

        for boundary in decoded.boundaries() {
            for pc in boundary.saturating_sub(20)..=boundary.saturating_add(20) {
                let found = rule(table.arch, table.bytes, table.base, pc);
                assert_eq!(found, decoded.rule(pc), "{}, at {pc:#x}", table.name);
            }
        }
    }
}

/// A table of another architecture is refused.
#[test]
fn other_architectures() {
    for table in TABLES {
        for arch in ARCHES.into_iter().filter(|arch| *arch != table.arch) {
            let found = rule(arch, table.bytes, table.base, table.lookups[0].0);
            assert_eq!(found, Err(sframe::Reason::Abi.at(4)));
            assert_eq!(decode(arch, table.bytes, table.base), None);
        }
    }
}

/// Each reason and each unsupported case has a vector, and its own name and text.
#[test]
fn every_reason() {
    let mut seen = HashSet::new();
    let mut note = |result| match result {
        Err(Error::Malformed(malformed)) => drop(seen.insert(malformed.reason.name())),
        Err(Error::Unsupported(cause)) => drop(seen.insert(cause.name())),
        _ => {}
    };
    let (of_sframe, of_eh_frame) = (sframe::Reason::ALL.iter(), eh_frame::Reason::ALL.iter());
    let causes = Unsupported::ALL.iter();

    changed(|_, vector, _, _| note(vector.expected.result()));
    for table in all_tables() {
        table.lookups.iter().for_each(|(_, expected)| note(expected.result()));
    }
    let names =
        of_sframe.clone().map(|it| it.name()).chain(of_eh_frame.clone().map(|it| it.name()));
    for name in names.chain(causes.clone().map(|it| it.name())) {
        assert!(seen.contains(name), "no vector for {name:?}");
    }
    all_differ(of_sframe.map(|it| (it.name(), it.text())));
    all_differ(of_eh_frame.map(|it| (it.name(), it.text())));
    all_differ(causes.map(|it| (it.name(), it.text())));
}

/// What is wrong with the index of `.eh_frame` concerns the whole table, anything else one function.
#[test]
fn reasons_of_the_index() {
    let mut seen = [0; 2];

    changed(|table, vector, bytes, _| {
        let (Format::EhFrame(start), Err(Error::Malformed(malformed))) =
            (table.format, vector.expected.result())
        else {
            return;
        };
        let start = start as usize;
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
    assert!(Reason::SFrame(sframe::Reason::RowEnd).is_of_table());
}

#[test]
fn unreadable() {
    each(|table, bytes, pc| {
        let holes = if bytes == table.bytes { bytes.len() as u64 + 1 } else { 0 };

        faults(bytes, 0..holes, |memory| look(table, memory, pc, ENOUGH).result);
    });
}

#[test]
fn budgets() {
    each(|table, bytes, pc| budget(|units| look(table, &Memory::new(bytes), pc, units)));
}

/// Each byte takes each value. That breaks no promise; if an SFrame table stays well-formed, the
/// parser gives its new answers. Each byte of the rows affects an answer, so the vectors test it.
fn every_byte(table: &Table) {
    let decode = |bytes: &[u8]| {
        Some(()).filter(|()| table.format == Format::SFrame)?;
        decode(table.arch, bytes, table.base)
    };
    let mut pcs: BTreeSet<u64> = table.lookups.iter().map(|(pc, _)| *pc).collect();
    if let Some(decoded) = decode(table.bytes) {
        pcs.extend([1, table.base, u64::MAX - 1]);
        pcs.extend(decoded.boundaries());
    } else {
        // Some are enough, or this would take minutes.
        pcs = pcs.into_iter().step_by(3).collect();
    }
    let find = |bytes: &[u8], pc| look(table, &Memory::new(bytes), pc, ENOUGH);
    let before: Vec<_> = pcs.iter().map(|pc| find(table.bytes, *pc).result).collect();
    let (mut good, mut different, mut malformed) = (0, 0, 0);
    let mut matters = vec![false; table.bytes.len()];

    for at in 0..table.bytes.len() {
        for change in 1..=u8::MAX {
            let mut bytes = table.bytes.to_vec();
            bytes[at] ^= change;
            let decoded = decode(&bytes);

            good += u32::from(decoded.is_some());
            for (pc, before) in pcs.iter().zip(&before) {
                let found = find(&bytes, *pc);
                matters[at] |= found.result != *before;
                malformed += u32::from(matches!(found.result, Err(Error::Malformed(_))));
                if let Some(decoded) = &decoded {
                    assert_eq!(found.result, decoded.rule(*pc), "{change:#x} at {at:#x}, {pc:#x}");
                    different += u32::from(found.result != *before);
                } else if table.format != Format::SFrame {
                    // A lookup reads at most the whole table, twice, in pieces of 8 bytes at least.
                    assert!(
                        found.spent <= 32 * 8 + 8 * bytes.len() as u32,
                        "{} units",
                        found.spent
                    );
                }
            }
        }
    }
    if table.format == Format::SFrame {
        // Enough changed tables must be well-formed, differ, and be malformed.
        let counts = (good, different, malformed);
        assert!(good > 5_000 && different > 20_000 && malformed > 400_000, "{counts:?}");
        let number = |at: usize| {
            u32::from_le_bytes(*table.bytes[at..].first_chunk().expect("a header")) as usize
        };
        let start = 28 + usize::from(table.bytes[7]) + number(0x18);
        let rows = &matters[start..start + number(0x10)];
        assert!(rows.iter().all(|matters| *matters), "{}: {rows:?}", table.name);
    }
}

#[test]
fn every_byte_of_default_functions() {
    every_byte(TABLES[0]);
}

#[test]
fn every_byte_of_flexible_functions() {
    every_byte(TABLES[1]);
}

#[test]
fn every_byte_of_others() {
    TABLES[2..].iter().for_each(|table| every_byte(table));
}

#[test]
fn every_byte_of_eh_frame() {
    EH_FRAME_TABLES.iter().for_each(|table| every_byte(table));
}

/// A table may be longer than it says, but not shorter. No lookup reads behind the end.
#[test]
fn every_length() {
    for table in all_tables() {
        let (pc, expected) = table.lookups[table.lookups.len() / 2];
        // This table has an unused byte at its end.
        let needed = table.bytes.len() - usize::from(table.name == "AMD64, default");

        for len in 0..table.bytes.len() {
            let bytes = &table.bytes[..len];
            let found = look(table, &Memory::new(bytes), pc, ENOUGH).result;
            match (table.format, len) {
                (Format::EhFrame(_), _) => assert_ne!(found, Err(Error::Fault)),
                (_, 0..28) => assert_eq!(found, Err(sframe::Reason::Truncated.at(len as u64))),
                _ if len >= needed => assert_eq!(found, expected.result()),
                _ => assert!(
                    [0x14, 0x18].map(|at| Err(sframe::Reason::Layout.at(at))).contains(&found)
                ),
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(3000))]

    /// Some bytes of `.eh_frame` are changed, or differ at each read.
    #[test]
    fn hostile(
        nth in 0..EH_FRAME_TABLES.len(),
        changes in vec((any::<Index>(), any::<u8>()), 1..12),
        seed: u64,
        one_in in 1..=u8::MAX,
        from in 0..8_u32,
    ) {
        let table = EH_FRAME_TABLES[nth];
        let mut bytes = table.bytes.to_vec();

        changes.iter().for_each(|(at, value)| *at.get_mut(&mut bytes[..]) = *value);
        for (pc, _) in table.lookups {
            look(table, &Memory::new(&bytes), *pc, ENOUGH);
            for behaviour in [Behaviour::NoiseFrom(from), Behaviour::Flicker(one_in)] {
                let memory = Memory::behaving(table.bytes, behaviour, seed);
                prop_assert_ne!(look(table, &memory, *pc, ENOUGH).result, Err(Error::Fault));
            }
        }
    }
}
