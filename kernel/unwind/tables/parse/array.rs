// SPDX-License-Identifier: GPL-2.0

//! Sorted arrays of offsets, which every format's index is.

use super::{
    error::Reason,
    reader::field,
    Error,
    Reader, //
};

/// A sorted array of offsets in a table.
///
/// An element is a signed offset, and as many other bytes. Its start is `origin` + its offset or,
/// if the array is relative, `origin` + its distance from element 0 + its offset. Starts wrap at
/// 2^64, and are compared as unsigned numbers.
///
/// The first fields are laid out as in C, where arrays are searched: `struct unwind_bisect_array`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Array {
    /// Offset of the array in the table, in bytes.
    pub(crate) place: u64,
    /// Base of the offset of element 0.
    pub(crate) origin: u64,
    /// Number of elements.
    pub(crate) count: u32,
    /// Whether an offset has 8 bytes, not 4.
    pub(crate) wide: bool,
    /// Whether the base of an offset is its own element, not that of element 0.
    pub(crate) relative: bool,
    /// The reason for a refusal if elements are not sorted.
    pub(crate) unsorted: Reason,
}

/// An element that a search has found.
///
/// The layout is that of C: `struct unwind_bisect_element`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Element {
    /// Its start.
    pub(crate) start: u64,
    /// The number behind its offset, of as many bytes.
    pub(crate) rest: u64,
    /// Its number, from 0.
    pub(crate) nth: u32,
}

impl Array {
    /// The errno of C if all elements start above the key.
    pub(crate) const ENOENT: i32 = -2;
    /// The errno of C if the array is not sorted.
    pub(crate) const EINVAL: i32 = -22;

    /// Returns the offset of element `nth` in the table, in bytes.
    #[inline]
    pub(crate) fn element(&self, nth: u32) -> u64 {
        let size = if self.wide { 16 } else { 8 };

        // Wraps only if the array does: the product is below 2^36.
        self.place.wrapping_add(u64::from(nth).wrapping_mul(size))
    }

    /// Reads element `nth`, which the array must have.
    pub(super) fn read<R: Reader>(&self, reader: &R, nth: u32) -> Result<Element, Error> {
        let place = self.element(nth);
        let (offset, rest) = if self.wide {
            let bytes: [u8; 16] = reader.read_array(place)?;

            (
                u64::from_le_bytes(field(&bytes, 0)),
                u64::from_le_bytes(field(&bytes, 8)),
            )
        } else {
            let [a, b, c, d, rest @ ..]: [u8; 8] = reader.read_array(place)?;
            let offset = u32::from_le_bytes([a, b, c, d]) as i32;

            (offset as u64, u32::from_le_bytes(rest).into())
        };
        let distance = if self.relative {
            place.wrapping_sub(self.place)
        } else {
            0
        };

        Ok(Element {
            start: self.origin.wrapping_add(distance).wrapping_add(offset),
            rest,
            nth,
        })
    }

    /// Converts what C returns from a search, with the element that it leaves.
    #[inline]
    pub(crate) fn found(&self, errno: i32, element: Element) -> Result<Element, Error> {
        match errno {
            0 => Ok(element),
            Self::ENOENT => Err(Error::NotFound),
            Self::EINVAL => Err(self.unsorted.at(self.element(element.nth))),
            _ => Err(Error::Fault),
        }
    }
}
