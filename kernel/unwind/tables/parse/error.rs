// SPDX-License-Identifier: GPL-2.0

//! Why there is no rule, or no table.

use core::ffi::CStr;

use super::{
    eh_frame,
    elf,
    sframe, //
};

/// Defines an enumeration of which each value has a name and a text.
///
/// User space sees the names: a name never gets another meaning.
macro_rules! codes {
    (
        $(#[doc = $about:literal])+
        pub(crate) enum $Codes:ident;

        $($(#[doc = $doc:literal])+ $value:ident = $name:literal: $text:literal,)+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $Codes {
            $($(#[doc = $doc])+ $value,)+
        }

        impl $Codes {
            /// All values.
            #[allow(dead_code, reason = "tests go through them")]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// Returns the name, for programs to read.
            #[allow(dead_code, reason = "the kernel does not show them all")]
            pub(crate) fn name(self) -> &'static core::ffi::CStr {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            /// Describes the value, for people to read.
            #[allow(dead_code, reason = "tools show it")]
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}

pub(super) use codes;

/// Why there is no rule, or no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The table says nothing about this address.
    NotFound,
    /// The table could not be read now.
    Fault,
    /// The table contradicts its format, in all of it or in one function: see
    /// [`Reason::is_of_table`].
    Malformed(Malformed),
    /// The table has a rule for this address that is not supported.
    Unsupported(Unsupported),
    /// The budget of the reader is used up.
    Budget,
    /// The headers of a file show that it has no table for a byte of it. No lookup in a table
    /// returns this.
    Absent(elf::Absence),
}

codes! {
    /// A part of a format that is not supported. It affects one row, not the table.
    pub(crate) enum Unsupported;

    /// A register that a rule needs and cannot name.
    Register = c"register": "register",
    /// A version of a CIE other than 1, 3 and 4.
    CieVersion = c"cie-version": "version of a CIE",
    /// A letter of a CIE's augmentation.
    Augmentation = c"augmentation": "augmentation of a CIE",
    /// The encoding of a pointer.
    Encoding = c"pointer-encoding": "encoding of a pointer",
    /// The register that a CIE has return addresses in.
    ReturnRegister = c"return-register": "register of the return address",
    /// An instruction.
    Instruction = c"instruction": "instruction",
    /// More states remembered than there is room for.
    Depth = c"depth": "states remembered within each other",
    /// An offset of more than 31 bits.
    Offset = c"offset": "offset",
    /// An expression.
    Expression = c"expression": "expression",
    /// The caller's stack pointer is not the CFA.
    StackPointer = c"stack-pointer": "stack pointer that is not the CFA",
    /// No return address.
    ReturnAddress = c"return-address": "no return address",
    /// The CFA is not said, or said in parts that do not fit.
    Cfa = c"cfa": "CFA that is not whole",
    /// A way to sign return addresses.
    Signed = c"signed": "signed return address",
}

/// A contradiction to the format, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// What is wrong.
    pub(crate) reason: Reason,
    /// Offset in the table, in bytes, at most `u32::MAX`.
    pub(crate) offset: u32,
}

/// A contradiction to the format. Each format has its own reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Reason of an SFrame table.
    SFrame(sframe::Reason),
    /// Reason of an `.eh_frame` table.
    EhFrame(eh_frame::Reason),
}

impl Reason {
    /// Makes the error of this reason, at byte `offset` of the table.
    pub(super) fn at(self, offset: u64) -> Error {
        Error::Malformed(Malformed {
            reason: self,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        })
    }

    /// Says whether this is a reason not to trust the whole table. A wrong function of `.eh_frame`
    /// says nothing about the others, which other compilers and people may have made.
    pub(crate) fn is_of_table(self) -> bool {
        match self {
            Self::SFrame(_) => true,
            Self::EhFrame(reason) => reason.is_of_index(),
        }
    }

    /// Returns the name, for programs to read.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::SFrame(reason) => reason.name(),
            Self::EhFrame(reason) => reason.name(),
        }
    }

    /// Describes the reason, for people to read.
    #[allow(dead_code, reason = "tools show it")]
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::SFrame(reason) => reason.text(),
            Self::EhFrame(reason) => reason.text(),
        }
    }
}

impl From<elf::Absence> for Error {
    fn from(absence: elf::Absence) -> Self {
        Self::Absent(absence)
    }
}

impl From<Unsupported> for Error {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}
