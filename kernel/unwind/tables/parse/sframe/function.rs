// SPDX-License-Identifier: GPL-2.0

//! The index: "SFrame Function Descriptor Entries" of the specification.

use super::{
    super::{
        reader::take,
        Budget,
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
    /// Where the entry stands, in bytes from the start of the table.
    pub(crate) entry: u64,
    /// Address of its first byte.
    pub(crate) start: u64,
    /// Size in bytes; zero for some functions written in assembly.
    pub(crate) size: u32,
    /// Where its attribute and rows are, in bytes from the start of the table's rows.
    pub(super) rows: u32,
}

impl Function {
    /// Bytes of an entry.
    pub(super) const ENTRY_SIZE: usize = 16;
    /// How many entries are looked at that start at the same address. Empty functions share theirs
    /// with the next one, and the order among equals is arbitrary.
    const EQUALS: u32 = 8;

    /// The function whose entry a search of the index has found.
    #[inline(always)]
    pub(super) fn from_element<A: Abi>(
        header: &Header<A>,
        element: &Element,
    ) -> Result<Self, Error> {
        let [size, rows] = Self::size_and_rows::<A>(element);

        Self::new(Self::entry(header, element.nth), element.start, size, rows)
    }

    /// The size of the function whose entry a search of the index has found, and where its rows
    /// are.
    #[inline(always)]
    pub(super) fn size_and_rows<A: Abi>(element: &Element) -> [u32; 2] {
        element.rest.map(|number| A::u32(number.to_ne_bytes()))
    }

    /// Finds the function that holds address `pc`, which this one does not, among those before it
    /// that start where it does: so it must be empty.
    pub(super) fn hidden<A: Abi, R: Reader>(
        &self,
        header: &Header<A>,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let mut last = *self;

        for _ in 0..Self::EQUALS {
            if last.size != 0 || last.entry <= header.index {
                break;
            }
            budget.spend(Budget::FIND)?;
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

    /// Where its entry says where its rows are, in bytes from the start of the table.
    pub(super) fn rows_at(&self) -> u64 {
        self.entry.wrapping_add(12)
    }

    /// Whether it holds address `pc`, which is not below its start.
    pub(super) fn holds(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < u64::from(self.size)
    }

    /// Reads entry `nth`, which the index must have.
    fn read<A: Abi, R: Reader>(
        header: &Header<A>,
        reader: &R,
        base: u64,
        nth: u32,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let entry = Self::entry(header, nth);

        budget.spend(Budget::FIND)?;
        Self::parse(header, base, entry, &reader.read_array(entry)?)
    }

    /// Where entry `nth` stands, which the index must have.
    #[inline(always)]
    pub(super) fn entry<A>(header: &Header<A>, nth: u32) -> u64 {
        // Does not wrap: by the invariants of `header` the index ends below 2^63.
        header
            .index
            .wrapping_add(u64::from(nth).wrapping_mul(Self::ENTRY_SIZE as u64))
    }

    /// Decodes the entry that stands at byte `entry` of the table.
    fn parse<A: Abi>(
        header: &Header<A>,
        base: u64,
        entry: u64,
        bytes: &[u8; Self::ENTRY_SIZE],
    ) -> Result<Self, Error> {
        let bytes = &mut bytes.as_slice();
        let truncated = || Reason::Layout.at(entry);
        let offset = A::u64(take(bytes).ok_or_else(truncated)?);
        let size = A::u32(take(bytes).ok_or_else(truncated)?);
        let rows = A::u32(take(bytes).ok_or_else(truncated)?);
        let from = if header.pc_relative { entry } else { 0 };

        // The same address that a search of the index compares.
        let start = base.wrapping_add(from).wrapping_add(offset);
        Self::new(entry, start, size, rows)
    }

    /// The function of `size` bytes at `start` whose rows are at byte `rows` of all.
    #[inline(always)]
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
    /// Function `nth` of the table that stands at address `base`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there are not so many; else as [`Header::rule`].
    pub(crate) fn function<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        nth: u32,
        budget: &mut Budget,
    ) -> Result<Function, Error> {
        if nth >= self.functions {
            return Err(Error::NotFound);
        }
        Function::read(self, reader, base, nth, budget)
    }
}
