// SPDX-License-Identifier: GPL-2.0

//! How rows are read: in blocks.

use core::marker::PhantomData;

use super::{
    super::{
        Error,
        Reader, //
    },
    abi::Abi,
    header::Header,
    reason::Reason, //
};

/// Bytes of rows that are read at once.
const SIZE: usize = 120;
/// Bytes that can be looked at without knowing how many there are.
const PEEK: usize = 8;

/// The rows of a table, read through a window that moves forward.
///
/// # Invariants
///
/// - The rows lie inside the table (those of a [`Header`]).
/// - `bytes[..filled]` was read from byte `start` of the rows; `filled <= SIZE`.
pub(super) struct Window<'a, A, R> {
    reader: &'a R,
    /// Where the rows start, in bytes from the start of the table.
    base: u64,
    /// How many bytes of rows there are.
    len: u64,
    start: u64,
    filled: usize,
    bytes: [u8; SIZE + PEEK],
    abi: PhantomData<A>,
}

impl<'a, A: Abi, R: Reader> Window<'a, A, R> {
    pub(super) fn new(header: &Header<A>, reader: &'a R) -> Self {
        // INVARIANT: Both come from a `Header`; nothing was read.
        Self {
            reader,
            base: header.rows,
            len: u64::from(header.rows_len),
            start: 0,
            filled: 0,
            bytes: [0; SIZE + PEEK],
            abi: PhantomData,
        }
    }

    /// Whether the rows have bytes `at..at + len`.
    pub(super) fn has(&self, at: u64, len: usize) -> bool {
        at.saturating_add(len as u64) <= self.len
    }

    /// Bytes `at..at + N` of the rows; `reason` is the error if they have no such bytes.
    pub(super) fn get<const N: usize>(
        &mut self,
        at: u64,
        reason: Reason,
    ) -> Result<[u8; N], Error> {
        self.move_to(at, N, reason)?;
        self.seen(at).ok_or_else(|| self.error(reason, at))
    }

    /// Bytes from `at` on, of which only the first `len` are of the rows; `reason` is the error if
    /// the rows have no such bytes.
    #[inline]
    pub(super) fn peek(
        &mut self,
        at: u64,
        len: usize,
        reason: Reason,
    ) -> Result<[u8; PEEK], Error> {
        self.move_to(at, len, reason)?;
        self.seen(at).ok_or_else(|| self.error(reason, at))
    }

    /// Makes sure that the window has bytes `at..at + len` of the rows; `reason` is the error if
    /// there are not so many.
    #[inline]
    fn move_to(&mut self, at: u64, len: usize, reason: Reason) -> Result<(), Error> {
        if at.wrapping_sub(self.start).saturating_add(len as u64) <= self.filled as u64 {
            return Ok(());
        }
        self.refill(at, len, reason)
    }

    /// Moves the window to byte `at` of the rows; `reason` is the error if there are not `len`.
    #[inline(never)]
    fn refill(&mut self, at: u64, len: usize, reason: Reason) -> Result<(), Error> {
        let left = self.len.saturating_sub(at);
        let filled = usize::try_from(left).map_or(SIZE, |left| left.min(SIZE));
        if filled < len {
            return Err(self.error(reason, at));
        }
        // INVARIANT: Empty until the read below has succeeded.
        self.filled = 0;
        if let Some(bytes) = self.bytes.get_mut(..filled) {
            self.reader.read(self.base.saturating_add(at), bytes)?;
        }
        // INVARIANT: Just read; `filled` is at most `SIZE`.
        (self.start, self.filled) = (at, filled);
        Ok(())
    }

    /// The `N` bytes from `at` on, if the window has room for so many.
    fn seen<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let skip = usize::try_from(at.wrapping_sub(self.start)).ok()?;

        self.bytes.get(skip..)?.first_chunk().copied()
    }

    /// The error of something at byte `at` of the rows, or missing at their end.
    #[cold]
    #[inline(never)]
    pub(super) fn error(&self, reason: Reason, at: u64) -> Error {
        reason.at(self.base.saturating_add(at.min(self.len)))
    }
}
