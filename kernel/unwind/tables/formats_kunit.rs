// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of texts that have a table of each format.

use kernel::prelude::*;

#[kunit_tests(unwind_tables_formats)]
mod tests {
    use super::*;
    use crate::{
        parse::{
            eh_frame,
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
    const MOST: usize = 3;

    /// The text of most of these tests.
    const TEXT: (usize, usize) = (0x40_0000, 0x41_0000);

    /// Where the table of each format is that is first registered.
    const TABLES: [usize; Format::COUNT] = [0x1000, 0x80_0000];

    fn table(start: usize) -> Result<Table> {
        Table::new(start, start.wrapping_add(0x1000), start | 0x10).ok_or(EINVAL)
    }

    fn section(text: (usize, usize), format: Format, start: usize) -> Result<Section> {
        Section::new(text.0, text.1, format, table(start)?, Origin::Prctl)
    }

    fn register(registry: &Registry, text: (usize, usize), format: Format) -> Result {
        let section = section(text, format, *format.of(&TABLES))?;

        registry.insert(registry.entry(section, GFP_KERNEL)?, MOST)
    }

    /// What a walk does that has found these tables.
    fn find(registry: &Registry, formats: &[Format]) -> Result {
        let mut tables = [None; Format::COUNT];

        for format in formats {
            *format.of_mut(&mut tables) = Some(table(*format.of(&TABLES))?);
        }
        let section = Section::found(TEXT.0, TEXT.1, tables, Origin::Discovery)?.ok_or(EINVAL)?;
        let unmaps = registry.unmaps();

        registry.insert_found(registry.entry(section, GFP_KERNEL)?, MOST, unmaps)
    }

    /// Where the table of each format is, and who says so.
    fn tables(registry: &Registry) -> [Option<(usize, Origin)>; Format::COUNT] {
        Format::ALL.map(|format| {
            let section = registry.find(TEXT.0)?;

            Some((section.table(format)?.start(), section.origin(format)))
        })
    }

    fn malformed() -> Verdict {
        Verdict::Disabled(Malformed {
            reason: Reason::EhFrame(eh_frame::Reason::Version),
            offset: 0,
        })
    }

    /// For which formats there is a verdict.
    fn is_judged(registry: &Registry) -> [bool; Format::COUNT] {
        registry
            .find_in(TEXT.0, TEXT.1)
            .map_or([false; Format::COUNT], |found| {
                found.verdicts.map(|verdict| verdict.is_some())
            })
    }

    const PRCTL: [Option<(usize, Origin)>; Format::COUNT] = [
        Some((TABLES[0], Origin::Prctl)),
        Some((TABLES[1], Origin::Prctl)),
    ];

    #[test]
    fn headers_are_in_their_tables() {
        for (start, end, header, is_good) in [
            (0x1000, 0x2000, 0x1000, true),
            (0x1000, 0x2000, 0x1fff, true),
            (0x1000, 0x2000, 0x0fff, false),
            (0x1000, 0x2000, 0x2000, false),
            (0x1000, 0x1000, 0x1000, false),
            (0x2000, 0x1000, 0x1000, false),
            (0x1000, 0x1_0000_0fff, 0x1000, true),
            (0x1000, 0x1_0000_1000, 0x1000, false),
        ] {
            let table = Table::new(start, end, header);

            assert_eq!(table.is_some(), is_good);
            if let Some(table) = table {
                assert_eq!((table.start(), table.end()), (start, end));
                assert_eq!(table.header(), header);
            }
        }
    }

    #[test]
    fn a_text_gets_one_of_each() -> Result {
        for first in Format::ALL {
            let registry = Registry::new(GFP_KERNEL)?;

            register(&registry, TEXT, first)?;
            register(&registry, (0x50_0000, 0x51_0000), first)?;
            assert_eq!(tables(&registry).iter().flatten().count(), 1);
            let before = registry.generation();
            for format in Format::ALL {
                let again = register(&registry, TEXT, format);

                assert_eq!(again, if format == first { Err(EEXIST) } else { Ok(()) });
            }
            // What a walk has found of the one table is no longer all.
            assert!(registry.generation() != before);
            assert_eq!(tables(&registry), PRCTL);
            assert_eq!(registry.len(), 2);
            for format in Format::ALL {
                assert_eq!(register(&registry, TEXT, format), Err(EEXIST));
                // Only just this text.
                for text in [
                    (0x40_0000, 0x40_ffff),
                    (0x3f_ffff, 0x41_0000),
                    (0x40_ffff, 0x48_0000),
                ] {
                    assert_eq!(register(&registry, text, format), Err(EEXIST));
                }
            }

            // There may be no more texts. That of another format is none.
            register(&registry, (0x60_0000, 0x61_0000), first)?;
            for format in Format::ALL {
                let more = register(&registry, (0x50_0000, 0x51_0000), format);

                assert_eq!(more, if format == first { Err(ENOSPC) } else { Ok(()) });
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_registered_counts_in_its_format() -> Result {
        for format in Format::ALL {
            let registry = Registry::new(GFP_KERNEL)?;
            let mut expected = TABLES.map(|start| Some((start, Origin::Discovery)));

            find(&registry, &Format::ALL)?;
            assert_eq!(tables(&registry), expected);
            register(&registry, TEXT, format)?;
            *format.of_mut(&mut expected) = Some((*format.of(&TABLES), Origin::Prctl));
            assert_eq!(tables(&registry), expected);
            assert_eq!(registry.len(), 1);

            // With it goes what walks will find again.
            assert!(registry.remove(TEXT.0, TEXT.1, format).is_some());
            assert_eq!(tables(&registry), [None; Format::COUNT]);
            assert_eq!(registry.len(), 0);

            // Of a part of the text nothing stays.
            find(&registry, &Format::ALL)?;
            register(&registry, (TEXT.0, 0x40_8000), format)?;
            assert_eq!(tables(&registry).iter().flatten().count(), 1);
            assert!(registry.find(0x40_8000).is_none());
        }
        Ok(())
    }

    #[test]
    fn one_goes_without_the_other() -> Result {
        for format in Format::ALL {
            let registry = Registry::new(GFP_KERNEL)?;
            let mut expected = PRCTL;

            for format in Format::ALL {
                register(&registry, TEXT, format)?;
            }
            let copy = registry.copy()?;
            for registry in [&registry, &copy] {
                let before = registry.generation();

                expected = PRCTL;
                assert!(registry.remove(TEXT.0, 0x40_ffff, format).is_none());
                assert!(registry.remove(TEXT.0, TEXT.1, format).is_some());
                assert!(registry.remove(TEXT.0, TEXT.1, format).is_none());
                *format.of_mut(&mut expected) = None;
                assert_eq!(tables(registry), expected);
                assert_eq!(registry.len(), 1);
                assert!(registry.generation() != before);
            }
            register(&copy, TEXT, format)?;
            assert_eq!(tables(&copy), PRCTL);
            assert_eq!(tables(&registry), expected);
        }
        Ok(())
    }

    #[test]
    fn an_update_is_of_one_format() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;
        let update = |format, start| {
            let section = section(TEXT, format, start)?;
            registry.replace(registry.entry(section, GFP_KERNEL)?)
        };

        register(&registry, TEXT, Format::EhFrame)?;
        assert_eq!(update(Format::SFrame, 0x5000), Err(ENOENT));
        update(Format::EhFrame, 0x6000)?;
        register(&registry, TEXT, Format::SFrame)?;
        update(Format::SFrame, 0x5000)?;
        assert_eq!(
            tables(&registry),
            [0x5000, 0x6000].map(|start| Some((start, Origin::Prctl)))
        );
        Ok(())
    }

    #[test]
    fn verdicts_are_of_one_format() -> Result {
        let registry = Registry::new(GFP_KERNEL)?;

        find(&registry, &Format::ALL)?;
        let section = registry.find(TEXT.0).ok_or(ENOENT)?;
        for format in Format::ALL {
            let before = is_judged(&registry);
            let generation = registry.generation();

            assert!(!format.of(&before));
            assert_eq!(registry.judge(&section, format, malformed()), Ok(true));
            assert_eq!(registry.judge(&section, format, malformed()), Ok(false));
            let mut expected = before;
            *format.of_mut(&mut expected) = true;
            assert_eq!(is_judged(&registry), expected);
            assert!(registry.generation() != generation);
        }
        assert_eq!(is_judged(&*registry.copy()?), [false; Format::COUNT]);

        // All that was known of a section is forgotten with it.
        register(&registry, TEXT, Format::SFrame)?;
        assert_eq!(is_judged(&registry), [false; Format::COUNT]);
        for format in Format::ALL {
            assert_eq!(registry.judge(&section, format, malformed()), Ok(false));
        }
        registry.unmap(TEXT.0, TEXT.1);
        find(&registry, &Format::ALL)?;
        assert_eq!(is_judged(&registry), [false; Format::COUNT]);
        Ok(())
    }

    /// What a program has registered in the other format stays.
    #[test]
    fn one_is_unmapped() -> Result {
        for format in Format::ALL {
            let start = *format.of(&TABLES);
            let registry = Registry::new(GFP_KERNEL)?;
            let mut expected = PRCTL;

            for format in Format::ALL {
                register(&registry, TEXT, format)?;
            }
            *format.of_mut(&mut expected) = None;
            let copy = registry.copy()?;
            let before = registry.generation();
            registry.unmap(start, start.wrapping_add(1));
            assert_eq!(tables(&registry), expected);
            assert!(registry.generation() != before);
            assert_eq!(tables(&copy), PRCTL);

            // Both at once, and what is between them.
            copy.unmap(TABLES[0], TABLES[1].wrapping_add(1));
            assert_eq!(tables(&copy), [None; Format::COUNT]);
            assert_eq!(copy.len(), 0);

            // What a walk has found goes with it: it finds that again.
            registry.unmap(TEXT.0, TEXT.1);
            find(&registry, &Format::ALL)?;
            register(&registry, TEXT, format)?;
            registry.unmap(start, start.wrapping_add(1));
            assert_eq!(registry.len(), 0);

            // What a program has registered does not go with what a walk has found.
            find(&registry, &Format::ALL)?;
            register(&registry, TEXT, format)?;
            let other = Format::ALL
                .into_iter()
                .find(|other| *other != format)
                .ok_or(EINVAL)?;
            let start = *other.of(&TABLES);
            registry.unmap(start, start.wrapping_add(1));
            assert!(registry.find(TEXT.0).is_some_and(|section| {
                section.has_explicit(format) && section.table(other).is_none()
            }));
        }
        Ok(())
    }

    /// Wherever they are: one of these is below the text, one above.
    #[test]
    fn a_byte_of_either_is_enough() -> Result {
        for format in Format::ALL {
            let start = *format.of(&TABLES);

            for at in [start, start | 0xfff] {
                let registry = Registry::new(GFP_KERNEL)?;

                find(&registry, &Format::ALL)?;
                registry.unmap(start.wrapping_sub(1), start);
                let end = start.wrapping_add(0x1000);
                registry.unmap(end, end.wrapping_add(1));
                assert_eq!(registry.len(), 1);
                registry.unmap(at, at.wrapping_add(1));
                assert_eq!(registry.len(), 0);
            }
        }
        Ok(())
    }
}
