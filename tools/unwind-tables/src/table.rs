// SPDX-License-Identifier: GPL-2.0

//! The table of a file: found as the kernel finds it, read with the kernel's parser.

use std::cell::Cell;

use crate::arch::Arch;
use crate::elf::{Elf, Segment};
use crate::parse::sframe::{self, Attribute, Function, Header};
use crate::parse::{Array, Element, Error, Reader, Rule, Unsupported};
use crate::parse::{bisect_price, read_price};
use crate::search;

/// Bytes in memory; all others fault.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Reader for Bytes<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let start = usize::try_from(offset).map_err(|_| Error::Fault)?;
        let end = start.checked_add(buf.len()).ok_or(Error::Fault)?;

        buf.copy_from_slice(self.0.get(start..end).ok_or(Error::Fault)?);
        Ok(())
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        search::bisect(&|place, to| self.read(place, to).is_ok(), array, key)
    }
}

/// What the kernel spends on the lookups of a stack at most: `UNWIND_TABLES_BUDGET`.
pub const BUDGET: u32 = 80 * 1024;

/// A table whose reads have the kernel's prices.
pub struct Priced<'a, R> {
    reader: &'a R,
    units: u32,
    left: Cell<u32>,
}

impl<'a, R: Reader> Priced<'a, R> {
    pub fn new(reader: &'a R, units: u32) -> Self {
        let left = Cell::new(units);

        Self {
            reader,
            units,
            left,
        }
    }

    /// How many units were spent.
    pub fn spent(&self) -> u32 {
        self.units - self.left.get()
    }

    fn spend(&self, price: u32) -> Result<(), Error> {
        let left = self.left.get().checked_sub(price);

        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Error::Budget)
    }
}

impl<R: Reader> Reader for Priced<'_, R> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.spend(read_price(buf.len()))?;
        self.reader.read(offset, buf)
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        self.spend(bisect_price(array.count))?;
        self.reader.bisect(array, key)
    }
}

/// Where a table is, or why the kernel has none.
pub enum Found<'a> {
    Table {
        segment: Segment,
        /// What of it is loaded; it may be shorter than the segment.
        bytes: Bytes<'a>,
        /// Where the first byte is in the file.
        file_offset: u64,
    },
    /// Neither program header nor section.
    None,
    /// A program header without size.
    Empty,
    /// Only a section.
    SectionOnly,
    /// A program header that no segment is loaded for.
    NotLoaded(u64),
}

/// Finds the table of a file.
pub fn find<'a>(elf: &Elf<'a>) -> Found<'a> {
    let Some(segment) = elf.tables.first().copied() else {
        return match elf.section(".sframe") {
            Some(section) if section.size != 0 => Found::SectionOnly,
            _ => Found::None,
        };
    };

    if segment.file_size == 0 {
        return Found::Empty;
    }
    let Some((bytes, file_offset)) = elf.loaded_at(segment.address) else {
        return Found::NotLoaded(segment.address);
    };
    let len = usize::try_from(segment.file_size).unwrap_or(usize::MAX);
    Found::Table {
        segment,
        bytes: Bytes(&bytes[..len.min(bytes.len())]),
        file_offset,
    }
}

/// A table whose header is good.
pub struct Table<'a, A> {
    pub header: Header<A>,
    pub bytes: Bytes<'a>,
    /// Address of its first byte.
    pub base: u64,
}

/// A function's rows: where each starts, and its rule.
pub type Rows = Vec<(u32, Result<Rule, Unsupported>)>;

impl<'a, A: Arch> Table<'a, A> {
    pub fn read(bytes: Bytes<'a>, base: u64, len: u64) -> Result<Self, Error> {
        Ok(Self {
            header: Header::read(&bytes, len)?,
            bytes,
            base,
        })
    }

    /// All entries of the index, with an error for each that has none. It ends with the first that
    /// is not there: those behind it are not, either.
    pub fn index(&self) -> impl Iterator<Item = Result<Function, Error>> {
        let mut there = true;

        (0..self.header.functions).map_while(move |nth| {
            let function = there.then(|| self.function(nth));
            there = function
                .as_ref()
                .is_some_and(|result| !matches!(result, Err(Error::Fault)));
            function
        })
    }

    fn function(&self, nth: u32) -> Result<Function, Error> {
        self.header.function(&self.bytes, self.base, nth)
    }

    /// How many bytes the table has, by its header.
    pub fn len(&self) -> u64 {
        let header = &self.header;
        let index_len = u64::from(header.functions) * Function::ENTRY_SIZE as u64;

        (header.index + index_len).max(header.rows + u64::from(header.rows_len))
    }

    /// Reads the rows of a function into `rows`: all, or those before the error.
    pub fn rows(&self, function: &Function, rows: &mut Rows) -> Result<Attribute, (Error, usize)> {
        rows.clear();
        let mut reader = sframe::Rows::new(&self.header, function, &self.bytes);
        reader.open().map_err(|error| (error, 0))?;

        // There are at most 65,535 rows.
        while reader.left > 0 {
            match reader.step().map(|row| (row.start, reader.rule(&row))) {
                Ok((start, Ok(rule))) => rows.push((start, Ok(rule))),
                Ok((start, Err(Error::Unsupported(cause)))) => rows.push((start, Err(cause))),
                Ok((_, Err(error))) | Err(error) => return Err((error, rows.len())),
            }
        }
        Ok(reader.attribute)
    }

    /// What the kernel finds for an address, by its own search; and what it pays for that.
    pub fn lookup(&self, pc: u64) -> (Result<Rule, Error>, u32) {
        let reader = Priced::new(&self.bytes, BUDGET);
        let rule = self.header.rule(&reader, self.base, pc);

        (rule, reader.spent())
    }

    /// How many rows the header says there are; nothing depends on it.
    pub fn rows_in_header(&self) -> Option<u32> {
        self.bytes.read_array(0xc).ok().map(u32::from_le_bytes)
    }
}

/// The row that holds at `offset` bytes into a function, and the offset at which it ends there.
pub fn row_at(rows: &Rows, block: Option<u8>, size: u32, offset: u32) -> (Option<usize>, u32) {
    let within = block.map_or(offset, |block| offset % u32::from(block));
    let count = rows.partition_point(|(start, _)| *start <= within);
    let end = match (rows.get(count), block) {
        (Some((next, _)), _) => offset.saturating_add(next - within),
        (None, Some(block)) => offset.saturating_add(u32::from(block) - within),
        (None, None) => size,
    };

    (count.checked_sub(1), end.min(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Amd64, Register, Value};

    #[test]
    fn rows_of_blocks_repeat() {
        let rows = vec![(0, Ok(Rule::outermost())), (11, Ok(Rule::outermost()))];

        assert_eq!(row_at(&rows, Some(16), 40, 0), (Some(0), 11));
        assert_eq!(row_at(&rows, Some(16), 40, 27), (Some(1), 32));
        assert_eq!(row_at(&rows, Some(16), 40, 32), (Some(0), 40));
        assert_eq!(row_at(&rows, None, 40, 12), (Some(1), 40));
        assert_eq!(row_at(&rows[1..].to_vec(), None, 40, 3), (None, 11));
    }

    /// The budget is the kernel's.
    #[test]
    fn budget() {
        let header = include_str!("../../../kernel/unwind/tables/tables.h");
        let text = header
            .lines()
            .find_map(|line| line.strip_prefix("#define UNWIND_TABLES_BUDGET"))
            .expect("the header has it");
        let factors = text.trim().trim_matches(['(', ')']).split('*');
        let stack: u32 = factors
            .map(|factor| factor.trim().parse::<u32>().expect("a number"))
            .product();

        assert_eq!(BUDGET, stack);
    }

    /// A lookup costs what it costs the kernel, which reads 104 bytes of rows at once.
    #[test]
    fn costs() {
        let rows = 80u8;
        let mut bytes = vec![0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0];
        let numbers = [1, u32::from(rows), 5 + 3 * u32::from(rows), 0, 16];
        bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
        // The function starts at 0x1000; its entry is at 28.
        bytes.extend((0x1000u64 - 28).to_le_bytes());
        bytes.extend([200u32, 0].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend([rows, 0, 0, 0, 0]);
        bytes.extend((0..rows).flat_map(|nth| [2 * nth, 3, 8 * (1 + nth % 2)]));
        let len = bytes.len() as u64;
        let table = Table::<Amd64>::read(Bytes(&bytes), 0, len).expect("a good table");
        let cfa = |offset| Value::Register(Register::Sp, offset);
        let lookup = |pc| {
            let (rule, units) = table.lookup(pc);
            (rule.map(|rule| rule.cfa()), units)
        };

        // A step of the search and the read of its element, and the rows behind 5 bytes.
        assert_eq!(lookup(0x1002), (Ok(cfa(16)), 2 * 32 + 104));
        // The next piece starts with row 33.
        assert_eq!(lookup(0x1000 + 2 * 40), (Ok(cfa(8)), 2 * 32 + 2 * 104));
    }

    #[test]
    fn bytes_end() {
        let bytes = Bytes(&[1, 2, 3]);

        assert_eq!(bytes.read_array(1), Ok([2, 3]));
        assert_eq!(bytes.read_array::<2>(2), Err(Error::Fault));
        assert_eq!(bytes.read_array::<1>(u64::MAX), Err(Error::Fault));
    }
}
