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
/// All places are in bytes from the start of the table, or addresses: see [`Index::at`].
///
/// The layout is that of C: `struct unwind_bisect_index`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Index {
    /// Where its elements are.
    pub(crate) first: u64,
    /// Where the bytes are that elements lead to.
    pub(crate) blocks: u64,
    /// Where a block of [`BLOCK`] bytes starts at most, so that it ends with these bytes.
    pub(crate) last: u64,
    /// How many elements there are.
    pub(crate) count: u32,
    /// Elements whose first number is above this lead to large blocks; `u32::MAX` if the table has
    /// not so many bytes.
    pub(crate) small: u32,
}

impl Index {
    /// The same array, in a table that stands at address `base`.
    #[inline]
    pub(crate) fn array(&self, base: u64) -> Array {
        Array {
            place: self.first,
            origin: base.wrapping_add(self.first),
            count: self.count,
            wide: true,
            relative: true,
            swapped: false,
        }
    }

    /// The same index, with addresses: its table stands at address `base`.
    pub(crate) fn at(&self, base: u64) -> Self {
        Self {
            first: base.wrapping_add(self.first),
            blocks: base.wrapping_add(self.blocks),
            last: base.wrapping_add(self.last),
            ..*self
        }
    }
}

/// An element of an index, and the first bytes that it leads to, `N` with [`MORE`]: as many as
/// nearly all rows of a function have. Or further ones.
///
/// The layout is that of C, which has room for a large one: `struct unwind_bisect_block`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Block<const N: usize> {
    /// What it is of.
    pub(crate) head: BlockHead,
    /// Bytes of the table, and zeros behind them, so that a few can be taken anywhere.
    pub(crate) bytes: [u8; N],
}

/// What a block is of.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BlockHead {
    /// The element.
    pub(crate) element: Element,
    /// Which of the bytes it leads to: not the first, if that is near the end of the table.
    pub(crate) at: u64,
    /// How far a lookup has come that needs more bytes.
    pub(crate) progress: Progress,
}

impl BlockHead {
    /// That of an element of which no bytes were read.
    pub(crate) const fn new(element: Element) -> Self {
        Self {
            element,
            at: 0,
            progress: Progress::NONE,
        }
    }
}

/// How many bytes of the table a block has.
pub(crate) const BLOCK: usize = 48;
/// How many bytes of the table a large block has.
pub(crate) const LARGE_BLOCK: usize = 232;
/// How many bytes are behind these.
pub(crate) const MORE: usize = 48;

/// A block.
pub(crate) type SmallBlock = Block<{ BLOCK + MORE }>;
/// A block of an element whose first number is large, or a further block of any element.
pub(crate) type LargeBlock = Block<{ LARGE_BLOCK + MORE }>;

/// The block that a search has read.
pub(crate) enum AnyBlock<'a> {
    /// Of the usual size.
    Small(&'a mut SmallBlock),
    /// A large one.
    Large(&'a mut LargeBlock),
}

/// How far a lookup has come in what an element leads to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Progress {
    /// Where to go on, in bytes from what the element leads to; 0 if that is of no use.
    pub(crate) place: u32,
    /// How many items are left there.
    pub(crate) left: u16,
    /// What they are like: 0 as long as that is not known.
    pub(crate) kind: u16,
}

impl Progress {
    /// Nowhere.
    pub(crate) const NONE: Self = Self {
        place: 0,
        left: 0,
        kind: 0,
    };
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
