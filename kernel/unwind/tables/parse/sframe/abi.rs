// SPDX-License-Identifier: GPL-2.0

//! What is different between architectures: `sfh_abi_arch`, "ABI/arch-specific Definition" of the
//! specification.

use super::{
    super::Register,
    row::Width, //
};

/// An architecture's part of the format.
pub(crate) trait Abi {
    /// Its identifier in the header.
    const ID: u8;
    /// Whether numbers have their most significant byte first.
    const BIG_ENDIAN: bool;
    /// Where the return address always is, from the CFA; 0 if that varies.
    const FIXED_RA: i8;
    /// The numbers of data words that a row of a default function can have, as a set of bits.
    const WORDS: u16;
    /// Whether an offset of 0 says that the return address is in its register.
    const RA_FILLER: bool;
    /// Whether return addresses can be signed.
    const SIGNED_RA: bool;
    /// DWARF number of the stack pointer.
    const SP: u32;
    /// DWARF number of the frame pointer.
    const FP: u32;
    /// How many registers there are.
    const REGISTERS: u8;

    /// The offset of a CFA that a data word stands for; none if it does not fit.
    fn cfa_offset(word: i32) -> Option<i32> {
        Some(word)
    }

    /// The register of a DWARF number, if there is one.
    fn register(number: u32) -> Option<Register> {
        if number == Self::SP {
            Some(Register::Sp)
        } else if number == Self::FP {
            Some(Register::Fp)
        } else {
            let number = u8::try_from(number).ok()?;

            (number < Self::REGISTERS).then_some(Register::Other(number))
        }
    }

    /// A row's start, a number of `width` bytes, and the byte behind it.
    fn start_and_info(head: [u8; 8], width: Width) -> (u32, u8) {
        let bits = u32::from(width as u8).wrapping_mul(8);
        let mask = u32::MAX.wrapping_shr(0u32.wrapping_sub(bits));

        if Self::BIG_ENDIAN {
            let head = u64::from_be_bytes(head).rotate_left(bits);
            (head as u32 & mask, (head >> 56) as u8)
        } else {
            let head = u64::from_le_bytes(head);
            (head as u32 & mask, head.wrapping_shr(bits) as u8)
        }
    }

    /// A number of two bytes.
    fn u16(bytes: [u8; 2]) -> u16 {
        if Self::BIG_ENDIAN {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    }

    /// A number of four bytes.
    fn u32(bytes: [u8; 4]) -> u32 {
        if Self::BIG_ENDIAN {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    /// A signed number of eight bytes.
    fn i64(bytes: [u8; 8]) -> i64 {
        if Self::BIG_ENDIAN {
            i64::from_be_bytes(bytes)
        } else {
            i64::from_le_bytes(bytes)
        }
    }
}

/// AMD64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amd64 {}

impl Abi for Amd64 {
    const ID: u8 = 3;
    const BIG_ENDIAN: bool = false;
    const FIXED_RA: i8 = -8;
    const WORDS: u16 = 1 << 1 | 1 << 2;
    const RA_FILLER: bool = false;
    const SIGNED_RA: bool = false;
    const SP: u32 = 7;
    const FP: u32 = 6;
    const REGISTERS: u8 = 16;
}

/// AArch64, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AArch64 {}

impl Abi for AArch64 {
    const ID: u8 = 2;
    const BIG_ENDIAN: bool = false;
    const FIXED_RA: i8 = 0;
    // The specification has rows of one word and of three. GNU as also writes two, for functions
    // that save the return address and not the frame pointer: `str x30, [sp, #-16]!`.
    const WORDS: u16 = 1 << 1 | 1 << 2 | 1 << 3;
    const RA_FILLER: bool = false;
    const SIGNED_RA: bool = true;
    const SP: u32 = 31;
    const FP: u32 = 29;
    const REGISTERS: u8 = 32;
}

/// s390x.
///
/// Its CFA is 160 above the stack pointer at a function's entry, and offsets of it are stored
/// without that and divided by 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum S390x {}

impl Abi for S390x {
    const ID: u8 = 4;
    const BIG_ENDIAN: bool = true;
    const FIXED_RA: i8 = 0;
    const WORDS: u16 = 1 << 1 | 1 << 2 | 1 << 3;
    const RA_FILLER: bool = true;
    const SIGNED_RA: bool = false;
    const SP: u32 = 15;
    const FP: u32 = 11;
    const REGISTERS: u8 = 32;

    fn cfa_offset(word: i32) -> Option<i32> {
        // Does not wrap: a word has 32 bits.
        i32::try_from(i64::from(word).wrapping_mul(8).wrapping_add(160)).ok()
    }
}
