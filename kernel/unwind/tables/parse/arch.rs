// SPDX-License-Identifier: GPL-2.0

//! The registers of architectures: "DWARF Register Number Mapping" of the psABIs.

use super::Register;

/// An architecture.
pub(crate) trait Arch {
    /// DWARF number of the stack pointer.
    const SP: u32;
    /// DWARF number of the frame pointer.
    const FP: u32;
    /// Number of registers.
    const REGISTERS: u8;
    /// Whether return addresses can be signed.
    const SIGNED_RA: bool;

    /// Returns the register with a DWARF number.
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
}

/// AMD64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amd64 {}

impl Arch for Amd64 {
    const SP: u32 = 7;
    const FP: u32 = 6;
    const REGISTERS: u8 = 16;
    const SIGNED_RA: bool = false;
}

/// AArch64, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AArch64 {}

impl Arch for AArch64 {
    const SP: u32 = 31;
    const FP: u32 = 29;
    const REGISTERS: u8 = 32;
    const SIGNED_RA: bool = true;
}
