// SPDX-License-Identifier: GPL-2.0

//! The meaning of an input's bytes.

use crate::memory::Memory;
use crate::parse::{AArch64, Amd64, Arch};

/// Units that are enough for any lookup.
pub(crate) const ENOUGH: u32 = 10_000_000;

/// A table, and the lookup in it.
///
/// From the first byte:
///
/// ```text
///   1 byte    bits 0-1: architecture; bit 7: the table repeats itself
///   1 byte    units that the lookup may cost, in 16, or 0 for enough
///   8 bytes   address of the table
///   8 bytes   address to look up, relative to the table's
///   8 bytes   length of the table, relative to the number of its bytes
///             the table's bytes
/// ```
///
/// All numbers have their least significant byte first. Zeros stand for the usual case, so a change
/// of one field leaves the other fields as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) architecture: u8,
    pub(crate) repeats: bool,
    pub(crate) units: u32,
    pub(crate) base: u64,
    pub(crate) pc: u64,
    pub(crate) len: u64,
    pub(crate) table: &'a [u8],
}

/// The work of a target for an architecture.
pub(crate) trait Target {
    fn run<A: Arch>(&self, input: &Input<'_>);
}

impl<'a> Input<'a> {
    /// Decodes an input, unless it is too short.
    pub(crate) fn new(data: &'a [u8]) -> Option<Self> {
        let (&[first, units], data) = data.split_first_chunk()?;
        let (base, data) = data.split_first_chunk()?;
        let (pc, data) = data.split_first_chunk()?;
        let (longer, table) = data.split_first_chunk()?;
        let base = u64::from_le_bytes(*base);

        Some(Self {
            architecture: first & 3,
            repeats: first & 0x80 != 0,
            units: if units == 0 { ENOUGH } else { 16 * u32::from(units) },
            base,
            pc: base.wrapping_add_signed(i64::from_le_bytes(*pc)),
            len: (table.len() as u64).saturating_add_signed(i64::from_le_bytes(*longer)),
            table,
        })
    }

    /// The table, which changes between reads as `script` says.
    pub(crate) fn memory(&self, script: &'a [u8]) -> Memory<'a> {
        Memory::scripted(self.table, self.len, self.repeats, script)
    }

    /// Splits a script off the front of the table. Two bytes say its length.
    pub(crate) fn script(self) -> Option<(&'a [u8], Self)> {
        let (len, rest) = self.table.split_first_chunk()?;
        let (script, table) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;

        Some((script, self.with_table(table)))
    }

    /// The same input with another table. The table stays longer or shorter than its bytes by the
    /// same number.
    pub(crate) fn with_table(mut self, table: &'a [u8]) -> Self {
        let dropped = self.table.len().saturating_sub(table.len()) as u64;

        self.len = self.len.saturating_sub(dropped);
        self.table = table;
        self
    }

    /// Whether a part of the table is unreadable.
    pub(crate) fn has_hole(&self) -> bool {
        self.len > self.table.len() as u64 && (!self.repeats || self.table.is_empty())
    }

    /// Runs a target for the input's architecture.
    pub(crate) fn run(&self, target: &impl Target) {
        match self.architecture {
            0 => target.run::<Amd64>(self),
            _ => target.run::<AArch64>(self),
        }
    }
}
