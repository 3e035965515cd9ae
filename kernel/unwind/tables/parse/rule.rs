// SPDX-License-Identifier: GPL-2.0

//! What every format yields: how to get from a frame to its caller's.

use core::num::NonZeroI32;

/// How to get from a frame to its caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// There is no caller: the stack ends here, complete.
    Outermost,
    /// There is one.
    Frame(Frame),
}

/// Where a caller's registers are.
///
/// All offsets are in bytes. The caller's stack pointer is the CFA, the canonical frame address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The register that the CFA is computed from.
    pub(crate) base: Base,
    /// CFA = `base` + `cfa`.
    pub(crate) cfa: i32,
    /// The return address is at CFA + `ra`.
    pub(crate) ra: i32,
    /// The caller's frame pointer is at CFA + `fp`; without that it is unchanged.
    ///
    /// Never zero: what is at the CFA belongs to the caller.
    pub(crate) fp: Option<NonZeroI32>,
}

/// A register that a CFA is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The stack pointer.
    Sp,
    /// The frame pointer.
    Fp,
}

// A rule is passed by value and kept by the thousand.
const _: () = assert!(size_of::<Rule>() <= 16);
