// SPDX-License-Identifier: GPL-2.0

//! What can be wrong with a table, and what is not supported.

use super::super::{
    codes::codes,
    error,
    Error, //
};

codes! {
    /// A statement of the format that a table contradicts.
    ///
    /// User space sees the numbers and names, in the trace event `unwind_tables_disable` and in
    /// `/proc/PID/unwind_tables`: they are ABI. A number or a name never gets another meaning.
    pub(crate) enum Reason;

    /// The index does not start with a header.
    Truncated = 1, c"truncated": "shorter than a header",
    /// A version of the index other than 1.
    Version = 2, c"version": "not version 1",
    /// An encoding of the index that nobody uses.
    Encoding = 3, c"index-encoding": "unknown encoding of the index",
    /// The index reaches beyond the table.
    Layout = 4, c"layout": "index reaches beyond the table",
    /// The index is not sorted by address.
    Unsorted = 5, c"unsorted": "functions not sorted by address",
    /// The index names an FDE that is not in the table.
    FdePlace = 6, c"fde-place": "FDE beyond the table",
    /// A record reaches beyond the table, or its length has 64 bits.
    Length = 7, c"length": "record reaches beyond the table",
    /// The index names a record that is no FDE.
    NotFde = 8, c"not-fde": "record is no FDE",
    /// An FDE names a CIE that is not in the table.
    CiePlace = 9, c"cie-place": "CIE beyond the table",
    /// An FDE names a record that is no CIE.
    NotCie = 10, c"not-cie": "record is no CIE",
    /// A record ends within one of its fields.
    RecordEnd = 11, c"record-end": "record ends within a field",
    /// A number that does not fit 64 bits.
    Number = 12, c"number": "number out of range",
    /// An FDE starts elsewhere than its index says.
    Start = 13, c"start": "FDE starts elsewhere than the index says",
    /// A state is restored that was not remembered.
    State = 14, c"state": "state restored that was not remembered",
}

codes! {
    /// Something that the format has and this reader does not, so that a row comes to no rule.
    ///
    /// It says nothing about the rest of the table.
    pub(crate) enum Unsupported;

    /// A version of a CIE other than 1 and 3.
    CieVersion = 1, c"cie-version": "version of a CIE",
    /// A letter of a CIE's augmentation.
    Augmentation = 2, c"augmentation": "augmentation of a CIE",
    /// The encoding of a pointer.
    Encoding = 3, c"pointer-encoding": "encoding of a pointer",
    /// The register that a CIE has return addresses in.
    ReturnRegister = 4, c"return-register": "register of the return address",
    /// An instruction.
    Instruction = 5, c"instruction": "instruction",
    /// More states remembered than there is room for.
    Depth = 6, c"depth": "states remembered within each other",
    /// A register that a rule needs and cannot name.
    Register = 7, c"register": "register",
    /// An offset of more than 31 bits.
    Offset = 8, c"offset": "offset",
    /// An expression.
    Expression = 9, c"expression": "expression",
    /// The caller's stack pointer is not the CFA.
    StackPointer = 10, c"stack-pointer": "stack pointer that is not the CFA",
    /// No return address.
    ReturnAddress = 11, c"return-address": "no return address",
    /// The caller's frame pointer cannot be recovered.
    FramePointer = 12, c"frame-pointer": "frame pointer that is lost",
    /// The CFA is not said, or said in parts that do not fit.
    Cfa = 13, c"cfa": "CFA that is not whole",
    /// A way to sign return addresses.
    Signed = 14, c"signed": "signed return address",
}

impl Reason {
    /// The error that this reason is, found at byte `offset` of the table.
    pub(crate) fn at(self, offset: u64) -> Error {
        error::Reason::EhFrame(self).at(offset)
    }
}

impl From<Unsupported> for Error {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}
