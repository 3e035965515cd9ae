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
/// Bytes of a function's attribute and rows that are read at first: most functions have less.
pub(super) const FIRST: usize = 40;
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
    /// With some more, so that a few can be taken at once wherever the last one is.
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

    /// Reads the first bytes of a function's attribute and rows, which are said to be at byte `at`
    /// of the rows. If none are there, the window is empty.
    #[inline(always)]
    pub(super) fn open(&mut self, at: u32) -> Result<(), Error> {
        let at = u64::from(at);
        let filled = (self.len.saturating_sub(at) as usize).min(FIRST);

        if let Some(bytes) = self
            .bytes
            .get_mut(..filled)
            .filter(|bytes| !bytes.is_empty())
        {
            self.reader.read(self.base.saturating_add(at), bytes)?;
        }
        // INVARIANT: Just read; `filled` is at most `FIRST`.
        (self.start, self.filled) = (at, filled);
        Ok(())
    }

    /// How many bytes the window has.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// The bytes of the window from byte `at` on; behind its end they have no meaning.
    #[inline(always)]
    pub(super) fn at(&self, at: usize) -> Option<[u8; PEEK]> {
        self.bytes.get(at..)?.first_chunk().copied()
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

    /// Bytes from `at` on, of which only the first `len` are of the rows.
    pub(super) fn peek(
        &mut self,
        at: u64,
        len: usize,
        reason: Reason,
    ) -> Result<[u8; PEEK], Error> {
        self.move_to(at, len, reason)?;
        self.seen(at).ok_or_else(|| self.error(reason, at))
    }

    /// The bytes of the window, where in them byte `at` of the rows is, and the last place where
    /// something of `len` bytes may start. `None` if it has no `len` bytes from `at` on.
    #[inline(always)]
    pub(super) fn heads(&self, at: u64, len: usize) -> Option<(&[u8; SIZE + PEEK], usize, usize)> {
        let first = usize::try_from(at.checked_sub(self.start)?).ok()?;
        let last = self.filled.checked_sub(len)?.min(SIZE);

        (first <= last).then_some((&self.bytes, first, last))
    }

    /// Makes sure that the window has bytes `at..at + len` of the rows; `reason` is the error if
    /// there are not so many. Tells whether it has moved.
    #[inline]
    pub(super) fn move_to(&mut self, at: u64, len: usize, reason: Reason) -> Result<bool, Error> {
        if at.wrapping_sub(self.start).saturating_add(len as u64) <= self.filled as u64 {
            return Ok(false);
        }
        self.fill(at, len, reason)?;
        Ok(true)
    }

    /// Moves the window to byte `at` of the rows; `reason` is the error if there are not `len`.
    #[inline(never)]
    fn fill(&mut self, at: u64, len: usize, reason: Reason) -> Result<(), Error> {
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
