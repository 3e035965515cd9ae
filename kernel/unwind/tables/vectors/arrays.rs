// SPDX-License-Identifier: GPL-2.0

//! Sorted arrays of each kind, and what a search finds in them.

use crate::parse::{
    sframe,
    Array,
    Element,
    Error,
    Malformed,
    Reason, //
};

/// An array in a few bytes.
pub(crate) struct Search {
    pub(crate) bytes: &'static [u8],
    pub(crate) array: Array,
    /// What is searched, and what is found.
    pub(crate) lookups: &'static [(u64, Result<Element, Error>)],
}

const fn found(start: u64, rest: [u8; 8], nth: u32) -> Result<Element, Error> {
    Ok(Element {
        start,
        rest: u64::from_le_bytes(rest),
        nth,
    })
}

/// What an array is that is not sorted.
const UNSORTED: Reason = Reason::SFrame(sframe::Reason::Unsorted);

/// Offsets of four bytes that count from one place, as `.eh_frame_hdr` has them: -0x20, -0x10, 0,
/// 0x10 and 0x10.
#[rustfmt::skip]
const NARROW: [u8; 42] = [
    0xff, 0xff,
    0xe0, 0xff, 0xff, 0xff, 0x10, 0x00, 0x00, 0x00,
    0xf0, 0xff, 0xff, 0xff, 0x11, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x12, 0x00, 0x00, 0x00,
    0x10, 0x00, 0x00, 0x00, 0x13, 0x00, 0x00, 0x00,
    0x10, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00,
];

/// Three offsets of eight bytes: -0x20, -0x10 and 0.
#[rustfmt::skip]
const WIDE: [u8; 48] = [
    0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
    0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
];
const REST: [[u8; 8]; 3] = [
    [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08],
    [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18],
    [0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28],
];

const fn unsorted(offset: u32) -> Error {
    Error::Malformed(Malformed {
        reason: UNSORTED,
        offset,
    })
}

const fn narrow(origin: u64, count: u32, relative: bool) -> Array {
    Array {
        place: 2,
        origin,
        count,
        wide: false,
        relative,
        unsorted: UNSORTED,
    }
}

const fn wide(origin: u64, count: u32, relative: bool) -> Array {
    Array {
        place: 0,
        origin,
        count,
        wide: true,
        relative,
        unsorted: UNSORTED,
    }
}

/// All of them.
pub(crate) const ARRAYS: &[Search] = &[
    // The last one of equals is found.
    Search {
        bytes: &NARROW,
        array: narrow(0x1000, 5, false),
        lookups: &[
            (0, Err(Error::NotFound)),
            (0xfdf, Err(Error::NotFound)),
            (0xfe0, found(0xfe0, [0x10, 0, 0, 0, 0, 0, 0, 0], 0)),
            (0xfef, found(0xfe0, [0x10, 0, 0, 0, 0, 0, 0, 0], 0)),
            (0xff0, found(0xff0, [0x11, 0, 0, 0, 0, 0, 0, 0], 1)),
            (0x1000, found(0x1000, [0x12, 0, 0, 0, 0, 0, 0, 0], 2)),
            (0x100f, found(0x1000, [0x12, 0, 0, 0, 0, 0, 0, 0], 2)),
            (0x1010, found(0x1010, [0x14, 0, 0, 0, 0, 0, 0, 0], 4)),
            (u64::MAX, found(0x1010, [0x14, 0, 0, 0, 0, 0, 0, 0], 4)),
        ],
    },
    // Each counts from its own place: 0xfe0, 0xff8, 0x1010, 0x1028, 0x1030.
    Search {
        bytes: &NARROW,
        array: narrow(0x1000, 5, true),
        lookups: &[
            (0xfdf, Err(Error::NotFound)),
            (0xff7, found(0xfe0, [0x10, 0, 0, 0, 0, 0, 0, 0], 0)),
            (0x1027, found(0x1010, [0x12, 0, 0, 0, 0, 0, 0, 0], 2)),
            (0x102f, found(0x1028, [0x13, 0, 0, 0, 0, 0, 0, 0], 3)),
            (0x1030, found(0x1030, [0x14, 0, 0, 0, 0, 0, 0, 0], 4)),
        ],
    },
    Search {
        bytes: &WIDE,
        array: wide(0x1000, 3, false),
        lookups: &[
            (0xfdf, Err(Error::NotFound)),
            (0xfe0, found(0xfe0, REST[0], 0)),
            (0xfff, found(0xff0, REST[1], 1)),
            (0x1000, found(0x1000, REST[2], 2)),
        ],
    },
    Search {
        bytes: &WIDE,
        array: wide(0x1000, 3, true),
        lookups: &[
            (0xfff, found(0xfe0, REST[0], 0)),
            (0x1000, found(0x1000, REST[1], 1)),
            (0x101f, found(0x1000, REST[1], 1)),
            (0x1020, found(0x1020, REST[2], 2)),
        ],
    },
    // Starts are unsigned: 2^64 - 0x20 and 2^64 - 0x10.
    Search {
        bytes: &WIDE,
        array: wide(0, 2, false),
        lookups: &[
            (0, Err(Error::NotFound)),
            (u64::MAX - 0x10, found(u64::MAX - 0x1f, REST[0], 0)),
            (u64::MAX, found(u64::MAX - 0xf, REST[1], 1)),
        ],
    },
    // With 0 behind them they are not sorted, which only those see who look there.
    Search {
        bytes: &WIDE,
        array: wide(0, 3, false),
        lookups: &[(0, Err(Error::NotFound)), (u64::MAX, Err(unsorted(2 * 16)))],
    },
    // No elements, and one.
    Search {
        bytes: &[],
        array: wide(0x1000, 0, true),
        lookups: &[(0, Err(Error::NotFound)), (u64::MAX, Err(Error::NotFound))],
    },
    Search {
        bytes: &WIDE,
        array: wide(0x1000, 1, true),
        lookups: &[
            (0xfdf, Err(Error::NotFound)),
            (0xfe0, found(0xfe0, REST[0], 0)),
            (u64::MAX, found(0xfe0, REST[0], 0)),
        ],
    },
];

/// Searches an array in `bytes`, as C does in user memory: for tests whose tables are not there.
#[allow(dead_code, reason = "some tests have user memory")]
pub(crate) fn search(bytes: &[u8], array: &Array, key: u64) -> Result<Element, Error> {
    let width = if array.wide { 8 } else { 4 };
    let number = |place: u64| -> Result<u64, Error> {
        let bytes = usize::try_from(place)
            .ok()
            .and_then(|place| bytes.get(place..))
            .ok_or(Error::Fault)?;

        Ok(match (array.wide, bytes) {
            (true, [a, b, c, d, e, f, g, h, ..]) => {
                u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h])
            }
            (false, [a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]).into(),
            _ => return Err(Error::Fault),
        })
    };
    let start = |nth: u32| -> Result<u64, Error> {
        let place = array.element(nth);
        let offset = number(place)?;
        let from = place.wrapping_sub(array.place);

        Ok(array
            .origin
            .wrapping_add(if array.relative { from } else { 0 })
            .wrapping_add(if array.wide {
                offset
            } else {
                offset as i32 as u64
            }))
    };
    let (mut low, mut high) = (0, array.count);
    let (mut least, mut most) = (0, u64::MAX);

    while low < high {
        let nth = low.midpoint(high);
        let found = start(nth)?;

        if found < least || found > most {
            let element = Element {
                nth,
                ..Element::default()
            };
            return array.found(Array::EINVAL, element);
        }
        if found <= key {
            (low, least) = (nth.wrapping_add(1), found);
        } else {
            (high, most) = (nth, found);
        }
    }
    let nth = low.checked_sub(1).ok_or(Error::NotFound)?;

    Ok(Element {
        start: least,
        rest: number(array.element(nth).wrapping_add(width))?,
        nth,
    })
}
