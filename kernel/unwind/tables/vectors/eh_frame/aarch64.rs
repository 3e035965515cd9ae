// SPDX-License-Identifier: GPL-2.0

//! AArch64, `.eh_frame`: signed return addresses, in a register and saved.

use super::*;

pub(super) const TABLE: Table = Table {
    name: "AArch64, .eh_frame",
    arch: Arch::AArch64,
    format: Format::EhFrame(8),
    base: 0x1_0000,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 180] = [
    0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, // 0x00: something else
    0x01, 0x1b, 0x03, 0x3b,                         // 0x08: the index: version, encodings
    0x20, 0x00, 0x00, 0x00,                         // 0x0c: .eh_frame
    0x03, 0x00, 0x00, 0x00,                         // 0x10: functions
    0xf8, 0xff, 0x00, 0x00, 0x50, 0x00, 0x00, 0x00, // 0x14: 0x20000
    0x18, 0x00, 0x01, 0x00, 0x78, 0x00, 0x00, 0x00, // 0x1c: 0x20020
    0x28, 0x00, 0x01, 0x00, 0x8c, 0x00, 0x00, 0x00, // 0x24: 0x20030
    0x10, 0x00, 0x00, 0x00,                         // 0x2c: CIE: functions
    0x00, 0x00, 0x00, 0x00,                         // 0x30: no FDE
    0x01, 0x7a, 0x52, 0x00,                         // 0x34: version, "zR"
    0x04, 0x78, 0x1e, 0x01, 0x1b,                   // 0x38: factors, return address, augmentation
    0x0c, 0x1f, 0x00,                               // 0x3d: its program
    0x14, 0x00, 0x00, 0x00,                         // 0x40: CIE: functions signed with key B
    0x00, 0x00, 0x00, 0x00,                         // 0x44: no FDE
    0x01, 0x7a, 0x52, 0x42, 0x00,                   // 0x48: version, "zRB"
    0x04, 0x78, 0x1e, 0x01, 0x1b,                   // 0x4d: factors, return address, augmentation
    0x0c, 0x1f, 0x00, 0x00, 0x00, 0x00,             // 0x52: its program
    0x24, 0x00, 0x00, 0x00,                         // 0x58: FDE: 0x20000, signed with key A
    0x30, 0x00, 0x00, 0x00,                         // 0x5c: its CIE
    0xa0, 0xff, 0x00, 0x00,                         // 0x60: start
    0x20, 0x00, 0x00, 0x00,                         // 0x64: size
    0x00,                                           // 0x68: augmentation data
    0x2d,                                           // 0x69: signed
    0x41,                                           // 0x6a: +4
    0x0e, 0x20,                                     // 0x6b: SP + 32
    0x9d, 0x04,                                     // 0x6d: FP at CFA - 32
    0x9e, 0x03,                                     // 0x6f: return address at CFA - 24
    0x42,                                           // 0x71: +12
    0xdd,                                           // 0x72: FP unchanged
    0xde,                                           // 0x73: return address unchanged
    0x0e, 0x00,                                     // 0x74: SP + 0
    0x41,                                           // 0x76: +16
    0x2d,                                           // 0x77: not signed
    0x41,                                           // 0x78: +20
    0x0d, 0x1d,                                     // 0x79: FP + 0
    0x41,                                           // 0x7b: +24
    0x09, 0x1e, 0x0f,                               // 0x7c: return address in x15
    0x00,                                           // 0x7f: padding
    0x10, 0x00, 0x00, 0x00,                         // 0x80: FDE: 0x20020, signed with key B
    0x44, 0x00, 0x00, 0x00,                         // 0x84: its CIE
    0x98, 0xff, 0x00, 0x00,                         // 0x88: start
    0x10, 0x00, 0x00, 0x00,                         // 0x8c: size
    0x00,                                           // 0x90: augmentation data
    0x2d,                                           // 0x91: signed
    0x00, 0x00,                                     // 0x92: padding
    0x1c, 0x00, 0x00, 0x00,                         // 0x94: FDE: 0x20030, the outermost
    0x6c, 0x00, 0x00, 0x00,                         // 0x98: its CIE
    0x94, 0xff, 0x00, 0x00,                         // 0x9c: start
    0x10, 0x00, 0x00, 0x00,                         // 0xa0: size
    0x00,                                           // 0xa4: augmentation data
    0x07, 0x1e,                                     // 0xa5: no return address
    0x41,                                           // 0xa7: +4
    0x06, 0x1e,                                     // 0xa8: return address unchanged
    0x2c,                                           // 0xaa: signed otherwise
    0x41,                                           // 0xab: +8
    0x2d,                                           // 0xac: and more
    0x41,                                           // 0xad: +12
    0x2b, 0x00, 0x01,                               // 0xae: not signed
    0x00, 0x00, 0x00,                               // 0xb1: padding
];

/// As a call leaves it.
const IN_REGISTER: Expected = frame(sp(0), SAME, SAME);

const LOOKUPS: &[(u64, Expected)] = &[
    (0x1_ffff, NOT_FOUND),
    (0x2_0000, IN_REGISTER.signed(Key::A)),
    (0x2_0003, IN_REGISTER.signed(Key::A)),
    (
        0x2_0004,
        frame(sp(32), at_cfa(-24), at_cfa(-32)).signed(Key::A),
    ),
    (
        0x2_000b,
        frame(sp(32), at_cfa(-24), at_cfa(-32)).signed(Key::A),
    ),
    (0x2_000c, IN_REGISTER.signed(Key::A)),
    (0x2_0010, IN_REGISTER),
    (0x2_0014, frame(fp(0), SAME, SAME)),
    (0x2_0018, frame(fp(0), reg(15, 0), SAME)),
    (0x2_001f, frame(fp(0), reg(15, 0), SAME)),
    (0x2_0020, IN_REGISTER.signed(Key::B)),
    (0x2_002f, IN_REGISTER.signed(Key::B)),
    (0x2_0030, OUTERMOST),
    (0x2_0034, unsupported(Unsupported::Signed)),
    (0x2_0038, unsupported(Unsupported::Signed)),
    (0x2_003c, IN_REGISTER),
    (0x2_0040, NOT_FOUND),
];

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    with("another return address", &[(0x3a, &[29])], 0x2_0000,
        unsupported(Unsupported::ReturnRegister)),
    with("another factor", &[(0x38, &[2])], 0x2_0002,
        frame(sp(32), at_cfa(-24), at_cfa(-32)).signed(Key::A)),
    with("signed otherwise, and no more", &[(0xac, &[0x2c])], 0x2_0038, IN_REGISTER),
    with("set to be signed", &[(0xaf, &[1])], 0x2_003c, unsupported(Unsupported::Signed)),
    with("a stack pointer that is saved", &[(0x7c, &[0x05, 31, 1])], 0x2_0018,
        unsupported(Unsupported::StackPointer)),
    with("no signal frame here", &[(0x4b, b"S")], 0x2_0020, IN_REGISTER.signed(Key::A).signal()),
];
