// SPDX-License-Identifier: GPL-2.0

//! Rules of shapes that are common, and others.

use super::*;

/// The highest offset of a CFA and of a saved register, and one less than the lowest ones.
const CFA: i32 = (1 << 21) - 1;
const SAVED: i32 = (1 << 16) - 1;

/// What fits in a word.
pub(crate) const COMMON: &[Expected] = &[
    NOT_FOUND,
    OUTERMOST,
    SIGNAL_FRAME,
    frame(sp(8), at_cfa(-8), SAME),
    frame(sp(8), at_cfa(-8), SAME).signal(),
    frame(sp(16), at_cfa(-8), at_cfa(-16)),
    frame(fp(16), at_cfa(-8), at_cfa(-16)),
    frame(fp(0), at_cfa(0), at_cfa(0)),
    frame(sp(0), SAME, SAME),
    frame(sp(0), SAME, SAME).signed(Key::A),
    frame(sp(0), SAME, SAME).signed(Key::B),
    frame(sp(0), SAME, SAME).signed(Key::B).signal(),
    frame(sp(0), at_cfa(0), SAME),
    frame(sp(0), SAME, at_cfa(0)),
    frame(fp(32), at_cfa(-24), at_cfa(-32)).signed(Key::A),
    frame(sp(160), at_cfa(-48), at_cfa(-72)),
    frame(sp(CFA), at_cfa(SAVED), at_cfa(SAVED)),
    frame(fp(!CFA), at_cfa(!SAVED), at_cfa(!SAVED)),
    frame(fp(CFA), at_cfa(!SAVED), at_cfa(SAVED)),
    frame(sp(!CFA), at_cfa(SAVED), at_cfa(!SAVED)),
    frame(sp(-1), at_cfa(-1), at_cfa(-1)),
    frame(sp(1), at_cfa(0), at_cfa(0)),
    frame(sp(0), at_cfa(1), at_cfa(0)),
    frame(sp(0), at_cfa(0), at_cfa(1)),
];

/// What does not.
pub(crate) const OTHERS: &[Expected] = &[
    OUTERMOST.signal(),
    frame(sp(CFA + 1), at_cfa(-8), SAME),
    frame(sp(!CFA - 1), at_cfa(-8), SAME),
    frame(fp(i32::MAX), at_cfa(-8), SAME),
    frame(fp(i32::MIN), at_cfa(-8), SAME),
    frame(sp(8), at_cfa(SAVED + 1), SAME),
    frame(sp(8), at_cfa(!SAVED - 1), SAME),
    frame(sp(8), at_cfa(i32::MAX), SAME),
    frame(sp(8), at_cfa(i32::MIN), SAME),
    frame(sp(8), SAME, at_cfa(SAVED + 1)),
    frame(sp(8), SAME, at_cfa(!SAVED - 1)),
    frame(sp(8), SAME, at_cfa(i32::MAX)),
    frame(sp(8), SAME, at_cfa(i32::MIN)),
    frame(at_sp(8), at_cfa(-8), SAME),
    frame(at_fp(8), at_cfa(-8), SAME),
    frame(reg(10, 0), at_cfa(-8), SAME),
    frame(at_reg(10, 0), at_cfa(-8), SAME),
    frame(sp(8), reg(11, 0), SAME),
    frame(sp(8), sp(0), SAME),
    frame(sp(8), at_sp(0), SAME),
    frame(sp(8), at_fp(0), SAME),
    frame(sp(8), at_reg(11, 0), SAME),
    frame(sp(8), at_cfa(-8), reg(11, 0)),
    frame(sp(8), at_cfa(-8), fp(0)),
    frame(sp(8), at_cfa(-8), at_sp(0)),
    frame(sp(8), at_cfa(-8), at_fp(0)),
    frame(sp(8), at_cfa(-8), at_reg(11, 0)),
];
