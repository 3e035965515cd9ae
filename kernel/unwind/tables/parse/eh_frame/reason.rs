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

    /// The index does not start with a header.
    Truncated = c"truncated": "shorter than a header",
    /// A version of the index other than 1.
    Version = c"version": "not version 1",
    /// An encoding of the index that nobody uses.
    Encoding = c"index-encoding": "unknown encoding of the index",
    /// The index reaches beyond the table.
    Layout = c"layout": "index reaches beyond the table",
    /// The index is not sorted by address.
    Unsorted = c"unsorted": "functions not sorted by address",
    /// The index names an FDE that is not in the table.
    FdePlace = c"fde-place": "FDE beyond the table",
    /// A record reaches beyond the table, or its length has 64 bits.
    Length = c"length": "record reaches beyond the table",
    /// The index names a record that is no FDE.
    NotFde = c"not-fde": "record is no FDE",
    /// An FDE names a CIE that is not in the table.
    CiePlace = c"cie-place": "CIE beyond the table",
    /// An FDE names a record that is no CIE.
    NotCie = c"not-cie": "record is no CIE",
    /// A record ends within one of its fields.
    RecordEnd = c"record-end": "record ends within a field",
    /// A number that does not fit 64 bits.
    Number = c"number": "number out of range",
    /// An FDE starts elsewhere than its index says.
    Start = c"start": "FDE starts elsewhere than the index says",
    /// A state is restored that was not remembered.
    State = c"state": "state restored that was not remembered",
}

impl Reason {
    /// Whether the index is wrong, or its header: then no function can be found for sure. Anything
    /// else is wrong in the records of one function.
    pub(crate) fn is_of_index(self) -> bool {
        matches!(
            self,
            Self::Truncated
                | Self::Version
                | Self::Encoding
                | Self::Layout
                | Self::Unsorted
                | Self::FdePlace
        )
    }

    /// The error that this reason is, found at byte `offset` of the table.
    pub(crate) fn at(self, offset: u64) -> Error {
        error::Reason::EhFrame(self).at(offset)
    }
}
