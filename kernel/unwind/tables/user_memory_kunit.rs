// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of tables in user memory, read as lookups read them.
//!
//! Each table ends where the last page of a mapping ends: nothing behind it can be read.

#[allow(dead_code, reason = "the parser's own tests use all of it")]
#[path = "vectors/mod.rs"]
mod vectors;

use core::cell::Cell;

use kernel::prelude::*;

#[kunit_tests(unwind_tables_user_memory)]
mod tests {
    use kernel::{
        bindings,
        page::PAGE_SIZE,
        uaccess::{
            UserPtr,
            UserSlice, //
        },
    };

    use super::{
        vectors::{
            all_tables,
            Bytes,
            Format,
            Search,
            Table,
            ARRAYS,
            TABLES, //
        },
        *,
    };
    use crate::{
        parse::{
            self,
            Reader,
            Rule, //
        },
        user_memory::UserMemory,
    };

    /// Units that every lookup in the vectors can pay from.
    const ENOUGH: u32 = 10_000;
    /// Longer tables have nothing behind this.
    const MOST: usize = 768;

    /// A page of user memory. The next one is not mapped.
    struct Page {
        end: usize,
    }

    impl Page {
        fn new() -> Result<Self> {
            // SAFETY: There is a test, for this is called by one. Any mapping may be asked for.
            let start = unsafe {
                bindings::kunit_vm_mmap(
                    bindings::kunit_get_current_test(),
                    core::ptr::null_mut(),
                    0,
                    2 * PAGE_SIZE,
                    (bindings::PROT_READ | bindings::PROT_WRITE) as usize,
                    (bindings::MAP_PRIVATE | bindings::MAP_ANONYMOUS) as usize,
                    0,
                )
            };

            if start == 0 || start >= isize::MAX as usize {
                return Err(ENOMEM);
            }
            let end = start.wrapping_add(PAGE_SIZE);
            // SAFETY: That is part of the mapping, which nobody uses yet.
            match unsafe { bindings::vm_munmap(end, PAGE_SIZE) } {
                0 => Ok(Self { end }),
                errno => Err(Error::from_errno(errno)),
            }
        }

        /// Puts bytes at the end, and yields where they are.
        fn put(&self, bytes: &[u8]) -> Result<usize> {
            let start = self.end.wrapping_sub(bytes.len());

            if bytes.len() > PAGE_SIZE {
                return Err(EINVAL);
            }
            if !bytes.is_empty() {
                UserSlice::new(UserPtr::from_addr(start), bytes.len())
                    .writer()
                    .write_slice(bytes)?;
            }
            Ok(start)
        }
    }

    type Found = Result<Rule, parse::Error>;

    /// Looks up an address in a table of which only so many bytes stand at the end of the page.
    ///
    /// If `moves`, it is a table for where it stands, as those are that lookups read: SFrame has no
    /// other addresses than offsets.
    fn lookup(
        page: &Page,
        table: &Table,
        bytes: &Bytes<'_>,
        most: usize,
        pc: u64,
        moves: bool,
    ) -> Result<Found> {
        let mut copy = [0; MOST];
        let mut len = 0usize;

        for (to, byte) in copy.iter_mut().zip(bytes.first(most)) {
            *to = byte;
            len = len.wrapping_add(1);
        }
        let missing = Cell::new(0);
        let start = page.put(copy.get(..len).ok_or(EINVAL)?)?;
        let budget = Cell::new(ENOUGH);
        let memory = UserMemory::new(start, &budget, &missing);
        let base = match table.format {
            Format::SFrame if moves => start as u64,
            _ => table.base,
        };
        let moved = Table { base, ..*table };
        let pc = pc.wrapping_sub(table.base).wrapping_add(base);

        Ok(moved.rule(&memory, bytes.len, pc))
    }

    /// Compares a result with the expected one. Prints them if they differ.
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
        let page = Page::new()?;

        for table in all_tables() {
            let bytes = Bytes::new(table);

            for (pc, expected) in table.lookups {
                for moves in [false, true] {
                    let found = lookup(&page, table, &bytes, MOST, *pc, moves)?;
                    assert!(agree(table, "unchanged", *pc, found, expected.result()));
                }
            }
        }
        Ok(())
    }

    /// Each reason for which a table is refused, with its place in the table.
    #[test]
    fn changed_tables() -> Result {
        let page = Page::new()?;

        for table in all_tables() {
            for vector in table.vectors {
                let mut good: Result<bool> = Ok(true);

                vector.for_each(table, |bytes| {
                    good = good.and_then(|good| {
                        let found = lookup(&page, table, bytes, MOST, vector.pc, false)?;
                        let expected = vector.expected.result();
                        Ok(agree(table, vector.name, vector.pc, found, expected) && good)
                    });
                });
                assert!(good?);
            }
        }
        Ok(())
    }

    /// Tables whose last bytes are on the next page, which cannot be read.
    #[test]
    fn unreadable_ends() -> Result {
        let page = Page::new()?;

        for table in all_tables() {
            let bytes = Bytes::new(table);
            let len = bytes.len;
            // Without that nothing is known.
            let header = match table.format {
                Format::SFrame => 28,
                Format::EhFrame(place) => (place as usize).wrapping_add(12),
            };
            let mut faults = 0u32;
            let mut others = 0u32;

            for (pc, expected) in table.lookups {
                let mut was_found = false;

                for most in 0..=len {
                    let found = lookup(&page, table, &bytes, most, *pc, true)?;

                    if found == Err(parse::Error::Fault) {
                        faults = faults.saturating_add(1);
                        // More of the table cannot be worse.
                        assert!(!was_found);
                    } else {
                        others = others.saturating_add(1);
                        assert!(agree(table, "cut", *pc, found, expected.result()));
                        was_found = true;
                        assert!(most >= header);
                    }
                }
                assert!(was_found);
            }
            assert!(faults > 0 && others > 0);
        }
        Ok(())
    }

    /// All rows are on the next page: the function is found, and its rows are not.
    #[test]
    fn unreadable_rows() -> Result {
        let page = Page::new()?;
        let table = TABLES[0];
        let bytes = Bytes::new(table);
        let rows = 0x7c;

        for (pc, expected) in table.lookups {
            let found = lookup(&page, table, &bytes, rows, *pc, true)?;
            let expected = match expected.result() {
                Err(parse::Error::NotFound) => Err(parse::Error::NotFound),
                _ => Err(parse::Error::Fault),
            };
            assert!(agree(table, "no rows", *pc, found, expected));
        }
        Ok(())
    }

    #[test]
    fn arrays() -> Result {
        let page = Page::new()?;
        let (budget, missing) = (Cell::new(u32::MAX), Cell::new(0));

        for Search {
            bytes,
            array,
            lookups,
        } in ARRAYS
        {
            for (key, expected) in *lookups {
                let memory = UserMemory::new(page.put(bytes)?, &budget, &missing);
                assert_eq!(memory.bisect(array, *key), *expected);

                // The last byte is only read if it is that of the last element, and that is found.
                let Some((_, but_last)) = bytes.split_last() else {
                    continue;
                };
                let is_last = |nth: u32| {
                    nth.saturating_add(1) == array.count
                        && array.element(array.count) == bytes.len() as u64
                };
                let memory = UserMemory::new(page.put(but_last)?, &budget, &missing);
                let expected = match expected {
                    Ok(element) if is_last(element.nth) => Err(parse::Error::Fault),
                    expected => *expected,
                };
                assert_eq!(memory.bisect(array, *key), expected);
            }
        }
        Ok(())
    }

    /// What is no user memory at all faults, wherever it is.
    #[test]
    fn no_user_memory() -> Result {
        let page = Page::new()?;
        let (budget, missing) = (Cell::new(u32::MAX), Cell::new(0));

        for Search { array, lookups, .. } in ARRAYS {
            for base in [
                0,
                page.end,
                isize::MAX as usize,
                usize::MAX - 100,
                usize::MAX,
            ] {
                for (key, _) in *lookups {
                    let found = UserMemory::new(base, &budget, &missing).bisect(array, *key);
                    if array.count != 0 {
                        assert_eq!(found, Err(parse::Error::Fault));
                    }
                }
            }
        }
        Ok(())
    }

    /// Each read and each search has its price. When less is left, nothing is read any more.
    #[test]
    fn budget() -> Result {
        let page = Page::new()?;
        let start = page.put(&[0; 256])?;
        let (budget, missing) = (Cell::new(0), Cell::new(0));
        let memory = UserMemory::new(start, &budget, &missing);
        let spent = |units, read: &dyn Fn() -> Result<(), parse::Error>| {
            budget.set(units);
            (read(), budget.get())
        };
        let bytes = |len: usize| {
            let mut to = [0; 256];

            memory.read(0, to.get_mut(..len).ok_or(parse::Error::NotFound)?)
        };

        for (len, price) in [(0, 32), (1, 32), (32, 32), (33, 33), (256, 256)] {
            let less = u32::saturating_sub(price, 1);

            assert_eq!(spent(price, &|| bytes(len)), (Ok(()), 0));
            assert_eq!(spent(price.saturating_add(7), &|| bytes(len)), (Ok(()), 7));
            assert_eq!(spent(less, &|| bytes(len)), (Err(parse::Error::Budget), 0));
        }
        // Five elements take three steps, and the read of the one that is found.
        let array = ARRAYS.first().ok_or(EINVAL)?.array;
        let search = || memory.bisect(&array, 0).map(|_| ());

        assert_eq!(array.count, 5);
        assert_eq!(spent(1000, &search).1, 872);
        assert_eq!(spent(127, &search), (Err(parse::Error::Budget), 0));
        Ok(())
    }
}
