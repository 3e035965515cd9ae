// SPDX-License-Identifier: GPL-2.0

//! Why a lookup yields no rule.

use super::reader::Fault;

/// Why a lookup yields no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The table says nothing about this address.
    NotFound,
    /// The table could not be read; that may be different the next time.
    Fault,
    /// The table contradicts its format; it will never be good.
    Malformed(Malformed),
    /// The caller's [`Budget`](super::Budget) is used up.
    Budget,
}

/// What contradicts the format, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// What is wrong.
    pub(crate) reason: Reason,
    /// Where it was read: bytes from the start of the table, at most `u32::MAX`.
    pub(crate) offset: u32,
}

/// A statement of the format that a table contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    /// The table is shorter than a header.
    Truncated = 1,
    /// The first two bytes are not the format's.
    Magic,
    /// A version other than 3.
    Version,
    /// A flag that the format does not define.
    Flags,
    /// The index is not sorted by address, or says that it is not.
    Unsorted,
    /// Written for another architecture.
    Abi,
    /// A fixed offset of the return address or frame pointer that the architecture does not have.
    FixedOffset,
    /// The header's parts overlap, or reach beyond the table.
    Layout,
    /// A function's address is beyond the address space.
    FunctionStart,
    /// A function's rows are beyond the rows of the table.
    RowsOffset,
    /// An undefined kind of row, or bits set that have no meaning.
    FunctionInfo,
    /// A repeated block without a size.
    BlockSize,
    /// A row's width of data words is undefined, or bits are set that have no meaning.
    RowInfo,
    /// Rows that are not in ascending order.
    RowOrder,
    /// A row that starts beyond its function, or beyond its repeated block.
    RowStart,
    /// A row that reaches beyond the rows of the table.
    RowEnd,
    /// A number of data words that has no meaning.
    RowWords,
    /// The saved frame pointer's place is the caller's frame.
    FramePointer,
}

impl Reason {
    /// The error that this reason is, found at byte `offset` of the table.
    pub(crate) fn at(self, offset: u64) -> Error {
        Error::Malformed(Malformed {
            reason: self,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        })
    }
}

impl From<Fault> for Error {
    fn from(_: Fault) -> Self {
        Error::Fault
    }
}
