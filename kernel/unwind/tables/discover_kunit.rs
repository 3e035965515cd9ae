// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what a registry does with the texts that walks have found.

use kernel::prelude::*;

#[kunit_tests(unwind_tables_discovery)]
mod tests {
    use super::*;
    use crate::{
        registry::Registry,
        table::{
            Format,
            Table, //
        },
        text::{
            Absence,
            Origin,
            Text, //
        },
    };

    /// How many texts of each kind a registry may have here.
    const MOST: usize = 8;

    fn table(start: usize, end: usize, origin: Origin) -> Result<Text> {
        let table = Table::new(0x1000, 0x2000, 0x1000, origin).ok_or(EINVAL)?;

        Text::new(start, end, [Some(table), None])
    }

    fn register(registry: &Registry, start: usize, end: usize) -> Result {
        registry.register(table(start, end, Origin::Prctl)?, MOST)
    }

    fn find(registry: &Registry, text: Text) -> Result {
        registry.insert_found(text, MOST).map(|_| ())
    }

    fn find_table(registry: &Registry, start: usize, end: usize) -> Result {
        find(registry, table(start, end, Origin::Discovery)?)
    }

    fn find_nothing(registry: &Registry, start: usize, end: usize) -> Result {
        find(registry, Text::absent(start, end, Absence::NoFile)?)
    }

    /// How many texts there are: registered, found with a table, and without.
    fn counts(registry: &Registry) -> (usize, usize, usize) {
        let counts = registry.counts();

        (counts.explicit, counts.found, counts.absent)
    }

    /// A text, and who says that it has a table.
    type Expected = (usize, usize, Option<Origin>);

    /// Says whether these are all texts of the registry.
    fn has(registry: &Registry, expected: &[Expected]) -> bool {
        let mut from = 0;

        for expected in expected {
            let Some(text) = registry.next(from) else {
                return false;
            };
            let origin = text.table(Format::SFrame).map(|table| table.origin);

            if (text.start, text.end, origin) != *expected {
                return false;
            }
            from = text.end;
        }
        registry.next(from).is_none()
    }

    #[test]
    fn what_is_found_is_counted_apart() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find_table(&registry, 0x10_0000, 0x11_0000)?;
        find_nothing(&registry, 0x20_0000, 0x21_0000)?;
        find_nothing(&registry, 0x22_0000, 0x23_0000)?;
        register(&registry, 0x30_0000, 0x31_0000)?;
        assert_eq!(counts(&registry), (1, 1, 2));

        registry.unmap(0x20_ffff, 0x22_0001);
        assert_eq!(counts(&registry), (1, 1, 0));
        registry.unmap(0x10_0000, 0x10_0001);
        assert_eq!(counts(&registry), (1, 0, 0));

        // What was found cannot be unregistered.
        find_table(&registry, 0x10_0000, 0x11_0000)?;
        find_nothing(&registry, 0x20_0000, 0x21_0000)?;
        for (start, end) in [(0x10_0000, 0x11_0000), (0x20_0000, 0x21_0000)] {
            let removed = registry.unregister(start, end, Format::SFrame);

            assert_eq!(removed, Err(ENOENT));
        }
        assert_eq!(counts(&registry), (1, 1, 1));
        Ok(())
    }

    /// A child gets the texts that have a table, whether these are many or few.
    #[test]
    fn a_copy_is_of_texts_with_a_table() -> Result {
        for absent in [0, 1, 2, 5, MOST] {
            let registry = Registry::new(GFP_KERNEL)?;

            for nth in 0..absent {
                let start = nth.wrapping_mul(0x2000) | 0x20_0000;

                find_nothing(&registry, start, start | 0x1000)?;
            }
            assert!(registry.copy()?.is_none());
            find_table(&registry, 0x10_0000, 0x11_0000)?;
            register(&registry, 0x30_0000, 0x31_0000)?;
            let child = registry.copy()?.ok_or(ENOENT)?;
            assert_eq!(counts(&child), (1, 1, 0));
            assert!(has(
                &child,
                &[
                    (0x10_0000, 0x11_0000, Some(Origin::Discovery)),
                    (0x30_0000, 0x31_0000, Some(Origin::Prctl)),
                ]
            ));
            assert_eq!(counts(&registry), (1, 1, absent));
            child.unmap(0, usize::MAX);
            assert_eq!(counts(&child), (0, 0, 0));
            assert_eq!(counts(&registry), (1, 1, absent));
        }
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
        // One is joined with its neighbours: also with two, and then there is room again.
        find_nothing(&registry, 0x10_1000, 0x10_1800)?;
        assert_eq!(counts(&registry), (0, 0, MOST));
        find_nothing(&registry, 0x10_1800, 0x10_2000)?;
        assert_eq!(counts(&registry), (0, 0, MOST.wrapping_sub(1)));
        find_nothing(&registry, 0x50_0000, 0x51_0000)?;
        for nth in 0..MOST {
            let start = nth.wrapping_mul(0x2000) | 0x60_0000;

            find_table(&registry, start, start | 0x1000)?;
        }
        assert_eq!(find_table(&registry, 0x52_0000, 0x53_0000), Err(ENOSPC));
        // What a program asks for does not depend on what walks have found.
        for nth in 0..MOST {
            let start = nth.wrapping_mul(0x2000) | 0x80_0000;

            register(&registry, start, start | 0x1000)?;
        }
        assert_eq!(register(&registry, 0x52_0000, 0x53_0000), Err(ENOSPC));
        assert_eq!(counts(&registry), (MOST, MOST, MOST));
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
                (0x12_0000, 0x15_0000, Some(Origin::Prctl)),
                (0x20_0000, 0x24_0000, Some(Origin::Discovery)),
            ]
        ));
        assert_eq!(counts(&registry), (1, 1, 0));

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
        // Just one that was found, with a table and without.
        register(&registry, 0x20_0000, 0x24_0000)?;
        register(&registry, 0x15_0000, 0x18_0000)?;
        assert!(has(
            &registry,
            &[
                (0x10_0000, 0x12_0000, Some(Origin::Discovery)),
                (0x12_0000, 0x15_0000, Some(Origin::Prctl)),
                (0x15_0000, 0x18_0000, Some(Origin::Prctl)),
                (0x20_0000, 0x24_0000, Some(Origin::Prctl)),
            ]
        ));
        assert_eq!(counts(&registry), (3, 1, 0));
        Ok(())
    }

    #[test]
    fn neighbours_without_a_table_are_joined() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find_nothing(&registry, 0x10_0000, 0x11_0000)?;
        find_nothing(&registry, 0x12_0000, 0x13_0000)?;
        find_nothing(&registry, 0x11_0000, 0x12_0000)?;
        assert!(has(&registry, &[(0x10_0000, 0x13_0000, None)]));
        // But not with one that it overlaps, nor with one that has a table, or another reason.
        assert_eq!(find_nothing(&registry, 0x12_0000, 0x14_0000), Err(EEXIST));
        find_table(&registry, 0x13_0000, 0x14_0000)?;
        find_nothing(&registry, 0x14_0000, 0x15_0000)?;
        find(
            &registry,
            Text::absent(0x15_0000, 0x16_0000, Absence::NoHeader)?,
        )?;
        assert!(has(
            &registry,
            &[
                (0x10_0000, 0x13_0000, None),
                (0x13_0000, 0x14_0000, Some(Origin::Discovery)),
                (0x14_0000, 0x15_0000, None),
                (0x15_0000, 0x16_0000, None),
            ]
        ));
        assert_eq!(counts(&registry), (0, 1, 3));
        registry.unmap(0, usize::MAX);
        assert_eq!(counts(&registry), (0, 0, 0));
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
        let text = registry.find(0x12_0000).ok_or(ENOENT)?;
        assert_eq!(text.absence, Some(Absence::NoFile));
        Ok(())
    }
}
