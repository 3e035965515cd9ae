// SPDX-License-Identifier: GPL-2.0

//! The parts of the format that differ between architectures: their psABIs, "DWARF".

use super::{
    super::{
        AArch64,
        Amd64,
        Arch,
        Register, //
    },
    row::{
        Cfa,
        Place,
        Row, //
    }, //
};

/// An architecture's part of the format.
pub(crate) trait Abi: Arch {
    /// DWARF number of the return address.
    const RA: u32;
    /// Whether calls leave the return address in a register, not on the stack.
    const LINK_REGISTER: bool;

    /// Says whether the row of a restorer has the places where the kernel saves registers.
    fn is_signal_frame(_: &Row) -> bool {
        false
    }

    /// Returns the CFA's distance from the stack pointer at address `pc` of a procedure linkage
    /// table. Returns `None` if these are not the bytes of the expression for that.
    fn linkage_cfa(_: &[u8], _pc: u64) -> Option<i32> {
        None
    }
}

impl Abi for Amd64 {
    const RA: u32 = 16;
    const LINK_REGISTER: bool = false;

    /// `struct rt_sigframe` begins with a return address, which is gone, and then has `struct
    /// ucontext`: rsp, rip and rbp are 160, 168 and 120 bytes above the stack pointer.
    fn is_signal_frame(row: &Row) -> bool {
        let at_sp = |offset| Place::AtRegister(Register::Sp, offset);

        (row.cfa, row.ra, row.fp) == (Cfa::Expression(at_sp(160)), at_sp(168), at_sp(120))
    }

    /// An entry has 16 bytes, and one instruction in it pushes a word: rsp + 8 before, and
    /// ((rip & 15) >= n) << 3 more behind it.
    fn linkage_cfa(bytes: &[u8], pc: u64) -> Option<i32> {
        // breg7 8, breg16 0, lit15, and, lit n, ge, lit3, shl, plus.
        let [0x77, 8, 0x80, 0, 0x3f, 0x1a, literal @ 0x30..=0x3f, 0x2a, 0x33, 0x24, 0x22] = *bytes
        else {
            return None;
        };
        let pushed = pc & 15 >= u64::from(literal & 15);

        Some(if pushed { 16 } else { 8 })
    }
}

impl Abi for AArch64 {
    const RA: u32 = 30;
    const LINK_REGISTER: bool = true;
}
