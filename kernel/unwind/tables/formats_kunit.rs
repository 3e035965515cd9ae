// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of texts that have a table of each format.

use kernel::prelude::*;

#[kunit_tests(unwind_tables_formats)]
mod tests {
    use super::*;
    use crate::{
        parse::{
            sframe,
            Malformed,
            Reason, //
        },
        registry::Registry,
        table::{
            Format,
            Table, //
        },
        text::{
            Origin,
            State,
            Tables,
            Text, //
        },
    };

    /// How many texts a registry may have here.
    const MOST: usize = 3;

    /// The text of most of these tests.
    const TEXT: (usize, usize) = (0x40_0000, 0x41_0000);

    /// Where the table of each format is: one below the text, one above.
    const TABLES: [usize; Format::COUNT] = [0x38_0000, 0x48_0000];

    fn tables_of(formats: &[Format], origin: Origin) -> Tables {
        let mut tables = [None; Format::COUNT];

        for format in formats {
            let start = *format.of(&TABLES);
            let end = start.wrapping_add(0x1000);

            *format.of_mut(&mut tables) = Table::new(start, end, start | 0x10, origin);
        }
        tables
    }

    fn register(registry: &Registry, text: (usize, usize), format: Format) -> Result {
        let tables = tables_of(&[format], Origin::Prctl);

        registry.register(Text::new(text.0, text.1, tables)?, MOST)
    }

    /// What a walk does that has found tables of both formats.
    fn find(registry: &Registry) -> Result {
        let text = Text::new(TEXT.0, TEXT.1, tables_of(&Format::ALL, Origin::Discovery))?;

        registry.insert_found(text, MOST).map(|_| ())
    }

    /// Who says that there is a table of each format.
    fn origins(registry: &Registry) -> [Option<Origin>; Format::COUNT] {
        let text = registry.find(TEXT.0);

        Format::ALL.map(|format| Some(text.as_ref()?.table(format)?.origin))
    }

    const NONE: [Option<Origin>; Format::COUNT] = [None; Format::COUNT];
    const BOTH: [Option<Origin>; Format::COUNT] = [Some(Origin::Prctl); Format::COUNT];

    /// A table of one format alone.
    fn only(format: Format) -> [Option<Origin>; Format::COUNT] {
        let mut origins = NONE;

        *format.of_mut(&mut origins) = Some(Origin::Prctl);
        origins
    }

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
            let table = Table::new(start, end, header, Origin::Prctl);

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
            assert_eq!(origins(&registry), only(first));
            let before = registry.generation();
            for format in Format::ALL {
                register(&registry, TEXT, format)?;
            }
            // What a walk has found of the one table is no longer all.
            assert!(registry.generation() != before);
            assert_eq!(origins(&registry), BOTH);
            assert_eq!(registry.counts().explicit, 1);

            // Only just this text keeps the other one.
            for text in [(TEXT.0, 0x40_ffff), (0x3f_ffff, TEXT.1)] {
                register(&registry, text, first)?;
                assert_eq!(origins(&registry), only(first));
                assert_eq!(registry.counts().explicit, 1);
            }
        }
        Ok(())
    }

    /// Also of the other format: a walk finds nothing in registered text.
    #[test]
    fn what_is_registered_counts_for_the_text() -> Result {
        for format in Format::ALL {
            let registry = Registry::new(GFP_KERNEL)?;

            find(&registry)?;
            assert_eq!(origins(&registry), [Some(Origin::Discovery); Format::COUNT]);
            register(&registry, TEXT, format)?;
            assert_eq!(origins(&registry), only(format));
            assert_eq!(find(&registry), Err(EEXIST));

            registry.unregister(TEXT.0, TEXT.1, format)?;
            assert_eq!(origins(&registry), NONE);
            find(&registry)?;

            // Of a part of the text nothing stays.
            register(&registry, (TEXT.0, 0x40_8000), format)?;
            assert_eq!(origins(&registry), only(format));
            assert!(registry.find(0x40_8000).is_none());
        }
        Ok(())
    }

    #[test]
    fn one_goes_without_the_other() -> Result {
        for format in Format::ALL {
            let registry = Registry::new(GFP_KERNEL)?;
            let mut expected = BOTH;

            for format in Format::ALL {
                register(&registry, TEXT, format)?;
            }
            let child = registry.copy()?.ok_or(ENOENT)?;
            let before = registry.generation();
            let part = registry.unregister(TEXT.0, 0x40_ffff, format);
            assert_eq!(part, Err(ENOENT));
            registry.unregister(TEXT.0, TEXT.1, format)?;
            let again = registry.unregister(TEXT.0, TEXT.1, format);
            assert_eq!(again, Err(ENOENT));
            *format.of_mut(&mut expected) = None;
            assert_eq!(origins(&registry), expected);
            assert_eq!(registry.counts().explicit, 1);
            assert!(registry.generation() != before);
            assert_eq!(origins(&child), BOTH);
        }
        Ok(())
    }

    #[test]
    fn states_are_of_one_format() -> Result {
        for format in Format::ALL {
            let registry = Registry::new(GFP_KERNEL)?;
            let is_bad = |registry: &Registry| {
                let text = registry.find(TEXT.0);

                Format::ALL.map(|format| {
                    let table = text.as_ref().and_then(|text| text.table(format));

                    table.is_some_and(|table| matches!(table.state, State::Bad(_)))
                })
            };
            let mut expected = [false; Format::COUNT];

            for format in Format::ALL {
                register(&registry, TEXT, format)?;
            }
            let text = registry.find(TEXT.0).ok_or(ENOENT)?;
            let set = |text, format| {
                let bad = State::Bad(Malformed {
                    reason: Reason::SFrame(sframe::Reason::Magic),
                    offset: 0,
                });

                registry.set_state(text, format, bad, registry.generation())
            };
            assert_eq!(set(&text, format), Ok(true));
            *format.of_mut(&mut expected) = true;
            assert_eq!(is_bad(&registry), expected);
            // One who saw the text before does not take that back, and adds the other one.
            for other in Format::ALL {
                assert_eq!(set(&text, other), Ok(other != format));
            }
            assert_eq!(is_bad(&registry), [true; Format::COUNT]);

            // A table that is registered anew is read anew, the other one is not.
            register(&registry, TEXT, format)?;
            expected = [true; Format::COUNT];
            *format.of_mut(&mut expected) = false;
            assert_eq!(is_bad(&registry), expected);
        }
        Ok(())
    }

    /// With a table goes its text, whatever other tables that has.
    #[test]
    fn a_byte_of_either_is_enough() -> Result {
        for format in Format::ALL {
            let start = *format.of(&TABLES);

            for at in [start, start | 0xfff] {
                let registry = Registry::new(GFP_KERNEL)?;

                for format in Format::ALL {
                    register(&registry, TEXT, format)?;
                }
                registry.unmap(start.wrapping_sub(1), start);
                let end = start.wrapping_add(0x1000);
                registry.unmap(end, end.wrapping_add(1));
                assert_eq!(origins(&registry), BOTH);
                registry.unmap(at, at.wrapping_add(1));
                assert_eq!(origins(&registry), NONE);
            }
        }
        Ok(())
    }
}
