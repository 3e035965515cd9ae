// SPDX-License-Identifier: GPL-2.0

//! The bytes of a record, one after the other.

use core::marker::PhantomData;

use super::{
    super::{
        Arch,
        Error,
        Reader, //
    },
    reason::Reason, //
};

/// Number of bytes that are read at once: the kernel's stack is small, and most records are
/// shorter.
const BLOCK: usize = 64;

/// Reads the bytes of a record, in blocks, each byte once.
///
/// # Invariants
///
/// - `at <= filled <= BLOCK`, and `place + filled <= end`, which does not wrap.
pub(super) struct Cursor<'a, A, R> {
    reader: &'a R,
    /// Where the block is, in bytes from the start of the table.
    place: u64,
    /// Where the record ends, in bytes from the start of the table.
    end: u64,
    block: [u8; BLOCK],
    /// Number of bytes of the block that were taken.
    at: usize,
    /// Number of bytes of the block that were read.
    filled: usize,
    abi: PhantomData<A>,
}

impl<'a, A: Arch, R: Reader> Cursor<'a, A, R> {
    /// Makes a cursor without a record.
    pub(super) fn new(reader: &'a R) -> Self {
        // INVARIANT: All are zero.
        Self {
            reader,
            place: 0,
            end: 0,
            block: [0; BLOCK],
            at: 0,
            filled: 0,
            abi: PhantomData,
        }
    }

    /// Goes to byte `place`, to read bytes below `end`; the first `first` of them together.
    ///
    /// It is an error if `place` is not below `end`.
    pub(super) fn open(&mut self, place: u64, end: u64, first: usize) -> Result<(), Error> {
        // INVARIANT: Nothing is filled, and an empty record ends where it starts.
        self.place = place;
        self.end = end.max(place);
        self.at = 0;
        self.filled = 0;
        self.fill(first)
    }

    /// Returns the offset of the next byte in the table.
    pub(super) fn position(&self) -> u64 {
        // Does not wrap, by the invariants.
        self.place.wrapping_add(self.at as u64)
    }

    /// Returns the number of bytes that are left.
    pub(super) fn left(&self) -> u64 {
        // Does not wrap, by the invariants.
        self.end.wrapping_sub(self.position())
    }

    /// Says whether any bytes are left.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.at < self.filled || self.left() > 0
    }

    /// Lets the record end after `len` more bytes; says whether it has so many.
    pub(super) fn limit(&mut self, len: u64) -> bool {
        if len > self.left() {
            return false;
        }
        // INVARIANT: This is above what was taken; what was read behind it is forgotten.
        self.end = self.position().wrapping_add(len);
        let most = self.end.wrapping_sub(self.place);
        if most < self.filled as u64 {
            self.filled = most as usize;
        }
        true
    }

    /// Passes `len` bytes.
    pub(super) fn skip(&mut self, len: u64) -> Result<(), Error> {
        if len > self.left() {
            return Err(Reason::RecordEnd.at(self.end));
        }
        let in_block = self.filled.wrapping_sub(self.at);

        if len <= in_block as u64 {
            // INVARIANT: This is at most `filled`.
            self.at = self.at.wrapping_add(len as usize);
        } else {
            // INVARIANT: This is at most `end`, and nothing is filled.
            self.place = self.position().wrapping_add(len);
            self.at = 0;
            self.filled = 0;
        }
        Ok(())
    }

    /// Reads the next block, of at most `most` bytes.
    #[inline(never)]
    fn fill(&mut self, most: usize) -> Result<(), Error> {
        let place = self.place.wrapping_add(self.filled as u64);
        let left = self.end.wrapping_sub(place);
        let size = most.min(BLOCK).min(usize::try_from(left).unwrap_or(BLOCK));

        if size == 0 {
            return Err(Reason::RecordEnd.at(self.end));
        }
        // INVARIANT: Nothing is filled; the place is at most `end`.
        self.place = place;
        self.at = 0;
        self.filled = 0;
        if let Some(block) = self.block.get_mut(..size) {
            self.reader.read(place, block)?;
        }
        // INVARIANT: So much is at most `left`.
        self.filled = size;
        Ok(())
    }

    /// Takes the next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        if self.at >= self.filled {
            self.fill(BLOCK)?;
        }
        match self.block.get(self.at) {
            Some(byte) => {
                // INVARIANT: It was below `filled`.
                self.at = self.at.wrapping_add(1);
                Ok(*byte)
            }
            None => Err(Reason::RecordEnd.at(self.end)),
        }
    }

    /// Takes the next `N` bytes.
    #[inline]
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let rest = self.block.get(self.at..self.filled);

        if let Some(bytes) = rest.and_then(<[u8]>::first_chunk) {
            // INVARIANT: There were so many below `filled`.
            self.at = self.at.wrapping_add(N);
            return Ok(*bytes);
        }
        self.bytes_across()
    }

    /// Takes the next `N` bytes, across the end of a block.
    #[inline(never)]
    fn bytes_across<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];

        for byte in &mut bytes {
            *byte = self.byte()?;
        }
        Ok(bytes)
    }

    /// Takes a number of four bytes.
    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// Takes an unsigned number of variable length, "LEB128", 7.6.
    #[inline]
    pub(super) fn uleb(&mut self) -> Result<u64, Error> {
        let first = self.byte()?;

        if first < 0x80 {
            return Ok(first.into());
        }
        self.long_leb(first, false)
    }

    /// Takes the number of a register; one that does not fit is as unknown as the highest one.
    pub(super) fn register(&mut self) -> Result<u32, Error> {
        Ok(u32::try_from(self.uleb()?).unwrap_or(u32::MAX))
    }

    /// Takes a signed number of variable length.
    #[inline]
    pub(super) fn sleb(&mut self) -> Result<i64, Error> {
        let first = self.byte()?;

        if first < 0x80 {
            // The sign is the highest of 7 bits.
            return Ok(((first << 1) as i8 >> 1).into());
        }
        Ok(self.long_leb(first, true)? as i64)
    }

    /// Takes the rest of a number of variable length that starts with `first`.
    #[inline(never)]
    fn long_leb(&mut self, first: u8, signed: bool) -> Result<u64, Error> {
        let start = self.position().wrapping_sub(1);
        let mut value = u64::from(first & 0x7f);
        let mut shift = 7u32;

        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);

            // The tenth byte has room for one bit; if that is a sign, all seven are the same.
            let fits = match (shift, signed) {
                (63, false) => bits <= 1,
                (63, true) => bits == 0 || bits == 0x7f,
                _ => shift < 63,
            };
            if !fits {
                return Err(Reason::Number.at(start));
            }
            value |= bits.wrapping_shl(shift);
            shift = shift.wrapping_add(7);
            if byte < 0x80 {
                if signed && byte & 0x40 != 0 && shift < 64 {
                    value |= u64::MAX.wrapping_shl(shift);
                }
                return Ok(value);
            }
        }
    }
}
