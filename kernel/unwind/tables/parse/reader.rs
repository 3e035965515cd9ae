// SPDX-License-Identifier: GPL-2.0

//! How a format reads a table, and what that may cost.

use super::{
    array::{
        Array,
        Element,
        Lost, //
    },
    error::Error, //
};

/// Bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault;

/// A table's bytes.
///
/// Nothing is assumed of them: two reads of the same place may yield different bytes. So bytes are
/// used only from the copy that was checked.
///
/// The callers ask only for bytes inside the length that they were told.
pub(crate) trait Reader {
    /// Copies `buf.len()` bytes from byte `offset` of the table.
    ///
    /// After an error the contents of `buf` are undefined.
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault>;

    /// Finds the last element of `array` that starts at or below `key`.
    ///
    /// There is one search, `kernel/unwind/tables/bisect.c`. A reader says where the array is.
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost>;

    /// Copies `N` bytes from byte `offset` of the table.
    fn read_array<const N: usize>(&self, offset: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];

        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// How much work a stack may still cost.
///
/// One unit is what it costs to pass a row that was read with others. Whoever walks a stack makes
/// one budget for all its frames: then no table can make the walk long, whatever it says.
#[derive(Debug)]
pub(crate) struct Budget(u32);

impl Budget {
    /// What it costs to find a function: at most 32 comparisons, and a read of its first rows.
    pub(crate) const FIND: u32 = 32;

    /// What it costs to step over a row that is unusual: a long one takes half a read.
    pub(super) const STEP: u32 = 6;

    /// What a read costs, beside what is done with its bytes.
    pub(super) const READ: u32 = 7;

    /// How many lookups it takes at least to use up the budget of a stack: one alone may not.
    pub(crate) const LOOKUPS: u32 = 4;

    /// A budget of `units`.
    pub(crate) fn new(units: u32) -> Self {
        Self(units)
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> u32 {
        self.0
    }

    /// Takes `units` from what is left.
    ///
    /// # Errors
    ///
    /// [`Error::Budget`] if less than that is left. Then nothing is left.
    #[inline]
    pub(crate) fn spend(&mut self, units: u32) -> Result<(), Error> {
        match self.0.checked_sub(units) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(Error::Budget)
            }
        }
    }
}

/// Takes the first `N` bytes off `bytes`.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;

    *bytes = rest;
    Some(*first)
}
