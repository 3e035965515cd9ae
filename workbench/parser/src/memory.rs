// SPDX-License-Identifier: GPL-2.0

//! Tables in memory. Some are partly unreadable, and some change between reads.

use std::cell::{Cell, RefCell};

use crate::parse::{Array, Element, Error, Reader, bisect_price, read_price};
use crate::search;

/// A table that does not change.
pub(crate) struct Slice<'a>(pub(crate) &'a [u8]);

impl Reader for Slice<'_> {
    #[inline]
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let start = usize::try_from(offset).map_err(|_| Error::Fault)?;
        let bytes = self.0.get(start..).and_then(|bytes| bytes.get(..buf.len()));

        buf.copy_from_slice(bytes.ok_or(Error::Fault)?);
        Ok(())
    }

    #[inline]
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        search::bisect(&|place, to| self.read(place, to).is_ok(), array, key)
    }
}

/// The behaviour of a table when it is read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "fuzzing has scripts"))]
pub(crate) enum Behaviour<'a> {
    /// The bytes stay the same.
    Steady,
    /// The read with this number fails. The first read is 0.
    FaultAt(u32),
    /// Each read of a byte at or after this place fails.
    Hole(u64),
    /// From the read with this number on, each byte is random.
    NoiseFrom(u32),
    /// At each read, one in this many bytes is random.
    Flicker(u8),
    /// Each read gets bytes of this table or of the other one, at random. Zeros follow a shorter
    /// table.
    Alternate(&'a [u8]),
    /// From the read with this number on, reads get bytes of the other table.
    RewrittenAt(u32, &'a [u8]),
    /// Each read takes a byte from this script, and does what its two lowest bits say, until it
    /// is used up:
    ///
    /// ```text
    ///   0   nothing unusual
    ///   1   one byte is different: two more bytes say which, and how
    ///   2   all bytes are different: they are the script's next ones
    ///   3   the read fails
    /// ```
    Script,
}

/// A table. It panics at a read outside of it, and at a read after a failed one.
pub(crate) struct Memory<'a> {
    bytes: &'a [u8],
    len: u64,
    repeats: bool,
    behaviour: Behaviour<'a>,
    script: Cell<&'a [u8]>,
    noise: Cell<u64>,
    reads: Cell<u32>,
    faulted: Cell<bool>,
    left: Cell<u32>,
}

impl<'a> Memory<'a> {
    #[cfg(test)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::behaving(bytes, Behaviour::Steady, 0)
    }

    /// A table with a behaviour; `seed` is the seed of its random bytes.
    pub(crate) fn behaving(bytes: &'a [u8], behaviour: Behaviour<'a>, seed: u64) -> Self {
        Self {
            bytes,
            len: bytes.len() as u64,
            repeats: false,
            behaviour,
            script: Cell::new(&[]),
            noise: Cell::new(seed | 1),
            reads: Cell::new(0),
            faulted: Cell::new(false),
            left: Cell::new(u32::MAX),
        }
    }

    /// A table of `len` bytes that changes between reads: see [`Behaviour::Script`].
    ///
    /// If it is longer than `bytes`, the bytes repeat, or reads behind them fail.
    pub(crate) fn scripted(bytes: &'a [u8], len: u64, repeats: bool, script: &'a [u8]) -> Self {
        Self {
            len,
            repeats: repeats && !bytes.is_empty(),
            script: Cell::new(script),
            ..Self::behaving(bytes, Behaviour::Script, 0)
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The number of reads.
    pub(crate) fn reads(&self) -> u32 {
        self.reads.get()
    }

    /// Whether the lookup has ended at a read that failed.
    pub(crate) fn faulted(&self) -> bool {
        self.faulted.get()
    }

    /// Allows reads and searches for so many units.
    pub(crate) fn allow(&self, units: u32) {
        self.left.set(units);
    }

    /// The units that are left.
    pub(crate) fn left(&self) -> u32 {
        self.left.get()
    }

    fn spend(&self, price: u32) -> Result<(), Error> {
        let left = self.left.get().checked_sub(price);

        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Error::Budget)
    }

    /// A random byte.
    fn noise(&self) -> u8 {
        let mut noise = self.noise.get();

        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        self.noise.set(noise);
        (noise.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u8
    }

    fn next(&self) -> u8 {
        match self.script.get().split_first() {
            Some((&byte, rest)) => {
                self.script.set(rest);
                byte
            }
            None => 0,
        }
    }

    fn copy(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let copied = Slice(self.bytes).read(offset, buf);

        if copied.is_err() && self.repeats {
            for (byte, at) in buf.iter_mut().zip(offset as usize..) {
                *byte = self.bytes[at % self.bytes.len()];
            }
            return Ok(());
        }
        copied
    }

    /// Changes the bytes of read `number` as the behaviour says.
    fn change(&self, number: u32, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        match self.behaviour {
            Behaviour::FaultAt(nth) if nth == number => return Err(Error::Fault),
            Behaviour::Hole(hole) if offset + buf.len() as u64 > hole => return Err(Error::Fault),
            Behaviour::NoiseFrom(nth) if nth <= number => buf.fill_with(|| self.noise()),
            Behaviour::Flicker(one_in) => {
                for byte in buf {
                    if self.noise() % one_in.max(1) == 0 {
                        *byte = self.noise();
                    }
                }
            }
            Behaviour::Alternate(_) if self.noise() % 2 == 0 => {}
            Behaviour::RewrittenAt(nth, _) if number < nth => {}
            Behaviour::Alternate(other) | Behaviour::RewrittenAt(_, other) => {
                for (to, at) in buf.iter_mut().zip(offset as usize..) {
                    *to = other.get(at).copied().unwrap_or(0);
                }
            }
            Behaviour::Script => match self.next() & 3 {
                0 => {}
                1 => {
                    let at = usize::from(self.next()) % buf.len();
                    buf[at] ^= self.next();
                }
                2 => buf.fill_with(|| self.next()),
                _ => return Err(Error::Fault),
            },
            _ => {}
        }
        Ok(())
    }
}

impl Memory<'_> {
    /// Reads for nothing.
    fn get(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let number = self.reads.get();
        let end = offset.checked_add(buf.len() as u64);

        assert!(!self.faulted(), "read on after a fault");
        assert!(!buf.is_empty(), "read nothing");
        assert!(
            end.is_some_and(|end| end <= self.len),
            "read {} bytes at {offset:#x} of {:#x}",
            buf.len(),
            self.len
        );
        self.reads.set(number + 1);

        let copied = self.copy(offset, buf);
        let result = copied.and_then(|()| self.change(number, offset, buf));
        if result.is_err() {
            self.faulted.set(true);
            // A failed copy leaves undefined bytes.
            match self.behaviour {
                Behaviour::Script => buf.fill_with(|| self.next()),
                _ => buf.fill_with(|| self.noise()),
            }
        }
        result
    }
}

impl Reader for Memory<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.spend(read_price(buf.len()))?;
        self.get(offset, buf)
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        self.spend(bisect_price(array.count))?;
        search::bisect(&|place, to| self.get(place, to).is_ok(), array, key)
    }
}

/// A read: its place and its bytes.
pub(crate) type Read = (u64, Vec<u8>);

/// A file that records its reads. It has no array to search.
pub(crate) struct Recorder<'a, 'b> {
    memory: &'a Memory<'b>,
    /// The number of mapped bytes.
    len: u64,
    pub(crate) reads: RefCell<Vec<Read>>,
}

impl<'a, 'b> Recorder<'a, 'b> {
    pub(crate) fn new(memory: &'a Memory<'b>, len: u64) -> Self {
        Self { memory, len, reads: RefCell::default() }
    }
}

impl Reader for Recorder<'_, '_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let end = offset.checked_add(buf.len() as u64);

        assert!(end.is_some_and(|end| end <= self.len), "read at {offset:#x} of {:#x}", self.len);
        self.memory.read(offset, buf)?;
        self.reads.borrow_mut().push((offset, buf.to_vec()));
        Ok(())
    }

    fn bisect(&self, _: &Array, _: u64) -> Result<Element, Error> {
        panic!("there is nothing to search")
    }
}
