// SPDX-License-Identifier: GPL-2.0

//! AMD64, `.eh_frame`: every instruction, and what is wrong at each bound.

use super::*;

/// A table of seven functions and three CIEs, which begins with something else.
pub(super) const TABLE: Table = Table {
    name: "AMD64, .eh_frame",
    arch: Arch::Amd64,
    format: Format::EhFrame(8),
    base: 0x40_2000,
    bytes: &BYTES,
    lookups: LOOKUPS,
    vectors: VECTORS,
};

#[rustfmt::skip]
const BYTES: [u8; 432] = [
    0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, // 0x00: something else
    0x01, 0x1b, 0x03, 0x3b,                         // 0x08: the index: version, encodings
    0x40, 0x00, 0x00, 0x00,                         // 0x0c: .eh_frame
    0x07, 0x00, 0x00, 0x00,                         // 0x10: functions
    0xf8, 0xef, 0xff, 0xff, 0x94, 0x00, 0x00, 0x00, // 0x14: 0x401000
    0x38, 0xf0, 0xff, 0xff, 0xcc, 0x00, 0x00, 0x00, // 0x1c: 0x401040
    0x68, 0xf0, 0xff, 0xff, 0xf0, 0x00, 0x00, 0x00, // 0x24: 0x401070
    0x78, 0xf0, 0xff, 0xff, 0x04, 0x01, 0x00, 0x00, // 0x2c: 0x401080
    0x98, 0xf0, 0xff, 0xff, 0x38, 0x01, 0x00, 0x00, // 0x34: 0x4010a0
    0xa8, 0xf0, 0xff, 0xff, 0x64, 0x01, 0x00, 0x00, // 0x3c: 0x4010b0
    0xb8, 0xf0, 0xff, 0xff, 0x78, 0x01, 0x00, 0x00, // 0x44: 0x4010c0
    0x14, 0x00, 0x00, 0x00,                         // 0x4c: CIE: functions
    0x00, 0x00, 0x00, 0x00,                         // 0x50: no FDE
    0x01, 0x7a, 0x52, 0x00,                         // 0x54: version, "zR"
    0x01, 0x78, 0x10, 0x01, 0x1b,                   // 0x58: factors, return address, augmentation
    0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00,       // 0x5d: its program
    0x14, 0x00, 0x00, 0x00,                         // 0x64: CIE: signal trampolines
    0x00, 0x00, 0x00, 0x00,                         // 0x68: no FDE
    0x01, 0x7a, 0x52, 0x53, 0x00,                   // 0x6c: version, "zRS"
    0x01, 0x78, 0x10, 0x01, 0x1b,                   // 0x71: factors, return address, augmentation
    0x0c, 0x07, 0x08, 0x90, 0x01, 0x00,             // 0x76: its program
    0x1c, 0x00, 0x00, 0x00,                         // 0x7c: CIE: functions with handlers, version 3
    0x00, 0x00, 0x00, 0x00,                         // 0x80: no FDE
    0x03, 0x7a, 0x50, 0x4c, 0x52, 0x00,             // 0x84: version, "zPLR"
    0x01, 0x78, 0x10, 0x07, 0x9b, 0x01, 0x02, 0x03, // 0x8a: factors, return address, augmentation
    0x04, 0x1b, 0x1b,
    0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00,       // 0x95: its program
    0x34, 0x00, 0x00, 0x00,                         // 0x9c: FDE: 0x401000, of a usual kind
    0x54, 0x00, 0x00, 0x00,                         // 0xa0: its CIE
    0x5c, 0xef, 0xff, 0xff,                         // 0xa4: start
    0x40, 0x00, 0x00, 0x00,                         // 0xa8: size
    0x00,                                           // 0xac: augmentation data
    0x41,                                           // 0xad: +1
    0x0e, 0x10,                                     // 0xae: SP + 16
    0x86, 0x02,                                     // 0xb0: FP at CFA - 16
    0x43,                                           // 0xb2: +4
    0x0d, 0x06,                                     // 0xb3: FP + 16
    0x50,                                           // 0xb5: +20
    0x0a,                                           // 0xb6: remember
    0x0c, 0x07, 0x08,                               // 0xb7: SP + 8
    0xc6,                                           // 0xba: FP unchanged
    0x41,                                           // 0xbb: +21
    0x0b,                                           // 0xbc: as before
    0x41,                                           // 0xbd: +22
    0x83, 0x04,                                     // 0xbe: another register
    0x2e, 0x10,                                     // 0xc0: arguments
    0x02, 0x20,                                     // 0xc2: +54
    0x0c, 0x07, 0x08,                               // 0xc4: SP + 8
    0x03, 0x04, 0x00,                               // 0xc7: +58
    0x0e, 0x88, 0x02,                               // 0xca: SP + 264
    0x04, 0x02, 0x00, 0x00, 0x00,                   // 0xcd: +60
    0x13, 0x7f,                                     // 0xd2: SP + 8
    0x20, 0x00, 0x00, 0x00,                         // 0xd4: FDE: 0x401040, procedure linkage
    0x8c, 0x00, 0x00, 0x00,                         // 0xd8: its CIE
    0x64, 0xef, 0xff, 0xff,                         // 0xdc: start
    0x30, 0x00, 0x00, 0x00,                         // 0xe0: size
    0x00,                                           // 0xe4: augmentation data
    0x0e, 0x10,                                     // 0xe5: SP + 16
    0x46,                                           // 0xe7: +6
    0x0e, 0x18,                                     // 0xe8: SP + 24
    0x4a,                                           // 0xea: +16
    0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, // 0xeb: by the place in 16 bytes
    0x3b, 0x2a, 0x33, 0x24, 0x22,
    0x10, 0x00, 0x00, 0x00,                         // 0xf8: FDE: 0x401070, the outermost
    0xb0, 0x00, 0x00, 0x00,                         // 0xfc: its CIE
    0x70, 0xef, 0xff, 0xff,                         // 0x100: start
    0x10, 0x00, 0x00, 0x00,                         // 0x104: size
    0x00,                                           // 0x108: augmentation data
    0x07, 0x10,                                     // 0x109: no return address
    0x00,                                           // 0x10b: padding
    0x30, 0x00, 0x00, 0x00,                         // 0x10c: FDE: 0x401080, aligned by hand
    0xc4, 0x00, 0x00, 0x00,                         // 0x110: its CIE
    0x6c, 0xef, 0xff, 0xff,                         // 0x114: start
    0x20, 0x00, 0x00, 0x00,                         // 0x118: size
    0x00,                                           // 0x11c: augmentation data
    0x0c, 0x0a, 0x00,                               // 0x11d: r10 + 0
    0x44,                                           // 0x120: +4
    0x10, 0x06, 0x02, 0x76, 0x00,                   // 0x121: FP at FP + 0
    0x0f, 0x03, 0x76, 0x78, 0x06,                   // 0x126: CFA at FP - 8
    0x48,                                           // 0x12b: +12
    0x0f, 0x05, 0x77, 0x10, 0x06, 0x23, 0x08,       // 0x12c: 8 above what is at SP + 16
    0x09, 0x06, 0x0c,                               // 0x133: FP in r12
    0x44,                                           // 0x136: +16
    0x0f, 0x02, 0x76, 0x20,                         // 0x137: FP + 32
    0x16, 0x06, 0x02, 0x77, 0x10,                   // 0x13b: FP is SP + 16
    0x28, 0x00, 0x00, 0x00,                         // 0x140: FDE: 0x4010a0, the kernel's frame
    0xe0, 0x00, 0x00, 0x00,                         // 0x144: its CIE
    0x58, 0xef, 0xff, 0xff,                         // 0x148: start
    0x10, 0x00, 0x00, 0x00,                         // 0x14c: size
    0x00,                                           // 0x150: augmentation data
    0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06,             // 0x151: CFA at SP + 160
    0x10, 0x10, 0x03, 0x77, 0xa8, 0x01,             // 0x157: return address at SP + 168
    0x10, 0x06, 0x03, 0x77, 0xf8, 0x00,             // 0x15d: FP at SP + 120
    0x10, 0x07, 0x03, 0x77, 0xa0, 0x01,             // 0x163: SP at SP + 160
    0x00, 0x00, 0x00,                               // 0x169: padding
    0x10, 0x00, 0x00, 0x00,                         // 0x16c: FDE: 0x4010b0, an exact return
    0x0c, 0x01, 0x00, 0x00,                         // 0x170: its CIE
    0x3c, 0xef, 0xff, 0xff,                         // 0x174: start
    0x10, 0x00, 0x00, 0x00,                         // 0x178: size
    0x00,                                           // 0x17c: augmentation data
    0x0e, 0x20,                                     // 0x17d: SP + 32
    0x00,                                           // 0x17f: padding
    0x2c, 0x00, 0x00, 0x00,                         // 0x180: FDE: 0x4010c0, with a handler
    0x08, 0x01, 0x00, 0x00,                         // 0x184: its CIE
    0x38, 0xef, 0xff, 0xff,                         // 0x188: start
    0x20, 0x00, 0x00, 0x00,                         // 0x18c: size
    0x04, 0x05, 0x06, 0x07, 0x08,                   // 0x190: augmentation data
    0x12, 0x07, 0x7e,                               // 0x195: SP + 16
    0x05, 0x06, 0x02,                               // 0x198: FP at CFA - 16
    0x11, 0x06, 0x03,                               // 0x19b: FP at CFA - 24
    0x44,                                           // 0x19e: +4
    0x06, 0x06,                                     // 0x19f: FP unchanged
    0x14, 0x07, 0x00,                               // 0x1a1: SP is the CFA
    0x09, 0x10, 0x05,                               // 0x1a4: return address in rdi
    0x44,                                           // 0x1a7: +8
    0xd0,                                           // 0x1a8: return address as before
    0x08, 0x06,                                     // 0x1a9: FP unchanged
    0x2f, 0x06, 0x04,                               // 0x1ab: FP at CFA + 32
    0x00, 0x00,                                     // 0x1ae: padding
];

/// Where calls leave the return address.
const RA: Value = at_cfa(-8);

const SP_8: Expected = frame(sp(8), RA, SAME);
const SP_16: Expected = frame(sp(16), RA, SAME);
const SP_24: Expected = frame(sp(24), RA, SAME);
const SP_8_FP: Expected = frame(sp(8), RA, at_cfa(-16));
const SP_16_FP: Expected = frame(sp(16), RA, at_cfa(-16));
const FP_16: Expected = frame(fp(16), RA, at_cfa(-16));

const LOOKUPS: &[(u64, Expected)] = &[
    (0, NOT_FOUND),
    (0x40_0fff, NOT_FOUND),
    (0x40_1000, SP_8),
    (0x40_1001, SP_16_FP),
    (0x40_1003, SP_16_FP),
    (0x40_1004, FP_16),
    (0x40_1013, FP_16),
    (0x40_1014, SP_8),
    (0x40_1015, FP_16),
    (0x40_1016, FP_16),
    (0x40_1035, FP_16),
    (0x40_1036, SP_8_FP),
    (0x40_1039, SP_8_FP),
    (0x40_103a, frame(sp(264), RA, at_cfa(-16))),
    (0x40_103b, frame(sp(264), RA, at_cfa(-16))),
    (0x40_103c, SP_8_FP),
    (0x40_103f, SP_8_FP),
    (0x40_1040, SP_16),
    (0x40_1046, SP_24),
    (0x40_104f, SP_24),
    (0x40_1050, SP_8),
    (0x40_105a, SP_8),
    (0x40_105b, SP_16),
    (0x40_105f, SP_16),
    (0x40_1060, SP_8),
    (0x40_106f, SP_16),
    (0x40_1070, OUTERMOST),
    (0x40_107f, OUTERMOST),
    (0x40_1080, frame(reg(10, 0), RA, SAME)),
    (0x40_1084, frame(at_fp(-8), RA, at_fp(0))),
    (0x40_108c, frame(at_sp(16), RA, reg(12, 0)).above(8)),
    (0x40_1090, frame(fp(32), RA, sp(16))),
    (0x40_109f, frame(fp(32), RA, sp(16))),
    (0x40_10a0, SIGNAL_FRAME),
    (0x40_10b0, frame(sp(32), RA, SAME).signal()),
    (0x40_10c0, frame(sp(16), RA, at_cfa(-24))),
    (0x40_10c4, frame(sp(16), reg(5, 0), SAME)),
    (0x40_10c8, frame(sp(16), RA, at_cfa(32))),
    (0x40_10df, frame(sp(16), RA, at_cfa(32))),
    (0x40_10e0, NOT_FOUND),
    (u64::MAX, NOT_FOUND),
];

/// The first address.
const PC: u64 = 0x40_1000;
/// Behind the first instructions of the same function.
const NEXT: u64 = 0x40_1001;
/// Where it has remembered a state.
const REMEMBER: u64 = 0x40_1014;
/// In its last row.
const LAST: u64 = 0x40_103c;
/// Where a CFA is that of an expression.
const ALIGNED: u64 = 0x40_1084;
/// Where the CFA is above that.
const ABOVE: u64 = 0x40_108c;
/// In the function whose return is exact.
const EXACT: u64 = 0x40_10b0;
/// In the function with a handler.
const HANDLER: u64 = 0x40_10c0;

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    // The index.
    with_len("no bytes", 0, &[], PC, bad(Reason::Truncated, 0)),
    with_len("less than encodings", 11, &[], PC, bad(Reason::Truncated, 11)),
    with_len("encodings alone", 12, &[], PC, bad(Reason::Truncated, 12)),
    with_len("a header less a byte", 19, &[], PC, bad(Reason::Truncated, 19)),
    with_len("a header that promises more", 20, &[], PC, bad(Reason::Layout, 0x10)),
    with_len("an empty index", 20, &[(0x10, &[0])], PC, NOT_FOUND),
    with_len("an index less a byte", 0x4b, &[], PC, bad(Reason::Layout, 0x10)),
    with_len("an index alone", 0x4c, &[], PC, bad(Reason::FdePlace, 0x14)),
    each("version", 0x08, &[(0, 0), (2, 255)], PC, bad(Reason::Version, 0x08)),
    each("pointers of four bytes", 0x09, &[(0x03, 0x03), (0x0b, 0x0b), (0x3b, 0x3b)], PC, SP_8),
    each("unknown pointers", 0x09, &[(1, 2), (5, 0x0a), (0x0d, 0x0f), (0x11, 0x12)], PC,
        bad(Reason::Encoding, 0x09)),
    with("no pointer: 64 functions", &[(0x09, &[0xff])], PC, bad(Reason::Layout, 0x0c)),
    with("a wide pointer: many functions", &[(0x09, &[0x1c])], PC, bad(Reason::Layout, 0x14)),
    with("no count", &[(0x0a, &[0xff])], PC, NOT_FOUND),
    each("unknown counts", 0x0a, &[(0, 2), (4, 254)], PC, bad(Reason::Encoding, 0x0a)),
    with("no entries", &[(0x0b, &[0xff])], PC, NOT_FOUND),
    each("unknown entries", 0x0b, &[(0, 0x3a), (0x3d, 254)], PC, bad(Reason::Encoding, 0x0b)),
    with("a wide entry", WIDE, PC, SP_8),
    with("wide entries up to the end, not sorted", &[(0x0b, &[0x3c]), (0x10, &[25])], 0,
        bad(Reason::Unsorted, 0x74)),
    with("wide entries beyond the end", &[(0x0b, &[0x3c]), (0x10, &[26])], PC,
        bad(Reason::Layout, 0x10)),
    with("functions not sorted", &[(0x3c, &[0xf8, 0xef])], 0x40_10a0, bad(Reason::Unsorted, 0x3c)),
    with("an FDE at the end", &[(0x18, &[0xa8, 0x01])], PC, bad(Reason::FdePlace, 0x14)),
    with("an FDE before the table", &[(0x18, &[0xf7, 0xff, 0xff, 0xff])], PC,
        bad(Reason::FdePlace, 0x14)),
    with("what fills an index", &[(0x18, &[0])], PC, NOT_FOUND),

    // Functions that start at the same address: the second one is empty, or has four bytes.
    with("an empty function behind another", EMPTY, NEXT, SP_16_FP),
    with("two empty functions behind another", TWO_EMPTY, LAST, SP_8_FP),
    with("an empty function twice", TWICE_EMPTY, PC, SP_8),
    with("an empty function in wide entries", WIDE_EMPTY, NEXT, SP_16_FP),
    with("what fills an index behind another", &[(0x1c, &[0xf8, 0xef]), (0x20, &[0])], NEXT,
        SP_16_FP),
    with("a function twice", TWICE, LAST, SP_8_FP),
    with("behind a function that is there twice", TWICE, 0x40_1040, NOT_FOUND),
    with("in the second of two", SHORT, 0x40_1003, SP_16),
    with("behind the second of two", SHORT, 0x40_1004, FP_16),
    with("behind both", SHORT, 0x40_1040, NOT_FOUND),
    with("empty functions alone", &[(0x1c, &[0xf8, 0xef]), (0xdc, &[0x24]), (0xe0, &[0]),
        (0xa8, &[0])], PC, NOT_FOUND),
    with("an empty function that is wrong", &[(0x1c, &[0xf8, 0xef]), (0xd4, &[3])], PC,
        bad(Reason::Length, 0xd4)),
    with("an empty function behind one that is wrong", &[(0x1c, &[0xf8, 0xef]), (0xdc, &[0x24]),
        (0xe0, &[0]), (0x9c, &[3])], PC, bad(Reason::Length, 0x9c)),
    with("an empty function behind an FDE at the end", &[(0x1c, &[0xf8, 0xef]), (0xdc, &[0x24]),
        (0xe0, &[0]), (0x18, &[0xa8, 0x01])], PC, bad(Reason::FdePlace, 0x14)),

    // An FDE.
    with("a terminator", &[(0x9c, &[0])], PC, bad(Reason::NotFde, 0x9c)),
    with("no room for a CIE", &[(0x9c, &[3])], PC, bad(Reason::Length, 0x9c)),
    with("an FDE up to the end", &[(0x9c, &[0x10, 0x01])], PC, SP_8),
    with("an FDE beyond the end", &[(0x9c, &[0x11, 0x01])], PC, bad(Reason::Length, 0x9c)),
    with("a length of 64 bits", &[(0x9c, &[0xff; 4])], PC, bad(Reason::Length, 0x9c)),
    with("a CIE instead", &[(0xa0, &[0])], PC, bad(Reason::NotFde, 0x9c)),
    with("a CIE before the table", &[(0xa0, &[0xa1])], PC, bad(Reason::CiePlace, 0xa0)),
    with("a CIE that is something else", &[(0xa0, &[0xa0])], PC, bad(Reason::Length, 0)),
    with("a CIE that is the FDE", &[(0xa0, &[4])], PC, bad(Reason::NotCie, 0x9c)),
    with("no start", &[(0x9c, &[4])], PC, bad(Reason::RecordEnd, 0xa4)),
    with("no size", &[(0x9c, &[11])], PC, bad(Reason::RecordEnd, 0xab)),
    with("no augmentation data", &[(0x9c, &[12])], PC, bad(Reason::RecordEnd, 0xac)),
    with("no program", &[(0x9c, &[13])], LAST, SP_8),
    with("another start", &[(0xa4, &[0x5d])], PC, bad(Reason::Start, 0xa4)),
    with("a size of 0", &[(0xa8, &[0])], PC, NOT_FOUND),
    with("a size of 1", &[(0xa8, &[1])], PC, SP_8),
    with("behind a size of 1", &[(0xa8, &[1])], NEXT, NOT_FOUND),
    with("augmentation data up to the end", &[(0xac, &[0x27])], LAST, SP_8),
    with("augmentation data beyond the end", &[(0xac, &[0x28])], LAST,
        bad(Reason::RecordEnd, 0xd4)),

    // A CIE.
    with("a terminator as CIE", &[(0x4c, &[0])], PC, bad(Reason::NotCie, 0x4c)),
    with("a CIE beyond the end", &[(0x4c, &[0x61, 0x01])], PC, bad(Reason::Length, 0x4c)),
    with("a CIE of 64 bits", &[(0x4c, &[0xff; 4])], PC, bad(Reason::Length, 0x4c)),
    with("no CIE", &[(0x50, &[1])], PC, bad(Reason::NotCie, 0x4c)),
    with("a CIE that ends", &[(0x4c, &[4])], PC, bad(Reason::RecordEnd, 0x54)),
    each("version of a CIE", 0x54, &[(0, 0), (2, 2), (5, 255)], PC,
        unsupported(Unsupported::CieVersion)),
    with("version 3", &[(0x54, &[3])], PC, SP_8),
    with("version 4", &[(0x54, VERSION_4)], NEXT, SP_16_FP),
    with("version 4 with addresses of four bytes", &[(0x58, &[4]), (0x54, VERSION_4)], PC,
        unsupported(Unsupported::Encoding)),
    with("version 4 with segments", &[(0x59, &[1]), (0x54, VERSION_4)], PC,
        unsupported(Unsupported::Encoding)),
    with("version 4 without its bytes", &[(0x4c, &[9]), (0x54, VERSION_4)], PC,
        bad(Reason::RecordEnd, 0x59)),
    with("no augmentation", PLAIN, PC, SP_16),
    each("an augmentation without z", 0x55, &[(1, b'y'), (b'{', 255)], PC,
        unsupported(Unsupported::Augmentation)),
    each("unknown letters", 0x6f, &[(1, b'A'), (b'C', b'F'), (b'T', 255)], EXACT,
        unsupported(Unsupported::Augmentation)),
    with("eight letters", &[(0x55, b"zRRRRRRR")], PC, unsupported(Unsupported::Augmentation)),
    with("key B", &[(0x6f, b"B")], EXACT, frame(sp(32), RA, SAME)),
    with("tagged memory", &[(0x6f, b"G")], EXACT, frame(sp(32), RA, SAME)),
    with("another return address", &[(0x5a, &[15])], PC, unsupported(Unsupported::ReturnRegister)),
    with("an augmentation too short", &[(0x5b, &[0])], PC, bad(Reason::RecordEnd, 0x5d)),
    with("an augmentation without a program", &[(0x5b, &[8])], PC, unsupported(Unsupported::Cfa)),
    with("an augmentation too long", &[(0x5b, &[9])], PC, bad(Reason::RecordEnd, 0x64)),
    each("pointers to functions", 0x5c, &[(1, 2), (5, 0x0a), (0x0d, 0x0f), (0x20, 255)], PC,
        unsupported(Unsupported::Encoding)),
    with("an absolute pointer", ABSOLUTE, NEXT, SP_16_FP),
    each("personalities", 0x8e, &[(5, 7), (0x0d, 0x0f), (0x50, 0x5f)], HANDLER,
        unsupported(Unsupported::Encoding)),

    // Programs.
    each("unknown instructions", 0xae, UNKNOWN, NEXT, unsupported(Unsupported::Instruction)),
    each("unknown instructions behind the place", 0xae, UNKNOWN, PC, SP_8),
    with("an advance of eight bytes", &[(0xae, &[0x1d, 1, 0, 0, 0, 0, 0, 0, 0])], NEXT, SP_8),
    with("nothing in a CIE", &[(0x60, &[0, 0])], PC, unsupported(Unsupported::ReturnAddress)),
    with("an advance in a CIE", &[(0x62, &[0x41])], PC, SP_8),
    with("a state in a CIE", &[(0x62, &[0x0a])], PC, unsupported(Unsupported::Depth)),
    with("a register restored in a CIE", &[(0x62, &[0xd0])], PC,
        unsupported(Unsupported::ReturnAddress)),
    with("nothing remembered", &[(0xae, &[0x0b])], NEXT, bad(Reason::State, 0xae)),
    with("four states", &[(0xb7, &[0x0a; 3])], REMEMBER, frame(fp(16), RA, SAME)),
    with("five states", &[(0xb7, &[0x0a; 4])], REMEMBER, unsupported(Unsupported::Depth)),
    with("no frame pointer", &[(0xb0, &[0x07, 0x06])], NEXT, frame(sp(16), RA, LOST)),
    with("a stack pointer that is saved", &[(0xbe, &[0x87])], 0x40_1016,
        unsupported(Unsupported::StackPointer)),
    with("a stack pointer above the CFA", &[(0x1a3, &[1])], 0x40_10c4,
        unsupported(Unsupported::StackPointer)),
    with("a frame pointer that is the CFA", &[(0x1a2, &[6])], 0x40_10c4,
        frame(sp(16), reg(5, 0), LOST)),
    with("another frame than the kernel's", &[(0x161, &[0xf0])], 0x40_10a0,
        unsupported(Unsupported::StackPointer)),
    with("a register of the CFA", &[(0xc5, &[16])], 0x40_1036, unsupported(Unsupported::Register)),
    with("a register of the CFA that changes", &[(0xc5, &[16]), (0xca, &[0x0d, 7, 0])], 0x40_103a,
        SP_8_FP),
    with("a register without a rule", &[(0x126, &[0x09, 6, 33, 0, 0])], ALIGNED,
        frame(reg(10, 0), RA, LOST)),
    with("a return address in a register without a rule", &[(0x126, &[0x09, 16, 33, 0, 0])],
        ALIGNED, unsupported(Unsupported::Register)),

    // Numbers.
    with("the largest offset", &[(0xca, &[0x0e, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0, 0])],
        0x40_103a, frame(sp(i32::MAX), RA, at_cfa(-16))),
    with("a larger offset", &[(0xca, &[0x0e, 0x80, 0x80, 0x80, 0x80, 0x08, 0, 0, 0, 0])], 0x40_103a,
        unsupported(Unsupported::Offset)),
    with("the largest number", &[(0xb7, &[0x0e]), (0xb8, &[0xff; 9]), (0xc1, &[1])], REMEMBER,
        unsupported(Unsupported::Offset)),
    with("a larger number", &[(0xb7, &[0x0e]), (0xb8, &[0xff; 9]), (0xc1, &[2])], REMEMBER,
        bad(Reason::Number, 0xb8)),
    with("a longer number", &[(0xb7, &[0x0e]), (0xb8, &[0x80; 10])], REMEMBER,
        bad(Reason::Number, 0xb8)),
    with("a long -1", &[(0xb7, &[0x13]), (0xb8, &[0xff; 9]), (0xc1, &[0x7f])], REMEMBER,
        frame(fp(8), RA, at_cfa(-16))),
    with("less than all", &[(0xb7, &[0x13]), (0xb8, &[0xff; 9]), (0xc1, &[0x40])], REMEMBER,
        bad(Reason::Number, 0xb8)),
    with("a register of many bytes", &[(0xb7, &[0x08]), (0xb8, &[0xff; 9]), (0xc1, &[1])], REMEMBER,
        FP_16),

    // Expressions. At 0x132 is how far above the CFA is.
    with("as much above", &[(0x132, &[0])], ABOVE, frame(at_sp(16), RA, reg(12, 0))),
    with("far above", &[(0x132, &[0x78])], ABOVE, frame(at_sp(16), RA, reg(12, 0)).above(0x78)),
    each("part of a word above", 0x132, &[(1, 7), (0x79, 7)], ABOVE,
        unsupported(Unsupported::Expression)),
    with("a number of two bytes above", &[(0x12d, &[0x06]), (0x132, &[0x80, 0x01])], ABOVE,
        unsupported(Unsupported::Expression)),
    with("above, with another return address", &[(0x133, &[0x05, 0x10, 0x02])], ABOVE,
        unsupported(Unsupported::Cfa)),
    with("what is at another register", &[(0x128, &[0x75])], ALIGNED,
        frame(at_reg(5, -8), RA, at_fp(0))),
    with("an unknown expression", &[(0x12a, &[0x94])], ALIGNED,
        unsupported(Unsupported::Expression)),
    with("an unknown expression of the frame pointer", &[(0x124, &[0x90])], ALIGNED,
        frame(at_fp(-8), RA, LOST)),
    with("an expression that ends", &[(0x12a, &[0x23])], ALIGNED,
        unsupported(Unsupported::Expression)),
    with("an empty expression", &[(0x126, &[0x0f, 0, 0, 0, 0])], ALIGNED,
        unsupported(Unsupported::Expression)),
    with("17 bytes", &[(0xb7, &[0x0f, 17]), (0xca, &[0; 10])], REMEMBER,
        unsupported(Unsupported::Expression)),
    with("an expression beyond the end", &[(0xec, &[12])], 0x40_1050, bad(Reason::RecordEnd, 0xf8)),
    with("a long expression beyond the end", &[(0xec, &[17])], 0x40_1050,
        bad(Reason::RecordEnd, 0xf8)),
    with("another place in 16 bytes", &[(0xf3, &[0x39])], 0x40_105a, SP_16),
    with("a place beyond 16 bytes", &[(0xf3, &[0x40])], 0x40_105a,
        unsupported(Unsupported::Expression)),
    with("the offset of an expression", &[(0x12b, &[0x0e, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0])], ALIGNED,
        unsupported(Unsupported::Cfa)),
    with("the register of an expression", &[(0x12b, &[0x0d, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
        ALIGNED, unsupported(Unsupported::Cfa)),
    with("a CFA after an expression", &[(0x12b, &[0x0e, 16, 0x0c, 7, 32, 0, 0, 0, 0, 0, 0])],
        ALIGNED, frame(sp(32), RA, at_fp(0))),
];

/// One entry of 16 bytes.
const WIDE: &[Patch<'_>] = &[
    (0x0b, &[0x3c]),
    (0x10, &[1]),
    (0x14, &[0xf8, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    (0x1c, &[0x94, 0, 0, 0, 0, 0, 0, 0]),
];

/// The second function has no bytes, and starts where the first one does.
const EMPTY: &[Patch<'_>] = &[(0x1c, &[0xf8, 0xef]), (0xdc, &[0x24]), (0xe0, &[0])];

/// The second and the third function have no bytes, and start where the first one does.
const TWO_EMPTY: &[Patch<'_>] = &[
    EMPTY[0],
    EMPTY[1],
    EMPTY[2],
    (0x24, &[0xf8, 0xef]),
    (0x100, &[0x00]),
    (0x104, &[0]),
];

/// The third entry is the same as the second.
const TWICE_EMPTY: &[Patch<'_>] = &[
    EMPTY[0],
    EMPTY[1],
    EMPTY[2],
    (0x24, &[0xf8, 0xef]),
    (0x28, &[0xcc]),
];

/// Two entries of 16 bytes, of which the second has no bytes.
const WIDE_EMPTY: &[Patch<'_>] = &[
    (0x0b, &[0x3c]),
    (0x10, &[2]),
    (0x14, &[0xf8, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    (0x1c, &[0x94, 0, 0, 0, 0, 0, 0, 0]),
    (0x24, &[0xf8, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    (0x2c, &[0xcc, 0, 0, 0, 0, 0, 0, 0]),
    EMPTY[1],
    EMPTY[2],
];

/// The second entry is the same as the first.
const TWICE: &[Patch<'_>] = &[(0x1c, &[0xf8, 0xef]), (0x20, &[0x94])];

/// The second function has the first four bytes of the first one.
const SHORT: &[Patch<'_>] = &[(0x1c, &[0xf8, 0xef]), (0xdc, &[0x24]), (0xe0, &[4])];

/// A CIE of version 4, which says how long addresses and segment selectors are.
const VERSION_4: &[u8] = &[
    4, b'z', b'R', 0, 8, 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,
];

/// A CIE without an augmentation, and an FDE with absolute addresses.
const PLAIN: &[Patch<'_>] = &[
    (
        0x54,
        &[1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0],
    ),
    (0xa4, &[0x00, 0x10, 0x40, 0, 0, 0, 0, 0]),
    (0xac, &[0x40, 0, 0, 0, 0, 0, 0, 0]),
    (0xb4, &[0x0e, 16, 0x50]),
];

/// An FDE with an absolute start.
const ABSOLUTE: &[Patch<'_>] = &[(0x5c, &[0x03]), (0xa4, &[0x00, 0x10, 0x40, 0x00])];

/// Instructions that are not there, among them those of other architectures.
const UNKNOWN: &[(u8, u8)] = &[(0x01, 0x01), (0x17, 0x1c), (0x1e, 0x2d), (0x30, 0x3f)];
