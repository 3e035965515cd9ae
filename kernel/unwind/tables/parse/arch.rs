// SPDX-License-Identifier: GPL-2.0

//! What differs between architectures: "DWARF Register Number Mapping" of the psABIs, and
//! "ABI/arch-specific Definition" of SFrame's specification.

use super::Register;

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It leads so many bytes beyond its end.
    Direct(i32),
    /// It leads to where a register or memory says.
    Indirect,
}

impl Call {
    /// How many bytes a call instruction has at most, without prefixes.
    pub(crate) const LEN: usize = 7;
}

/// How many words of code around an address tell whether it is in a stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stub {}

impl Stub {
    /// Words before the address.
    pub(crate) const BEFORE: usize = 4;
    /// Words before the address and from it on.
    pub(crate) const LEN: usize = 9;
}

/// An architecture.
pub(crate) trait Arch {
    /// DWARF number of the stack pointer.
    const SP: u32;
    /// DWARF number of the frame pointer.
    const FP: u32;
    /// DWARF number of the return address.
    const RA: u32;
    /// Number of registers.
    const REGISTERS: u8;
    /// Whether return addresses can be signed.
    const SIGNED_RA: bool;
    /// Offset from the CFA at which calls store the return address; 0 if they leave it in a
    /// register.
    const FIXED_RA: i8;
    /// SFrame: the identifier in the header, `sfh_abi_arch`.
    const SFRAME_ID: u8;
    /// SFrame: the numbers of data words that a row of a default function can have, as a set of
    /// bits.
    const SFRAME_WORDS: u16;
    /// The offsets from the stack pointer, in a restorer, at which the kernel has saved the stack
    /// pointer, the address and the frame pointer.
    const SIGNAL_FRAME: Option<[i32; 3]>;

    /// Returns the CFA's distance from the stack pointer at address `pc` of a procedure linkage
    /// table. Returns `None` if these are not the bytes of the expression for that.
    fn linkage_cfa(_: &[u8], _pc: u64) -> Option<i32> {
        None
    }

    /// Returns the call instruction that ends behind these bytes. Returns `None` if there is none.
    fn call(code: &[u8; Call::LEN]) -> Option<Call>;

    /// Says whether code, given as it is in memory, is that of a linker's stub, and only jumps on
    /// from the address: the return address is still in the register in which calls leave it, and
    /// the stack pointer is that of the call.
    fn is_stub(_: &[u32; Stub::LEN]) -> bool {
        false
    }

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
#[allow(dead_code, reason = "tests and tools read tables of it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amd64 {}

impl Arch for Amd64 {
    const SP: u32 = 7;
    const FP: u32 = 6;
    const RA: u32 = 16;
    const REGISTERS: u8 = 16;
    const SIGNED_RA: bool = false;
    const FIXED_RA: i8 = -8;
    const SFRAME_ID: u8 = 3;
    const SFRAME_WORDS: u16 = 1 << 1 | 1 << 2;
    // `struct rt_sigframe` begins with a return address, which is gone, and then has `struct
    // ucontext`.
    const SIGNAL_FRAME: Option<[i32; 3]> = Some([160, 168, 120]);

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

    /// "CALL" in AMD's Architecture Programmer's Manual, volume 3: E8 with a distance, or FF /2
    /// with an operand: a register, or memory by a register, an index and a displacement of 0, 1 or
    /// 4 bytes. Prefixes stand before, and do not matter. Other bytes may look like one of these.
    fn call(code: &[u8; Call::LEN]) -> Option<Call> {
        /// Says whether this is the byte ModRM of FF /2 with `mode`, without the byte SIB.
        const fn is_plain(modrm: u8, mode: u8) -> bool {
            modrm & 0xf8 == (mode << 6 | 2 << 3) && (mode == 3 || modrm & 7 != 4)
        }
        let [.., a, b, c, d] = *code;

        if let [_, _, 0xe8, ..] = *code {
            return Some(Call::Direct(i32::from_le_bytes([a, b, c, d])));
        }
        let is_indirect = match *code {
            // In a register, or where one points to. Without a register, there is a displacement.
            [.., 0xff, modrm] if is_plain(modrm, 3) => true,
            [.., 0xff, modrm] if is_plain(modrm, 0) && modrm & 7 != 5 => true,
            // With an index, whose base is a register; or with one byte.
            [.., 0xff, 0x14, sib] if sib & 7 != 5 => true,
            [.., 0xff, modrm, _] if is_plain(modrm, 1) => true,
            [.., 0xff, 0x54, _, _] => true,
            // With four bytes: from the address behind the call, a register, or an index.
            [_, 0xff, 0x15, ..] => true,
            [_, 0xff, modrm, ..] if is_plain(modrm, 2) => true,
            [0xff, 0x94, ..] => true,
            [0xff, 0x14, sib, ..] if sib & 7 == 5 => true,
            _ => false,
        };

        is_indirect.then_some(Call::Indirect)
    }
}

/// AArch64, little-endian.
#[allow(dead_code, reason = "tests and tools read tables of it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AArch64 {}

impl Arch for AArch64 {
    const SP: u32 = 31;
    const FP: u32 = 29;
    const RA: u32 = 30;
    const REGISTERS: u8 = 32;
    const SIGNED_RA: bool = true;
    const FIXED_RA: i8 = 0;
    const SFRAME_ID: u8 = 2;
    // The specification has rows of one word and of three. GNU as also writes two, for functions
    // that save the return address and not the frame pointer: `str x30, [sp, #-16]!`.
    const SFRAME_WORDS: u16 = 1 << 1 | 1 << 2 | 1 << 3;
    const SIGNAL_FRAME: Option<[i32; 3]> = None;

    /// "BL", "BLR" and "BLRAA, BLRAAZ, BLRAB, BLRABZ" in the Arm Architecture Reference Manual.
    fn call(code: &[u8; Call::LEN]) -> Option<Call> {
        let [.., a, b, c, d] = *code;
        let word = u32::from_le_bytes([a, b, c, d]);

        if word & 0xfc00_0000 == 0x9400_0000 {
            // 26 bits with a sign. They count words from the instruction, which is the last one.
            let words = (word.wrapping_shl(6) as i32).wrapping_shr(6);

            return Some(Call::Direct(words.wrapping_sub(1).wrapping_mul(4)));
        }
        // With a modifier, a register is where the others have 31.
        let is_indirect = word & 0xffff_fc1f == 0xd63f_0000
            || word & 0xffff_f81f == 0xd63f_081f
            || word & 0xffff_f800 == 0xd73f_0800;

        is_indirect.then_some(Call::Indirect)
    }

    /// "Procedure Linkage Table" and "Use of IP0 and IP1 by the linker" of the psABI: an entry or a
    /// veneer computes an address in x16 and x17, and jumps there. The table's first entry has
    /// stored both registers before.
    fn is_stub(code: &[u32; Stub::LEN]) -> bool {
        /// BR x16 and BR x17.
        const JUMPS: [u32; 2] = [0xd61f_0200, 0xd61f_0220];
        /// STP x16, x30, [sp, #-16]!
        const FIRST_ENTRY: u32 = 0xa9bf_7bf0;
        /// Says whether an instruction is ADRP x16.
        const fn is_adrp(word: u32) -> bool {
            word & 0x9f00_001f == 0x9000_0010
        }
        /// Says whether an instruction changes nothing but x16 and x17: BTI c, ADRP x16, LDR x17
        /// from x16 and an offset, and ADD of a number to x16.
        const fn is_harmless(word: u32) -> bool {
            word == 0xd503_245f
                || is_adrp(word)
                || word & 0xffc0_03ff == 0xf940_0211
                || word & 0xff80_03ff == 0x9100_0210
        }
        let [a, b, c, d, from @ ..] = code.map(u32::from_le);
        let before = [a, b, c, d];
        // Other code may jump by these registers, too, but seldom to where ADRP says.
        let mut has_page = before.iter().any(|word| is_adrp(*word));

        for word in from {
            has_page |= is_adrp(word);
            if !is_harmless(word) {
                return has_page && JUMPS.contains(&word) && !before.contains(&FIRST_ENTRY);
            }
        }
        false
    }
}
