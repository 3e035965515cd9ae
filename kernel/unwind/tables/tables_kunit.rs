// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what does not need a process: the registry's bookkeeping.

use kernel::{
    bindings,
    prelude::*, //
};

#[kunit_tests(unwind_tables)]
mod tests {
    use super::*;
    use crate::{
        cache,
        parse::{
            sframe,
            Malformed,
            Reason, //
        },
        registry::Registry,
        section::{
            Origin,
            Section,
            Verdict, //
        },
        table::{
            Format,
            Table, //
        },
    };

    /// How many sections a registry may have here.
    const MOST: usize = 2000;

    /// A section with an SFrame table at these addresses.
    fn section_at(table: (usize, usize), text: (usize, usize)) -> Result<Section> {
        section_of(Format::SFrame, table, text)
    }

    fn section_of(
        format: Format,
        (start, end): (usize, usize),
        text: (usize, usize),
    ) -> Result<Section> {
        let table = Table::new(start, end, start).ok_or(EINVAL)?;

        Section::new(text.0, text.1, format, table, Origin::Prctl)
    }

    fn section(start: usize, end: usize) -> Result<Section> {
        section_at((0x1000, 0x2000), (start, end))
    }

    /// Where the SFrame table of a section starts.
    fn table_of(section: &Section) -> Option<usize> {
        section.table(Format::SFrame).map(Table::start)
    }

    /// Removes the SFrame table of a text.
    fn remove(registry: &Registry, start: usize, end: usize) -> Result {
        registry
            .remove(start, end, Format::SFrame)
            .map(|_| ())
            .ok_or(ENOENT)
    }

    fn judge(registry: &Registry, section: &Section, verdict: Verdict) -> Result<bool> {
        registry.judge(section, Format::SFrame, verdict)
    }

    fn insert(registry: &Registry, section: Section, most: usize) -> Result {
        registry.insert(registry.entry(section, GFP_KERNEL)?, most)
    }

    fn replace(registry: &Registry, section: Section) -> Result {
        registry.replace(registry.entry(section, GFP_KERNEL)?)
    }

    /// Where the text starts that holds `pc`.
    fn start(registry: &Registry, pc: usize) -> Option<usize> {
        registry.find(pc).map(|section| section.text_start)
    }

    /// Whether the table of `format` of the text that holds `pc` is known to be malformed.
    fn is_disabled_in(registry: &Registry, pc: usize, format: Format) -> bool {
        registry
            .find_in(pc, pc.wrapping_add(1))
            .is_some_and(|found| matches!(format.of(&found.verdicts), Some(Verdict::Disabled(_))))
    }

    fn is_disabled(registry: &Registry, pc: usize) -> bool {
        is_disabled_in(registry, pc, Format::SFrame)
    }

    #[test]
    fn overlaps() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let add = |start, end| insert(&registry, section(start, end)?, MOST);

        add(0x40_0000, 0x41_0000)?;
        add(0x41_0000, 0x42_0000)?;
        assert_eq!(add(0x40_0000, 0x41_0000), Err(EEXIST));
        assert_eq!(add(0x40_ffff, 0x41_0001), Err(EEXIST));
        assert_eq!(add(0x3f_ffff, 0x40_0001), Err(EEXIST));
        assert_eq!(add(0x30_0000, 0x50_0000), Err(EEXIST));
        add(0x3f_ffff, 0x40_0000)?;
        add(0x42_0000, 0x42_0001)?;
        assert_eq!(registry.len(), 4);

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
            let section = section_at((table_start, table_end), (text_start, text_end));
            assert!(section.is_err());
        }
    }

    #[test]
    fn limit() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        insert(&registry, section(0x40_0000, 0x41_0000)?, 2)?;
        insert(&registry, section(0x41_0000, 0x42_0000)?, 2)?;
        let third = section(0x42_0000, 0x43_0000)?;
        assert_eq!(insert(&registry, third, 2), Err(ENOSPC));
        assert!(remove(&registry, 0x40_0000, 0x41_0000).is_ok());
        insert(&registry, third, 2)
    }

    #[test]
    fn removal_is_exact() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        insert(&registry, section(0x40_0000, 0x41_0000)?, MOST)?;
        assert!(remove(&registry, 0x40_0000, 0x40_ffff).is_err());
        assert!(remove(&registry, 0x40_0001, 0x41_0000).is_err());
        assert!(remove(&registry, 0x3f_ffff, 0x41_0000).is_err());
        assert!(remove(&registry, 0x40_0000, 0x41_0000).is_ok());
        assert!(remove(&registry, 0x40_0000, 0x41_0000).is_err());
        assert_eq!(registry.len(), 0);
        Ok(())
    }

    #[test]
    fn unmapped() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let add = |start, table| {
            let section = section_at((table, table.wrapping_add(0x100)), (start, start | 0x1000))?;
            insert(&registry, section, MOST)
        };

        add(0x40_0000, 0x90_0000)?;
        add(0x42_0000, 0x90_0100)?;
        add(0x44_0000, 0x90_0200)?;
        // Around all of them.
        registry.unmap(0x40_1000, 0x42_0000);
        registry.unmap(0x44_1000, 0x90_0000);
        registry.unmap(0x90_0300, usize::MAX);
        registry.unmap(0x40_0800, 0x40_0800);
        assert_eq!(registry.len(), 3);

        // A byte of text, a byte of a table, and all.
        registry.unmap(0x40_0fff, 0x40_1000);
        assert_eq!(start(&registry, 0x40_0000), None);
        assert_eq!(registry.len(), 2);
        registry.unmap(0x90_01ff, 0x90_0200);
        assert_eq!(start(&registry, 0x42_0000), None);
        assert_eq!(start(&registry, 0x44_0000), Some(0x44_0000));
        registry.unmap(0, usize::MAX);
        assert_eq!(registry.len(), 0);
        Ok(())
    }

    #[test]
    fn unmapped_tables_far_away() -> Result {
        let texts = [0x5000_0000, 0x5000_2000, 0x5000_4000];

        // Where the first text's table is: beside its text, below, and above all others.
        for table in [0x5000_1000, 0x1_0000, 0x7000_0000_usize] {
            let tables = [table, 0x5000_3000, 0x5000_5000];
            for nth in 0..texts.len() {
                for at in [tables[nth], tables[nth].wrapping_add(0xfff)] {
                    let registry = Registry::new(GFP_KERNEL)?;
                    for (text, table) in texts.iter().zip(tables) {
                        let section = section_at(
                            (table, table.wrapping_add(0x1000)),
                            (*text, *text | 0x1000),
                        )?;
                        insert(&registry, section, MOST)?;
                    }
                    let copy = registry.copy()?;

                    for registry in [&registry, &copy] {
                        registry.unmap(at, at.wrapping_add(1));
                        assert_eq!(registry.len(), 2);
                        assert_eq!(start(registry, texts[nth]), None);
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn verdicts_stay_with_their_section() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let pc = 0x40_0000;
        let malformed = Verdict::Disabled(Malformed {
            reason: Reason::SFrame(sframe::Reason::Magic),
            offset: 0,
        });

        insert(&registry, section(pc, 0x41_0000)?, MOST)?;
        let old = registry.find(pc).ok_or(ENOENT)?;
        let other = Section { id: !old.id, ..old };
        assert_eq!(judge(&registry, &other, malformed), Ok(false));
        assert!(!is_disabled(&registry, pc));

        assert_eq!(judge(&registry, &old, malformed), Ok(true));
        assert!(is_disabled(&registry, pc));
        // One who read it before is too late.
        assert_eq!(judge(&registry, &old, malformed), Ok(false));

        // A copy starts clean, and what becomes of one is not of the other.
        let copy = registry.copy()?;
        assert_eq!(copy.len(), 1);
        assert!(!is_disabled(&copy, pc));
        let copied = copy.find(pc).ok_or(ENOENT)?;
        assert_eq!(
            copied.table(Format::SFrame),
            Table::new(0x1000, 0x2000, 0x1000).as_ref()
        );
        assert!(remove(&copy, pc, 0x41_0000).is_ok());
        assert!(is_disabled(&registry, pc));

        // So does another table of the same text, and the same once more.
        replace(&registry, section(pc, 0x41_0000)?)?;
        assert!(!is_disabled(&registry, pc));
        assert_eq!(judge(&registry, &old, malformed), Ok(false));
        assert_eq!(replace(&registry, section(pc, 0x42_0000)?), Err(ENOENT));
        Ok(())
    }

    /// A registry of three sections, the first of which is malformed.
    fn three_sections() -> Result<Pin<KBox<Registry>>> {
        let registry = Registry::new(GFP_KERNEL)?;
        let malformed = Verdict::Disabled(Malformed {
            reason: Reason::SFrame(sframe::Reason::Magic),
            offset: 0,
        });

        for start in [0x40_0000, 0x41_0000, 0x42_0000] {
            insert(&registry, section(start, start | 0x1000)?, MOST)?;
        }
        let first = registry.find(0x40_0000).ok_or(ENOENT)?;
        judge(&registry, &first, malformed)?;
        Ok(registry)
    }

    /// Whether a registry is still as `three_sections()` made it.
    fn is_unchanged(registry: &Registry) -> bool {
        registry.len() == 3
            && [0x40_0000, 0x41_0000, 0x42_0000].iter().all(|pc| {
                registry
                    .find(*pc)
                    .is_some_and(|section| table_of(&section) == Some(0x1000))
            })
            && registry.find(0x43_0000).is_none()
    }

    /// What changes a registry that has three sections.
    const CHANGES: [fn(&Registry) -> Result; 4] = [
        |registry| {
            let overlaps = insert(registry, section(0x40_0800, 0x40_0900)?, MOST);
            if overlaps != Err(EEXIST) {
                return Err(EINVAL);
            }
            insert(registry, section(0x43_0000, 0x44_0000)?, MOST)
        },
        |registry| {
            let text = (0x41_0000, 0x41_1000);
            replace(registry, section_at((0x5000, 0x6000), text)?)
        },
        |registry| remove(registry, 0x42_0000, 0x42_1000),
        |registry| {
            registry.unmap(0x42_0800, 0x42_0801);
            Ok(())
        },
    ];

    #[test]
    fn copies_share_until_one_changes() -> Result {
        let registry = three_sections()?;
        let copy = registry.copy()?;
        let copy_of_copy = copy.copy()?;
        assert_eq!(registry.references(), 3);

        // What changes no section leaves it so.
        for registry in [&registry, &copy, &copy_of_copy] {
            assert!(is_unchanged(registry));
            let text = section(0x40_0800, 0x40_0900)?;
            assert_eq!(
                insert(registry, section(0x43_0000, 0x44_0000)?, 3),
                Err(ENOSPC)
            );
            assert_eq!(insert(registry, text, MOST), Err(EEXIST));
            assert_eq!(replace(registry, text), Err(ENOENT));
            assert!(remove(registry, 0x40_0000, 0x40_0fff).is_err());
            registry.unmap(0x2000, 0x40_0000);
            registry.unmap(0x41_1000, 0x42_0000);
            let second = registry.find(0x41_0000).ok_or(ENOENT)?;
            let malformed = Malformed {
                reason: Reason::SFrame(sframe::Reason::Magic),
                offset: 0,
            };
            assert_eq!(
                judge(registry, &second, Verdict::Disabled(malformed)),
                Ok(true)
            );
            assert!(is_unchanged(registry));
        }
        assert_eq!(registry.references(), 3);
        drop(copy);
        drop(copy_of_copy);
        assert_eq!(registry.references(), 1);

        // Whichever changes, the other one does not.
        for change in CHANGES {
            for old_changes in [false, true] {
                let old = three_sections()?;
                let new = old.copy()?;
                let (changes, stays) = if old_changes {
                    (&old, &new)
                } else {
                    (&new, &old)
                };

                change(changes)?;
                assert!(!is_unchanged(changes));
                assert!(is_unchanged(stays));
                assert_eq!(changes.references(), 1);
                // What was found out is where it was, and only there.
                assert!(is_disabled(&old, 0x40_0000));
                assert!(!is_disabled(&new, 0x40_0000));
                // Nor does what was copied come back to one who goes on alone.
                change(stays)?;
                assert_eq!(stays.len(), changes.len());
            }
        }
        Ok(())
    }

    #[test]
    fn unshare_copies_once() -> Result {
        let registry = three_sections()?;
        let copy = registry.copy()?;

        copy.unshare(GFP_KERNEL)?;
        assert_eq!(copy.references(), 1);
        assert!(is_unchanged(&registry) && is_unchanged(&copy));
        copy.unshare(GFP_KERNEL)?;
        assert_eq!(copy.references(), 1);
        for change in CHANGES {
            change(&copy)?;
        }
        assert!(is_unchanged(&registry));
        Ok(())
    }

    #[test]
    fn what_takes_something_away_changes_the_generation() -> Result {
        let registry = three_sections()?;
        let before = registry.generation();
        let second = registry.find(0x41_0000).ok_or(ENOENT)?;
        let malformed = Verdict::Disabled(Malformed {
            reason: Reason::SFrame(sframe::Reason::Magic),
            offset: 0,
        });

        // These take nothing away.
        insert(&registry, section(0x43_0000, 0x44_0000)?, MOST)?;
        assert_eq!(
            insert(&registry, section(0x43_0000, 0x44_0000)?, MOST),
            Err(EEXIST)
        );
        registry.unmap(0x50_0000, 0x60_0000);
        assert!(remove(&registry, 0x50_0000, 0x60_0000).is_err());
        drop(registry.copy()?);
        registry.unshare(GFP_KERNEL)?;
        assert_eq!(registry.generation(), before);

        // These do.
        assert_eq!(judge(&registry, &second, malformed), Ok(true));
        let disabled = registry.generation();
        assert!(disabled != before);
        replace(&registry, section(0x41_0000, 0x41_1000)?)?;
        let replaced = registry.generation();
        assert!(replaced != disabled);
        assert!(remove(&registry, 0x42_0000, 0x42_1000).is_ok());
        let removed = registry.generation();
        assert!(removed != replaced);
        registry.unmap(0x40_0000, 0x40_0001);
        assert!(registry.generation() != removed);
        Ok(())
    }

    #[test]
    fn none_and_one() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let add = |start: usize| insert(&registry, section(start, start | 0x1000)?, MOST);

        // The tree is empty, has one entry, and is empty again.
        for start in [0, 0x40_0000, 0x7fff_ffff_e000] {
            for _ in 0..3 {
                assert!(registry.find(start).is_none());
                assert!(registry.find_in(0, usize::MAX).is_none());
                add(start)?;
                assert_eq!(add(start), Err(EEXIST));
                assert!(registry.find(start).is_some());
                let found = registry.find_in(0, usize::MAX).ok_or(ENOENT)?;
                assert!(registry
                    .find_in(found.section.text_end, usize::MAX)
                    .is_none());
                assert!(remove(&registry, start, start | 0x1000).is_ok());
            }
        }
        Ok(())
    }

    #[test]
    fn a_replaced_set_stays_for_its_readers() -> Result {
        let registry = three_sections()?;

        for change in CHANGES {
            let copy = registry.copy()?;
            // SAFETY: There is nothing that this requires.
            let cookie = unsafe { bindings::get_state_synchronize_rcu() };
            change(&copy)?;
            // Who reads the copy may still be using what it had before.
            let references = registry.references();
            // SAFETY: The cookie is of the function above.
            let is_over = unsafe { bindings::poll_state_synchronize_rcu(cookie) };
            assert!(references == 2 || is_over);
            drop(copy);
            // It is dropped once, some time.
            for _ in 0..1000 {
                if registry.references() == 1 {
                    break;
                }
                // SAFETY: This is a thread of its own, and it holds nothing.
                unsafe { bindings::msleep(10) };
            }
            assert_eq!(registry.references(), 1);
        }
        assert!(is_unchanged(&registry));
        Ok(())
    }

    #[test]
    fn generations() -> Result {
        let starts = || (0x40_0000_usize..0x50_0000).step_by(0x2000);
        let mut registry = Registry::new(GFP_KERNEL)?;

        for (nth, start) in starts().enumerate() {
            insert(&registry, section(start, start | 0x1000)?, MOST)?;
            // The older one goes first, and sometimes nothing has changed since.
            registry = registry.copy()?;
            if nth % 3 == 0 {
                registry = registry.copy()?;
            }
            assert_eq!(registry.len(), nth.wrapping_add(1));
        }
        for start in starts() {
            let copy = registry.copy()?;
            assert!(remove(&copy, start, start | 0x1000).is_ok());
            assert!(registry.find(start).is_some());
            registry = copy;
        }
        assert_eq!(registry.len(), 0);
        Ok(())
    }

    /// What an address is known by in C is the sum of the address, the generation and the formats,
    /// of which 52 bits count.
    #[test]
    fn generations_are_far_apart() {
        for (nth, other) in [(1, 0), (2, 1), (1 << 32, 0), ((1 << 32) | 1, 1 << 32)] {
            let of = |nth: u64| cache::GENERATION.wrapping_mul(nth);
            let distance = of(nth).wrapping_sub(of(other)) << 12;

            assert!(distance.min(distance.wrapping_neg()) > 1 << 59);
        }
    }

    #[test]
    fn many_sections() -> Result {
        let starts = || (0x40_0000_usize..0xc0_0000).step_by(0x2000);
        let registry = Registry::new(GFP_KERNEL)?;

        for start in starts() {
            insert(&registry, section(start, start | 0x1000)?, MOST)?;
        }
        let copy = registry.copy()?;
        assert_eq!(copy.len(), registry.len());
        for registry in [&registry, &copy] {
            for start in starts() {
                assert!(registry.find(start | 0xfff).is_some());
                assert!(registry.find(start | 0x1000).is_none());
            }
        }
        copy.unmap(0x50_0000, 0xb0_0000);
        assert_eq!(copy.len(), 256);
        drop(copy);
        for start in starts() {
            assert!(registry.find(start).is_some());
        }
        Ok(())
    }
}
