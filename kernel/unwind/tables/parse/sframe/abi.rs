// SPDX-License-Identifier: GPL-2.0

//! The parts of the format that differ between architectures: `sfh_abi_arch`, "ABI/arch-specific
//! Definition" of the specification.

use super::super::{
    AArch64,
    Amd64,
    Arch, //
};

/// An architecture's part of the format.
pub(crate) trait Abi: Arch {
    /// Its identifier in the header.
    const ID: u8;
    /// Fixed offset of the return address from the CFA; 0 if there is none.
    const FIXED_RA: i8;
    /// The numbers of data words that a row of a default function can have, as a set of bits.
    const WORDS: u16;
}

impl Abi for Amd64 {
    const ID: u8 = 3;
    const FIXED_RA: i8 = -8;
    const WORDS: u16 = 1 << 1 | 1 << 2;
}

impl Abi for AArch64 {
    const ID: u8 = 2;
    const FIXED_RA: i8 = 0;
    // The specification has rows of one word and of three. GNU as also writes two, for functions
    // that save the return address and not the frame pointer: `str x30, [sp, #-16]!`.
    const WORDS: u16 = 1 << 1 | 1 << 2 | 1 << 3;
}
