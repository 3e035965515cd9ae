// SPDX-License-Identifier: GPL-2.0

//! The call instructions before a return address: those of AMD64 beside a disassembler's.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction};
use proptest::prelude::*;

use crate::parse::{AArch64, Amd64, Arch, Call};

/// An address of code; what is before it is at lower addresses.
const RA: u64 = 0x40_0000;

/// Decodes the last `len` of these bytes, as one near call without a prefix.
fn decode(code: &[u8; Call::LEN], len: usize) -> Option<Instruction> {
    let bytes = &code[Call::LEN - len..];
    let mut decoder = Decoder::with_ip(64, bytes, RA - len as u64, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let is_call = matches!(instruction.code(), Code::Call_rel32_64 | Code::Call_rm64);
    let has_prefix = !matches!(bytes[0], 0xe8 | 0xff);

    (is_call && !has_prefix && instruction.len() == len).then_some(instruction)
}

/// Checks that the kernel finds a call where a suffix of the bytes is one, and only there.
fn check(code: [u8; Call::LEN]) -> bool {
    let calls: Vec<_> = (2..=Call::LEN).filter_map(|len| decode(&code, len)).collect();
    let found = Amd64::call(&code);

    assert_eq!(found.is_some(), !calls.is_empty(), "{code:02x?}");
    let direct = calls
        .iter()
        .find(|call| call.code() == Code::Call_rel32_64)
        .map(|call| call.near_branch64());
    let target = match found {
        Some(Call::Direct(distance)) => Some(RA.wrapping_add_signed(distance.into())),
        _ => None,
    };
    assert_eq!(target, direct, "{code:02x?}");
    found.is_some()
}

/// All bytes ModRM and SIB, behind an opcode at each place.
#[test]
fn every_form() {
    let mut calls = 0;

    for at in 0..Call::LEN - 1 {
        for modrm in 0..=u8::MAX {
            for sib in 0..=u8::MAX {
                // Neither opcode is in the rest.
                let mut code = [0x01; Call::LEN];

                code[at] = 0xff;
                code[at + 1] = modrm;
                if let Some(byte) = code.get_mut(at + 2) {
                    *byte = sib;
                }
                calls += usize::from(check(code));
            }
        }
    }
    // Each place has some form; most forms are of one length.
    assert!(calls > 6 * 256, "{calls}");
}

proptest! {
    /// "BL" leads so many words beyond itself; no other instruction says where it leads.
    #[test]
    fn of_aarch64(words in -1_i32 << 25..1 << 25, top in 0..64_u32, register in 0..32_u32) {
        let find = |word: u32| {
            let [a, b, c, d] = word.to_le_bytes();
            AArch64::call(&[0x25, 0, 0x94, a, b, c, d])
        };
        let word = top << 26 | words as u32 & 0x3ff_ffff;

        prop_assert_eq!(find(0x9400_0000 | word & 0x3ff_ffff), Some(Call::Direct(4 * (words - 1))));
        prop_assert!(top == 0x25 || !matches!(find(word), Some(Call::Direct(_))));
        // "BLR", and "BR" and "RET", which call nothing.
        prop_assert_eq!(find(0xd63f_0000 | register << 5), Some(Call::Indirect));
        prop_assert_eq!(find(0xd61f_0000 | register << 5), None);
        prop_assert_eq!(find(0xd65f_0000 | register << 5), None);
    }

    #[test]
    fn any_bytes(code: [u8; Call::LEN]) {
        check(code);
    }

    #[test]
    fn bytes_of_calls(code in proptest::array::uniform7(prop_oneof![
        Just(0xe8), Just(0xff), Just(0x14), Just(0x15), Just(0x54), Just(0x94), Just(0xd0), any::<u8>()
    ])) {
        check(code);
    }
}
