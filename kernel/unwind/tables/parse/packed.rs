// SPDX-License-Identifier: GPL-2.0

//! Rules in one word, as a cache can keep them.

use super::rule::{
    Key,
    Register,
    Rule,
    Value, //
};

/// What is known about an address, in one word: a rule of a common shape, or that there is none.
///
/// Common are CFA = SP or FP + n, and the return address and the frame pointer unchanged or at
/// CFA + n, with usual values of n. From the lowest bit:
///
/// ```text
///   2 bits   0: nothing is known, 1: outermost, 2: a frame, 3: a signal frame without rows
///   1 bit    the CFA is from FP, not SP
///   1 bit    the return address is on the stack
///   1 bit    the frame pointer is
///   1 bit    a signal interrupted the caller
///   2 bits   the return address is signed; with key B
///   22 bits  offset of the CFA
///   17 bits  offset of the return address
///   17 bits  offset of the frame pointer
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "for a cache of rules")]
pub(crate) struct Packed(pub(crate) u64);

#[allow(dead_code, reason = "for a cache of rules")]
impl Packed {
    const OUTERMOST: u64 = 1;
    const FRAME: u64 = 2;
    const SIGNAL_FRAME: u64 = 3;
    const FROM_FP: u64 = 1 << 2;
    const RA_SAVED: u64 = 1 << 3;
    const FP_SAVED: u64 = 1 << 4;
    const SIGNAL: u64 = 1 << 5;
    const SIGNED: u64 = 1 << 6;
    const KEY_B: u64 = 1 << 7;

    /// Packs what is known about an address; none if the rule is of no common shape.
    pub(crate) fn new(rule: Option<Rule>) -> Option<Self> {
        let Some(rule) = rule else {
            return Some(Self(0));
        };
        if rule == Rule::outermost() {
            return Some(Self(Self::OUTERMOST));
        }
        if rule == Rule::signal_frame() {
            return Some(Self(Self::SIGNAL_FRAME));
        }

        let (base, cfa) = match rule.cfa() {
            Value::Register(Register::Sp, offset) => (0, offset),
            Value::Register(Register::Fp, offset) => (Self::FROM_FP, offset),
            _ => return None,
        };
        let saved = |value, flag| match value {
            Value::Unchanged => Some((0, 0)),
            Value::AtCfa(offset) => Some((flag, offset)),
            _ => None,
        };
        let (ra_flag, ra) = saved(rule.ra(), Self::RA_SAVED)?;
        let (fp_flag, fp) = saved(rule.fp(), Self::FP_SAVED)?;
        let signal = if rule.is_signal() { Self::SIGNAL } else { 0 };
        let signed = match rule.signed_ra() {
            None => 0,
            Some(Key::A) => Self::SIGNED,
            Some(Key::B) => Self::SIGNED | Self::KEY_B,
        };

        Some(Self(
            Self::FRAME
                | (base | ra_flag | fp_flag | signal | signed)
                | (Self::field::<22>(cfa)? << 8)
                | (Self::field::<17>(ra)? << 30)
                | (Self::field::<17>(fp)? << 47),
        ))
    }

    /// What is known: every word means something, whoever made it.
    pub(crate) fn rule(self) -> Option<Rule> {
        let has = |flag| self.0 & flag != 0;

        match self.0 & 3 {
            Self::OUTERMOST => return Some(Rule::outermost()),
            Self::SIGNAL_FRAME => return Some(Rule::signal_frame()),
            Self::FRAME => {}
            _ => return None,
        }
        let base = if has(Self::FROM_FP) {
            Register::Fp
        } else {
            Register::Sp
        };
        let saved = |flag, offset| {
            if has(flag) {
                Value::AtCfa(offset)
            } else {
                Value::Unchanged
            }
        };
        let key = if has(Self::KEY_B) { Key::B } else { Key::A };

        Rule::frame(
            Value::Register(base, self.offset::<22, 8>()),
            saved(Self::RA_SAVED, self.offset::<17, 30>()),
            saved(Self::FP_SAVED, self.offset::<17, 47>()),
        )
        .map(|rule| {
            rule.with_signal(has(Self::SIGNAL))
                .with_signed_ra(has(Self::SIGNED).then_some(key))
        })
    }

    /// The lowest `BITS` bits of a number that has no more.
    fn field<const BITS: u32>(offset: i32) -> Option<u64> {
        let unused = const { 32 - BITS };

        ((offset << unused) >> unused == offset)
            .then_some(u64::from(offset as u32) & const { (1 << BITS) - 1 })
    }

    /// The number in the `BITS` bits from bit `AT`.
    fn offset<const BITS: u32, const AT: u32>(self) -> i32 {
        let unused = const { 32 - BITS };
        let low = (self.0 >> AT) as u32;

        ((low << unused) as i32) >> unused
    }
}
