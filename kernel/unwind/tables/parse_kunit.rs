// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of the parser, for all architectures.
//!
//! A crate of its own: the parser knows no kernel, so it is tested without what uses it.

// What nobody uses here, others do.
#[allow(dead_code)]
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
            sframe::{
                AArch64,
                Abi,
                Amd64,
                Header,
                S390x, //
            },
            Budget,
            Fault,
            Packed,
            Reader,
            Rule,
            Value, //
        },
        vectors::{
            packed,
            Arch,
            Bytes,
            Table,
            TABLES, //
        },
    };

    /// Units that every lookup in the vectors can pay from.
    const ENOUGH: u32 = 1000;

    /// A table of which the read of some number, from 0, fails.
    struct Failing<'a> {
        bytes: &'a Bytes<'a>,
        fails: u32,
        reads: Cell<u32>,
    }

    impl Reader for Failing<'_> {
        fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
            let nth = self.reads.replace(self.reads.get().saturating_add(1));

            if nth == self.fails {
                return Err(Fault);
            }
            self.bytes.read(offset, buf)
        }
    }

    type Found = Result<Rule, parse::Error>;

    /// The rule for `pc` in a change of `table`, of `len` bytes, which `reader` reads.
    fn lookup(
        table: &Table,
        reader: &impl Reader,
        len: usize,
        pc: u64,
        budget: &mut Budget,
    ) -> Found {
        fn rule<A: Abi>(
            table: &Table,
            reader: &impl Reader,
            len: usize,
            pc: u64,
            budget: &mut Budget,
        ) -> Found {
            Header::<A>::read(reader, len as u64)?.rule(reader, table.base, pc, budget)
        }

        match table.arch {
            Arch::Amd64 => rule::<Amd64>(table, reader, len, pc, budget),
            Arch::AArch64 => rule::<AArch64>(table, reader, len, pc, budget),
            Arch::S390x => rule::<S390x>(table, reader, len, pc, budget),
        }
    }

    /// The rule for `pc` in a change of `table`, if that can be read and paid for.
    fn rule(table: &Table, bytes: &Bytes<'_>, pc: u64) -> Found {
        lookup(table, bytes, bytes.len, pc, &mut Budget::new(ENOUGH))
    }

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
    fn good_tables() {
        for table in TABLES {
            let bytes = Bytes::new(table);

            for (pc, expected) in table.lookups {
                let found = rule(table, &bytes, *pc);
                assert!(agree(table, "unchanged", *pc, found, expected.result()));
            }
        }
    }

    #[test]
    fn changed_tables() {
        for table in TABLES {
            for vector in table.vectors {
                let mut good = true;

                vector.for_each(table, |bytes| {
                    let found = rule(table, bytes, vector.pc);
                    let expected = vector.expected.result();
                    good &= agree(table, vector.name, vector.pc, found, expected);
                });
                assert!(good);
            }
        }
    }

    #[test]
    fn faults() {
        for table in TABLES {
            let bytes = Bytes::new(table);

            for (pc, expected) in table.lookups {
                let mut fails = 0;
                // Until no read is left that could fail.
                let found = loop {
                    let reader = Failing {
                        bytes: &bytes,
                        fails,
                        reads: Cell::new(0),
                    };
                    let budget = &mut Budget::new(ENOUGH);
                    let found = lookup(table, &reader, bytes.len, *pc, budget);
                    if reader.reads.get() <= fails {
                        break found;
                    }
                    assert!(agree(table, "fault", *pc, found, Err(parse::Error::Fault)));
                    fails = fails.saturating_add(1);
                };
                assert!(agree(table, "no fault", *pc, found, expected.result()));
            }
        }
    }

    #[test]
    fn budgets() {
        for table in TABLES {
            let bytes = Bytes::new(table);

            for (pc, expected) in table.lookups {
                let with = |units: u32| {
                    let mut budget = Budget::new(units);
                    let found = lookup(table, &bytes, bytes.len, *pc, &mut budget);
                    (found, budget.left())
                };
                let spent = ENOUGH.wrapping_sub(with(ENOUGH).1);

                assert!((1..ENOUGH).contains(&spent));
                assert_eq!(with(spent), (expected.result(), 0));
                assert_eq!(with(spent.wrapping_sub(1)), (Err(parse::Error::Budget), 0));
            }
        }
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
    fn packed_rules() {
        for expected in packed::COMMON {
            let rule = match expected.result() {
                Err(parse::Error::NotFound) => None,
                rule => Some(rule),
            };
            assert!(rule.is_none_or(|rule| rule.is_ok()));
            let rule = rule.and_then(|rule| rule.ok());
            assert_eq!(Packed::new(rule).map(Packed::rule), Some(rule));
        }
        for expected in packed::OTHERS {
            let rule = expected.result().ok();
            assert!(rule.is_some());
            assert_eq!(Packed::new(rule), None);
        }
    }
}
