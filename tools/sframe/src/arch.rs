// SPDX-License-Identifier: GPL-2.0

//! What the tool knows about architectures beyond what the kernel's parser does.

use crate::parse::Register;
use crate::parse::sframe::Abi;
use crate::parse::{AArch64, Amd64, S390x};

/// An architecture, as the tool needs it.
pub trait Arch: Abi {
    /// What people call it.
    const NAME: &'static str;
    /// DWARF number of the column of return addresses.
    const RA: u16;
    /// DWARF number that expressions know the program counter by.
    const PC: u16;
    /// Names of the registers in the order of their DWARF numbers.
    const NAMES: &'static [&'static str];
}

impl Arch for Amd64 {
    const NAME: &'static str = "x86-64";
    const RA: u16 = 16;
    const PC: u16 = 16;
    const NAMES: &'static [&'static str] = &[
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
}

impl Arch for AArch64 {
    const NAME: &'static str = "aarch64";
    const RA: u16 = 30;
    const PC: u16 = 32;
    const NAMES: &'static [&'static str] = &[
        "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
        "x27", "x28", "x29", "x30", "sp",
    ];
}

impl Arch for S390x {
    const NAME: &'static str = "s390x";
    const RA: u16 = 14;
    const PC: u16 = 65;
    const NAMES: &'static [&'static str] = &[
        "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15", "f0", "f2", "f4", "f6", "f1", "f3", "f5", "f7", "f8", "f10", "f12", "f14",
        "f9", "f11", "f13", "f15",
    ];
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
