// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what a registry does with the texts that walks have found.

use kernel::prelude::*;

#[kunit_tests(unwind_tables_discovery)]
mod tests {
    use super::*;
    use crate::{
        registry::Registry,
        section::{
            Absence,
            Origin,
            Section, //
        },
        table::{
            Format,
            Table, //
        },
    };

    /// How many sections of each kind a registry may have here.
    const MOST: usize = 8;

    fn table(start: usize, end: usize, origin: Origin) -> Result<Section> {
        let table = Table::new(0x1000, 0x2000, 0x1000).ok_or(EINVAL)?;

        Section::new(start, end, Format::SFrame, table, origin)
    }

    fn register(registry: &Registry, start: usize, end: usize) -> Result {
        let section = table(start, end, Origin::Prctl)?;

        registry.insert(registry.entry(section, GFP_KERNEL)?, MOST)
    }

    fn find(registry: &Registry, section: Section) -> Result {
        let unmaps = registry.unmaps();

        registry.insert_found(registry.entry(section, GFP_KERNEL)?, MOST, unmaps)
    }

    fn find_table(registry: &Registry, start: usize, end: usize) -> Result {
        find(registry, table(start, end, Origin::Discovery)?)
    }

    fn find_nothing(registry: &Registry, start: usize, end: usize) -> Result {
        find(registry, Section::absent(start, end, Absence::NoFile)?)
    }

    /// A text, whether it has a table, and who says so.
    type Text = (usize, usize, bool, Origin);

    /// Whether these are all the texts that there are.
    fn has(registry: &Registry, expected: &[Text]) -> bool {
        let mut from = 0;

        for expected in expected {
            let Some(found) = registry.find_in(from, usize::MAX) else {
                return false;
            };
            let Section {
                text_start,
                text_end,
                ..
            } = found.section;
            let has_table = !found.section.is_absent();
            let origin = found.section.origin(Format::SFrame);

            if (text_start, text_end, has_table, origin) != *expected {
                return false;
            }
            from = text_end;
        }
        registry.find_in(from, usize::MAX).is_none()
    }

    #[test]
    fn what_is_found_is_counted_apart() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find_table(&registry, 0x10_0000, 0x11_0000)?;
        find_nothing(&registry, 0x20_0000, 0x21_0000)?;
        find_nothing(&registry, 0x22_0000, 0x23_0000)?;
        assert_eq!((registry.len(), registry.absent()), (1, 2));

        // Neither is copied in vain, and a child starts with both.
        let copy = registry.copy()?;
        assert_eq!((copy.len(), copy.absent()), (1, 2));
        copy.unmap(0x20_ffff, 0x22_0001);
        assert_eq!((copy.len(), copy.absent()), (1, 0));
        copy.unmap(0x10_0000, 0x10_0001);
        assert_eq!((copy.len(), copy.absent()), (0, 0));
        assert_eq!((registry.len(), registry.absent()), (1, 2));

        // A text without a table is not one that can be unregistered.
        let text = (0x20_0000, 0x21_0000);
        assert!(registry.remove(text.0, text.1, Format::SFrame).is_none());
        assert!(registry.remove_text(text.0, text.1, false).is_none());
        assert!(registry.remove_text(text.0, text.1, true).is_some());
        assert_eq!((registry.len(), registry.absent()), (1, 1));
        Ok(())
    }

    #[test]
    fn each_kind_has_its_limit() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        for nth in 0..MOST {
            let start = nth.wrapping_mul(0x2000) | 0x10_0000;

            find_nothing(&registry, start, start | 0x1000)?;
        }
        assert_eq!(find_nothing(&registry, 0x50_0000, 0x51_0000), Err(ENOSPC));
        // One takes the place of its neighbours: also of two, and then there is room again.
        find_nothing(&registry, 0x10_0000, 0x10_2000)?;
        assert_eq!(registry.absent(), MOST);
        find_nothing(&registry, 0x10_0000, 0x10_3000)?;
        assert_eq!(registry.absent(), MOST.wrapping_sub(1));
        find_nothing(&registry, 0x50_0000, 0x51_0000)?;
        for nth in 0..MOST {
            let start = nth.wrapping_mul(0x2000) | 0x60_0000;

            find_table(&registry, start, start | 0x1000)?;
        }
        assert_eq!(find_table(&registry, 0x52_0000, 0x53_0000), Err(ENOSPC));
        assert_eq!(register(&registry, 0x52_0000, 0x53_0000), Err(ENOSPC));
        // A table that was found makes room for one in its place.
        register(&registry, 0x60_0800, 0x60_1800)?;
        assert_eq!((registry.len(), registry.absent()), (MOST, MOST));
        Ok(())
    }

    /// Nothing that was found is in the way of one who knows better, not even in part.
    #[test]
    fn what_is_registered_counts() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find_table(&registry, 0x10_0000, 0x14_0000)?;
        find_nothing(&registry, 0x14_0000, 0x18_0000)?;
        find_table(&registry, 0x20_0000, 0x24_0000)?;
        let before = registry.generation();
        register(&registry, 0x12_0000, 0x15_0000)?;
        assert!(registry.generation() != before);
        assert!(has(
            &registry,
            &[
                (0x12_0000, 0x15_0000, true, Origin::Prctl),
                (0x20_0000, 0x24_0000, true, Origin::Discovery),
            ]
        ));
        assert_eq!((registry.len(), registry.absent()), (2, 0));

        // The other way round it is.
        for (start, end) in [
            (0x12_0000, 0x15_0000),
            (0x11_0000, 0x12_0001),
            (0x14_ffff, 0x15_0001),
            (0x10_0000, 0x18_0000),
        ] {
            assert_eq!(find_table(&registry, start, end), Err(EEXIST));
            assert_eq!(find_nothing(&registry, start, end), Err(EEXIST));
        }
        // What is left on both sides can be found again.
        find_table(&registry, 0x10_0000, 0x12_0000)?;
        find_nothing(&registry, 0x15_0000, 0x18_0000)?;

        // What a program asks for does not depend on what walks have found.
        let update = |start, end| {
            let section = table(start, end, Origin::Prctl)?;
            registry.replace(registry.entry(section, GFP_KERNEL)?)
        };
        for (start, end) in [(0x20_0000, 0x24_0000), (0x15_0000, 0x18_0000)] {
            assert_eq!(update(start, end), Err(ENOENT));
            assert!(registry.remove(start, end, Format::SFrame).is_none());
        }
        update(0x12_0000, 0x15_0000)?;
        assert!(has(
            &registry,
            &[
                (0x10_0000, 0x12_0000, true, Origin::Discovery),
                (0x12_0000, 0x15_0000, true, Origin::Prctl),
                (0x15_0000, 0x18_0000, false, Origin::Discovery),
                (0x20_0000, 0x24_0000, true, Origin::Discovery),
            ]
        ));
        Ok(())
    }

    /// A registration that fails takes nothing away.
    #[test]
    fn what_is_refused_changes_nothing() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find_nothing(&registry, 0x10_0000, 0x12_0000)?;
        register(&registry, 0x12_0000, 0x13_0000)?;
        find_table(&registry, 0x13_0000, 0x14_0000)?;
        let before = registry.generation();
        assert_eq!(register(&registry, 0x11_0000, 0x14_0000), Err(EEXIST));
        let section = table(0x11_0000, 0x12_0000, Origin::Prctl)?;
        let full = registry.insert(registry.entry(section, GFP_KERNEL)?, 2);
        assert_eq!(full, Err(ENOSPC));
        assert_eq!(registry.generation(), before);
        assert_eq!((registry.len(), registry.absent()), (2, 1));
        Ok(())
    }

    #[test]
    fn neighbours_without_a_table_are_joined() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find_nothing(&registry, 0x10_0000, 0x11_0000)?;
        find_nothing(&registry, 0x12_0000, 0x13_0000)?;
        // As a walk does: what is new, with what is on both sides.
        find_nothing(&registry, 0x10_0000, 0x13_0000)?;
        assert_eq!(registry.absent(), 1);
        assert!(has(
            &registry,
            &[(0x10_0000, 0x13_0000, false, Origin::Discovery)]
        ));
        // But not a part of one, nor one that has a table, nor more than two.
        assert_eq!(find_nothing(&registry, 0x12_0000, 0x14_0000), Err(EEXIST));
        find_table(&registry, 0x13_0000, 0x14_0000)?;
        assert_eq!(find_nothing(&registry, 0x10_0000, 0x14_0000), Err(EEXIST));
        find_nothing(&registry, 0x20_0000, 0x21_0000)?;
        find_nothing(&registry, 0x22_0000, 0x23_0000)?;
        find_nothing(&registry, 0x24_0000, 0x25_0000)?;
        assert_eq!(find_nothing(&registry, 0x20_0000, 0x25_0000), Err(EEXIST));
        assert_eq!((registry.len(), registry.absent()), (1, 4));
        registry.unmap(0, usize::MAX);
        assert_eq!((registry.len(), registry.absent()), (0, 0));
        Ok(())
    }

    /// What was unmapped since may be something else by now, also where nothing was known of it.
    #[test]
    fn an_unmap_takes_away_what_is_being_found() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let section = || table(0x10_0000, 0x11_0000, Origin::Discovery);
        let unmaps = registry.unmaps();

        registry.unmap(0x70_0000, 0x71_0000);
        let late = registry.insert_found(registry.entry(section()?, GFP_KERNEL)?, MOST, unmaps);
        assert_eq!(late, Err(EAGAIN));
        assert_eq!(registry.len(), 0);

        let unmaps = registry.unmaps();
        registry.insert_found(registry.entry(section()?, GFP_KERNEL)?, MOST, unmaps)?;
        assert_eq!(registry.len(), 1);
        Ok(())
    }

    #[test]
    fn gaps() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        assert_eq!(registry.gap(0x10_0000), Some((0, usize::MAX)));
        find_table(&registry, 0x10_0000, 0x11_0000)?;
        find_nothing(&registry, 0x12_0000, 0x13_0000)?;
        for (pc, expected) in [
            (0, Some((0, 0x0f_ffff))),
            (0x0f_ffff, Some((0, 0x0f_ffff))),
            (0x10_0000, None),
            (0x10_ffff, None),
            (0x11_0000, Some((0x11_0000, 0x11_ffff))),
            (0x11_ffff, Some((0x11_0000, 0x11_ffff))),
            (0x12_0000, None),
            (0x13_0000, Some((0x13_0000, usize::MAX))),
            (usize::MAX, Some((0x13_0000, usize::MAX))),
        ] {
            assert_eq!(registry.gap(pc), expected);
        }
        // Of texts without a table the reason is kept.
        let section = registry.find(0x12_0000).ok_or(ENOENT)?;
        assert_eq!(section.absence, Some(Absence::NoFile));
        Ok(())
    }
}
