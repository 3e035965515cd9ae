// SPDX-License-Identifier: GPL-2.0

//! The kernel's search in sorted arrays, which is in C.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::collection::vec;
use proptest::prelude::*;

use super::cases;
use crate::memory::{Behaviour, Memory};
use crate::parse::{Array, Element, Fault, Lost, Reader};
use crate::search;
use crate::vectors::{ARRAYS, Search};

/// Searches by a reader, and in a slice. Both must find the same.
fn search_both(bytes: &[u8], array: &Array, key: u64) -> Result<Element, Lost> {
    let found = search::in_reader(&Memory::new(bytes), array, key);

    assert_eq!(search::in_slice(bytes, array, key), found);
    found
}

#[test]
fn vectors() {
    for Search { bytes, array, lookups } in ARRAYS {
        for (key, expected) in *lookups {
            assert_eq!(search_both(bytes, array, *key), *expected, "{array:?}");
        }
    }
}

/// A search ends at a failed read, and returns a fault.
#[test]
fn faults() {
    for Search { bytes, array, lookups } in ARRAYS {
        for (key, expected) in *lookups {
            let steady = Memory::new(bytes);
            let _ = search::in_reader(&steady, array, *key);
            for nth in 0..=steady.reads() {
                let memory = Memory::behaving(bytes, Behaviour::FaultAt(nth), *key);
                let found = search::in_reader(&memory, array, *key);
                let expected = if nth < steady.reads() { &Err(Lost::Fault) } else { expected };
                assert_eq!(found, *expected, "read {nth} of {array:?}");
            }
        }
    }
}

/// A search in an array beyond the end of the bytes returns a fault.
#[test]
fn beyond_the_end() {
    for Search { bytes, array, .. } in ARRAYS {
        for place in [bytes.len() as u64, 1 << 40, u64::MAX - 8, u64::MAX] {
            let array = Array { place, ..*array };
            if array.count != 0 {
                assert_eq!(search::in_slice(bytes, &array, 0), Err(Lost::Fault));
            }
        }
    }
}

/// The longest array. It is not in memory: element n has the offset 2 n.
struct Endless {
    reads: Cell<u32>,
}

impl Reader for Endless {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let (nth, within) = (offset / 16, offset % 16);

        self.reads.set(self.reads.get() + 1);
        assert!(nth < u64::from(u32::MAX), "read beyond the end");
        if within == 0 {
            buf.copy_from_slice(&(2 * nth).to_ne_bytes());
        } else {
            buf.fill(within as u8);
        }
        Ok(())
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        search::in_reader(self, array, key)
    }
}

/// A search in the longest array takes 32 reads, and one more for the rest of the element.
#[test]
fn longest() {
    let array = Array {
        place: 0,
        origin: 0x1000,
        count: u32::MAX,
        wide: true,
        relative: false,
        swapped: false,
    };
    let last = u32::MAX - 1;
    let picks = (0..64).map(|nth: u32| nth.wrapping_mul(0x9e37_79b9).min(last));

    for nth in [0, 1, 2, last / 2, last - 1, last].into_iter().chain(picks) {
        for odd in [0, 1] {
            let endless = Endless { reads: Cell::new(0) };
            let start = 0x1000 + 2 * u64::from(nth);
            let found = endless.bisect(&array, start + odd);
            // The search reads the whole rest at once, from byte 8 on.
            let rest = [0x0808_0808; 2];
            assert_eq!(found, Ok(Element { start, rest, nth }));
            assert!(endless.reads.get() <= 33, "{} reads", endless.reads.get());
        }
    }
}

/// A reader that panics at each read.
struct Forbidden;

impl Reader for Forbidden {
    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), Fault> {
        panic!("nobody may read this");
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        search::in_reader(self, array, key)
    }
}

/// A panic inside a read passes through the C code, and the next search works.
#[test]
fn panics() {
    let Search { bytes, array, .. } = &ARRAYS[0];
    let result = catch_unwind(AssertUnwindSafe(|| Forbidden.bisect(array, 0)));
    let text = result.expect_err("it panics");

    assert_eq!(text.downcast_ref(), Some(&"nobody may read this"));
    assert_eq!(search_both(bytes, array, 0), Err(Lost::NotFound));
}

proptest! {
    #![proptest_config(cases(2000))]

    /// A search in any kind of array finds the last element at or below the key.
    #[test]
    fn any_array(
        mut starts in vec(any::<i32>(), 0..50),
        origin in (1_u64 << 33)..(1 << 40),
        place in 0..20_u64,
        wide in any::<bool>(),
        relative in any::<bool>(),
        big_endian in any::<bool>(),
        keys in vec(any::<i32>(), 20),
    ) {
        let width = if wide { 8 } else { 4 };
        let mut bytes = vec![0xa5; place as usize];
        let put = |bytes: &mut Vec<u8>, number: i64| {
            let all = if big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
            let part = if big_endian { &all[8 - width..] } else { &all[..width] };
            bytes.extend(part);
        };

        // Otherwise an offset of four bytes could overflow.
        starts.iter_mut().for_each(|start| *start /= 2);
        starts.sort_unstable();
        for (nth, start) in starts.iter().enumerate() {
            let from = if relative { 2 * width * nth } else { 0 };
            put(&mut bytes, i64::from(*start) - from as i64);
            put(&mut bytes, nth as i64);
        }
        let array = Array {
            place,
            origin,
            count: starts.len() as u32,
            wide,
            relative,
            swapped: big_endian != cfg!(target_endian = "big"),
        };

        for key in keys.iter().map(|key| key / 2).chain(starts.iter().copied()) {
            let at = |start: i32| origin.wrapping_add_signed(start.into());
            let nth = starts.iter().rposition(|start| *start <= key);
            let found = search_both(&bytes, &array, at(key));
            prop_assert_eq!(found.map(|element| (element.start, element.nth)), match nth {
                Some(nth) => Ok((at(starts[nth]), nth as u32)),
                None => Err(Lost::NotFound),
            });
            if let (Ok(element), Some(nth)) = (found, nth) {
                let mut rest = Vec::new();
                put(&mut rest, nth as i64);
                rest.resize(8, 0);
                let number = |from: usize| u32::from_ne_bytes(*rest[from..].first_chunk().expect("4 bytes"));
                prop_assert_eq!(element.rest, [number(0), number(4)]);
            }
        }
    }

    /// A search in arbitrary bytes ends, with or without an element.
    #[test]
    fn any_bytes(
        bytes in vec(any::<u8>(), 64),
        origin in any::<u64>(),
        count in 0..=4_u32,
        (wide, relative, swapped) in any::<(bool, bool, bool)>(),
        keys in vec(any::<u64>(), 20),
    ) {
        let array = Array { place: 0, origin, count, wide, relative, swapped };

        for key in keys {
            match search_both(&bytes, &array, key) {
                Ok(element) => {
                    prop_assert!(element.nth < count);
                    prop_assert!(element.start <= key);
                }
                Err(Lost::Unsorted(nth)) => prop_assert!(nth < count),
                Err(Lost::NotFound) => {}
                Err(Lost::Fault) => prop_assert!(false, "a fault"),
            }
        }
    }
}
