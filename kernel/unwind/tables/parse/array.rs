// SPDX-License-Identifier: GPL-2.0

//! Sorted arrays of offsets, which every format's index is.

use super::Fault;

/// A sorted array of offsets in a table.
///
/// An element is a signed offset and as many bytes of something else. Element n starts at
/// `origin` + its offset, and that many bytes further as it is behind element 0 if offsets are
/// relative. This wraps at 2^64, and is then compared as an unsigned number.
///
/// The layout is that of C, where arrays are searched: `struct unwind_bisect_array`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Array {
    /// Where the array is, in bytes from the start of the table.
    pub(crate) place: u64,
    /// What the offset of element 0 counts from.
    pub(crate) origin: u64,
    /// How many elements there are.
    pub(crate) count: u32,
    /// Whether an offset has 8 bytes, not 4.
    pub(crate) wide: bool,
    /// Whether each offset counts from its own element, not all from that of element 0.
    pub(crate) relative: bool,
    /// Whether offsets are in the byte order that is not this machine's.
    pub(crate) swapped: bool,
}

impl Array {
    /// Bytes of an element.
    #[inline(always)]
    pub(crate) const fn element_size(&self) -> u64 {
        if self.wide {
            16
        } else {
            8
        }
    }

    /// Where the array ends, in bytes from the start of the table; none if it does not.
    #[inline]
    pub(crate) fn end(&self) -> Option<u64> {
        // Does not wrap: this is below 2^36.
        let len = u64::from(self.count).wrapping_mul(self.element_size());

        self.place.checked_add(len)
    }
}

/// An element that a search has found.
///
/// The layout is that of C: `struct unwind_bisect_element`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Element {
    /// What it starts at.
    pub(crate) start: u64,
    /// The bytes behind its offset: 8, or 4 and then zeros.
    pub(crate) rest: [u32; 2],
    /// Its number, from 0.
    pub(crate) nth: u32,
}

/// An index of the usual kind: offsets have 8 bytes and count from where they stand. The second
/// number behind an offset says where the bytes are that its element leads to.
///
/// All places are in bytes from the start of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    /// Where its elements are.
    pub(crate) place: u64,
    /// How many elements there are.
    pub(crate) count: u32,
    /// Where the bytes are that elements lead to.
    pub(crate) blocks: u64,
    /// Where a block starts at most, so that it ends with these bytes.
    pub(crate) last: u64,
}

impl Index {
    /// The same array, in a table that stands at address `base`.
    #[inline]
    pub(crate) fn array(&self, base: u64) -> Array {
        Array {
            place: self.place,
            origin: base.wrapping_add(self.place),
            count: self.count,
            wide: true,
            relative: true,
            swapped: false,
        }
    }
}

/// An element of an index, and the first bytes that it leads to: as many as nearly all rows of a
/// small function have.
///
/// The layout is that of C: `struct unwind_bisect_block`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Block {
    /// The element.
    pub(crate) element: Element,
    /// Which of the bytes it leads to: not the first, if that is near the end of the table.
    pub(crate) at: u64,
    /// Bytes of the table, and zeros behind them, so that a few can be taken anywhere.
    pub(crate) bytes: [u8; Self::LEN + Self::MORE],
}

impl Block {
    /// How many bytes are read.
    pub(crate) const LEN: usize = 48;
    /// How many zeros there are.
    pub(crate) const MORE: usize = 8;
}

/// Why a search has found no element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// All elements start above what was searched.
    NotFound,
    /// The array could not be read.
    Fault,
    /// The element of this number does not start between those that were compared before.
    Unsorted(u32),
}

impl Lost {
    /// What C says if there is no such element.
    pub(crate) const ENOENT: i32 = -2;
    /// What C says if the array is not sorted.
    pub(crate) const EINVAL: i32 = -22;

    /// What C says, with the number of the element that it left.
    #[cold]
    #[inline(never)]
    pub(crate) fn from_errno(errno: i32, nth: u32) -> Self {
        match errno {
            Self::ENOENT => Self::NotFound,
            Self::EINVAL => Self::Unsorted(nth),
            _ => Self::Fault,
        }
    }
}

impl From<Fault> for Lost {
    fn from(_: Fault) -> Self {
        Self::Fault
    }
}
