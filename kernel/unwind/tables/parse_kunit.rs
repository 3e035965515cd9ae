// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of the parser, for all architectures.
//!
//! A crate of its own: the parser knows no kernel, so it is tested without what uses it. Indexes
//! are searched as that of the vDSO's table is. `user_memory_kunit.rs` has the same tables in user
//! memory.

mod bisect;
mod parse;
mod vectors;

use kernel::prelude::*;

const __LOG_PREFIX: &[u8] = b"unwind_tables_parse\0";

#[kunit_tests(unwind_tables_parse)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::{
        parse::{
            self,
            Array,
            Budget,
            Element,
            Fault,
            Lost,
            Reader,
            Rule,
            Value, //
        },
        vectors::{
            Bytes,
            Table,
            TABLES, //
        },
    };

    /// Units that every lookup in the vectors can pay from.
    const ENOUGH: u32 = 1000;
    /// Longer tables have nothing behind this.
    const MOST: usize = 4096;

    /// A table in memory, of which the access of some number, from 0, may fail.
    struct Memory {
        bytes: KVec<u8>,
        /// How long the table is said to be.
        len: usize,
        fails: Option<u32>,
        accesses: Cell<u32>,
    }

    impl Memory {
        fn new(table: &Bytes<'_>) -> Result<Self> {
            let mut bytes = KVec::new();

            for byte in table.first(MOST) {
                bytes.push(byte, GFP_KERNEL)?;
            }
            Ok(Self {
                bytes,
                len: table.len,
                fails: None,
                accesses: Cell::new(0),
            })
        }

        fn access(&self) -> Result<(), Fault> {
            let nth = self.accesses.get();

            self.accesses.set(nth.saturating_add(1));
            if self.fails == Some(nth) {
                return Err(Fault);
            }
            Ok(())
        }

        /// The rule for `pc` in a change of `table`, which this is.
        fn rule(&self, table: &Table, pc: u64, units: u32) -> (Found, u32) {
            let mut budget = Budget::new(units);
            let found = table.rule(self, self.len, pc, &mut budget);

            (found, budget.left())
        }
    }

    impl Reader for Memory {
        fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
            let bytes = usize::try_from(offset)
                .ok()
                .and_then(|offset| self.bytes.get(offset..)?.get(..buf.len()))
                .ok_or(Fault)?;

            self.access()?;
            buf.copy_from_slice(bytes);
            Ok(())
        }

        fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
            self.access()?;
            bisect::in_kernel_memory(&self.bytes, array, key)
        }
    }

    type Found = Result<Rule, parse::Error>;

    /// Whether something was found that was expected; says so, if not.
    fn agree(table: &Table, name: &str, pc: u64, found: Found, expected: Found) -> bool {
        if found != expected {
            pr_err!(
                "{}: {name}: {found:?} at {pc:#x}, not {expected:?}\n",
                table.name
            );
        }
        found == expected
    }

    #[test]
    fn good_tables() -> Result {
        for table in TABLES {
            let memory = Memory::new(&Bytes::new(table))?;

            for (pc, expected) in table.lookups {
                let (found, _) = memory.rule(table, *pc, ENOUGH);
                assert!(agree(table, "unchanged", *pc, found, expected.result()));
            }
        }
        Ok(())
    }

    #[test]
    fn changed_tables() -> Result {
        for table in TABLES {
            for vector in table.vectors {
                let mut good: Result<bool> = Ok(true);

                vector.for_each(table, |bytes| {
                    good = good.and_then(|good| {
                        let (found, _) = Memory::new(bytes)?.rule(table, vector.pc, ENOUGH);
                        let expected = vector.expected.result();
                        Ok(agree(table, vector.name, vector.pc, found, expected) && good)
                    });
                });
                assert!(good?);
            }
        }
        Ok(())
    }

    #[test]
    fn faults() -> Result {
        for table in TABLES {
            let mut memory = Memory::new(&Bytes::new(table))?;

            for (pc, expected) in table.lookups {
                let mut fails = 0;
                // Until no access is left that could fail.
                let found = loop {
                    memory.fails = Some(fails);
                    memory.accesses.set(0);
                    let (found, _) = memory.rule(table, *pc, ENOUGH);
                    if memory.accesses.get() <= fails {
                        break found;
                    }
                    assert!(agree(table, "fault", *pc, found, Err(parse::Error::Fault)));
                    fails = fails.saturating_add(1);
                };
                assert!(agree(table, "no fault", *pc, found, expected.result()));
            }
        }
        Ok(())
    }

    #[test]
    fn budgets() -> Result {
        for table in TABLES {
            let memory = Memory::new(&Bytes::new(table))?;

            for (pc, expected) in table.lookups {
                let with = |units| memory.rule(table, *pc, units);
                let spent = ENOUGH.wrapping_sub(with(ENOUGH).1);

                assert!((1..ENOUGH).contains(&spent));
                assert_eq!(with(spent), (expected.result(), 0));
                assert_eq!(with(spent.wrapping_sub(1)), (Err(parse::Error::Budget), 0));
            }
        }
        Ok(())
    }

    #[test]
    fn values() {
        for table in TABLES {
            for (_, expected) in table.lookups {
                let rule = expected.result().ok();
                let values = rule.map(|rule| [rule.cfa(), rule.ra(), rule.fp()]);

                assert_eq!(values, expected.values());
                if let Some(rule) = rule {
                    let silent = values == Some([Value::Unchanged; 3]);
                    assert_eq!(silent, rule.is_outermost() || rule == Rule::signal_frame());
                }
            }
        }
    }

    #[test]
    fn arrays() {
        for vectors::Search {
            bytes,
            array,
            lookups,
        } in vectors::ARRAYS
        {
            for (key, expected) in *lookups {
                assert_eq!(bisect::in_kernel_memory(bytes, array, *key), *expected);
            }
        }
    }
}
