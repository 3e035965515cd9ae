// SPDX-License-Identifier: GPL-2.0

//! What the tool knows about architectures beyond what the kernel's parser does.

use crate::parse::Register;
use crate::parse::{self, AArch64, Amd64};

/// An architecture, as the tool needs it.
pub trait Arch: parse::Arch {
    /// What people call it.
    const NAME: &'static str;
    /// Its number in ELF files.
    const MACHINE: u16;
    /// DWARF number that expressions know the program counter by.
    const PC: u16;
    /// What assemblers and linkers fill the space between functions with: how many bytes the
    /// filler has that `bytes` begin with, or 0.
    fn filler(bytes: &[u8]) -> usize;
    /// Names of the registers in the order of their DWARF numbers.
    const NAMES: &'static [&'static str];
}

impl Arch for Amd64 {
    const NAME: &'static str = "x86-64";
    const MACHINE: u16 = 62;
    const PC: u16 = 16;
    const NAMES: &'static [&'static str] = &[
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];

    /// int3, and no-operations: nop, or nop with an operand, behind any number of prefixes.
    fn filler(bytes: &[u8]) -> usize {
        let prefixes = bytes
            .iter()
            .take_while(|byte| [0x66, 0x2e].contains(*byte))
            .count();

        match bytes.get(prefixes..).unwrap_or_default() {
            [0xcc, ..] if prefixes == 0 => 1,
            [0x90, ..] => prefixes + 1,
            [0x0f, 0x1f, operand, ..] => {
                let displacement = match operand >> 6 {
                    0 => 0,
                    1 => 1,
                    2 => 4,
                    _ => return 0,
                };
                // With a scaled index there is a byte for that.
                prefixes + 3 + usize::from(operand & 7 == 4) + displacement
            }
            _ => 0,
        }
    }
}

impl Arch for AArch64 {
    const NAME: &'static str = "aarch64";
    const MACHINE: u16 = 183;
    const PC: u16 = 32;
    const NAMES: &'static [&'static str] = &[
        "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
        "x27", "x28", "x29", "x30", "sp",
    ];

    /// nop, and zeros.
    fn filler(bytes: &[u8]) -> usize {
        match bytes {
            [0x1f, 0x20, 0x03, 0xd5, ..] | [0, 0, 0, 0, ..] => 4,
            _ => 0,
        }
    }
}

/// The name of a register: `sp` and `fp` are called so everywhere.
pub fn register_name<A: Arch>(register: Register) -> &'static str {
    match register {
        Register::Sp => "sp",
        Register::Fp => "fp",
        Register::Other(number) => A::NAMES.get(usize::from(number)).copied().unwrap_or("?"),
    }
}

/// The register of a DWARF number, if the format can name it.
pub fn register<A: Arch>(number: u16) -> Option<Register> {
    A::register(number.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GNU as pads for .p2align.
    #[test]
    fn fillers_are_known() {
        let nops: [&[u8]; 10] = [
            &[0xcc],
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x0f, 0x1f, 0x40, 0],
            &[0x0f, 0x1f, 0x44, 0, 0],
            &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
            &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
            &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
            &[0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
        ];

        for nop in nops {
            assert_eq!(Amd64::filler(nop), nop.len(), "{nop:x?}");
        }
        // push, ret, endbr64, a register as operand, and nothing behind prefixes.
        for code in [
            &[0x55][..],
            &[0xc3],
            &[0xf3, 0x0f, 0x1e, 0xfa],
            &[0x0f, 0x1f, 0xc0],
            &[0x66],
        ] {
            assert_eq!(Amd64::filler(code), 0, "{code:x?}");
        }
        assert_eq!(AArch64::filler(&0xd503_201f_u32.to_le_bytes()), 4);
        assert_eq!(AArch64::filler(&0xd65f_03c0_u32.to_le_bytes()), 0);
    }
}
