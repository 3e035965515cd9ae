// SPDX-License-Identifier: GPL-2.0

//! AMD64: flexible functions and signal trampolines, starts that count from the table's.

use super::*;

/// A table of seven functions, of whose parts the index is the last one.
///
/// The first one is a compiler's, that aligns its stack.
pub(super) const TABLE: Table = Table {
    name: "AMD64, flexible",
    arch: Arch::Amd64,
    format: Format::SFrame,
    base: 0x1_0000,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 363] = [
    0xe2, 0xde, 0x03, 0x01, 0x03, 0x00, 0xf8, 0x04, // 0x00: magic, version, flags, ABI, FP, RA, aux
    0x07, 0x00, 0x00, 0x00, 0x19, 0x00, 0x00, 0x00, // 0x08: functions, rows
    0xd8, 0x00, 0x00, 0x00, 0xdb, 0x00, 0x00, 0x00, // 0x10: length of rows, offset of index
    0x00, 0x00, 0x00, 0x00,                         // 0x18: offset of rows
    0xa5, 0xa5, 0xa5, 0xa5,                         // 0x1c: auxiliary header
    0x06, 0x00, 0x00, 0x01, 0x00,                   // 0x20: a function that aligns its stack
    0x00, 0x04, 0x39, 0x08,                         //   +0: SP + 8
    0x05, 0x04, 0x51, 0x00,                         //   +5: r10
    0x21, 0x0a, 0x51, 0x00, 0x00, 0x33, 0x00,       //   +0x21: r10, FP at FP
    0x25, 0x0a, 0x33, 0xf0, 0x00, 0x33, 0x00,       //   +0x25: at FP - 16, FP at FP
    0x6b, 0x0a, 0x51, 0x00, 0x00, 0x33, 0x00,       //   +0x6b: r10, FP at FP
    0x74, 0x0a, 0x39, 0x08, 0x00, 0x33, 0x00,       //   +0x74: SP + 8, FP at FP
    0x06, 0x00, 0x00, 0x01, 0x00,                   // 0x49: one that keeps RA elsewhere
    0x00, 0x04, 0x39, 0x08,                         //   +0: SP + 8
    0x04, 0x08, 0x39, 0x08, 0x59, 0x00,             //   +4: SP + 8, RA in r11
    0x08, 0x08, 0x39, 0x08, 0x02, 0xd0,             //   +8: SP + 8, RA at CFA - 48
    0x0c, 0x04, 0x39, 0x08,                         //   +0xc: SP + 8
    0x10, 0x0c, 0x39, 0x08, 0x02, 0xf0, 0x02, 0xe8, //   +0x10: SP+8, RA at CFA-16, FP at CFA-24
    0x14, 0x00,                                     //   +0x14: no RA
    0x04, 0x00, 0x00, 0x01, 0x00,                   // 0x6c: wide words
    0x00, 0x24, 0x39, 0x00, 0x00, 0x01,             //   +0: SP + 256, in two bytes
    0x08, 0x2c, 0x79, 0x00, 0x00, 0xff, 0x03, 0x00, //   +8: r15-256, RA at rax+291, FP in r14+1110
    0x23, 0x01, 0x71, 0x00, 0x56, 0x04,
    0x10, 0x4c, 0x3b, 0x00, 0x00, 0x00, 0xbb, 0xdc, //   +0x10: at SP-74565, RA r14+74565, FP+2^30
    0xfe, 0xff, 0x71, 0x00, 0x00, 0x00, 0x45, 0x23,
    0x01, 0x00, 0x31, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x40,
    0x18, 0x4a, 0x31, 0x00, 0x00, 0x00, 0x78, 0x56, //   +0x18: FP + 305419896, FP in r15 - 2^31
    0x34, 0x12, 0x00, 0x00, 0x00, 0x00, 0x79, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x80,
    0x03, 0x00, 0x80, 0x00, 0x00,                   // 0xb5: a signal trampoline
    0x00, 0x03, 0x08,                               //   +0: SP + 8
    0x04, 0x04, 0x10, 0xf0,                         //   +4: FP + 16, FP at CFA - 16
    0x08, 0x00,                                     //   +8: no RA
    0x03, 0x00, 0x01, 0x00, 0x00,                   // 0xc3: two bytes of start
    0x00, 0x00, 0x03, 0x08,                         //   +0: SP + 8
    0x23, 0x01, 0x23, 0x00, 0x10,                   //   +0x123: SP + 4096
    0xff, 0x01, 0x45, 0x78, 0x56, 0x34, 0x12, 0x88, //   +0x1ff: SP + 305419896, FP at CFA - that
    0xa9, 0xcb, 0xed,
    0x03, 0x00, 0x02, 0x00, 0x00,                   // 0xdc: four bytes of start
    0x00, 0x00, 0x00, 0x00, 0x03, 0x08,             //   +0: SP + 8
    0xfe, 0xff, 0x01, 0x00, 0x02, 0x10,             //   +0x1fffe: FP + 16
    0xff, 0xff, 0x01, 0x00, 0x03, 0x08,             //   +0x1ffff: SP + 8
    0x00, 0x00, 0x80, 0x00, 0x00,                   // 0xf3: a signal trampoline without rows
    0xa5, 0xa5, 0xa5,                               // 0xf8: nothing
    0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0xfb: 0x11000
    0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //   size, rows
    0x80, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x10b: 0x11080
    0x20, 0x00, 0x00, 0x00, 0x29, 0x00, 0x00, 0x00, //   size, rows
    0xa0, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x11b: 0x110a0
    0x20, 0x00, 0x00, 0x00, 0x4c, 0x00, 0x00, 0x00, //   size, rows
    0xc0, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x12b: 0x110c0
    0x10, 0x00, 0x00, 0x00, 0x95, 0x00, 0x00, 0x00, //   size, rows
    0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x13b: 0x11100
    0x00, 0x02, 0x00, 0x00, 0xa3, 0x00, 0x00, 0x00, //   size, rows
    0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x14b: 0x12000
    0x00, 0x00, 0x02, 0x00, 0xbc, 0x00, 0x00, 0x00, //   size, rows
    0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x15b: 0x40000
    0x09, 0x00, 0x00, 0x00, 0xd3, 0x00, 0x00, 0x00, //   size, rows
];

/// The return address, unless a row says something else.
const RA: Value = at_cfa(-8);

const SP_8: Expected = frame(sp(8), RA, SAME);

#[rustfmt::skip]
const LOOKUPS: &[(u64, Expected)] = &[
    (0x1_0fff, NOT_FOUND),
    (0x1_1000, SP_8),
    (0x1_1005, frame(reg(10, 0), RA, SAME)),
    (0x1_1021, frame(reg(10, 0), RA, at_fp(0))),
    (0x1_1025, frame(at_fp(-16), RA, at_fp(0))),
    (0x1_106a, frame(at_fp(-16), RA, at_fp(0))),
    (0x1_106b, frame(reg(10, 0), RA, at_fp(0))),
    (0x1_1074, frame(sp(8), RA, at_fp(0))),
    (0x1_107f, frame(sp(8), RA, at_fp(0))),
    (0x1_1080, SP_8),
    (0x1_1084, frame(sp(8), reg(11, 0), SAME)),
    (0x1_1088, frame(sp(8), at_cfa(-48), SAME)),
    (0x1_108c, SP_8),
    (0x1_1090, frame(sp(8), at_cfa(-16), at_cfa(-24))),
    (0x1_1094, OUTERMOST),
    (0x1_109f, OUTERMOST),
    (0x1_10a0, frame(sp(0x100), RA, SAME)),
    (0x1_10a8, frame(reg(15, -0x100), at_reg(0, 0x123), reg(14, 0x456))),
    (0x1_10b0, frame(at_sp(-0x1_2345), reg(14, 0x1_2345), fp(1 << 30))),
    (0x1_10b8, frame(fp(0x1234_5678), RA, reg(15, i32::MIN))),
    (0x1_10c0, SP_8.signal()),
    (0x1_10c4, frame(fp(16), RA, at_cfa(-16)).signal()),
    (0x1_10cf, OUTERMOST.signal()),
    (0x1_10d0, NOT_FOUND),
    (0x1_1100, SP_8),
    (0x1_1222, SP_8),
    (0x1_1223, frame(sp(0x1000), RA, SAME)),
    (0x1_12fe, frame(sp(0x1000), RA, SAME)),
    (0x1_12ff, frame(sp(0x1234_5678), RA, at_cfa(-0x1234_5678))),
    (0x1_1300, NOT_FOUND),
    (0x1_2000, SP_8),
    (0x3_1ffd, SP_8),
    (0x3_1ffe, frame(fp(16), RA, SAME)),
    (0x3_1fff, SP_8),
    (0x3_2000, NOT_FOUND),
    (0x4_0000, SIGNAL_FRAME),
    (0x4_0008, SIGNAL_FRAME),
    (0x4_0009, NOT_FOUND),
];

/// An address of the row at 0x42, the last one of its function: SP + 8, FP at FP.
const ALIGNS: u64 = 0x1_1074;
/// An address of the row at 0x58: SP + 8, RA at CFA - 48.
const RA_SAVED: u64 = 0x1_1088;
/// An address of the row at 0x62: SP + 8, RA at CFA - 16, FP at CFA - 24.
const BOTH_SAVED: u64 = 0x1_1090;
/// An address of the row at 0x71, in words of two bytes.
const TWO: u64 = 0x1_10a0;
/// An address of the row at 0x85, in words of four bytes.
const FOUR: u64 = 0x1_10b0;
/// The last address of the function with two bytes of start, and that of the one with four.
const START_2: u64 = 0x1_12ff;
const START_4: u64 = 0x3_1fff;
/// The signal trampoline whose attribute is the last of the rows.
const SIGNAL: u64 = 0x4_0000;

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    // The header.
    with_len("an index less a byte", 0x16a, &[], ALIGNS, bad(Reason::Layout, 0x14)),
    with_len("something behind the index", 0x16c, &[], ALIGNS, frame(sp(8), RA, at_fp(0))),
    each("auxiliary header", 0x07, &[(5, 0xff)], ALIGNS, bad(Reason::Layout, 0x14)),
    with("auxiliary bytes", &[(0x1c, &[0; 4])], SIGNAL, SIGNAL_FRAME),
    with("rows to the index", &[(0x10, &[0xdb])], SIGNAL, SIGNAL_FRAME),
    with("rows in the index", &[(0x10, &[0xdc])], SIGNAL, bad(Reason::Layout, 0x14)),

    // The index.
    with("a start at 0", &[(0xfb, &[0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])], 0, SP_8),
    with("a start below 0", &[(0xfb, &[0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff])], 0,
        bad(Reason::Unsorted, 0xfb)),
    with("an attribute less a byte", &[(0x10, &[0xd7])], SIGNAL, bad(Reason::RowsOffset, 0x167)),
    with("an attribute beyond the rows", &[(0x167, &[0xd4])], SIGNAL,
        bad(Reason::RowsOffset, 0x167)),

    // Signal trampolines.
    with("no signal", &[(0xb7, &[0])], 0x1_10c0, SP_8),
    with("no signal, no rows", &[(0xf5, &[0])], SIGNAL, NOT_FOUND),
    with("a row without bytes", &[(0xf3, &[1])], SIGNAL, bad(Reason::RowEnd, 0xf8)),
    with("flexible, no rows", &[(0xf6, &[1])], SIGNAL, SIGNAL_FRAME),
    with("repeated, no rows", &[(0xf5, &[0x90, 0, 1])], SIGNAL, SIGNAL_FRAME),
    with("rows, but none here", &[(0xba, &[1])], 0x1_10c0, NOT_FOUND),
    with("flexible, with rows", &[(0x22, &[0x80])], 0x1_1000, SP_8.signal()),

    // Starts of rows.
    with("repeated", &[(0x22, &[0x10, 1, 0x75])], 0x1_1075, SP_8),
    with("repeated, the end", &[(0x22, &[0x10, 1, 0x75])], ALIGNS, frame(sp(8), RA, at_fp(0))),
    with("repeated, beyond it", &[(0x22, &[0x10, 1, 0x73])], 0x1_1072, bad(Reason::RowStart, 0x42)),
    with("the end", &[(0x103, &[0x75])], ALIGNS, frame(sp(8), RA, at_fp(0))),
    with("at the end", &[(0x103, &[0x74])], 0x1_1073, frame(reg(10, 0), RA, at_fp(0))),
    with("beyond the end", &[(0x103, &[0x73])], 0x1_1072, bad(Reason::RowStart, 0x42)),
    with("two bytes, at the end", &[(0x143, &[0xff, 1])], START_2 - 1,
        frame(sp(0x1000), RA, SAME)),
    with("two bytes, beyond the end", &[(0x143, &[0xfe, 1])], START_2 - 2,
        bad(Reason::RowStart, 0xd1)),
    with("two bytes, the next row's width of words", &[(0xce, &[0x63])], 0x1_1100,
        bad(Reason::WordWidth, 0xce)),
    with("four bytes, the next row's width of words", &[(0xeb, &[0x63])], 0x1_2000,
        bad(Reason::WordWidth, 0xeb)),
    with("two bytes, same start", &[(0xd1, &[0x23])], 0x1_1223,
        frame(sp(0x1234_5678), RA, at_cfa(-0x1234_5678))),
    with("two bytes, lower start", &[(0xd1, &[0xff, 0])], START_2, bad(Reason::RowOrder, 0xd1)),
    with("two bytes, next start", &[(0xd1, &[0x24])], 0x1_1223, frame(sp(0x1000), RA, SAME)),
    with("four bytes, at the end", &[(0x153, &[0xff, 0xff, 1])], START_4 - 1,
        frame(fp(16), RA, SAME)),
    with("four bytes, beyond the end", &[(0xed, &[1, 0, 2])], START_4 - 1,
        bad(Reason::RowStart, 0xed)),
    with("four bytes, lower start", &[(0xed, &[0xfd])], START_4, bad(Reason::RowOrder, 0xed)),
    with("four bytes, highest start", &[(0x153, &[0xff; 4]), (0xed, &[0xfe, 0xff, 0xff, 0xff])],
        0x1_ffff, SP_8),
    with("four bytes, too high", &[(0xed, &[0xff; 4])], START_4, bad(Reason::RowStart, 0xed)),
    with("two bytes of start, one there", &[(0x147, &[0xd3]), (0xf3, &[1, 0, 1]), (0x10, &[0xda])],
        0x1_1100, bad(Reason::RowEnd, 0xf8)),
    with("four bytes of start, three there",
        &[(0x157, &[0xd3]), (0xf3, &[1, 0, 2]), (0x10, &[0xdb])], 0x1_2000,
        bad(Reason::RowEnd, 0xf8)),

    // Words of a flexible row.
    each("unknown bit", 0x43, &[(0x05, 0x05), (0x0b, 0x0b), (0x8a, 0x8b)], ALIGNS,
        bad(Reason::RowInfo, 0x43)),
    each("no words, but bits", 0x43, &[(1, 1), (0x20, 0x20), (0x40, 0x40)], ALIGNS,
        bad(Reason::RowInfo, 0x43)),
    each("width of words", 0x43, &[(0x60, 0x7f), (0xe0, 0xff)], ALIGNS,
        bad(Reason::WordWidth, 0x43)),
    with("no words", &[(0x43, &[0])], ALIGNS, OUTERMOST),
    with("two words", &[(0x43, &[0x04])], ALIGNS, SP_8),
    each("other numbers of words", 0x43, &[
        (0x02, 0x02), (0x06, 0x06), (0x0e, 0x0e), (0x10, 0x10), (0x12, 0x12), (0x14, 0x14),
        (0x16, 0x16), (0x18, 0x18), (0x1a, 0x1a), (0x1c, 0x1c), (0x1e, 0x1e),
    ], ALIGNS, bad(Reason::WordCount, 0x43)),
    with("four words, FP left over", &[(0x43, &[0x08])], ALIGNS, bad(Reason::WordCount, 0x43)),
    with("six words, one left over", &[(0x43, &[0x0c])], ALIGNS, bad(Reason::WordCount, 0x43)),
    with("five words, nothing about FP", &[(0x46, &[2])], ALIGNS, bad(Reason::WordCount, 0x43)),
    with("five words, half of FP", &[(0x46, &[2, 8, 2])], ALIGNS, bad(Reason::WordCount, 0x43)),
    with("four words, nothing about RA", &[(0x5c, &[0, 0])], RA_SAVED,
        bad(Reason::WordCount, 0x59)),
    with("four words, half of FP", &[(0x5c, &[0, 2])], RA_SAVED, bad(Reason::WordCount, 0x59)),
    with("six words, nothing about RA", &[(0x66, &[0, 2])], BOTH_SAVED,
        bad(Reason::WordCount, 0x63)),
    with("six words, nothing about FP", &[(0x68, &[0])], BOTH_SAVED, bad(Reason::WordCount, 0x63)),

    // Control words.
    each("CFA, reserved bit", 0x44, RESERVED, ALIGNS, bad(Reason::Control, 0x44)),
    each("CFA, register not meant", 0x44, NOT_MEANT, ALIGNS, bad(Reason::Control, 0x44)),
    each("CFA, at itself", 0x44, &[(0, 0), (2, 2)], ALIGNS, bad(Reason::CfaBase, 0x44)),
    each("CFA, register", 0x44, NO_REGISTER, ALIGNS, unsupported(Unsupported::Register)),
    with("CFA, last register", &[(0x44, &[0x79])], ALIGNS, frame(reg(15, 8), RA, at_fp(0))),
    with("CFA, first register", &[(0x44, &[0x01])], ALIGNS, frame(reg(0, 8), RA, at_fp(0))),
    with("CFA, at a register", &[(0x44, &[0x7b])], ALIGNS, frame(at_reg(15, 8), RA, at_fp(0))),
    with("CFA, from FP", &[(0x44, &[0x31])], ALIGNS, frame(fp(8), RA, at_fp(0))),
    with("CFA, at SP", &[(0x44, &[0x3b])], ALIGNS, frame(at_sp(8), RA, at_fp(0))),
    each("RA, reserved bit", 0x5c, RESERVED, RA_SAVED, bad(Reason::Control, 0x5c)),
    each("RA, register not meant", 0x5c, NOT_MEANT, RA_SAVED, bad(Reason::Control, 0x5c)),
    each("RA, register", 0x5c, NO_REGISTER, RA_SAVED, unsupported(Unsupported::Register)),
    with("RA, in a register", &[(0x5c, &[0x79])], RA_SAVED, frame(sp(8), reg(15, -48), SAME)),
    with("RA, at a register", &[(0x5c, &[0x03])], RA_SAVED, frame(sp(8), at_reg(0, -48), SAME)),
    with("RA, at SP", &[(0x5c, &[0x3b])], RA_SAVED, frame(sp(8), at_sp(-48), SAME)),
    with("RA, at the CFA", &[(0x5d, &[0])], RA_SAVED, frame(sp(8), at_cfa(0), SAME)),
    each("FP, reserved bit", 0x68, RESERVED, BOTH_SAVED, bad(Reason::Control, 0x68)),
    each("FP, register not meant", 0x68, NOT_MEANT, BOTH_SAVED, bad(Reason::Control, 0x68)),
    each("FP, register", 0x68, NO_REGISTER, BOTH_SAVED, unsupported(Unsupported::Register)),
    with("FP, in a register", &[(0x68, &[0x79])], BOTH_SAVED,
        frame(sp(8), at_cfa(-16), reg(15, -24))),
    with("FP, from FP", &[(0x68, &[0x31])], BOTH_SAVED, frame(sp(8), at_cfa(-16), fp(-24))),
    with("FP, at FP", &[(0x68, &[0x33])], BOTH_SAVED, frame(sp(8), at_cfa(-16), at_fp(-24))),

    // Control words of more than a byte.
    with("two bytes, register 15", &[(0x73, &[0x79, 0])], TWO, frame(reg(15, 256), RA, SAME)),
    with("two bytes, register 16", &[(0x73, &[0x81, 0])], TWO, unsupported(Unsupported::Register)),
    with("two bytes, register 32", &[(0x73, &[1, 1])], TWO, unsupported(Unsupported::Register)),
    with("two bytes, register 263", &[(0x73, &[0x39, 8])], TWO, unsupported(Unsupported::Register)),
    with("two bytes, last register", &[(0x73, &[0xfb, 0xff])], TWO,
        unsupported(Unsupported::Register)),
    with("two bytes, reserved bit", &[(0x73, &[0x3d])], TWO, bad(Reason::Control, 0x73)),
    with("two bytes, at itself", &[(0x73, &[0])], TWO, bad(Reason::CfaBase, 0x73)),
    with("two bytes, lowest", &[(0x75, &[0, 0x80])], TWO, frame(sp(-0x8000), RA, SAME)),
    with("two bytes, highest", &[(0x75, &[0xff, 0x7f])], TWO, frame(sp(0x7fff), RA, SAME)),
    with("four bytes, register 16", &[(0x87, &[0x81])], FOUR, unsupported(Unsupported::Register)),
    with("four bytes, last register", &[(0x87, &[0xfb, 0xff, 0xff, 0xff])], FOUR,
        unsupported(Unsupported::Register)),
    with("four bytes, FP's register", &[(0x97, &[0xfb, 0xff, 0xff, 0xff])], FOUR,
        unsupported(Unsupported::Register)),
    with("four bytes, RA's register", &[(0x8f, &[0x39, 0, 0, 8])], FOUR,
        unsupported(Unsupported::Register)),
    with("four bytes, lowest", &[(0x8b, &[0, 0, 0, 0x80])], FOUR,
        frame(at_sp(i32::MIN), reg(14, 0x1_2345), fp(1 << 30))),
    with("four bytes, highest", &[(0x8b, &[0xff, 0xff, 0xff, 0x7f])], FOUR,
        frame(at_sp(i32::MAX), reg(14, 0x1_2345), fp(1 << 30))),
];

/// Control words with a bit that has no meaning.
const RESERVED: &[(u8, u8)] = &[(4, 7), (0x3c, 0x3f), (0x7c, 0x7f), (0xfc, 0xff)];

/// Control words with a register but without the bit that says so.
#[rustfmt::skip]
const NOT_MEANT: &[(u8, u8)] = &[
    (0x08, 0x08), (0x0a, 0x0a), (0x38, 0x38), (0x3a, 0x3a), (0xf8, 0xf8), (0xfa, 0xfa),
];

/// Control words with registers that there are not.
#[rustfmt::skip]
const NO_REGISTER: &[(u8, u8)] = &[
    (0x81, 0x81), (0x83, 0x83), (0x89, 0x89), (0xc1, 0xc1), (0xf9, 0xf9), (0xfb, 0xfb),
];
