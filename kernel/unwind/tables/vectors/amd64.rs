// SPDX-License-Identifier: GPL-2.0

//! AMD64: default functions, starts that count from their own place.

use super::*;

/// A table of six functions.
///
/// The first three are a static program's, as GNU as and ld wrote them. Then come a procedure
/// linkage table, one with a frame pointer, and one of size 0 that starts where that does.
pub(super) const TABLE: Table = Table {
    name: "AMD64, default",
    arch: Arch::Amd64,
    format: Format::SFrame,
    base: 0x40_2078,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 184] = [
    0xe2, 0xde, 0x03, 0x05, 0x03, 0x00, 0xf8, 0x00, // 0x00: magic, version, flags, ABI, FP, RA
    0x06, 0x00, 0x00, 0x00, 0x0d, 0x00, 0x00, 0x00, // 0x08: functions, rows
    0x3b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x10: length of rows, index
    0x60, 0x00, 0x00, 0x00,                         // 0x18: offset of rows
    0x6c, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 0x1c: 0x401000
    0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x7c, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 0x2c: 0x401020
    0x1c, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
    0x8c, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 0x3c: 0x401040
    0x13, 0x00, 0x00, 0x00, 0x16, 0x00, 0x00, 0x00,
    0x9c, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 0x4c: 0x401060
    0x40, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00,
    0xcc, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 0x5c: 0x4010a0
    0x10, 0x00, 0x00, 0x00, 0x2f, 0x00, 0x00, 0x00,
    0xbc, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 0x6c: 0x4010a0, empty
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00,                   // 0x7c: a row of one byte's start
    0x00, 0x00,                                     //   +0: no return address
    0x03, 0x00, 0x00, 0x00, 0x00,                   // 0x83: three rows
    0x00, 0x03, 0x08,                               //   +0: SP + 8
    0x07, 0x23, 0xc8, 0x00,                         //   +7: SP + 200, in two bytes
    0x1b, 0x03, 0x08,                               //   +27: SP + 8
    0x03, 0x00, 0x00, 0x00, 0x00,                   // 0x92: three rows
    0x00, 0x03, 0x08,
    0x04, 0x03, 0x10,
    0x0f, 0x03, 0x08,
    0x02, 0x00, 0x10, 0x00, 0x10,                   // 0xa0: two rows, repeated each 16 bytes
    0x00, 0x03, 0x08,
    0x0b, 0x03, 0x10,
    0x02, 0x00, 0x00, 0x00, 0x00,                   // 0xab: two rows
    0x00, 0x03, 0x08,
    0x04, 0x04, 0x10, 0xf0,                         //   +4: FP + 16, FP saved at CFA - 16
    0x00,                                           // what a linker reserved, and did not use
];

/// The return address is always there.
const RA: Value = at_cfa(-8);

const SP_8: Expected = frame(sp(8), RA, SAME);
const SP_16: Expected = frame(sp(16), RA, SAME);
const SP_200: Expected = frame(sp(200), RA, SAME);
const FP_16: Expected = frame(fp(16), RA, at_cfa(-16));

const LOOKUPS: &[(u64, Expected)] = &[
    (0, NOT_FOUND),
    (0x40_0fff, NOT_FOUND),
    (0x40_1000, OUTERMOST),
    (0x40_1017, OUTERMOST),
    (0x40_1018, NOT_FOUND),
    (0x40_1020, SP_8),
    (0x40_1026, SP_8),
    (0x40_1027, SP_200),
    (0x40_103a, SP_200),
    (0x40_103b, SP_8),
    (0x40_103c, NOT_FOUND),
    (0x40_1043, SP_8),
    (0x40_1044, SP_16),
    (0x40_1052, SP_8),
    (0x40_1053, NOT_FOUND),
    (0x40_1060, SP_8),
    (0x40_106b, SP_16),
    (0x40_1070, SP_8),
    (0x40_109a, SP_8),
    (0x40_109f, SP_16),
    (0x40_10a0, SP_8),
    (0x40_10a4, FP_16),
    (0x40_10af, FP_16),
    (0x40_10b0, NOT_FOUND),
    (u64::MAX, NOT_FOUND),
];

/// An address whose lookup reads the entries at 0x4c, 0x2c and 0x3c, then three rows from 0x88.
const PC: u64 = 0x40_103b;
/// The first one of that function.
const START: u64 = 0x40_1020;
/// One in the repeated blocks.
const PLT: u64 = 0x40_106b;
/// One of the last row.
const LAST: u64 = 0x40_10af;

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    // The header.
    with_len("no bytes", 0, &[], PC, bad(Reason::Truncated, 0)),
    with_len("a header less a byte", 27, NO_FUNCTIONS, PC, bad(Reason::Truncated, 27)),
    with_len("a header", 28, NO_FUNCTIONS, PC, NOT_FOUND),
    with_len("a header that promises more", 28, &[], PC, bad(Reason::Layout, 0x14)),
    with_len("an index less a byte", 0x7b, &[], PC, bad(Reason::Layout, 0x14)),
    with_len("no rows", 0x7c, &[], PC, bad(Reason::Layout, 0x18)),
    with_len("rows less a byte", 0xb6, &[], PC, bad(Reason::Layout, 0x18)),
    with_len("nothing behind the rows", 0xb7, &[], PC, SP_8),
    with_len("much behind the rows", 0x10_0000, &[], PC, SP_8),
    each("magic, first byte", 0x00, &[(0, 0xe1), (0xe3, 0xff)], PC, bad(Reason::Magic, 0)),
    each("magic, second byte", 0x01, &[(0, 0xdd), (0xdf, 0xff)], PC, bad(Reason::Magic, 0)),
    with("magic, swapped", &[(0x00, &[0xde, 0xe2])], PC, bad(Reason::ByteOrder, 0)),
    with("version 1", &[(0x02, &[1])], PC, bad(Reason::Version, 2)),
    with("version 2", &[(0x02, &[2])], PC, bad(Reason::Version, 2)),
    with("version 4", &[(0x02, &[4])], PC, bad(Reason::Version, 2)),
    each("version", 0x02, &[(0, 2), (4, 0xff)], PC, bad(Reason::Version, 2)),
    each("flags", 0x03, &[(2, 3), (6, 0xff)], PC, bad(Reason::Flags, 3)),
    each("not sorted", 0x03, &[(0, 0), (4, 4)], PC, bad(Reason::Unsorted, 3)),
    each("architecture", 0x04, &[(0, 2), (4, 0xff)], PC, bad(Reason::Abi, 4)),
    each("fixed FP", 0x05, &[(1, 0xff)], PC, bad(Reason::FixedOffset, 5)),
    each("fixed RA", 0x06, &[(0, 0xf7), (0xf9, 0xff)], PC, bad(Reason::FixedOffset, 6)),
    each("auxiliary header", 0x07, &[(2, 60)], PC, bad(Reason::Layout, 0x18)),
    each("auxiliary header", 0x07, &[(61, 0xff)], PC, bad(Reason::Layout, 0x14)),
    with("one function less", &[(0x08, &[5])], LAST, FP_16),
    with("one function more", &[(0x08, &[7])], PC, bad(Reason::Layout, 0x14)),
    with("2^28 functions", &[(0x08, &[0, 0, 0, 0x10])], PC, bad(Reason::Layout, 0x14)),
    with("2^28 + 6 functions", &[(0x08, &[6, 0, 0, 0x10])], PC, bad(Reason::Layout, 0x14)),
    with("2^32 - 1 functions", &[(0x08, &[0xff; 4])], PC, bad(Reason::Layout, 0x14)),
    with("number of rows", &[(0x0c, &[0; 4])], PC, SP_8),
    with("number of rows", &[(0x0c, &[0xff; 4])], PC, SP_8),
    with("rows to the end", &[(0x10, &[0x3c])], PC, SP_8),
    with("rows beyond the end", &[(0x10, &[0x3d])], PC, bad(Reason::Layout, 0x18)),
    with("most rows", &[(0x10, &[0xff; 4])], PC, bad(Reason::Layout, 0x18)),
    with("index in the rows", &[(0x14, &[1])], PC, bad(Reason::Layout, 0x14)),
    with("index far away", &[(0x14, &[0xff; 4])], PC, bad(Reason::Layout, 0x14)),
    with("empty index at the end", &[(0x08, &[0]), (0x14, &[0x9c])], PC, NOT_FOUND),
    with("empty index beyond it", &[(0x08, &[0]), (0x14, &[0x9d])], PC, bad(Reason::Layout, 0x14)),
    with("rows in the index", &[(0x18, &[0x5f])], PC, bad(Reason::Layout, 0x14)),
    with("rows beyond the end", &[(0x18, &[0x62])], PC, bad(Reason::Layout, 0x18)),
    with("rows far away", &[(0x18, &[0xff; 4])], PC, bad(Reason::Layout, 0x18)),

    // The index.
    with("a start of 0", &[(0x1c, &[0x6c, 0xdf, 0xbf])], 0, OUTERMOST),
    with("a start below 0", &[(0x1c, &[0x6b, 0xdf, 0xbf])], 0, bad(Reason::Unsorted, 0x1c)),
    with("a start of -2^63", &[(0x2c, &[0, 0, 0, 0, 0, 0, 0, 0x80])], PC,
        bad(Reason::Unsorted, 0x2c)),
    with("two starts at 0x401060", &[(0x3c, &[0xac])], 0x40_1066, SP_8),
    with("0x401061, then 0x401060", &[(0x3c, &[0xad])], PC, bad(Reason::Unsorted, 0x3c)),
    with("two starts at 0x401020", &[(0x3c, &[0x6c])], 0x40_1024, SP_16),
    with("0x401020, then 0x40101f", &[(0x3c, &[0x6b])], PC, bad(Reason::Unsorted, 0x3c)),
    with("0x40207c, then 0x401060", &[(0x2d, &[0xff])], PC, bad(Reason::Unsorted, 0x2c)),
    with("no size", &[(0x44, &[0]), (0x48, &[0])], 0x40_1040, NOT_FOUND),
    with("largest size", &[(0x64, &[0xff; 4])], 0x1_0040_109e, FP_16),
    with("largest size", &[(0x64, &[0xff; 4])], 0x1_0040_109f, NOT_FOUND),
    with("rows beyond the end", &[(0x38, &[0x37])], PC, bad(Reason::RowsOffset, 0x38)),
    with("rows far away", &[(0x3a, &[1])], PC, bad(Reason::RowsOffset, 0x38)),
    with("rows out of sight", &[(0x38, &[0xff; 4])], PC, bad(Reason::RowsOffset, 0x38)),

    // An attribute.
    with("no rows", &[(0x83, &[0])], PC, NOT_FOUND),
    with("one row less", &[(0x83, &[2])], PC, SP_200),
    with("256 more rows", &[(0x84, &[1])], PC, bad(Reason::RowOrder, 0x92)),
    with("more rows than bytes", &[(0xab, &[3])], LAST, bad(Reason::RowEnd, 0xb7)),
    with("a piece of a row more", &[(0x10, &[0x3c]), (0xab, &[3])], LAST,
        bad(Reason::RowEnd, 0xb7)),
    each("kind of row", 0x85, ROW_KINDS, PC, bad(Reason::RowKind, 0x85)),
    each("unknown bits", 0x85, UNUSED, PC, bad(Reason::FunctionInfo, 0x85)),
    with("signal", &[(0x85, &[0x80])], PC, SP_8.signal()),
    with("block without size", &[(0x85, &[0x10])], PC, bad(Reason::BlockSize, 0x87)),
    each("kind of function", 0x86, &[(2, 0x1f)], PC, bad(Reason::FunctionKind, 0x86)),
    each("unknown bits", 0x86, &[(0x20, 0xff)], PC, bad(Reason::FunctionInfo, 0x86)),
    each("size without block", 0x87, &[(1, 0xff)], PC, bad(Reason::BlockSize, 0x87)),
    with("no size", &[(0xa4, &[0])], PLT, bad(Reason::BlockSize, 0xa4)),
    each("short block", 0xa4, &[(1, 10)], PLT, bad(Reason::RowStart, 0xa8)),
    with("a start at a block's end", &[(0xa4, &[11])], PLT, SP_8),
    with("shortest block, its end", &[(0xa4, &[12])], PLT, SP_16),
    with("shortest block, the next one", &[(0xa4, &[12])], PLT + 1, SP_8),
    with("longest block", &[(0xa4, &[0xff])], 0x40_109a, SP_16),

    // Rows.
    // The next row is looked at, too: its start and its information byte, whatever their width.
    with("the next row's width of words", &[(0x8c, &[0x63])], START, bad(Reason::WordWidth, 0x8c)),
    with("the next row's bits", &[(0x8c, &[0x83])], START, bad(Reason::RowInfo, 0x8c)),
    with("same start", &[(0x8b, &[0])], START, SP_200),
    with("next start", &[(0x8b, &[1])], START + 1, SP_200),
    with("lower start", &[(0x8f, &[6])], PC, bad(Reason::RowOrder, 0x8f)),
    with("same start", &[(0x8f, &[7])], START + 7, SP_8),
    with("same start, of a later row", &[(0x8f, &[7])], START + 6, SP_8),
    with("next start", &[(0x8f, &[8])], START + 8, SP_8),
    with("a start at the end", &[(0x34, &[0x1b])], START + 0x1a, SP_200),
    with("a start beyond the end", &[(0x34, &[0x1a])], START + 0x19, bad(Reason::RowStart, 0x8f)),
    with("a start at the end", &[(0x8f, &[0x1c])], PC, SP_200),
    with("a start beyond the end", &[(0x8f, &[0x1d])], PC, bad(Reason::RowStart, 0x8f)),
    with("a start beyond the end, not read", &[(0x34, &[8]), (0x83, &[2])], START + 7, SP_200),
    with("an end of words", &[(0x10, &[0x3a])], LAST, bad(Reason::RowEnd, 0xb5)),
    with("an end of words", &[(0x10, &[0x39])], LAST, bad(Reason::RowEnd, 0xb5)),
    with("an end of a row", &[(0x10, &[0x38])], LAST, bad(Reason::RowEnd, 0xb3)),
    with("no words", &[(0x90, &[0])], PC, OUTERMOST),
    each("no words, but bits", 0x90, &[(1, 1), (0x20, 0x21), (0x40, 0x41)], PC,
        bad(Reason::RowInfo, 0x90)),
    each("unknown bit", 0x90, &[(0x80, 0xdf)], PC, bad(Reason::RowInfo, 0x90)),
    each("width of words", 0x90, &[(0x60, 0x7f), (0xe0, 0xff)], PC, bad(Reason::WordWidth, 0x90)),
    with("one word, from FP", &[(0x90, &[0x02])], PC, frame(fp(8), RA, SAME)),
    with("two words", &[(0x90, &[0x05])], PC, frame(sp(8), RA, at_cfa(3))),
    each("three words and more", 0x90, &[(6, 0x1f), (0x26, 0x3f), (0x46, 0x5f)], PC,
        bad(Reason::WordCount, 0x90)),
    with("a negative byte", &[(0x8a, &[0x80])], START, frame(sp(-128), RA, SAME)),
    with("a positive byte", &[(0x8a, &[0x7f])], START, frame(sp(127), RA, SAME)),
    with("two negative bytes", &[(0x8d, &[0, 0x80])], START + 7, frame(sp(-0x8000), RA, SAME)),
    with("two positive bytes", &[(0x8d, &[0xff, 0x7f])], START + 7, frame(sp(0x7fff), RA, SAME)),
    with("FP at the CFA", &[(0xb6, &[0])], LAST, frame(fp(16), RA, at_cfa(0))),
];

/// No functions, and no rows.
const NO_FUNCTIONS: &[Patch<'static>] = &[(0x08, &[0]), (0x10, &[0]), (0x18, &[0])];

/// All but three widths of a row's start.
#[rustfmt::skip]
const ROW_KINDS: &[(u8, u8)] = &[
    (0x03, 0x0f), (0x13, 0x1f), (0x23, 0x2f), (0x33, 0x3f),
    (0x43, 0x4f), (0x53, 0x5f), (0x63, 0x6f), (0x73, 0x7f),
    (0x83, 0x8f), (0x93, 0x9f), (0xa3, 0xaf), (0xb3, 0xbf),
    (0xc3, 0xcf), (0xd3, 0xdf), (0xe3, 0xef), (0xf3, 0xff),
];

/// A key, and what has no meaning anywhere.
#[rustfmt::skip]
const UNUSED: &[(u8, u8)] = &[
    (0x20, 0x22), (0x30, 0x32), (0x40, 0x42), (0x50, 0x52), (0x60, 0x62), (0x70, 0x72),
    (0xa0, 0xa2), (0xb0, 0xb2), (0xc0, 0xc2), (0xd0, 0xd2), (0xe0, 0xe2), (0xf0, 0xf2),
];
