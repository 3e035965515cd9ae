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
    abi::Abi,
    header::Header, //
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
    /// How many entries are read at once at the end of a search.
    const BLOCK: usize = 8;
    /// How many entries are looked at that start at the same address. Empty functions share theirs
    /// with the next one, and the order among equals is arbitrary.
    const EQUALS: u32 = 8;

    /// Finds the function that holds address `pc`.
    ///
    /// Of the at most 29 entries on the way only the start is read, then a block. Each must not
    /// contradict those before: what lies between two entries starts between them.
    pub(super) fn find<A: Abi, R: Reader>(
        header: &Header<A>,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let (mut low, mut high) = (0, header.functions);
        let (mut low_start, mut high_start) = (0, u64::MAX);

        // The last function at or below `pc` is in `low..high`, which shrinks.
        while high.wrapping_sub(low) > Self::BLOCK as u32 {
            let middle = low.midpoint(high);
            let entry = Self::entry(header, middle);

            budget.spend(Budget::READ)?;
            let start = Self::start_of(header, base, entry, A::i64(reader.read_array(entry)?))?;
            if !(low_start..=high_start).contains(&start) {
                return Err(Reason::Unsorted.at(entry));
            }
            if start <= pc {
                (low, low_start) = (middle, start);
            } else {
                (high, high_start) = (middle, start);
            }
        }

        let mut bytes = [0; Self::BLOCK * Self::ENTRY_SIZE];
        let len = (high.wrapping_sub(low) as usize).wrapping_mul(Self::ENTRY_SIZE);
        let mut entry = Self::entry(header, low);
        let mut next = low;
        let mut found = None;
        let Some(bytes) = bytes.get_mut(..len) else {
            return Err(Reason::Layout.at(entry));
        };
        if bytes.is_empty() {
            return Err(Error::NotFound);
        }

        budget.spend(Budget::READ)?;
        reader.read(entry, bytes)?;
        let mut bytes = &*bytes;
        while let Some(first) = take(&mut bytes) {
            let function = Self::parse(header, base, entry, &first)?;

            if !(low_start..=high_start).contains(&function.start) {
                return Err(Reason::Unsorted.at(entry));
            }
            if function.start <= pc {
                found = Some(function);
                // Cannot wrap: there is such an entry.
                next = next.wrapping_add(1);
            }
            low_start = function.start;
            // As `next`.
            entry = entry.wrapping_add(Self::ENTRY_SIZE as u64);
        }

        // Now `next` is the number of functions at or below `pc`.
        let mut function = found.ok_or(Error::NotFound)?;
        for nth in (0..next.saturating_sub(1))
            .rev()
            .take(Self::EQUALS as usize)
        {
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

    /// Where its entry says where its rows are, in bytes from the start of the table.
    pub(super) fn rows_at(&self) -> u64 {
        self.entry.wrapping_add(12)
    }

    /// Whether it holds address `pc`, which is not below its start.
    fn holds(&self, pc: u64) -> bool {
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

        budget.spend(Budget::READ)?;
        Self::parse(header, base, entry, &reader.read_array(entry)?)
    }

    /// Where entry `nth` stands, which the index must have.
    fn entry<A>(header: &Header<A>, nth: u32) -> u64 {
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
        let offset = A::i64(take(bytes).ok_or_else(truncated)?);
        let size = A::u32(take(bytes).ok_or_else(truncated)?);
        let rows = A::u32(take(bytes).ok_or_else(truncated)?);
        let start = Self::start_of(header, base, entry, offset)?;

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

    /// The address that the entry at byte `entry` of the table says by `offset`.
    fn start_of<A>(header: &Header<A>, base: u64, entry: u64, offset: i64) -> Result<u64, Error> {
        let from = if header.pc_relative { entry } else { 0 };

        base.checked_add(from)
            .and_then(|from| from.checked_add_signed(offset))
            .ok_or(Reason::FunctionStart.at(entry))
    }
}

impl<A: Abi> Header<A> {
    /// Function `nth` of the table that stands at address `base`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there are not so many; else as [`Header::rule`].
    #[allow(dead_code, reason = "for tests and tools")]
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
