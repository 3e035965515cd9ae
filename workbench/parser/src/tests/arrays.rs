// SPDX-License-Identifier: GPL-2.0

//! The kernel's search in sorted arrays, which is in C.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::collection::vec;
use proptest::prelude::*;

use super::{cases, faults};
use crate::memory::{Memory, Slice};
use crate::parse::{Array, Element, Error, Malformed, Reader, Reason, sframe};
use crate::search;
use crate::vectors::{self, ARRAYS, Search};

const UNSORTED: Reason = Reason::SFrame(sframe::Reason::Unsorted);

/// Searches by the kernel's search, and by that of the KUnit tests.
fn search_both(bytes: &[u8], array: &Array, key: u64) -> Result<Element, Error> {
    let found = Memory::new(bytes).bisect(array, key);
    let simply = vectors::search(bytes, array, key);

    // They may look at other elements, and so one may miss what is not sorted.
    let is_unsorted = |found| matches!(found, Err(Error::Malformed(_)));
    if !is_unsorted(found) && !is_unsorted(simply) {
        assert_eq!(simply, found);
    }
    found
}

/// A search finds what it has to, and ends at a failed read, or beyond the end of the bytes.
#[test]
fn vectors() {
    for Search { bytes, array, lookups } in ARRAYS {
        for (key, expected) in *lookups {
            assert_eq!(search_both(bytes, array, *key), *expected, "{array:?}");
            faults(bytes, 0..=bytes.len() as u64, |memory| memory.bisect(array, *key));
        }
        for place in [bytes.len() as u64, 1 << 40] {
            let found = Slice(bytes).bisect(&Array { place, ..*array }, 0);
            let expected = if array.count == 0 { Error::NotFound } else { Error::Fault };
            assert_eq!(found, Err(expected));
        }
    }
}

/// Reads the longest array. It is not in memory: element n has the offset 2 n.
fn read_endless(reads: &Cell<u32>, offset: u64, buf: &mut [u8]) -> bool {
    let (nth, within) = (offset / 16, offset % 16);

    reads.set(reads.get() + 1);
    assert!(nth < u64::from(u32::MAX), "read beyond the end");
    if within == 0 {
        buf.copy_from_slice(&(2 * nth).to_le_bytes());
    } else {
        buf.fill(within as u8);
    }
    true
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
        unsorted: UNSORTED,
    };
    let last = u32::MAX - 1;
    let picks = (0..64).map(|nth: u32| nth.wrapping_mul(0x9e37_79b9).min(last));

    for nth in [0, 1, 2, last / 2, last - 1, last].into_iter().chain(picks) {
        for odd in [0, 1] {
            let reads = Cell::new(0);
            let start = 0x1000 + 2 * u64::from(nth);
            let read = |offset, to: &mut [u8]| read_endless(&reads, offset, to);
            let found = search::bisect(&read, &array, start + odd);
            // The search reads the whole rest at once, from byte 8 on.
            let rest = 0x0808_0808_0808_0808;
            assert_eq!(found, Ok(Element { start, rest, nth }));
            assert!(reads.get() <= 33, "{} reads", reads.get());
        }
    }
}

/// A panic inside a read passes through the C code, and the next search works.
#[test]
fn panics() {
    let Search { bytes, array, .. } = &ARRAYS[0];
    let read = |_, _: &mut [u8]| panic!("nobody may read this");
    let result = catch_unwind(AssertUnwindSafe(|| search::bisect(&read, array, 0)));
    let text = result.expect_err("it panics");

    assert_eq!(text.downcast_ref(), Some(&"nobody may read this"));
    assert_eq!(search_both(bytes, array, 0), Err(Error::NotFound));
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
        keys in vec(any::<i32>(), 20),
    ) {
        let width = if wide { 8 } else { 4 };
        let mut bytes = vec![0xa5; place as usize];
        let put = |bytes: &mut Vec<u8>, number: i64| {
            bytes.extend(&number.to_le_bytes()[..width]);
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
            unsorted: UNSORTED,
        };

        for key in keys.iter().map(|key| key / 2).chain(starts.iter().copied()) {
            let at = |start: i32| origin.wrapping_add_signed(start.into());
            let nth = starts.iter().rposition(|start| *start <= key);
            let found = search_both(&bytes, &array, at(key));
            prop_assert_eq!(found.map(|element| (element.start, element.nth)), match nth {
                Some(nth) => Ok((at(starts[nth]), nth as u32)),
                None => Err(Error::NotFound),
            });
            if let (Ok(element), Some(nth)) = (found, nth) {
                prop_assert_eq!(element.rest, nth as u64);
            }
        }
    }

    /// A search in arbitrary bytes ends, with or without an element.
    #[test]
    fn any_bytes(
        bytes in vec(any::<u8>(), 64),
        origin in any::<u64>(),
        count in 0..=4_u32,
        (wide, relative) in any::<(bool, bool)>(),
        keys in vec(any::<u64>(), 20),
    ) {
        let array = Array { place: 0, origin, count, wide, relative, unsorted: UNSORTED };

        for key in keys {
            match search_both(&bytes, &array, key) {
                Ok(element) => {
                    prop_assert!(element.nth < count);
                    prop_assert!(element.start <= key);
                }
                Err(Error::NotFound) => {}
                Err(Error::Malformed(Malformed { reason, offset })) => {
                    prop_assert_eq!(reason, UNSORTED);
                    prop_assert!(u64::from(offset) < array.element(count));
                }
                Err(error) => prop_assert!(false, "{error:?}"),
            }
        }
    }
}
