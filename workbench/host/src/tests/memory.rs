// SPDX-License-Identifier: GPL-2.0

//! Tables in memory: reliable, unreadable in places, and changing while they are read.

use std::cell::Cell;

use crate::parse::{Array, Element, Fault, Lost, Reader};
use crate::search;

/// How a table behaves when it is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behaviour<'a> {
    /// As memory does that nobody else writes.
    Steady,
    /// The read of this number, from 0, fails.
    FaultAt(u32),
    /// Every read that touches a byte at or after this one fails.
    Hole(u64),
    /// From the read of this number on, every byte is arbitrary.
    NoiseFrom(u32),
    /// One in so many bytes is arbitrary at each read.
    Flicker(u8),
    /// Each read is of this table or of the other one; zeros follow a shorter one.
    Alternate(&'a [u8]),
    /// From the read of this number on, all are of the other one.
    RewrittenAt(u32, &'a [u8]),
}

/// A table.  Panics when it is read outside, or when a read fails and another follows.
pub(super) struct Memory<'a> {
    bytes: &'a [u8],
    behaviour: Behaviour<'a>,
    noise: Cell<u64>,
    reads: Cell<u32>,
    faulted: Cell<bool>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self::behaving(bytes, Behaviour::Steady, 0)
    }

    /// A table of some behaviour; `seed` is that of its arbitrary bytes.
    pub(super) fn behaving(bytes: &'a [u8], behaviour: Behaviour<'a>, seed: u64) -> Self {
        Self {
            bytes,
            behaviour,
            noise: Cell::new(seed | 1),
            reads: Cell::new(0),
            faulted: Cell::new(false),
        }
    }

    /// The same table, if nobody else writes it.
    pub(super) fn again(&self) -> Option<Self> {
        matches!(self.behaviour, Behaviour::Steady).then(|| Self::new(self.bytes))
    }

    /// How long the table is.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How often it was read.
    pub(super) fn reads(&self) -> u32 {
        self.reads.get()
    }

    /// Whether a read failed.
    pub(super) fn faulted(&self) -> bool {
        self.faulted.get()
    }

    fn noise(&self) -> u64 {
        let mut noise = self.noise.get();

        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        self.noise.set(noise);
        noise.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    fn fault(&self, buf: &mut [u8]) -> Result<(), Fault> {
        self.faulted.set(true);
        // What a failed copy leaves is undefined: here, no bytes that a table would have.
        buf.fill_with(|| self.noise() as u8);
        Err(Fault)
    }
}

impl Reader for Memory<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let number = self.reads.get();
        let end = offset.checked_add(buf.len() as u64);

        assert!(!self.faulted(), "read on after a fault");
        assert!(!buf.is_empty(), "read nothing");
        assert!(
            end.is_some_and(|end| end <= self.len()),
            "read {} bytes at {offset:#x} of {:#x}",
            buf.len(),
            self.len()
        );
        self.reads.set(number + 1);

        let start = offset as usize;
        let source = &self.bytes[start..][..buf.len()];
        match self.behaviour {
            Behaviour::Steady => buf.copy_from_slice(source),
            Behaviour::FaultAt(nth) if nth == number => return self.fault(buf),
            Behaviour::Hole(hole) if end.is_some_and(|end| end > hole) => return self.fault(buf),
            Behaviour::FaultAt(_) | Behaviour::Hole(_) => buf.copy_from_slice(source),
            Behaviour::NoiseFrom(nth) | Behaviour::RewrittenAt(nth, _) if number < nth => {
                buf.copy_from_slice(source);
            }
            Behaviour::NoiseFrom(_) => buf.fill_with(|| self.noise() as u8),
            Behaviour::Flicker(one_in) => {
                buf.copy_from_slice(source);
                for byte in buf {
                    if self.noise().is_multiple_of(u64::from(one_in).max(1)) {
                        *byte = self.noise() as u8;
                    }
                }
            }
            Behaviour::Alternate(_) if self.noise().is_multiple_of(2) => {
                buf.copy_from_slice(source);
            }
            Behaviour::Alternate(other) | Behaviour::RewrittenAt(_, other) => {
                for (to, at) in buf.iter_mut().zip(start..) {
                    *to = other.get(at).copied().unwrap_or(0);
                }
            }
        }
        Ok(())
    }
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        search::in_reader(self, array, key)
    }
}
