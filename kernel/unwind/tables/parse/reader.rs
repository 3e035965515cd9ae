// SPDX-License-Identifier: GPL-2.0

//! How a format reads a table, and what that may cost.

use core::mem::MaybeUninit;

use super::{
    error::Error,
    sframe::{
        Abi,
        Header,
        Lost,
        Place, //
    }, //
};

/// Bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault;

/// A table's bytes.
///
/// Nothing is assumed of them: two reads of the same place may yield different bytes. So nothing
/// that was checked is ever read again.
pub(crate) trait Reader {
    /// Copies `buf.len()` bytes from byte `offset` of the table.
    ///
    /// The callers ask only for bytes inside the length that they were told. After an error the
    /// contents of `buf` are undefined.
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault>;

    /// Copies `N` bytes from byte `offset` of the table.
    fn read_array<const N: usize>(&self, offset: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];

        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Finds the last function at or below address `pc` in the table, which stands at address
    /// `base`.
    ///
    /// This is for a reader that knows a better way than single reads.
    #[inline]
    fn find<'a, A: Abi>(
        &self,
        header: &Header<A>,
        base: u64,
        pc: u64,
        place: &'a mut MaybeUninit<Place>,
    ) -> Result<&'a Place, Lost> {
        Ok(place.write(header.search(self, base, pc)?))
    }
}

/// How much work a stack may still cost.
///
/// One unit is what it costs to pass a row that was read with others. Whoever walks a stack makes
/// one budget for all its frames: then no table can make the walk long, whatever it says.
#[derive(Debug)]
pub(crate) struct Budget(u32);

impl Budget {
    /// What it costs to find a function: at most 28 comparisons, and its first rows if they are
    /// usual ones.
    pub(super) const FIND: u32 = 32;

    /// What it costs to step over a row that has to be read, with those behind it that fit into a
    /// window. If rows are long, that is each.
    pub(super) const STEP: u32 = 7;

    /// A budget of `units`.
    pub(crate) fn new(units: u32) -> Self {
        Self(units)
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> u32 {
        self.0
    }

    /// Takes `units` from what is left; less than that left is an error, and then nothing is.
    #[inline]
    pub(super) fn spend(&mut self, units: u32) -> Result<(), Error> {
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
