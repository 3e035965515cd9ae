// SPDX-License-Identifier: GPL-2.0

//! The bytes of a table, and the price of reading them.

use super::{
    array::{
        Array,
        Element, //
    },
    error::Error, //
};

/// A table's bytes.
///
/// Two reads of one offset may yield different bytes. So a format uses the copy that it has
/// checked.
///
/// Formats read only within the length of the table, and stop at the first error.
pub(crate) trait Reader {
    /// Copies `buf.len()` bytes from byte `offset` of the table, for [`read_price`].
    ///
    /// After an error the contents of `buf` are undefined.
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error>;

    /// Finds the last element of `array` that starts at or below `key`, for [`bisect_price`].
    ///
    /// There is one search, `kernel/unwind/tables/bisect.c`. A reader says where the array is.
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error>;

    /// Copies `N` bytes from byte `offset` of the table.
    fn read_array<const N: usize>(&self, offset: u64) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];

        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// Price of a step of a search, and of a read of so many bytes or fewer.
const STEP: u32 = 32;

/// Computes the price of a read of `len` bytes. Each byte may be an instruction or half a row.
pub(crate) fn read_price(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX).max(STEP)
}

/// Computes the price of a search in `count` elements.
pub(crate) fn bisect_price(count: u32) -> u32 {
    // Does not wrap: there are 32 steps at most, and the read of the element.
    (u32::BITS + 1)
        .wrapping_sub(count.leading_zeros())
        .wrapping_mul(STEP)
}

/// Returns the `N` bytes at byte `at` of `bytes`, or zeros if there are not so many.
#[inline]
pub(super) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let field = bytes.get(at..).and_then(<[u8]>::first_chunk);

    field.copied().unwrap_or([0; N])
}
