// SPDX-License-Identifier: GPL-2.0

//! The memory that a table is in.

use std::cell::Cell;

use crate::input::Input;
use crate::parse::{Array, Element, Fault, Lost, Reader};
use crate::search;

/// A table. Panics when it is read outside its length, or when a read fails and another follows.
pub(crate) struct Memory<'a> {
    bytes: &'a [u8],
    len: u64,
    repeats: bool,
    /// What happens at each read; nothing more when it is used up.
    script: Cell<&'a [u8]>,
    reads: Cell<u32>,
    faulted: Cell<bool>,
}

impl<'a> Memory<'a> {
    /// The table of `input`.
    ///
    /// If that is longer than its bytes, they repeat or the rest cannot be read.
    pub(crate) fn new(input: &Input<'a>) -> Self {
        Self::changing(input, &[])
    }

    /// The table of `input`, which changes while it is read.
    ///
    /// Each read takes a byte from `script`, and does what its two lowest bits say:
    ///
    /// ```text
    ///   0   nothing unusual
    ///   1   one byte is different: two more bytes say which, and how
    ///   2   all bytes are different: they are the script's next ones
    ///   3   the read fails
    /// ```
    pub(crate) fn changing(input: &Input<'a>, script: &'a [u8]) -> Self {
        Self {
            bytes: input.table,
            len: input.len,
            repeats: input.repeats && !input.table.is_empty(),
            script: Cell::new(script),
            reads: Cell::new(0),
            faulted: Cell::new(false),
        }
    }

    /// How often it was read.
    pub(crate) fn reads(&self) -> u32 {
        self.reads.get()
    }

    /// Whether a read failed.
    pub(crate) fn faulted(&self) -> bool {
        self.faulted.get()
    }

    /// The next byte of the script.
    fn next(&self) -> u8 {
        match self.script.get().split_first() {
            Some((&byte, rest)) => {
                self.script.set(rest);
                byte
            }
            None => 0,
        }
    }

    /// Copies the table's bytes.
    fn copy(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let start = usize::try_from(offset).map_err(|_| Fault)?;

        if let Some(bytes) = self.bytes.get(start..start + buf.len()) {
            buf.copy_from_slice(bytes);
            return Ok(());
        }
        if !self.repeats {
            return Err(Fault);
        }
        for (byte, at) in buf.iter_mut().zip(start..) {
            *byte = self.bytes[at % self.bytes.len()];
        }
        Ok(())
    }

    /// Does what the script says.
    fn change(&self, buf: &mut [u8]) -> Result<(), Fault> {
        match self.next() & 3 {
            0 => {}
            1 => {
                let at = usize::from(self.next()) % buf.len();
                buf[at] ^= self.next();
            }
            2 => buf.fill_with(|| self.next()),
            _ => return Err(Fault),
        }
        Ok(())
    }
}

impl Reader for Memory<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let end = offset.checked_add(buf.len() as u64);

        assert!(!self.faulted(), "read on after a fault");
        assert!(!buf.is_empty(), "read nothing");
        assert!(
            end.is_some_and(|end| end <= self.len),
            "read {} bytes at {offset:#x} of {:#x}",
            buf.len(),
            self.len
        );
        self.reads.set(self.reads() + 1);

        let result = self.copy(offset, buf).and_then(|()| self.change(buf));
        if result.is_err() {
            self.faulted.set(true);
            // After a fault, the buffer may hold anything.
            buf.fill_with(|| self.next());
        }
        result
    }
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        search::in_reader(self, array, key)
    }
}
