// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what does not need a process: the registry's bookkeeping.

use kernel::prelude::*;

#[kunit_tests(unwind_tables)]
mod tests {
    use kernel::bindings;

    use super::*;
    use crate::{
        parse::{
            sframe,
            Malformed,
            Reason, //
        },
        registry::{
            Registry,
            GENERATION, //
        },
        table::{
            Format,
            Table, //
        },
        text::{
            Origin,
            State,
            Text, //
        },
    };

    /// How many texts a registry may have here.
    const MOST: usize = 2000;

    /// A text with an SFrame table at these addresses.
    fn text_at((start, end): (usize, usize), text: (usize, usize)) -> Result<Text> {
        let table = Table::new(start, end, start, Origin::Prctl).ok_or(EINVAL)?;

        Text::new(text.0, text.1, [Some(table), None])
    }

    fn text(start: usize, end: usize) -> Result<Text> {
        text_at((0x1000, 0x2000), (start, end))
    }

    fn unregister(registry: &Registry, start: usize, end: usize) -> Result {
        registry.unregister(start, end, Format::SFrame)
    }

    fn bad() -> State {
        State::Bad(Malformed {
            reason: Reason::SFrame(sframe::Reason::Magic),
            offset: 0,
        })
    }

    /// Says that the table of the text at `pc` is malformed.
    fn set_bad(registry: &Registry, pc: usize) -> Result<bool> {
        let text = registry.find(pc).ok_or(ENOENT)?;

        registry.set_state(&text, Format::SFrame, bad(), registry.generation())
    }

    /// Where the text starts that holds `pc`.
    fn start(registry: &Registry, pc: usize) -> Option<usize> {
        registry.find(pc).map(|text| text.start)
    }

    /// Says whether the table of the text that holds `pc` is bad.
    fn is_bad(registry: &Registry, pc: usize) -> bool {
        let text = registry.find(pc);
        let table = text.as_ref().and_then(|text| text.table(Format::SFrame));

        table.is_some_and(|table| matches!(table.state, State::Bad(_)))
    }

    /// How many texts there are that somebody has registered.
    fn len(registry: &Registry) -> usize {
        registry.counts().explicit
    }

    fn copy(registry: &Registry) -> Result<Pin<KBox<Registry>>> {
        registry.copy()?.ok_or(ENOENT)
    }

    /// What is registered last counts: what it overlaps goes whole.
    #[test]
    fn overlaps() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let add = |start, end| registry.register(text(start, end)?, MOST);

        add(0x40_0000, 0x41_0000)?;
        add(0x41_0000, 0x42_0000)?;
        add(0x3f_ffff, 0x40_0000)?;
        add(0x42_0000, 0x42_0001)?;
        assert_eq!(len(&registry), 4);
        for (pc, expected) in [
            (0x3f_fffe, None),
            (0x3f_ffff, Some(0x3f_ffff)),
            (0x40_0000, Some(0x40_0000)),
            (0x40_ffff, Some(0x40_0000)),
            (0x41_0000, Some(0x41_0000)),
            (0x42_0000, Some(0x42_0000)),
            (0x42_0001, None),
        ] {
            assert_eq!(start(&registry, pc), expected);
        }

        // A byte of each of two.
        add(0x40_ffff, 0x41_0001)?;
        assert_eq!(len(&registry), 3);
        assert_eq!(start(&registry, 0x40_fffe), None);
        assert_eq!(start(&registry, 0x40_ffff), Some(0x40_ffff));
        assert_eq!(start(&registry, 0x41_0001), None);
        // A part of one, just one, and all.
        add(0x40_ffff, 0x41_0000)?;
        assert_eq!(start(&registry, 0x41_0000), None);
        add(0x40_ffff, 0x41_0000)?;
        assert_eq!(len(&registry), 3);
        add(0, usize::MAX)?;
        assert_eq!(len(&registry), 1);
        Ok(())
    }

    #[test]
    fn bad_ranges() {
        for (table_start, table_end, text_start, text_end) in [
            (0x2000, 0x2000, 0x40_0000, 0x41_0000),
            (0x2000, 0x1fff, 0x40_0000, 0x41_0000),
            (0, usize::MAX, 0x40_0000, 0x41_0000),
            (0x1000, 0x2000, 0x40_0000, 0x40_0000),
            (0x1000, 0x2000, 0x40_0001, 0x40_0000),
        ] {
            assert!(text_at((table_start, table_end), (text_start, text_end)).is_err());
        }
    }

    #[test]
    fn limit() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let add = |start, end| registry.register(text(start, end)?, 2);

        add(0x40_0000, 0x41_0000)?;
        add(0x41_0000, 0x42_0000)?;
        let before = registry.generation();
        assert_eq!(add(0x42_0000, 0x43_0000), Err(ENOSPC));
        assert_eq!(registry.generation(), before);
        // What goes makes room.
        add(0x41_0000, 0x42_0000)?;
        add(0x41_8000, 0x43_0000)?;
        assert_eq!(add(0x43_0000, 0x44_0000), Err(ENOSPC));
        unregister(&registry, 0x40_0000, 0x41_0000)?;
        add(0x43_0000, 0x44_0000)
    }

    #[test]
    fn removal_is_exact() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        registry.register(text(0x40_0000, 0x41_0000)?, MOST)?;
        for (start, end) in [
            (0x40_0000, 0x40_ffff),
            (0x40_0001, 0x41_0000),
            (0x3f_ffff, 0x41_0000),
        ] {
            assert_eq!(unregister(&registry, start, end), Err(ENOENT));
        }
        unregister(&registry, 0x40_0000, 0x41_0000)?;
        assert_eq!(unregister(&registry, 0x40_0000, 0x41_0000), Err(ENOENT));
        assert_eq!(len(&registry), 0);
        Ok(())
    }

    #[test]
    fn unmapped() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let add = |start, table| {
            let text = text_at((table, table.wrapping_add(0x100)), (start, start | 0x1000))?;
            registry.register(text, MOST)
        };

        add(0x40_0000, 0x48_0000)?;
        add(0x42_0000, 0x48_0100)?;
        add(0x44_0000, 0x48_0200)?;
        // Around all of them.
        registry.unmap(0x40_1000, 0x42_0000);
        registry.unmap(0x44_1000, 0x48_0000);
        registry.unmap(0x48_0300, usize::MAX);
        assert_eq!(len(&registry), 3);

        // A byte of text, a byte of a table, and all.
        registry.unmap(0x40_0fff, 0x40_1000);
        assert_eq!(start(&registry, 0x40_0000), None);
        assert_eq!(len(&registry), 2);
        registry.unmap(0x48_01ff, 0x48_0200);
        assert_eq!(start(&registry, 0x42_0000), None);
        assert_eq!(start(&registry, 0x44_0000), Some(0x44_0000));
        registry.unmap(0, usize::MAX);
        assert_eq!(len(&registry), 0);
        Ok(())
    }

    /// A table is found by its text, within 1 MiB of that.
    #[test]
    fn unmapped_tables_away_from_their_text() -> Result {
        const TEXT: (usize, usize) = (0x5000_0000, 0x5000_1000);

        for (table, is_tracked) in [
            (0x5000_1000_usize, true),
            (0x500f_0000, true),
            (0x4ff0_0000, true),
            (0x5020_0000, false),
            (0x1_0000, false),
        ] {
            for at in [table, table.wrapping_add(0xfff)] {
                let registry = Registry::new(GFP_KERNEL)?;

                registry.register(text_at((table, table.wrapping_add(0x1000)), TEXT)?, MOST)?;
                registry.unmap(at, at.wrapping_add(1));
                assert_eq!(len(&registry), if is_tracked { 0 } else { 1 });
                registry.unmap(TEXT.0, TEXT.0.wrapping_add(1));
                assert_eq!(len(&registry), 0);
            }
        }
        Ok(())
    }

    #[test]
    fn states_stay_with_their_table() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let pc = 0x40_0000;

        registry.register(text(pc, 0x41_0000)?, MOST)?;
        let old = registry.find(pc).ok_or(ENOENT)?;
        let before = registry.generation();
        let late = |text: &Text| registry.set_state(text, Format::SFrame, bad(), before);

        // Another text.
        assert_eq!(late(&text(pc, 0x40_ffff)?), Ok(false));
        assert!(!is_bad(&registry, pc));

        // What is bad stays so, and takes nothing away.
        assert_eq!(late(&old), Ok(true));
        assert!(is_bad(&registry, pc));
        assert_eq!(late(&old), Ok(false));
        assert_eq!(registry.generation(), before);

        // A child knows it, too; what becomes of one is not of the other.
        let child = copy(&registry)?;
        assert!(is_bad(&child, pc));
        unregister(&child, pc, 0x41_0000)?;
        assert!(is_bad(&registry, pc));

        // What is registered anew is read anew. Who has read what was there before is too late.
        registry.register(text(pc, 0x41_0000)?, MOST)?;
        assert!(!is_bad(&registry, pc));
        assert_eq!(late(&old), Ok(false));
        assert!(!is_bad(&registry, pc));
        assert_eq!(set_bad(&registry, pc), Ok(true));
        Ok(())
    }

    /// A registry of three texts, the first of which has a malformed table.
    fn three_texts() -> Result<Pin<KBox<Registry>>> {
        let registry = Registry::new(GFP_KERNEL)?;

        for start in [0x40_0000, 0x41_0000, 0x42_0000] {
            registry.register(text(start, start | 0x1000)?, MOST)?;
        }
        assert_eq!(set_bad(&registry, 0x40_0000), Ok(true));
        Ok(registry)
    }

    /// Says whether a registry is still as `three_texts()` made it.
    fn is_unchanged(registry: &Registry) -> bool {
        let is_there = |pc: &usize| {
            let text = registry.find(*pc);
            let table = text.as_ref().and_then(|text| text.table(Format::SFrame));

            table.is_some_and(|table| table.start() == 0x1000)
        };

        len(registry) == 3
            && [0x40_0000, 0x41_0000, 0x42_0000].iter().all(is_there)
            && registry.find(0x43_0000).is_none()
            && is_bad(registry, 0x40_0000)
            && !is_bad(registry, 0x41_0000)
    }

    /// What changes a registry that has three texts.
    const CHANGES: [fn(&Registry) -> Result; 5] = [
        |registry| registry.register(text(0x43_0000, 0x44_0000)?, MOST),
        |registry| {
            let text = text_at((0x5000, 0x6000), (0x41_0000, 0x41_1000))?;
            registry.register(text, MOST)
        },
        |registry| unregister(registry, 0x42_0000, 0x42_1000),
        |registry| {
            registry.unmap(0x42_0800, 0x42_0801);
            Ok(())
        },
        |registry| set_bad(registry, 0x41_0000).map(|_| ()),
    ];

    #[test]
    fn a_copy_goes_its_own_way() -> Result {
        for change in CHANGES {
            for old_changes in [false, true] {
                let old = three_texts()?;
                let new = copy(&old)?;
                let (changes, stays) = if old_changes {
                    (&old, &new)
                } else {
                    (&new, &old)
                };

                assert!(is_unchanged(&old) && is_unchanged(&new));
                change(changes)?;
                assert!(!is_unchanged(changes));
                assert!(is_unchanged(stays));
                change(stays)?;
                assert_eq!(len(stays), len(changes));
            }
        }
        assert!(Registry::new(GFP_KERNEL)?.copy()?.is_none());
        Ok(())
    }

    #[test]
    fn what_takes_something_away_changes_the_generation() -> Result {
        let registry = three_texts()?;
        let before = registry.generation();

        // These take nothing away.
        registry.register(text(0x43_0000, 0x44_0000)?, MOST)?;
        registry.unmap(0x50_0000, 0x60_0000);
        assert!(unregister(&registry, 0x50_0000, 0x60_0000).is_err());
        drop(copy(&registry)?);
        assert_eq!(set_bad(&registry, 0x41_0000), Ok(true));
        assert_eq!(registry.generation(), before);

        // These do.
        registry.register(text(0x41_0000, 0x41_1000)?, MOST)?;
        let replaced = registry.generation();
        assert!(replaced != before);
        registry.register(text(0x43_8000, 0x44_8000)?, MOST)?;
        let overlapped = registry.generation();
        assert!(overlapped != replaced);
        unregister(&registry, 0x42_0000, 0x42_1000)?;
        let removed = registry.generation();
        assert!(removed != overlapped);
        registry.unmap(0x40_0000, 0x40_0001);
        assert!(registry.generation() != removed);
        Ok(())
    }

    /// A walk that must not wait does not wait for the lock.
    #[test]
    fn no_wait_for_the_lock() -> Result {
        let registry = three_texts()?;
        let (pc, new) = (0x41_0000, text(0x80_0000, 0x81_0000)?);
        let set_no_wait = |no_wait| {
            // SAFETY: The current task stays, and only it uses this field.
            unsafe { (*bindings::get_current()).unwind_info.no_wait = no_wait };
        };
        let change = || {
            (
                set_bad(&registry, pc),
                registry.insert_found(new, MOST).map(|text| text.start),
            )
        };

        set_no_wait(true);
        let locked = registry.locked(change);
        let free = change();
        set_no_wait(false);
        assert_eq!(locked, (Err(EAGAIN), Err(EAGAIN)));
        assert_eq!(free, (Ok(true), Ok(new.start)));
        Ok(())
    }

    #[test]
    fn none_and_one() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        // The tree is empty, has one entry, and is empty again.
        for start in [0, 0x40_0000, 0x7fff_ffff_e000] {
            for _ in 0..3 {
                assert!(registry.find(start).is_none());
                assert!(registry.next(0).is_none());
                registry.register(text(start, start | 0x1000)?, MOST)?;
                assert!(registry.find(start).is_some());
                let found = registry.next(0).ok_or(ENOENT)?;
                assert!(registry.next(found.end).is_none());
                unregister(&registry, start, start | 0x1000)?;
            }
        }
        Ok(())
    }

    /// C knows an address by the sum of the address and the generation.
    #[test]
    fn generations_are_far_apart() {
        for (nth, other) in [(1, 0), (2, 1), (1 << 32, 0), ((1 << 32) | 1, 1 << 32)] {
            let of = |nth: u64| GENERATION.wrapping_mul(nth);
            let distance = of(nth).wrapping_sub(of(other));

            assert!(distance.min(distance.wrapping_neg()) > 1 << 59);
        }
    }

    #[test]
    fn many_texts() -> Result {
        let starts = || (0x40_0000_usize..0xc0_0000).step_by(0x2000);
        let registry = Registry::new(GFP_KERNEL)?;

        for start in starts() {
            registry.register(text(start, start | 0x1000)?, MOST)?;
        }
        let child = copy(&registry)?;
        assert_eq!(len(&child), len(&registry));
        for registry in [&registry, &child] {
            for start in starts() {
                assert!(registry.find(start | 0xfff).is_some());
                assert!(registry.find(start | 0x1000).is_none());
            }
        }
        child.unmap(0x50_0000, 0xb0_0000);
        assert_eq!(len(&child), 256);
        drop(child);
        for start in starts() {
            assert!(registry.find(start).is_some());
        }
        Ok(())
    }
}
