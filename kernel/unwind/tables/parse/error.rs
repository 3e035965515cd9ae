// SPDX-License-Identifier: GPL-2.0

//! Why a lookup yields no rule.

use core::ffi::CStr;

use super::{
    eh_frame,
    reader::Fault,
    sframe, //
};

/// Why a lookup yields no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The table says nothing about this address.
    NotFound,
    /// The table could not be read; that may be different the next time.
    Fault,
    /// The table contradicts its format; it will never be good.
    Malformed(Malformed),
    /// The table says something about this address that is not supported; at others it may not.
    Unsupported(eh_frame::Unsupported),
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

/// What contradicts the format: each format has its own reasons, with numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Of an SFrame table.
    SFrame(sframe::Reason),
    /// Of an `.eh_frame` table.
    EhFrame(eh_frame::Reason),
}

impl Reason {
    /// The error that this reason is, found at byte `offset` of the table.
    pub(super) fn at(self, offset: u64) -> Error {
        Error::Malformed(Malformed {
            reason: self,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        })
    }

    /// Its number, which means nothing without the format.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::SFrame(reason) => reason as u32,
            Self::EhFrame(reason) => reason as u32,
        }
    }

    /// Its name, for programs to read.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::SFrame(reason) => reason.name(),
            Self::EhFrame(reason) => reason.name(),
        }
    }

    /// What is wrong, for people to read.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::SFrame(reason) => reason.text(),
            Self::EhFrame(reason) => reason.text(),
        }
    }
}

impl From<Fault> for Error {
    fn from(_: Fault) -> Self {
        Error::Fault
    }
}
