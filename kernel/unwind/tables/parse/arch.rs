// SPDX-License-Identifier: GPL-2.0

//! What is different between architectures in every format: the psABIs' "DWARF Register Number
//! Mapping".

use super::Register;

/// An architecture.
pub(crate) trait Arch {
    /// Whether numbers have their most significant byte first.
    const BIG_ENDIAN: bool;
    /// DWARF number of the stack pointer.
    const SP: u32;
    /// DWARF number of the frame pointer.
    const FP: u32;
    /// How many registers there are.
    const REGISTERS: u8;
    /// Whether return addresses can be signed.
    const SIGNED_RA: bool;

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

    /// A number of eight bytes.
    fn u64(bytes: [u8; 8]) -> u64 {
        if Self::BIG_ENDIAN {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        }
    }
}

/// AMD64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amd64 {}

impl Arch for Amd64 {
    const BIG_ENDIAN: bool = false;
    const SP: u32 = 7;
    const FP: u32 = 6;
    const REGISTERS: u8 = 16;
    const SIGNED_RA: bool = false;
}

/// AArch64, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AArch64 {}

impl Arch for AArch64 {
    const BIG_ENDIAN: bool = false;
    const SP: u32 = 31;
    const FP: u32 = 29;
    const REGISTERS: u8 = 32;
    const SIGNED_RA: bool = true;
}

/// s390x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum S390x {}

impl Arch for S390x {
    const BIG_ENDIAN: bool = true;
    const SP: u32 = 15;
    const FP: u32 = 11;
    const REGISTERS: u8 = 32;
    const SIGNED_RA: bool = false;
}
