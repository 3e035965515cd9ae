// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of the parser, for all architectures.
//!
//! A crate of its own: the parser knows no kernel, so it is tested without what uses it. Its tables
//! are in the kernel's memory.

#[allow(dead_code, unused_imports, reason = "what only the kernel needs")]
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
            bisect_price,
            elf::{
                self,
                Target, //
            },
            read_price,
            AArch64,
            Amd64,
            Arch,
            Array,
            Call,
            Element,
            Error,
            Reader,
            Rule,
            Stub,
            Value, //
        },
        vectors::{
            self,
            all_tables,
            elf::{
                Expected,
                FILES,
                NOTES, //
            },
            Bytes,
            Table, //
        },
    };

    /// Units that every lookup in the vectors can pay from.
    const ENOUGH: u32 = 10_000;
    /// Longer tables and files have nothing behind this.
    const MOST: usize = 8192;

    /// A table, or the start of a file, in memory. From the access of some number on, all may fail;
    /// the first access is 0. Each access takes its price off `left`.
    struct Memory {
        bytes: KVec<u8>,
        /// How long it is said to be.
        len: usize,
        fails: Option<u32>,
        accesses: Cell<u32>,
        left: Cell<u32>,
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
                left: Cell::new(ENOUGH),
            })
        }

        fn access(&self, price: u32) -> Result<(), Error> {
            let nth = self.accesses.get();
            let left = self.left.get().checked_sub(price);

            self.left.set(left.unwrap_or(0));
            if left.is_none() {
                return Err(Error::Budget);
            }
            self.accesses.set(nth.saturating_add(1));
            if self.fails.is_some_and(|first| nth >= first) {
                return Err(Error::Fault);
            }
            Ok(())
        }

        /// The rule for `pc` in a change of `table`, which this is; and what is left of `units`.
        fn rule(&self, table: &Table, pc: u64, units: u32) -> (Found, u32) {
            self.left.set(units);
            let found = table.rule(self, self.len, pc);

            (found, self.left.get())
        }

        /// What is found for byte `offset` of a file, of which this has all but the first `less`
        /// bytes, and `start` the ELF header and nothing else.
        fn object_of_two(
            &self,
            start: &Self,
            less: u64,
            offset: u64,
        ) -> Result<elf::Object, Error> {
            let headers = elf::Headers::read(start, start.len as u64, &Target::AMD64)?;
            let at = headers.place.wrapping_sub(less);

            assert!(headers.end() > start.len as u64);
            headers.object(self, at, offset, &Target::AMD64)
        }

        /// What is found for byte `offset` of the file that this is; and what is left of `units`.
        fn object(&self, offset: u64, units: u32) -> (Result<elf::Object, Error>, u32) {
            self.left.set(units);
            let headers = elf::Headers::read(self, self.len as u64, &Target::AMD64);
            let found = headers.and_then(|headers| {
                if headers.end() > self.len as u64 {
                    return Err(elf::Absence::Headers.into());
                }
                headers.object(self, headers.place, offset, &Target::AMD64)
            });

            (found, self.left.get())
        }
    }

    impl Reader for Memory {
        fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
            let bytes = usize::try_from(offset)
                .ok()
                .and_then(|offset| self.bytes.get(offset..)?.get(..buf.len()))
                .ok_or(Error::Fault)?;

            self.access(read_price(buf.len()))?;
            buf.copy_from_slice(bytes);
            Ok(())
        }

        fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
            self.access(bisect_price(array.count))?;
            vectors::search(&self.bytes, array, key)
        }
    }

    type Found = Result<Rule, Error>;

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
        for table in all_tables() {
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
        for table in all_tables() {
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
        for table in all_tables() {
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
                    assert!(agree(table, "fault", *pc, found, Err(Error::Fault)));
                    fails = fails.saturating_add(1);
                };
                assert!(agree(table, "no fault", *pc, found, expected.result()));
            }
        }
        Ok(())
    }

    #[test]
    fn budgets() -> Result {
        for table in all_tables() {
            let memory = Memory::new(&Bytes::new(table))?;

            for (pc, expected) in table.lookups {
                let with = |units| memory.rule(table, *pc, units);
                let spent = ENOUGH.wrapping_sub(with(ENOUGH).1);

                assert!((1..ENOUGH).contains(&spent));
                assert_eq!(with(spent), (expected.result(), 0));
                assert_eq!(with(spent.wrapping_sub(1)), (Err(Error::Budget), 0));
            }
        }
        Ok(())
    }

    #[test]
    fn values() {
        for table in all_tables() {
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

    /// Calls of all lengths, behind bytes that are none; and what is almost one.
    #[test]
    fn calls() {
        let none = [0x90; Call::LEN];
        let direct = [0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff];
        let indirect: [&[u8]; 9] = [
            &[0xff, 0xd0],
            &[0xff, 0x13],
            &[0xff, 0x14, 0xc7],
            &[0xff, 0x55, 0x08],
            &[0xff, 0x54, 0x24, 0x08],
            &[0xff, 0x15, 1, 2, 3, 4],
            &[0xff, 0x97, 1, 2, 3, 4],
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],
            &[0xff, 0x14, 0xc5, 1, 2, 3, 4],
        ];
        // A jump, a push, and calls that are cut off.
        let others: [&[u8]; 5] = [
            &[0xff, 0xe0],
            &[0xff, 0x35, 1, 2, 3, 4],
            &[0xe8, 1, 2, 3],
            &[0xff, 0x14],
            &[0xff, 0x15, 1, 2, 3],
        ];
        let end_with = |end: &[u8]| {
            let mut code = none;

            for (to, from) in code.iter_mut().rev().zip(end.iter().rev()) {
                *to = *from;
            }
            Amd64::call(&code)
        };

        assert_eq!(Amd64::call(&none), None);
        assert_eq!(Amd64::call(&direct), Some(Call::Direct(-5)));
        assert_eq!(AArch64::call(&direct), None);
        for code in indirect {
            assert_eq!(end_with(code), Some(Call::Indirect));
        }
        for code in others {
            assert_eq!(end_with(code), None);
        }
    }

    /// The call instructions of AArch64, behind other bytes; and jumps, returns and a hint.
    #[test]
    fn calls_of_aarch64() {
        // To itself, and as far as possible.
        let direct = [
            (0x9400_0000, -4),
            (0x9600_0001, -(1 << 27)),
            (0x95ff_fffe, (1 << 27) - 12),
        ];
        let indirect = [
            0xd63f_0000,
            0xd63f_03c0,
            0xd73f_0867,
            0xd73f_087f,
            0xd73f_0fde,
            0xd63f_087f,
            0xd63f_0fdf,
        ];
        let others = [
            0x17ff_fff6,
            0xd61f_0060,
            0xd65f_03c0,
            0xd65f_0bff,
            0xd71f_0867,
            0xd61f_087f,
            0xd503_201f,
            0xd69f_03e0,
            0xb4ff_fdc0,
            0,
        ];
        let call = |word: u32| {
            let [a, b, c, d] = word.to_le_bytes();

            AArch64::call(&[0, 0, 0x94, a, b, c, d])
        };

        for (word, distance) in direct {
            assert_eq!(call(word), Some(Call::Direct(distance)));
        }
        for word in indirect {
            assert_eq!(call(word), Some(Call::Indirect));
        }
        for word in others {
            assert_eq!(call(word), None);
        }
    }

    /// Stubs of AArch64, from each of their instructions on; and code that is none.
    #[test]
    fn stubs() {
        const NOP: u32 = 0xd503_201f;
        // BTI c; ADRP x16; LDR x17; ADD x16; BR x17.
        const ENTRY: [u32; 5] = [
            0xd503_245f,
            0xb000_0150,
            0xf940_fe11,
            0x9107_e210,
            0xd61f_0220,
        ];
        // ADRP x16; ADD x16; BR x16.
        const VENEER: [u32; 3] = [0xb000_0150, 0x9107_e210, 0xd61f_0200];
        const FIRST_ENTRY: u32 = 0xa9bf_7bf0;
        let is_stub = |before: &[u32], from: &[u32]| {
            let mut code = [NOP.to_le(); Stub::LEN];
            let (up, down) = code.split_at_mut(Stub::BEFORE);

            for (to, word) in up.iter_mut().rev().zip(before.iter().rev()) {
                *to = word.to_le();
            }
            for (to, word) in down.iter_mut().zip(from) {
                *to = word.to_le();
            }
            AArch64::is_stub(&code)
        };

        for i in 0..5 {
            assert!(is_stub(&ENTRY[..i.min(4)], &ENTRY[i..]));
            assert!(i > 2 || is_stub(&VENEER[..i], &VENEER[i..]));
            // One instruction that does something else.
            let mut entry = ENTRY;
            entry[i] = NOP;
            assert!(!is_stub(&[], &entry));
        }
        // The table's first entry has pushed a word, and it may be long ago.
        assert!(!is_stub(&[FIRST_ENTRY], &ENTRY[1..]));
        assert!(!is_stub(
            &[FIRST_ENTRY, ENTRY[1], ENTRY[2], ENTRY[3]],
            &ENTRY[4..]
        ));
        assert!(!is_stub(
            &[],
            &[FIRST_ENTRY, ENTRY[1], ENTRY[2], ENTRY[3], ENTRY[4]]
        ));
        // Other registers than x16 and x17, and no jump within five instructions.
        for word in [
            0xb000_014f,
            0xf940_fe10,
            0x9107_e211,
            0x9107_e230,
            0xd61f_0240,
        ] {
            assert!(!is_stub(&[], &[word, ENTRY[4]]));
        }
        assert!(!is_stub(
            &[],
            &[ENTRY[0], ENTRY[1], ENTRY[1], ENTRY[1], ENTRY[1], ENTRY[4]]
        ));
        // A jump by such a register alone.
        assert!(!is_stub(&[], &[ENTRY[4]]));
        assert!(!Amd64::is_stub(&[0; Stub::LEN]));
    }

    /// The search of these tests is that of the kernel.
    #[test]
    fn arrays() {
        for vectors::Search {
            bytes,
            array,
            lookups,
        } in vectors::ARRAYS
        {
            for (key, expected) in *lookups {
                assert_eq!(vectors::search(bytes, array, *key), *expected);
            }
        }
    }

    /// Compares the result for a file with the expected one. Prints them if they differ.
    fn agree_on_file(memory: &Memory, name: &str, offset: u64, expected: Expected) -> bool {
        let (found, _) = memory.object(offset, ENOUGH);
        let expected = expected.map_err(Error::Absent);

        if found != expected {
            pr_err!("{name}: {found:?} at {offset:#x}, not {expected:?}\n");
        }
        found == expected
    }

    #[test]
    fn good_files() -> Result {
        for file in FILES {
            let memory = Memory::new(&file.unchanged())?;

            for (offset, expected) in file.lookups {
                assert!(agree_on_file(&memory, file.name, *offset, *expected));
            }
        }
        Ok(())
    }

    #[test]
    fn notes() -> Result {
        for notes in NOTES {
            let memory = Memory::new(&notes.bytes())?;
            let found = elf::are_of_go(&memory, memory.len as u64);

            if found != Ok(notes.are_of_go) {
                pr_err!("{}: {found:?}\n", notes.name);
            }
            assert_eq!(found, Ok(notes.are_of_go));
        }
        Ok(())
    }

    /// Wherever the program headers are mapped: what follows from them is the same.
    #[test]
    fn files_in_two_parts() -> Result {
        /// Bytes of an ELF header.
        const SIZE: usize = 64;
        /// How many bytes of it are in both parts.
        const BOTH: usize = 8;
        const LESS: usize = SIZE - BOTH;

        for file in FILES {
            let mut start = Memory::new(&file.unchanged())?;
            let mut rest = Memory::new(&file.unchanged())?;

            start.len = SIZE;
            rest.bytes = KVec::new();
            for byte in file.unchanged().first(MOST).skip(LESS) {
                rest.bytes.push(byte, GFP_KERNEL)?;
            }
            for (offset, expected) in file.lookups {
                let found = rest.object_of_two(&start, LESS as u64, *offset);
                assert_eq!(found, expected.map_err(Error::Absent));
            }
        }
        Ok(())
    }

    #[test]
    fn changed_files() -> Result {
        for file in FILES {
            for vector in file.vectors {
                let (name, offset, expected) = (vector.name, vector.offset, vector.expected);
                let mut good: Result<bool> = Ok(true);

                vector.for_each(file, |bytes| {
                    good = good.and_then(|good| {
                        let memory = Memory::new(bytes)?;
                        Ok(agree_on_file(&memory, name, offset, expected) && good)
                    });
                });
                assert!(good?);
            }
        }
        Ok(())
    }

    /// Each access fails in turn, and each number of units is tried.
    #[test]
    fn refused_files() -> Result {
        for file in FILES {
            let mut memory = Memory::new(&file.unchanged())?;

            for (offset, _) in file.lookups {
                let (found, left) = memory.object(*offset, ENOUGH);
                let spent = ENOUGH.wrapping_sub(left);

                // The ELF header, and each program header: `e_phnum`.
                let count = memory.bytes.get(0x38).copied().unwrap_or(0);
                let accesses = u32::from(count).wrapping_add(1);
                assert_eq!(memory.accesses.take(), accesses);
                for units in 0..spent {
                    let refused = (Err(Error::Budget), 0);
                    assert_eq!(memory.object(*offset, units), refused);
                    assert!(memory.accesses.take() < accesses);
                }
                assert_eq!(memory.object(*offset, spent), (found, 0));

                for nth in 0..memory.accesses.take() {
                    memory.fails = Some(nth);
                    let (found, _) = memory.object(*offset, ENOUGH);
                    assert_eq!(found, Err(Error::Fault));
                    assert_eq!(memory.accesses.take(), nth.wrapping_add(1));
                }
                memory.fails = None;
            }
        }
        Ok(())
    }
}
