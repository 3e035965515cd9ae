// SPDX-License-Identifier: GPL-2.0

//! s390x, `.eh_frame`: numbers with their most significant byte first.

use super::*;

pub(super) const TABLE: Table = Table {
    name: "s390x, .eh_frame",
    arch: Arch::S390x,
    format: Format::EhFrame(8),
    base: 0x100_0000,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 104] = [
    0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, // 0x00: something else
    0x01, 0x1b, 0x03, 0x3b,                         // 0x08: the index: version, encodings
    0x00, 0x00, 0x00, 0x10,                         // 0x0c: .eh_frame
    0x00, 0x00, 0x00, 0x01,                         // 0x10: functions
    0x00, 0x00, 0x0f, 0xf8, 0x00, 0x00, 0x00, 0x2c, // 0x14: 0x1001000
    0x00, 0x00, 0x00, 0x14,                         // 0x1c: CIE: functions
    0x00, 0x00, 0x00, 0x00,                         // 0x20: no FDE
    0x01, 0x7a, 0x52, 0x00,                         // 0x24: version, "zR"
    0x01, 0x78, 0x0e, 0x01, 0x1b,                   // 0x28: factors, return address, augmentation
    0x0c, 0x0f, 0xa0, 0x01, 0x00, 0x00, 0x00,       // 0x2d: its program
    0x00, 0x00, 0x00, 0x30,                         // 0x34: FDE: 0x1001000, of a usual kind
    0x00, 0x00, 0x00, 0x1c,                         // 0x38: its CIE
    0x00, 0x00, 0x0f, 0xc4,                         // 0x3c: start
    0x00, 0x00, 0x00, 0x40,                         // 0x40: size
    0x00,                                           // 0x44: augmentation data
    0x46,                                           // 0x45: +6
    0x8b, 0x0b,                                     // 0x46: FP at CFA - 88
    0x8e, 0x08,                                     // 0x48: return address at CFA - 64
    0x8f, 0x07,                                     // 0x4a: SP at CFA - 56
    0x46,                                           // 0x4c: +12
    0x0e, 0xc0, 0x02,                               // 0x4d: SP + 320
    0x46,                                           // 0x50: +18
    0x0d, 0x0b,                                     // 0x51: FP + 320
    0x03, 0x00, 0x10,                               // 0x53: +34
    0x09, 0x0b, 0x10,                               // 0x56: FP in f0
    0x09, 0x0f, 0x11,                               // 0x59: SP in f2
    0xce,                                           // 0x5c: return address unchanged
    0x04, 0x00, 0x00, 0x00, 0x02,                   // 0x5d: +36
    0x0e, 0xff, 0x0f,                               // 0x62: FP + 2047
    0x00, 0x00, 0x00,                               // 0x65: padding
];

const LOOKUPS: &[(u64, Expected)] = &[
    (0x100_0fff, NOT_FOUND),
    (0x100_1000, frame(sp(160), SAME, SAME)),
    (0x100_1005, frame(sp(160), SAME, SAME)),
    (0x100_1006, frame(sp(160), at_cfa(-64), at_cfa(-88))),
    (0x100_100c, frame(sp(320), at_cfa(-64), at_cfa(-88))),
    (0x100_1012, frame(fp(320), at_cfa(-64), at_cfa(-88))),
    (0x100_1022, frame(fp(320), SAME, reg(16, 0))),
    (0x100_1024, frame(fp(2047), SAME, reg(16, 0))),
    (0x100_103f, frame(fp(2047), SAME, reg(16, 0))),
    (0x100_1040, NOT_FOUND),
];

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    with("an index of the other byte order", &[(0x10, &[1, 0, 0, 0])], 0x100_1000,
        bad(Reason::Layout, 0x10)),
    with("a stack pointer that is saved elsewhere", &[(0x5a, &[14]), (0x5c, &[0])], 0x100_1022,
        frame(fp(320), reg(17, 0), reg(16, 0))),
];
