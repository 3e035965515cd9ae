// SPDX-License-Identifier: GPL-2.0

//! s390x: the other byte order, and offsets of the CFA that are stored in another form.

use super::*;

/// A table of six functions.
pub(super) const TABLE: Table = Table {
    name: "s390x",
    arch: Arch::S390x,
    format: Format::SFrame,
    base: 0x100_0000,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 286] = [
    0xde, 0xe2, 0x03, 0x05, 0x04, 0x00, 0x00, 0x00, // 0x00: magic, version, flags, ABI, FP, RA, aux
    0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x16, // 0x08: functions, rows
    0x00, 0x00, 0x00, 0xa2, 0x00, 0x00, 0x00, 0x00, // 0x10: length of rows, offset of index
    0x00, 0x00, 0x00, 0x60,                         // 0x18: offset of rows
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0f, 0xe4, // 0x1c: 0x1001000
    0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, //   size, rows
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0xd4, // 0x2c: 0x1001100
    0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x24, //   size, rows
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x12, 0xc4, // 0x3c: 0x1001300
    0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x45, //   size, rows
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x12, 0xd4, // 0x4c: 0x1001320
    0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x81, //   size, rows
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x12, 0xd4, // 0x5c: 0x1001330
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x8c, //   size, rows
    0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x0f, 0x94, // 0x6c: 0x1011000
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x91, //   size, rows
    0x00, 0x08, 0x00, 0x00, 0x00,                   // 0x7c: one byte of words
    0x00, 0x03, 0x00,                               //   +0: SP + 160
    0x04, 0x03, 0x0a,                               //   +4: SP + 240
    0x08, 0x05, 0x0a, 0xd0,                         //   +8: SP + 240, RA at CFA - 48
    0x0c, 0x05, 0x0a, 0x00,                         //   +0xc: SP + 240, RA in its register
    0x10, 0x07, 0x0a, 0xd0, 0xb8, //   +0x10: SP+240, RA at CFA-48, FP at CFA-72
    0x14, 0x07, 0x0a, 0x00, 0xb8,                   //   +0x14: SP + 240, FP at CFA - 72
    0x18, 0x06, 0xff, 0xd0, 0x00,                   //   +0x18: FP + 152, RA at CFA - 48, FP at CFA
    0x1c, 0x00,                                     //   +0x1c: no RA
    0x00, 0x04, 0x01, 0x00, 0x00,                   // 0xa0: two bytes of start
    0x00, 0x00, 0x23, 0x01, 0x02,                   //   +0: SP + 2224, in two bytes
    0x01, 0x02, 0x27, 0x01, 0x02, 0xfe, 0xd0, 0xfe, //   +0x102: SP+2224, RA at CFA-304, FP CFA-328
    0xb8,
    0x01, 0x10, 0x43, 0x0f, 0xff, 0xff, 0xeb,       //   +0x110: SP + 2147483640, in four bytes
    0x01, 0x20, 0x43, 0xf0, 0x00, 0x00, 0x00,       //   +0x120: SP - 2147483488
    0x00, 0x06, 0x00, 0x01, 0x00,                   // 0xc1: a flexible function
    0x00, 0x04, 0x79, 0x00,                         //   +0: SP + 160
    0x04, 0x0c, 0x59, 0x0a, 0x89, 0x00, 0x81, 0x08, //   +4: FP + 240, RA in 17, FP in 16 + 8
    0x08, 0x08, 0x7b, 0xec, 0x02, 0xd0,             //   +8: at SP, RA at CFA - 48
    0x0c, 0x0a, 0x61, 0x01, 0x00, 0x5b, 0xf8,       //   +0xc: r12 + 168, FP at FP - 8
    0x10, 0x2a, 0x00, 0xf9, 0x01, 0x02, 0x00, 0x00, //   +0x10: 31 + 2224, FP at FP - 258
    0x00, 0x5b, 0xfe, 0xfe,
    0x18, 0x48, 0x00, 0x00, 0x00, 0x79, 0xf0, 0x00, //   +0x18: SP - 2147483488, RA at r14 - 2^31
    0x00, 0x00, 0x00, 0x00, 0x00, 0x73, 0x80, 0x00,
    0x00, 0x00,
    0x00, 0x02, 0x90, 0x00, 0x04,                   // 0xfd: a signal trampoline, repeated
    0x00, 0x03, 0x00,                               //   +0: SP + 160
    0x02, 0x03, 0x01,                               //   +2: SP + 168
    0x00, 0x00, 0x80, 0x00, 0x00,                   // 0x108: a signal trampoline without rows
    0x00, 0x02, 0x02, 0x00, 0x00,                   // 0x10d: four bytes of start
    0x00, 0x00, 0x00, 0x00, 0x03, 0x00,             //   +0: SP + 160
    0x00, 0x01, 0x02, 0x03, 0x03, 0x01,             //   +0x10203: SP + 168
];

/// Where the first function starts.
const TEXT: u64 = 0x100_1000;

const SP_160: Expected = frame(sp(160), SAME, SAME);
const SP_168: Expected = frame(sp(168), SAME, SAME);
const SP_240: Expected = frame(sp(240), SAME, SAME);

/// The highest and lowest offsets that are stored in four bytes.
const HIGHEST: i32 = 0x0fff_ffeb * 8 + 160;
const LOWEST: i32 = i32::MIN;

#[rustfmt::skip]
const LOOKUPS: &[(u64, Expected)] = &[
    (TEXT - 1, NOT_FOUND),
    (TEXT, SP_160),
    (TEXT + 0x04, SP_240),
    (TEXT + 0x08, frame(sp(240), at_cfa(-48), SAME)),
    (TEXT + 0x0c, SP_240),
    (TEXT + 0x10, frame(sp(240), at_cfa(-48), at_cfa(-72))),
    (TEXT + 0x14, frame(sp(240), SAME, at_cfa(-72))),
    (TEXT + 0x18, frame(fp(152), at_cfa(-48), at_cfa(0))),
    (TEXT + 0x3f, OUTERMOST),
    (TEXT + 0x40, NOT_FOUND),
    (TEXT + 0x100, frame(sp(2224), SAME, SAME)),
    (TEXT + 0x201, frame(sp(2224), SAME, SAME)),
    (TEXT + 0x202, frame(sp(2224), at_cfa(-304), at_cfa(-328))),
    (TEXT + 0x210, frame(sp(HIGHEST), SAME, SAME)),
    (TEXT + 0x220, frame(sp(LOWEST + 160), SAME, SAME)),
    (TEXT + 0x300, SP_160),
    (TEXT + 0x304, frame(fp(240), reg(17, 0), reg(16, 8))),
    (TEXT + 0x308, frame(at_sp(0), at_cfa(-48), SAME)),
    (TEXT + 0x30c, frame(reg(12, 168), SAME, at_fp(-8))),
    (TEXT + 0x310, frame(reg(31, 2224), SAME, at_fp(-258))),
    (TEXT + 0x31f, frame(sp(LOWEST + 160), at_reg(14, i32::MIN), SAME)),
    (TEXT + 0x320, SP_160.signal()),
    (TEXT + 0x322, SP_168.signal()),
    (TEXT + 0x325, SP_160.signal()),
    (TEXT + 0x32f, SP_168.signal()),
    (TEXT + 0x331, SIGNAL_FRAME),
    (TEXT + 0x332, NOT_FOUND),
    (TEXT + 0x1_0000, SP_160),
    (TEXT + 0x2_0202, SP_160),
    (TEXT + 0x2_0203, SP_168),
    (TEXT + 0x100_ffff, SP_168),
    (TEXT + 0x101_0000, NOT_FOUND),
];

/// An address of the row at 0x105, the last one of its function.
const PC: u64 = TEXT + 0x322;
/// An address of the row at 0xb3, and that of the next one.
const HIGH: u64 = TEXT + 0x210;
const LOW: u64 = TEXT + 0x220;
/// An address of the row at 0xdf, in words of two bytes, and of the next one, of four.
const TWO: u64 = TEXT + 0x310;
const FOUR: u64 = TEXT + 0x318;

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    // The header.
    with("magic, swapped", &[(0x00, &[0xe2, 0xde])], PC, bad(Reason::ByteOrder, 0)),
    with("magic", &[(0x00, &[0xdf])], PC, bad(Reason::Magic, 0)),
    with("version 2", &[(0x02, &[2])], PC, bad(Reason::Version, 2)),
    each("architecture", 0x04, &[(0, 3), (5, 0xff)], PC, bad(Reason::Abi, 4)),
    each("fixed FP", 0x05, &[(1, 0xff)], PC, bad(Reason::FixedOffset, 5)),
    each("fixed RA", 0x06, &[(1, 0xff)], PC, bad(Reason::FixedOffset, 6)),
    with("functions in the other order", &[(0x08, &[6, 0, 0, 0])], PC, bad(Reason::Layout, 0x14)),
    with("rows in the other order", &[(0x10, &[0xa2, 0, 0, 0])], PC, bad(Reason::Layout, 0x18)),
    with_len("rows less a byte", 0x11d, &[], PC, bad(Reason::Layout, 0x18)),

    // The index and attributes.
    with("a size in the other order", &[(0x24, &[0x40, 0, 0, 0])], TEXT + 0x40, OUTERMOST),
    with("rows in the other order", &[(0x38, &[0x24, 0, 0, 0])], HIGH,
        bad(Reason::RowsOffset, 0x38)),
    with("256 more rows", &[(0xfd, &[1])], PC, bad(Reason::RowOrder, 0x108)),
    with("one row more", &[(0x7d, &[9])], TEXT + 0x3f, bad(Reason::RowOrder, 0xa0)),
    each("a key", 0x7e, &[(0x20, 0x22), (0xa0, 0xa2)], TEXT, bad(Reason::FunctionInfo, 0x7e)),

    // Starts of rows.
    with("two bytes, first start", &[(0xaa, &[0, 1])], TEXT + 0x101,
        frame(sp(2224), at_cfa(-304), at_cfa(-328))),
    with("two bytes, lower start", &[(0xaa, &[1, 0x11])], LOW, bad(Reason::RowOrder, 0xb3)),
    with("two bytes, last start", &[(0x34, &[0, 0, 1, 0x21])], LOW,
        frame(sp(LOWEST + 160), SAME, SAME)),
    with("two bytes, beyond the end", &[(0x34, &[0, 0, 1, 0x1f])], HIGH,
        bad(Reason::RowStart, 0xba)),
    with("four bytes, last start", &[(0x118, &[0, 0xff, 0xff, 0xff])], TEXT + 0x100_ffff, SP_168),
    with("four bytes, beyond the end", &[(0x118, &[1, 0, 0, 1])], TEXT + 0x100_ffff,
        bad(Reason::RowStart, 0x118)),

    // Words of a default row.
    with("no words", &[(0x106, &[0])], PC, OUTERMOST.signal()),
    with("one word, from FP", &[(0x106, &[0x02])], PC, frame(fp(168), SAME, SAME).signal()),
    with("two words, RA in its register", &[(0x106, &[0x05])], PC, SP_168.signal()),
    with("three words, RA in its register", &[(0x106, &[0x07])], PC,
        frame(sp(168), SAME, at_cfa(0)).signal()),
    each("four words and more", 0x106, &[(0x08, 0x1f), (0x28, 0x3f), (0x48, 0x5f)], PC,
        bad(Reason::WordCount, 0x106)),
    each("unknown bit", 0x106, &[(0x80, 0xdf)], PC, bad(Reason::RowInfo, 0x106)),
    each("width of words", 0x106, &[(0x60, 0x7f), (0xe0, 0xff)], PC,
        bad(Reason::WordWidth, 0x106)),
    with("RA almost in its register", &[(0x8e, &[1])], TEXT + 0x0c,
        frame(sp(240), at_cfa(1), SAME)),
    with("RA in its register, wide", &[(0xaf, &[0, 0])], TEXT + 0x202,
        frame(sp(2224), SAME, at_cfa(-328))),
    with("lowest byte", &[(0x107, &[0x80])], PC, frame(sp(-864), SAME, SAME).signal()),
    with("highest byte", &[(0x107, &[0x7f])], PC, frame(sp(1176), SAME, SAME).signal()),
    with("highest offset and 8", &[(0xb6, &[0x0f, 0xff, 0xff, 0xec])], HIGH,
        bad(Reason::OffsetRange, 0xb6)),
    with("highest word", &[(0xb6, &[0x7f, 0xff, 0xff, 0xff])], HIGH,
        bad(Reason::OffsetRange, 0xb6)),
    with("lowest offset", &[(0xbd, &[0xef, 0xff, 0xff, 0xec])], LOW, frame(sp(LOWEST), SAME, SAME)),
    with("lowest offset less 8", &[(0xbd, &[0xef, 0xff, 0xff, 0xeb])], LOW,
        bad(Reason::OffsetRange, 0xbd)),
    with("lowest word", &[(0xbd, &[0x80, 0, 0, 0])], LOW, bad(Reason::OffsetRange, 0xbd)),

    // Words of a flexible row.
    with("highest offset", &[(0xf1, &[0x0f, 0xff, 0xff, 0xeb])], FOUR,
        frame(sp(HIGHEST), at_reg(14, i32::MIN), SAME)),
    with("highest offset and 8", &[(0xf1, &[0x0f, 0xff, 0xff, 0xec])], FOUR,
        bad(Reason::OffsetRange, 0xf1)),
    with("lowest offset", &[(0xf1, &[0xef, 0xff, 0xff, 0xec])], FOUR,
        frame(sp(LOWEST), at_reg(14, i32::MIN), SAME)),
    with("lowest offset less 8", &[(0xf1, &[0xef, 0xff, 0xff, 0xeb])], FOUR,
        bad(Reason::OffsetRange, 0xf1)),
    with("RA at the CFA", &[(0xd7, &[0])], TEXT + 0x308, frame(at_sp(0), at_cfa(0), SAME)),
    with("RA at itself", &[(0xd6, &[0, 0])], TEXT + 0x308, bad(Reason::WordCount, 0xd3)),
    with("CFA at itself", &[(0xd4, &[2])], TEXT + 0x308, bad(Reason::CfaBase, 0xd4)),
    with("register 0", &[(0xe1, &[0, 1])], TWO, frame(reg(0, 2224), SAME, at_fp(-258))),
    with("register 11", &[(0xe1, &[0, 0x59])], TWO, frame(fp(2224), SAME, at_fp(-258))),
    with("register 15", &[(0xe1, &[0, 0x79])], TWO, frame(sp(2224), SAME, at_fp(-258))),
    with("register 32", &[(0xe1, &[1, 1])], TWO, unsupported(Unsupported::Register)),
    with("register 7 in the other order", &[(0xe1, &[0x39, 0])], TWO, bad(Reason::Control, 0xe1)),
    with("reserved bit", &[(0xe1, &[0, 0xfd])], TWO, bad(Reason::Control, 0xe1)),
    with("RA in register 32", &[(0xf5, &[0, 0, 1, 1])], FOUR, unsupported(Unsupported::Register)),
    with("RA in the last register", &[(0xf5, &[0xff, 0xff, 0xff, 0xfb])], FOUR,
        unsupported(Unsupported::Register)),
    with("FP in register 31", &[(0xe7, &[0, 0xf9])], TWO,
        frame(reg(31, 2224), SAME, reg(31, -258))),
];
