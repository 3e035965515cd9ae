// SPDX-License-Identifier: GPL-2.0

//! What is different between architectures: `sfh_abi_arch`, "ABI/arch-specific Definition" of the
//! specification.

use super::{
    super::{
        AArch64,
        Amd64,
        Arch,
        S390x, //
    },
    row::Width, //
};

/// An architecture's part of the format.
pub(crate) trait Abi: Arch {
    /// Its identifier in the header.
    const ID: u8;
    /// Where the return address always is, from the CFA; 0 if that varies.
    const FIXED_RA: i8;
    /// The numbers of data words that a row of a default function can have, as a set of bits.
    const WORDS: u16;
    /// Whether an offset of 0 says that the return address is in its register.
    const RA_FILLER: bool;

    /// The offset of a CFA that a data word stands for; none if it does not fit.
    fn cfa_offset(word: i32) -> Option<i32> {
        Some(word)
    }

    /// A row's start, a number of `width` bytes, and the byte behind it, from byte `at` on of
    /// `bytes`. None if they are not all there.
    #[inline(always)]
    fn start_and_info(bytes: &[u8], at: usize, width: Width) -> Option<(u32, u8)> {
        let start = match width {
            Width::One => u32::from(*bytes.get(at)?),
            Width::Two => u32::from(Self::u16(*bytes.get(at..)?.first_chunk()?)),
            Width::Four => Self::u32(*bytes.get(at..)?.first_chunk()?),
        };

        Some((start, *bytes.get(at.wrapping_add(width as usize))?))
    }
}

impl Abi for Amd64 {
    const ID: u8 = 3;
    const FIXED_RA: i8 = -8;
    const WORDS: u16 = 1 << 1 | 1 << 2;
    const RA_FILLER: bool = false;
}

impl Abi for AArch64 {
    const ID: u8 = 2;
    const FIXED_RA: i8 = 0;
    // The specification has rows of one word and of three. GNU as also writes two, for functions
    // that save the return address and not the frame pointer: `str x30, [sp, #-16]!`.
    const WORDS: u16 = 1 << 1 | 1 << 2 | 1 << 3;
    const RA_FILLER: bool = false;
}

/// Its CFA is 160 above the stack pointer at a function's entry, and offsets of it are stored
/// without that and divided by 8.
impl Abi for S390x {
    const ID: u8 = 4;
    const FIXED_RA: i8 = 0;
    const WORDS: u16 = 1 << 1 | 1 << 2 | 1 << 3;
    const RA_FILLER: bool = true;

    fn cfa_offset(word: i32) -> Option<i32> {
        // Does not wrap: a word has 32 bits.
        i32::try_from(i64::from(word).wrapping_mul(8).wrapping_add(160)).ok()
    }
}
