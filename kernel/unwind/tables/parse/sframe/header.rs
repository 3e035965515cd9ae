// SPDX-License-Identifier: GPL-2.0

//! The header and the index: "SFrame Section", "SFrame Preamble", "SFrame Header" and "SFrame
//! Function Descriptor Entries" of the specification.

use core::marker::PhantomData;

use super::{
    super::{
        error,
        reader::field,
        Arch,
        Array,
        Element,
        Error,
        Reader,
        Rule, //
    },
    reason::Reason,
    rows::Rows, //
};

/// Bytes of the preamble and header.
const SIZE: usize = 28;

/// A decoded header: all that is kept of a table.
///
/// # Invariants
///
/// - The index, `functions` entries of [`Function::ENTRY_SIZE`] bytes from byte `index`, and the
///   rows, `rows_len` bytes from byte `rows`, lie inside the length that the table was said to
///   have, do not overlap each other or the header, and end below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<A> {
    /// Offset of the index in the table, in bytes.
    pub(crate) index: u64,
    /// Offset of the rows in the table, in bytes.
    pub(crate) rows: u64,
    /// Length of the rows in bytes, attributes included.
    pub(crate) rows_len: u32,
    /// Number of functions in the index.
    pub(crate) functions: u32,
    /// Whether the base of a function's start is the field that holds it, not the table.
    pc_relative: bool,
    abi: PhantomData<A>,
}

impl<A: Arch> Header<A> {
    /// `SFRAME_MAGIC`.
    const MAGIC: u16 = 0xdee2;
    /// `SFRAME_VERSION_3`.
    const VERSION: u8 = 3;
    /// `SFRAME_F_FDE_SORTED`: without it there is no searching.
    const SORTED: u8 = 0x1;
    /// `SFRAME_F_FDE_FUNC_START_PCREL`.
    const PC_RELATIVE: u8 = 0x4;
    /// Limit of functions before the found one that are looked at. An empty function shares its
    /// start with the next function, and their order is arbitrary.
    const EQUALS: usize = 8;

    /// Reads and checks the header of a table of `len` bytes.
    ///
    /// The table may be longer than its parts: linkers reserve more than they use.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if the header cannot be read, [`Error::Malformed`] if it contradicts the
    /// format.
    pub(crate) fn read<R: Reader>(reader: &R, len: u64) -> Result<Self, Error> {
        if len < SIZE as u64 {
            return Err(Reason::Truncated.at(len));
        }
        let bytes: [u8; SIZE] = reader.read_array(0)?;
        let number = |at| u32::from_le_bytes(field(&bytes, at));
        let magic = u16::from_le_bytes(field(&bytes, 0));
        let [_, _, version, flags, abi, fixed_fp, fixed_ra, aux_len, ..] = bytes;

        if magic == Self::MAGIC.swap_bytes() {
            return Err(Reason::ByteOrder.at(0));
        }
        if magic != Self::MAGIC {
            return Err(Reason::Magic.at(0));
        }
        if version != Self::VERSION {
            return Err(Reason::Version.at(2));
        }
        if flags & !(Self::SORTED | Self::PC_RELATIVE) != 0 {
            return Err(Reason::Flags.at(3));
        }
        if flags & Self::SORTED == 0 {
            return Err(Reason::Unsorted.at(3));
        }
        if abi != A::SFRAME_ID {
            return Err(Reason::Abi.at(4));
        }
        if fixed_fp != 0 {
            return Err(Reason::FixedOffset.at(5));
        }
        if i8::from_ne_bytes([fixed_ra]) != A::FIXED_RA {
            return Err(Reason::FixedOffset.at(6));
        }

        // The total number of rows, at 0xc, is not needed: each function says its own.
        let (functions, rows_len) = (number(8), number(0x10));
        // None of this wraps: all terms are at most 2^36.
        let end = (SIZE as u64).wrapping_add(aux_len.into());
        let index = end.wrapping_add(number(0x14).into());
        let index_len = u64::from(functions).wrapping_mul(Function::ENTRY_SIZE as u64);
        let index_end = index.wrapping_add(index_len);
        let rows = end.wrapping_add(number(0x18).into());
        let rows_end = rows.wrapping_add(rows_len.into());
        if index_end > len {
            return Err(Reason::Layout.at(0x14));
        }
        if rows_end > len {
            return Err(Reason::Layout.at(0x18));
        }
        if index < rows_end && rows < index_end {
            return Err(Reason::Layout.at(0x14));
        }

        // INVARIANT: Both ranges were just checked against `len` and each other, and start at or
        // after the end of the header.
        Ok(Self {
            index,
            rows,
            rows_len,
            functions,
            pc_relative: flags & Self::PC_RELATIVE != 0,
            abi: PhantomData,
        })
    }

    /// Finds the rule that holds at address `pc`, from the table that stands at address `base`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the table says nothing about `pc`, [`Error::Unsupported`] if it names
    /// a register that no rule can, [`Error::Malformed`], or those of `reader`.
    pub(crate) fn rule<R: Reader>(&self, reader: &R, base: u64, pc: u64) -> Result<Rule, Error> {
        let element = reader.bisect(&self.array(base), pc)?;
        let mut function = Function::new(self, &element)?;

        if !function.holds(pc) {
            function = self.hidden(reader, base, pc, element.nth, &function)?;
        }
        Rows::new(self, &function, reader).rule_at(pc)
    }

    /// Finds the function that holds address `pc`, which function `nth` does not, among those
    /// before it that start where it does: so it must be empty.
    #[cold]
    fn hidden<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        nth: u32,
        last: &Function,
    ) -> Result<Function, Error> {
        let mut function = *last;

        for before in (0..nth).rev().take(Self::EQUALS) {
            if function.size != 0 {
                break;
            }
            function = self.function(reader, base, before)?;
            if function.start != last.start {
                break;
            }
            if function.holds(pc) {
                return Ok(function);
            }
        }
        Err(Error::NotFound)
    }

    /// Reads function `nth`, which the index must have, of the table that stands at address `base`.
    pub(crate) fn function<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        nth: u32,
    ) -> Result<Function, Error> {
        Function::new(self, &self.array(base).read(reader, nth)?)
    }

    /// Describes the index, of the table that stands at address `base`.
    pub(super) fn array(&self, base: u64) -> Array {
        Array {
            place: self.index,
            origin: if self.pc_relative {
                base.wrapping_add(self.index)
            } else {
                base
            },
            count: self.functions,
            wide: true,
            relative: self.pc_relative,
            unsorted: error::Reason::SFrame(Reason::Unsorted),
        }
    }
}

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

    /// Decodes an element of the index. Checks that the function ends in the address space.
    pub(super) fn new<A: Arch>(header: &Header<A>, element: &Element) -> Result<Self, Error> {
        let function = Self {
            entry: header.array(0).element(element.nth),
            start: element.start,
            size: element.rest as u32,
            rows: (element.rest >> 32) as u32,
        };

        match function.start.checked_add(function.size.into()) {
            Some(_) => Ok(function),
            None => Err(Reason::FunctionStart.at(function.entry)),
        }
    }

    /// Returns the offset in the table of the field that leads to the rows.
    pub(super) fn rows_at(&self) -> u64 {
        self.entry.wrapping_add(12)
    }

    /// Says whether it holds address `pc`, which must not be below its start.
    pub(super) fn holds(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < u64::from(self.size)
    }
}
