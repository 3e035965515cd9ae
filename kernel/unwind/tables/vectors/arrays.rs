// SPDX-License-Identifier: GPL-2.0

//! Sorted arrays of each kind, and what a search finds in them.

use crate::parse::{
    Array,
    Element,
    Lost, //
};

/// An array in a few bytes.
pub(crate) struct Search {
    pub(crate) bytes: &'static [u8],
    pub(crate) array: Array,
    /// What is searched, and what is found.
    pub(crate) lookups: &'static [(u64, Result<Element, Lost>)],
}

const fn found(start: u64, rest: [u8; 8], nth: u32) -> Result<Element, Lost> {
    let [a, b, c, d, e, f, g, h] = rest;

    Ok(Element {
        start,
        rest: [
            u32::from_ne_bytes([a, b, c, d]),
            u32::from_ne_bytes([e, f, g, h]),
        ],
        nth,
    })
}

/// Whether this machine's numbers have their least significant byte first, as those here have.
const LITTLE_ENDIAN: bool = cfg!(target_endian = "little");

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

/// Two offsets of four bytes, the most significant one first: -0x20 and -0x10.
#[rustfmt::skip]
const BIG: [u8; 16] = [
    0xff, 0xff, 0xff, 0xe0, 0x01, 0x02, 0x03, 0x04,
    0xff, 0xff, 0xff, 0xf0, 0x11, 0x12, 0x13, 0x14,
];

const fn narrow(origin: u64, count: u32, relative: bool) -> Array {
    Array {
        place: 2,
        origin,
        count,
        wide: false,
        relative,
        swapped: !LITTLE_ENDIAN,
    }
}

const fn wide(origin: u64, count: u32, relative: bool) -> Array {
    Array {
        place: 0,
        origin,
        count,
        wide: true,
        relative,
        swapped: !LITTLE_ENDIAN,
    }
}

/// All of them.
pub(crate) const ARRAYS: &[Search] = &[
    // The last one of equals is found.
    Search {
        bytes: &NARROW,
        array: narrow(0x1000, 5, false),
        lookups: &[
            (0, Err(Lost::NotFound)),
            (0xfdf, Err(Lost::NotFound)),
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
            (0xfdf, Err(Lost::NotFound)),
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
            (0xfdf, Err(Lost::NotFound)),
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
    Search {
        bytes: &BIG,
        array: Array {
            place: 0,
            origin: 0x1000,
            count: 2,
            wide: false,
            relative: false,
            swapped: LITTLE_ENDIAN,
        },
        lookups: &[
            (0xfdf, Err(Lost::NotFound)),
            (0xfe0, found(0xfe0, [1, 2, 3, 4, 0, 0, 0, 0], 0)),
            (0xff0, found(0xff0, [0x11, 0x12, 0x13, 0x14, 0, 0, 0, 0], 1)),
        ],
    },
    // Starts are unsigned: 2^64 - 0x20 and 2^64 - 0x10.
    Search {
        bytes: &WIDE,
        array: wide(0, 2, false),
        lookups: &[
            (0, Err(Lost::NotFound)),
            (u64::MAX - 0x10, found(u64::MAX - 0x1f, REST[0], 0)),
            (u64::MAX, found(u64::MAX - 0xf, REST[1], 1)),
        ],
    },
    // With 0 behind them they are not sorted, which only those see who look there.
    Search {
        bytes: &WIDE,
        array: wide(0, 3, false),
        lookups: &[(0, Err(Lost::NotFound)), (u64::MAX, Err(Lost::Unsorted(2)))],
    },
    // No elements, and one.
    Search {
        bytes: &[],
        array: wide(0x1000, 0, true),
        lookups: &[(0, Err(Lost::NotFound)), (u64::MAX, Err(Lost::NotFound))],
    },
    Search {
        bytes: &WIDE,
        array: wide(0x1000, 1, true),
        lookups: &[
            (0xfdf, Err(Lost::NotFound)),
            (0xfe0, found(0xfe0, REST[0], 0)),
            (u64::MAX, found(0xfe0, REST[0], 0)),
        ],
    },
];
