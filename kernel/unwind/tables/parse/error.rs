// SPDX-License-Identifier: GPL-2.0

//! Why a lookup yields no rule.

use core::ffi::CStr;

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
    /// Where it was read, or ends too early: bytes from the start of the table, at most `u32::MAX`.
    pub(crate) offset: u32,
}

/// Defines [`Reason`] together with what people are told.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal: $text:literal,)+) => {
        /// A statement of the format that a table contradicts.
        ///
        /// The numbers are for those who count and keep reasons: a number never gets another
        /// meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Reason {
            $($(#[doc = $doc])+ $name = $code,)+
        }

        impl Reason {
            /// All of them.
            #[allow(dead_code, reason = "for tests and tools")]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Its name, for programs to read.
            #[allow(dead_code, reason = "for the kernel")]
            pub(crate) fn name(self) -> &'static CStr {
                let name = match self {
                    $(Self::$name => concat!(stringify!($name), "\0"),)+
                };

                CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"")
            }

            /// What is wrong, for people to read.
            #[allow(dead_code, reason = "for tests and tools")]
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

reasons! {
    /// The table is shorter than a header.
    Truncated = 1: "shorter than a header",
    /// The first two bytes are not the format's.
    Magic = 2: "not an SFrame table",
    /// The first two bytes are the format's in the other byte order.
    ByteOrder = 3: "written in the other byte order",
    /// A version other than 3.
    Version = 4: "not version 3",
    /// A flag that the format does not define.
    Flags = 5: "unknown flags",
    /// The index is not sorted by address, or says that it is not.
    Unsorted = 6: "functions not sorted by address",
    /// Written for another architecture.
    Abi = 7: "written for another architecture",
    /// A fixed offset of the return address or frame pointer that the architecture does not have.
    FixedOffset = 8: "fixed offset that the architecture does not have",
    /// The header's parts overlap, or reach beyond the table.
    Layout = 9: "parts overlap or reach beyond the table",
    /// A function's address is beyond the address space.
    FunctionStart = 10: "function beyond the address space",
    /// A function's rows are beyond the rows of the table.
    RowsOffset = 11: "function's rows beyond the table's",
    /// An undefined kind of function.
    FunctionKind = 12: "unknown kind of function",
    /// An undefined width of rows' starts.
    RowKind = 13: "unknown kind of row",
    /// Bits set that have no meaning for a function.
    FunctionInfo = 14: "unknown bits in a function's attribute",
    /// A repeated block without a size, or a size without a repeated block.
    BlockSize = 15: "wrong size of a repeated block",
    /// An undefined width of a row's data words.
    WordWidth = 16: "unknown width of data words",
    /// Bits set that have no meaning for a row.
    RowInfo = 17: "unknown bits in a row",
    /// Rows that are not in ascending order.
    RowOrder = 18: "rows not in ascending order",
    /// A row that starts beyond its function, or beyond its repeated block.
    RowStart = 19: "row starts beyond its function",
    /// A row that reaches beyond the rows of the table.
    RowEnd = 20: "row reaches beyond the table's rows",
    /// A number of data words that has no meaning.
    WordCount = 21: "wrong number of data words",
    /// A control word with bits set that have no meaning.
    Control = 22: "unknown bits in a control word",
    /// A CFA that is not computed from a register.
    CfaBase = 23: "CFA without a register",
    /// A register that the architecture does not have.
    Register = 24: "unknown register",
    /// An offset from which no address can be computed.
    OffsetRange = 25: "offset out of range",
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
