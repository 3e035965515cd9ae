// SPDX-License-Identifier: GPL-2.0

//! The header: "SFrame Section", "SFrame Preamble" and "SFrame Header" of the specification.

use super::{
    super::{
        reader::take,
        Budget,
        Error,
        Reader,
        Reason,
        Rule, //
    },
    function::Function, //
};

/// A decoded header: all that is kept of a table.
///
/// # Invariants
///
/// - The index, `functions` entries of [`Function::ENTRY_SIZE`] bytes from byte `index`, and the
///   rows, `rows_len` bytes from byte `rows`, lie inside the length that the table was said to
///   have, do not overlap each other or the header, and end below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Where the index starts, in bytes from the start of the table.
    pub(super) index: u64,
    /// Where the rows start, in bytes from the start of the table.
    pub(super) rows: u64,
    /// How many bytes of rows there are, attributes included.
    pub(super) rows_len: u32,
    /// How many functions the index has.
    pub(super) functions: u32,
    /// Whether a function's start counts from the place it is written at, not from the table's.
    pub(super) pc_relative: bool,
}

impl Header {
    /// Bytes of the preamble and header.
    const SIZE: usize = 28;
    /// `SFRAME_MAGIC`.
    const MAGIC: u16 = 0xdee2;
    /// `SFRAME_VERSION_3`.
    const VERSION: u8 = 3;
    /// `SFRAME_F_FDE_SORTED`: without it there is no searching.
    const SORTED: u8 = 0x1;
    /// `SFRAME_F_FDE_FUNC_START_PCREL`.
    const PC_RELATIVE: u8 = 0x4;
    /// `SFRAME_ABI_AMD64_ENDIAN_LITTLE`.
    const ABI_AMD64: u8 = 3;
    /// Where AMD64 has the return address, from the CFA.
    pub(super) const AMD64_RA: i8 = -8;

    /// Reads and checks the header of a table of `len` bytes.
    ///
    /// More bytes than the header accounts for are no error: linkers reserve more than they use.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if it cannot be read, [`Error::Malformed`] if it is none.
    pub(crate) fn read<R: Reader>(reader: &R, len: u64) -> Result<Self, Error> {
        if len < Self::SIZE as u64 {
            return Err(Reason::Truncated.at(len));
        }
        let bytes: [u8; Self::SIZE] = reader.read_array(0)?;

        Self::parse(&bytes, len)
    }

    /// Decodes the header of a table of `len` bytes.
    fn parse(mut bytes: &[u8], len: u64) -> Result<Self, Error> {
        let truncated = || Reason::Truncated.at(len);
        let bytes = &mut bytes;

        if u16::from_le_bytes(take(bytes).ok_or_else(truncated)?) != Self::MAGIC {
            return Err(Reason::Magic.at(0));
        }
        let [version, flags, abi, fixed_fp, fixed_ra, aux_len] =
            take(bytes).ok_or_else(truncated)?;
        if version != Self::VERSION {
            return Err(Reason::Version.at(2));
        }
        if flags & !(Self::SORTED | Self::PC_RELATIVE) != 0 {
            return Err(Reason::Flags.at(3));
        }
        if flags & Self::SORTED == 0 {
            return Err(Reason::Unsorted.at(3));
        }
        if abi != Self::ABI_AMD64 {
            return Err(Reason::Abi.at(4));
        }
        if fixed_fp != 0 {
            return Err(Reason::FixedOffset.at(5));
        }
        if i8::from_le_bytes([fixed_ra]) != Self::AMD64_RA {
            return Err(Reason::FixedOffset.at(6));
        }

        let functions = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        // The total number of rows: each function says its own.
        let _: [u8; 4] = take(bytes).ok_or_else(truncated)?;
        let rows_len = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let index_offset = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);
        let rows_offset = u32::from_le_bytes(take(bytes).ok_or_else(truncated)?);

        // None of this can overflow: all terms are below 2^36.
        let end = Self::SIZE as u64 + u64::from(aux_len);
        let index = end + u64::from(index_offset);
        let index_end = index + u64::from(functions) * Function::ENTRY_SIZE as u64;
        let rows = end + u64::from(rows_offset);
        let rows_end = rows + u64::from(rows_len);
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
        })
    }

    /// The rule that holds at address `pc`, from the table that stands at address `base`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the table says nothing about `pc`; [`Error::Fault`],
    /// [`Error::Malformed`] or [`Error::Budget`] if what it says cannot be had.
    pub(crate) fn rule<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        Function::find(self, reader, base, pc, budget)?.rule(self, reader, pc, budget)
    }
}
