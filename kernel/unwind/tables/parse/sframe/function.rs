// SPDX-License-Identifier: GPL-2.0

//! The index: "SFrame Function Descriptor Entries" of the specification.

use super::{
    super::{
        reader::take,
        Budget,
        Error,
        Reader,
        Reason, //
    },
    header::Header, //
};

/// An entry of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// Where the entry stands, in bytes from the start of the table.
    pub(super) entry: u64,
    /// Address of its first byte.
    pub(super) start: u64,
    /// Size in bytes; zero for some functions written in assembly.
    pub(super) size: u32,
    /// Where its attribute and rows are, in bytes from the start of the table's rows.
    pub(super) rows: u32,
}

impl Function {
    /// Bytes of an entry.
    pub(super) const ENTRY_SIZE: usize = 16;
    /// How many entries are looked at that start at the same address. Empty functions share theirs
    /// with the next one, and the order among equals is arbitrary.
    const EQUALS: u32 = 8;

    /// Finds the function that holds address `pc`.
    ///
    /// Each of the at most 32 entries on the way is read once, and must not contradict those
    /// before: what lies between two entries starts between them.
    pub(super) fn find<R: Reader>(
        header: &Header,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let (mut low, mut high) = (0, header.functions);
        let (mut low_start, mut high_start) = (0, u64::MAX);
        let mut found = None;

        // The last function at or below `pc` is `found` or in `low..high`, which shrinks.
        while low < high {
            let middle = low.midpoint(high);
            let function = Self::read(header, reader, base, middle, budget)?;

            if !(low_start..=high_start).contains(&function.start) {
                return Err(Reason::Unsorted.at(function.entry));
            }
            if function.start <= pc {
                (low, low_start) = (middle.saturating_add(1), function.start);
                found = Some(function);
            } else {
                (high, high_start) = (middle, function.start);
            }
        }

        // Now `low` is the number of functions at or below `pc`.
        let mut function = found.ok_or(Error::NotFound)?;
        for nth in (0..low.saturating_sub(1)).rev().take(Self::EQUALS as usize) {
            if function.holds(pc) || function.size != 0 {
                break;
            }
            let before = Self::read(header, reader, base, nth, budget)?;
            if before.start != function.start {
                break;
            }
            function = before;
        }

        if function.holds(pc) {
            Ok(function)
        } else {
            Err(Error::NotFound)
        }
    }

    /// Whether it holds address `pc`, which is not below its start.
    fn holds(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < u64::from(self.size)
    }

    /// Reads entry `nth`, which the index must have.
    fn read<R: Reader>(
        header: &Header,
        reader: &R,
        base: u64,
        nth: u32,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        // Does not saturate: by the invariants of `header` the index ends below 2^63.
        let entry = header
            .index
            .saturating_add(u64::from(nth).saturating_mul(Self::ENTRY_SIZE as u64));

        budget.spend(Budget::READ)?;
        let bytes: [u8; Self::ENTRY_SIZE] = reader.read_array(entry)?;
        let bytes = &mut bytes.as_slice();
        let truncated = || Reason::Layout.at(entry);
        let offset = i64::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let size = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let rows = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);

        let start = base
            .checked_add(if header.pc_relative { entry } else { 0 })
            .and_then(|from| from.checked_add_signed(offset))
            .filter(|start| start.checked_add(u64::from(size)).is_some())
            .ok_or(Reason::FunctionStart.at(entry))?;

        Ok(Self {
            entry,
            start,
            size,
            rows,
        })
    }
}
