// SPDX-License-Identifier: GPL-2.0

//! What can be wrong with a table.

use super::super::error::{
    self,
    codes,
    Error, //
};

codes! {
    /// A statement of the format that a table contradicts.
    ///
    /// User space sees the names: a name never gets another meaning.
    pub(crate) enum Reason;

    /// The table is shorter than a header.
    Truncated = c"truncated": "shorter than a header",
    /// The first two bytes are not the format's.
    Magic = c"magic": "not an SFrame table",
    /// The first two bytes are the format's in the other byte order.
    ByteOrder = c"byte-order": "written in the other byte order",
    /// A version other than 3.
    Version = c"version": "not version 3",
    /// A flag that the format does not define.
    Flags = c"flags": "unknown flags",
    /// The index is not sorted by address, or says that it is not.
    Unsorted = c"unsorted": "functions not sorted by address",
    /// Written for another architecture.
    Abi = c"abi": "written for another architecture",
    /// A fixed offset of the return address or frame pointer that the architecture does not have.
    FixedOffset = c"fixed-offset": "fixed offset that the architecture does not have",
    /// The header's parts overlap, or reach beyond the table.
    Layout = c"layout": "parts overlap or reach beyond the table",
    /// A function reaches beyond the address space.
    FunctionStart = c"function-start": "function beyond the address space",
    /// A function's rows are beyond the rows of the table.
    RowsOffset = c"rows-offset": "function's rows beyond the table's",
    /// An undefined kind of function.
    FunctionKind = c"function-kind": "unknown kind of function",
    /// An undefined width of rows' starts.
    RowKind = c"row-kind": "unknown kind of row",
    /// Bits set that have no meaning for a function.
    FunctionInfo = c"function-info": "unknown bits in a function's attribute",
    /// A repeated block without a size, or a size without a repeated block.
    BlockSize = c"block-size": "wrong size of a repeated block",
    /// An undefined width of a row's data words.
    WordWidth = c"word-width": "unknown width of data words",
    /// Bits set that have no meaning for a row.
    RowInfo = c"row-info": "unknown bits in a row",
    /// A row that starts below the one before.
    RowOrder = c"row-order": "rows not in ascending order",
    /// A row that starts beyond its function, or beyond its repeated block.
    RowStart = c"row-start": "row starts beyond its function",
    /// A row that reaches beyond the rows of the table.
    RowEnd = c"row-end": "row reaches beyond the table's rows",
    /// A number of data words that has no meaning.
    WordCount = c"word-count": "wrong number of data words",
    /// A control word with bits set that have no meaning.
    Control = c"control-word": "unknown bits in a control word",
    /// A CFA that is not computed from a register.
    CfaBase = c"cfa-base": "CFA without a register",
}

impl Reason {
    /// The error that this reason is, found at byte `offset` of the table.
    pub(crate) fn at(self, offset: u64) -> Error {
        error::Reason::SFrame(self).at(offset)
    }
}
