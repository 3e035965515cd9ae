// SPDX-License-Identifier: GPL-2.0

//! The index: "SFrame Function Descriptor Entries" of the specification.

use super::{
    super::{
        reader::take,
        Element,
        Error,
        Reader, //
    },
    abi::Abi,
    header::Header,
    reason::Reason, //
};

/// An entry of the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// Offset of the entry in the table, in bytes.
    pub(crate) entry: u64,
    /// Address of its first byte.
    pub(crate) start: u64,
    /// Size in bytes; zero for some functions written in assembly.
    pub(crate) size: u32,
    /// Offset of its attribute and rows from the start of the table's rows, in bytes.
    pub(super) rows: u32,
}

impl Function {
    /// Bytes of an entry.
    pub(crate) const ENTRY_SIZE: usize = 16;
    /// Limit of entries with the same start that are looked at. An empty function shares its start
    /// with the next function, and their order is arbitrary.
    const EQUALS: u32 = 8;

    /// Decodes the function whose entry a search of the index has found.
    pub(super) fn from_element<A: Abi>(
        header: &Header<A>,
        element: &Element,
    ) -> Result<Self, Error> {
        let (size, rows) = (element.rest as u32, (element.rest >> 32) as u32);

        Self::new(header.entry(element.nth), element.start, size, rows)
    }

    /// Finds the function that holds address `pc`, which this one does not, among those before it
    /// that start where it does: so it must be empty.
    #[cold]
    pub(super) fn hidden<A: Abi, R: Reader>(
        &self,
        header: &Header<A>,
        reader: &R,
        base: u64,
        pc: u64,
    ) -> Result<Self, Error> {
        let mut last = *self;

        for _ in 0..Self::EQUALS {
            if last.size != 0 || last.entry <= header.index {
                break;
            }
            let entry = last.entry.wrapping_sub(Self::ENTRY_SIZE as u64);
            last = Self::parse(header, base, entry, &reader.read_array(entry)?)?;
            if last.start != self.start {
                break;
            }
            if last.holds(pc) {
                return Ok(last);
            }
        }
        Err(Error::NotFound)
    }

    /// Returns the offset in the table of the field that leads to the rows.
    pub(super) fn rows_at(&self) -> u64 {
        self.entry.wrapping_add(12)
    }

    /// Says whether it holds address `pc`, which must not be below its start.
    pub(super) fn holds(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < u64::from(self.size)
    }

    /// Decodes the entry that stands at byte `entry` of the table.
    pub(crate) fn parse<A: Abi>(
        header: &Header<A>,
        base: u64,
        entry: u64,
        bytes: &[u8; Self::ENTRY_SIZE],
    ) -> Result<Self, Error> {
        let bytes = &mut bytes.as_slice();
        let truncated = || Reason::Layout.at(entry);
        let offset = u64::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let size = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let rows = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let from = if header.pc_relative { entry } else { 0 };

        // The same address that a search of the index compares.
        let start = base.wrapping_add(from).wrapping_add(offset);
        Self::new(entry, start, size, rows)
    }

    /// Makes a function, and checks that it ends in the address space.
    fn new(entry: u64, start: u64, size: u32, rows: u32) -> Result<Self, Error> {
        if start.checked_add(u64::from(size)).is_none() {
            return Err(Reason::FunctionStart.at(entry));
        }
        Ok(Self {
            entry,
            start,
            size,
            rows,
        })
    }
}

impl<A: Abi> Header<A> {
    /// Returns the offset of entry `nth`, which the index must have.
    pub(crate) fn entry(&self, nth: u32) -> u64 {
        self.array(0).element(nth)
    }
}
