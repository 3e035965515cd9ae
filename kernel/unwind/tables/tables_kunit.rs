// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what does not need a process: the registry's bookkeeping.

use kernel::prelude::*;

#[kunit_tests(unwind_tables)]
mod tests {
    use super::*;
    use crate::{
        parse::{
            Malformed,
            Reason, //
        },
        registry::Registry,
        section::{
            Section,
            State, //
        },
    };

    #[test]
    fn overlaps() -> Result {
        let registry = Registry::new()?;
        let section = |start, end| Section::new(0x1000, 0x2000, start, end);

        registry.insert(section(0x40_0000, 0x41_0000)?)?;
        registry.insert(section(0x41_0000, 0x42_0000)?)?;
        assert_eq!(registry.insert(section(0x40_0000, 0x41_0000)?), Err(EEXIST));
        assert_eq!(registry.insert(section(0x40_ffff, 0x41_0001)?), Err(EEXIST));
        assert_eq!(registry.insert(section(0x3f_ffff, 0x40_0001)?), Err(EEXIST));
        assert_eq!(registry.insert(section(0x30_0000, 0x50_0000)?), Err(EEXIST));
        registry.insert(section(0x3f_ffff, 0x40_0000)?)?;
        registry.insert(section(0x42_0000, 0x42_0001)?)?;

        for (pc, start) in [
            (0x3f_fffe, None),
            (0x3f_ffff, Some(0x3f_ffff)),
            (0x40_0000, Some(0x40_0000)),
            (0x40_ffff, Some(0x40_0000)),
            (0x41_0000, Some(0x41_0000)),
            (0x42_0000, Some(0x42_0000)),
            (0x42_0001, None),
        ] {
            assert_eq!(registry.find(pc).map(|section| section.text_start), start);
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
            assert!(Section::new(table_start, table_end, text_start, text_end).is_err());
        }
    }

    #[test]
    fn verdicts_stay_with_their_section() -> Result {
        let registry = Registry::new()?;
        let malformed = Malformed {
            reason: Reason::Magic,
            offset: 0,
        };

        registry.insert(Section::new(0x1000, 0x2000, 0x40_0000, 0x41_0000)?)?;
        let old = registry.find(0x40_0000).ok_or(ENOENT)?;
        registry.publish(Section { id: !old.id, ..old }, State::Disabled(malformed))?;
        let now = registry.find(0x40_0000).ok_or(ENOENT)?;
        assert!(matches!(now.state, State::Unchecked));

        registry.publish(old, State::Disabled(malformed))?;
        let now = registry.find(0x40_0000).ok_or(ENOENT)?;
        assert!(matches!(now.state, State::Disabled(reason) if reason == malformed));
        assert_eq!(now.id, old.id);

        // One who read it before is too late.
        registry.publish(old, State::Unchecked)?;
        let now = registry.find(0x40_0000).ok_or(ENOENT)?;
        assert!(matches!(now.state, State::Disabled(_)));

        // A copy starts clean.
        let copy = registry.copy()?;
        let copied = copy.find(0x40_ffff).ok_or(ENOENT)?;
        assert!(matches!(copied.state, State::Unchecked));
        assert_eq!((copied.table, copied.table_len), (0x1000, 0x1000));
        Ok(())
    }

    #[test]
    fn many_sections() -> Result {
        let starts = || (0x40_0000_usize..0xc0_0000).step_by(0x2000);
        let registry = Registry::new()?;

        for start in starts() {
            registry.insert(Section::new(0x1000, 0x2000, start, start | 0x1000)?)?;
        }
        let copy = registry.copy()?;
        for registry in [registry, copy] {
            for start in starts() {
                assert!(registry.find(start | 0xfff).is_some());
                assert!(registry.find(start | 0x1000).is_none());
            }
        }
        Ok(())
    }
}
