// SPDX-License-Identifier: GPL-2.0

//! AArch64: return addresses in registers, and signed ones.

use super::*;

/// A table of seven functions at the end of the address space.
pub(super) const TABLE: Table = Table {
    name: "AArch64",
    arch: Arch::AArch64,
    format: Format::SFrame,
    base: 0xffff_ffff_ffff_0000,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 286] = [
    0xe2, 0xde, 0x03, 0x05, 0x02, 0x00, 0x00, 0x00, // 0x00: magic, version, flags, ABI, FP, RA, aux
    0x07, 0x00, 0x00, 0x00, 0x15, 0x00, 0x00, 0x00, // 0x08: functions, rows
    0x92, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x10: length of rows, offset of index
    0x70, 0x00, 0x00, 0x00,                         // 0x18: offset of rows
    0xe4, 0x7f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x1c: 0xffffffffffff8000
    0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //   size, rows
    0x14, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x2c: 0xffffffffffff8040
    0x20, 0x00, 0x00, 0x00, 0x2d, 0x00, 0x00, 0x00, //   size, rows
    0x24, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x3c: 0xffffffffffff8060
    0x20, 0x00, 0x00, 0x00, 0x3d, 0x00, 0x00, 0x00, //   size, rows
    0x34, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x4c: 0xffffffffffff8080
    0x40, 0x00, 0x00, 0x00, 0x67, 0x00, 0x00, 0x00, //   size, rows
    0x64, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x5c: 0xffffffffffff80c0
    0x08, 0x00, 0x00, 0x00, 0x74, 0x00, 0x00, 0x00, //   size, rows
    0x5c, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x6c: 0xffffffffffff80c8
    0x08, 0x00, 0x00, 0x00, 0x7c, 0x00, 0x00, 0x00, //   size, rows
    0x64, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x7c: 0xffffffffffffffe0
    0x1f, 0x00, 0x00, 0x00, 0x81, 0x00, 0x00, 0x00, //   size, rows
    0x07, 0x00, 0x00, 0x00, 0x00,                   // 0x8c: key A
    0x00, 0x03, 0x00,                               //   +0: SP
    0x04, 0x07, 0x20, 0xe8, 0xe0,                   //   +4: SP + 32, RA at CFA - 24, FP at CFA - 32
    0x08, 0x87, 0x20, 0xe8, 0xe0,                   //   +8: the same, signed
    0x0c, 0x82, 0x10,                               //   +0xc: FP + 16, signed
    0x10, 0x00,                                     //   +0x10: no RA
    0x14, 0x27, 0x00, 0x02, 0x08, 0xfe, 0x00, 0xfe, //   +0x14: SP+512, RA at CFA-504, FP at CFA-512
    0x18, 0xc6, 0x00, 0x00, 0x02, 0x00, 0x08, 0x00, //   +0x18: FP+131072, RA CFA-131064, FP CFA
    0xfe, 0xff, 0x00, 0x00, 0x00, 0x00,
    0x03, 0x00, 0x20, 0x00, 0x00,                   // 0xb9: key B
    0x00, 0x03, 0x00,                               //   +0: SP
    0x04, 0x83, 0x10,                               //   +4: SP + 16, signed
    0x08, 0x87, 0x10, 0xf8, 0xf0,                   //   +8: SP + 16, RA at -8, FP at -16, signed
    0x06, 0x00, 0x20, 0x01, 0x00,                   // 0xc9: a flexible function, key B
    0x00, 0x84, 0x49, 0x10,                         //   +0: x9 + 16, signed
    0x04, 0x8c, 0xeb, 0x00, 0x02, 0xf8, 0x02, 0xf0, //   +4: at FP, RA CFA-8, FP CFA-16, signed
    0x08, 0x0a, 0xfb, 0x10, 0x00, 0xeb, 0x08,       //   +8: at SP + 16, FP at FP + 8
    0x0c, 0x08, 0xf9, 0x20, 0xf1, 0x04,             //   +0xc: SP + 32, RA in x30 + 4
    0x10, 0x28, 0xf9, 0x00, 0x00, 0x01, 0x02, 0x00, //   +0x10: SP + 256, RA at CFA - 256
    0x00, 0xff,
    0x14, 0x00,                                     //   +0x14: no RA
    0x02, 0x00, 0x11, 0x00, 0x10,                   // 0xf3: repeated, two bytes of start
    0x00, 0x00, 0x03, 0x00,                         //   +0: SP
    0x08, 0x00, 0x03, 0x10,                         //   +8: SP + 16
    0x01, 0x00, 0xa0, 0x00, 0x00,                   // 0x100: a signal trampoline, key B
    0x00, 0x83, 0x40,                               //   +0: SP + 64, signed
    0x00, 0x00, 0xa0, 0x00, 0x00,                   // 0x108: a signal trampoline without rows
    0x02, 0x00, 0x02, 0x00, 0x00,                   // 0x10d: four bytes of start
    0x00, 0x00, 0x00, 0x00, 0x03, 0x00,             //   +0: SP
    0x1e, 0x00, 0x00, 0x00, 0x03, 0x10,             //   +0x1e: SP + 16
];

/// Where the first function starts.
const TEXT: u64 = 0xffff_ffff_ffff_8000;

const SP_0: Expected = frame(sp(0), SAME, SAME);
const SP_16: Expected = frame(sp(16), SAME, SAME);
const SAVED: Expected = frame(sp(16), at_cfa(-8), at_cfa(-16));

#[rustfmt::skip]
const LOOKUPS: &[(u64, Expected)] = &[
    (TEXT - 1, NOT_FOUND),
    (TEXT, SP_0),
    (TEXT + 0x04, frame(sp(32), at_cfa(-24), at_cfa(-32))),
    (TEXT + 0x08, frame(sp(32), at_cfa(-24), at_cfa(-32)).signed(Key::A)),
    (TEXT + 0x0c, frame(fp(16), SAME, SAME).signed(Key::A)),
    (TEXT + 0x10, OUTERMOST),
    (TEXT + 0x14, frame(sp(512), at_cfa(-504), at_cfa(-512))),
    (TEXT + 0x3f, frame(fp(0x2_0000), at_cfa(-0x1_fff8), at_cfa(0)).signed(Key::A)),
    (TEXT + 0x40, SP_0),
    (TEXT + 0x44, SP_16.signed(Key::B)),
    (TEXT + 0x48, SAVED.signed(Key::B)),
    (TEXT + 0x60, frame(reg(9, 16), SAME, SAME).signed(Key::B)),
    (TEXT + 0x64, frame(at_fp(0), at_cfa(-8), at_cfa(-16)).signed(Key::B)),
    (TEXT + 0x68, frame(at_sp(16), SAME, at_fp(8))),
    (TEXT + 0x6c, frame(sp(32), reg(30, 4), SAME)),
    (TEXT + 0x70, frame(sp(256), at_cfa(-256), SAME)),
    (TEXT + 0x74, OUTERMOST),
    (TEXT + 0x80, SP_0),
    (TEXT + 0x88, SP_16),
    (TEXT + 0x90, SP_0),
    (TEXT + 0xbf, SP_16),
    (TEXT + 0xc0, frame(sp(64), SAME, SAME).signed(Key::B).signal()),
    (TEXT + 0xc8, SIGNAL_FRAME),
    (TEXT + 0xd0, NOT_FOUND),
    (u64::MAX - 0x20, NOT_FOUND),
    (u64::MAX - 0x1f, SP_0),
    (u64::MAX - 0x01, SP_16),
    (u64::MAX, NOT_FOUND),
];

/// An address of the row at 0xc4, the last one of a default function.
const PC: u64 = TEXT + 0x48;
/// An address of the last row.
const LAST: u64 = u64::MAX - 1;

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    // The header.
    with("magic, swapped", &[(0x00, &[0xde, 0xe2])], PC, bad(Reason::ByteOrder, 0)),
    each("architecture", 0x04, &[(0, 1), (3, 0xff)], PC, bad(Reason::Abi, 4)),
    each("fixed FP", 0x05, &[(1, 0xff)], PC, bad(Reason::FixedOffset, 5)),
    each("fixed RA", 0x06, &[(1, 0xff)], PC, bad(Reason::FixedOffset, 6)),
    with_len("rows less a byte", 0x11d, &[], PC, bad(Reason::Layout, 0x18)),

    // The end of the address space.
    with("one byte beyond the end", &[(0x84, &[0x20])], LAST, bad(Reason::FunctionStart, 0x7c)),
    with("a start one byte later", &[(0x7c, &[0x65])], LAST, bad(Reason::FunctionStart, 0x7c)),
    with("largest size", &[(0x84, &[0xff; 4])], LAST, bad(Reason::FunctionStart, 0x7c)),
    with("a start of 2^63 - 1", &[(0x7c, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])],
        LAST, bad(Reason::Unsorted, 0x7c)),
    with("a start at the end", &[(0x7c, &[0x83]), (0x84, &[0]), (0x10d, &[1])], LAST,
        NOT_FOUND),

    // Keys.
    with("key B", &[(0x8e, &[0x20])], TEXT + 0x08,
        frame(sp(32), at_cfa(-24), at_cfa(-32)).signed(Key::B)),
    with("key A", &[(0xbb, &[0])], PC, SAVED.signed(Key::A)),
    with("key A, flexible", &[(0xcb, &[0])], TEXT + 0x60,
        frame(reg(9, 16), SAME, SAME).signed(Key::A)),
    with("key A, signal", &[(0x102, &[0x80])], TEXT + 0xc0,
        frame(sp(64), SAME, SAME).signed(Key::A).signal()),
    with("a key, but no signal", &[(0x102, &[0x20])], TEXT + 0xc0,
        frame(sp(64), SAME, SAME).signed(Key::B)),
    with("no rows, key A", &[(0x10a, &[0x80])], TEXT + 0xc8, SIGNAL_FRAME),
    each("unknown bit", 0xbb, &[(0x40, 0x42), (0x60, 0x62), (0xc0, 0xc2)], PC,
        bad(Reason::FunctionInfo, 0xbb)),
    with("not signed", &[(0xc5, &[0x07])], PC, SAVED),
    with("not signed, flexible", &[(0xcf, &[0x04])], TEXT + 0x60, frame(reg(9, 16), SAME, SAME)),

    // Words of a default row.
    with("no words", &[(0xc5, &[0])], PC, OUTERMOST),
    each("no words, but bits", 0xc5, &[(1, 1), (0x20, 0x21), (0x40, 0x41), (0x80, 0x81)], PC,
        bad(Reason::RowInfo, 0xc5)),
    with("one word", &[(0xc5, &[0x03])], PC, SP_16),
    with("one word, from FP, signed", &[(0xc5, &[0x82])], PC,
        frame(fp(16), SAME, SAME).signed(Key::B)),
    with("two words, from FP", &[(0xc5, &[0x04])], PC, frame(fp(16), at_cfa(-8), SAME)),
    with("two words, signed", &[(0xc5, &[0x85])], PC,
        frame(sp(16), at_cfa(-8), SAME).signed(Key::B)),
    with("three words, from FP", &[(0xc5, &[0x06])], PC, frame(fp(16), at_cfa(-8), at_cfa(-16))),
    each("four words and more", 0xc5, &[(0x08, 0x1f), (0x28, 0x3f), (0x48, 0x5f), (0x88, 0x9f)],
        PC, bad(Reason::WordCount, 0xc5)),
    each("width of words", 0xc5, &[(0x60, 0x7f), (0xe0, 0xff)], PC, bad(Reason::WordWidth, 0xc5)),
    with("RA at the CFA", &[(0xc7, &[0])], PC,
        frame(sp(16), at_cfa(0), at_cfa(-16)).signed(Key::B)),

    // Control words.
    with("register 0", &[(0xd0, &[0x01])], TEXT + 0x60,
        frame(reg(0, 16), SAME, SAME).signed(Key::B)),
    with("register 29", &[(0xd0, &[0xe9])], TEXT + 0x60, frame(fp(16), SAME, SAME).signed(Key::B)),
    with("register 31", &[(0xd0, &[0xf9])], TEXT + 0x60, frame(sp(16), SAME, SAME).signed(Key::B)),
    with("register 28", &[(0xe9, &[0xe1])], TEXT + 0x70, frame(reg(28, 256), at_cfa(-256), SAME)),
    with("register 32", &[(0xe9, &[1, 1])], TEXT + 0x70, unsupported(Unsupported::Register)),
    with("register 287", &[(0xe9, &[0xf9, 8])], TEXT + 0x70, unsupported(Unsupported::Register)),
    with("RA in register 32", &[(0xed, &[1, 1])], TEXT + 0x70, unsupported(Unsupported::Register)),
    with("RA at the CFA", &[(0xef, &[0, 0])], TEXT + 0x70, frame(sp(256), at_cfa(0), SAME)),
    with("RA at itself", &[(0xed, &[0, 0])], TEXT + 0x70, bad(Reason::WordCount, 0xe8)),
    with("CFA at itself", &[(0xd0, &[2])], TEXT + 0x60, bad(Reason::CfaBase, 0xd0)),
    with("reserved bit", &[(0xd6, &[6])], TEXT + 0x64, bad(Reason::Control, 0xd6)),
    with("FP in a register", &[(0xd8, &[0x99])], TEXT + 0x64,
        frame(at_fp(0), at_cfa(-8), reg(19, -16)).signed(Key::B)),

    // Repeated blocks.
    with("shortest block", &[(0xf7, &[9])], TEXT + 0x91, SP_16),
    with("shorter block", &[(0xf7, &[7])], TEXT + 0x91, bad(Reason::RowStart, 0xfc)),
];
