// SPDX-License-Identifier: GPL-2.0

//! A rule in a word: what the kernel remembers of an address.

use core::num::NonZero;

use super::{
    Register,
    Rule,
    Value, //
};

/// What the tables say of an address, in a word.
///
/// It has, from the least significant bit: [`Packed::KNOWN`] and [`Packed::USUAL`]; six bits of
/// flags, the byte that says where the CFA is, and its offset in the most significant half, all as
/// a [`Rule`] has them. Between these, in 16 bits, is the offset from the CFA to where the frame
/// pointer was saved, 0 if it was not. The return address is just below the CFA. C applies it, too.
/// Where the CFA is above what its source says, both numbers share the most significant half.
///
/// # Invariants
///
/// It has the bit [`Packed::KNOWN`], so it is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Packed(NonZero<u64>);

/// Where the rule goes that a lookup finds.
pub(crate) trait Sink {
    /// Takes a rule that is packed.
    fn put_packed(&mut self, packed: Packed);

    /// Takes a rule that does not fit into a word.
    fn put_large(&mut self, rule: Rule);

    /// Takes a rule.
    fn put(&mut self, rule: Rule) {
        match Packed::new(&rule) {
            Some(packed) => self.put_packed(packed),
            None => self.put_large(rule),
        }
    }
}

impl Sink for Option<Rule> {
    fn put_packed(&mut self, packed: Packed) {
        *self = packed.rule();
    }

    fn put_large(&mut self, rule: Rule) {
        *self = Some(rule);
    }
}

impl Packed {
    /// There is an answer, which may be that no table has any.
    pub(crate) const KNOWN: u64 = 1 << 0;
    /// The CFA is in the stack pointer or the frame pointer, nothing is said of signals, and what
    /// was saved is at most [`Packed::NEAR`] bytes below the CFA.
    pub(crate) const USUAL: u64 = 1 << 1;
    /// There is no caller.
    pub(crate) const OUTERMOST: u64 = (Rule::outermost().flags() as u64) << Self::FLAGS;
    /// In a usual rule: the CFA is in the frame pointer.
    pub(crate) const FROM_FP: u64 = 1 << Self::SOURCE;
    /// How far below the CFA a usual frame has what it has saved, in bytes.
    pub(crate) const NEAR: i16 = 256;
    /// Where the offset of the caller's frame pointer is: 16 bits.
    pub(crate) const FP: u32 = 16;
    /// Where the offset of the CFA is: 32 bits.
    pub(crate) const CFA: u32 = 32;

    const FLAGS: u32 = 2;
    const SOURCE: u32 = 8;
    /// That no table says anything of an address.
    // INVARIANT: It has the bit, the least significant one.
    pub(crate) const NOTHING: Self = Self(NonZero::<u64>::MIN);

    /// A rule, or none if it does not fit.
    #[inline(always)]
    pub(crate) fn new(rule: &Rule) -> Option<Self> {
        const UNCHANGED: u8 = Value::Unchanged.source();
        const AT_CFA: u8 = Value::AtCfa(0).source();
        const BY_SP: u8 = Value::Register(Register::Sp, 0).source();
        const BY_FP: u8 = Value::Register(Register::Fp, 0).source();
        let ([cfa_offset, ra_offset, fp_offset], [cfa, ra, fp, flags]) = rule.parts();
        let short = i16::try_from(fp_offset).ok()?;
        let (cfa_offset, ra_offset) = match flags & Rule::CFA_ABOVE {
            0 => (cfa_offset as u32, ra_offset),
            _ => (Self::both(cfa_offset, ra_offset)?, Rule::RA),
        };

        // What says nothing of registers, or where usual frames have what they have saved.
        let fits = match (cfa, fp) {
            (UNCHANGED, _) => true,
            (_, UNCHANGED) => ra == AT_CFA && ra_offset == Rule::RA,
            (_, AT_CFA) => ra == AT_CFA && ra_offset == Rule::RA && short != 0,
            _ => false,
        };
        let is_near = fp == UNCHANGED || (-Self::NEAR..=-8).contains(&short);
        let usual = if flags == 0 && (cfa == BY_SP || cfa == BY_FP) && is_near {
            Self::USUAL
        } else {
            0
        };

        fits.then_some(Self::known(
            usual
                | u64::from(flags) << Self::FLAGS
                | u64::from(cfa) << Self::SOURCE
                | u64::from(short as u16) << Self::FP
                | u64::from(cfa_offset) << Self::CFA,
        ))
    }

    /// The usual rule of a CFA in the stack pointer, or else in the frame pointer, with an offset;
    /// and that of where the frame pointer was saved, if it was. None if it was saved elsewhere
    /// than just below the CFA.
    #[inline(always)]
    pub(super) fn usual(from_sp: bool, cfa_offset: i32, fp_offset: Option<i32>) -> Option<Self> {
        const BY_SP: u8 = Value::Register(Register::Sp, 0).source();
        const BY_FP: u8 = Value::Register(Register::Fp, 0).source();
        let fp_offset = match fp_offset {
            None => 0,
            Some(offset) if (-i32::from(Self::NEAR)..=-8).contains(&offset) => offset as u16,
            Some(_) => return None,
        };

        Some(Self::known(
            Self::USUAL
                | u64::from(if from_sp { BY_SP } else { BY_FP }) << Self::SOURCE
                | u64::from(fp_offset) << Self::FP
                | u64::from(cfa_offset as u32) << Self::CFA,
        ))
    }

    /// The offset of the CFA's source, and how far above the CFA is.
    fn both(offset: i32, above: i32) -> Option<u32> {
        let [a, b] = i16::try_from(offset).ok()?.to_le_bytes();
        let [c, d] = i16::try_from(above).ok()?.to_le_bytes();

        Some(u32::from_le_bytes([a, b, c, d]))
    }

    /// A word with these bits and [`Packed::KNOWN`].
    #[inline(always)]
    fn known(bits: u64) -> Self {
        // INVARIANT: It has the bit.
        Self(Self::NOTHING.0 | bits)
    }

    /// The word, for C.
    pub(crate) const fn word(self) -> u64 {
        self.0.get()
    }

    /// What a word from C is, if it is one.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        (word & Self::KNOWN != 0).then_some(Self::known(word))
    }

    /// The rule; none if no table says anything.
    pub(crate) fn rule(self) -> Option<Rule> {
        let word = self.word();
        let [first, source, ..] = word.to_le_bytes();
        let flags = first.wrapping_shr(Self::FLAGS);

        if source == 0 {
            return (flags != 0).then(|| Rule::without_rows(flags));
        }
        let offset = word.wrapping_shr(Self::CFA) as i32;
        let (offset, above) = match flags & Rule::CFA_ABOVE {
            0 => (offset, 0),
            _ => ((offset as i16).into(), offset.wrapping_shr(16)),
        };
        let cfa = Value::from_source(source, offset);
        let fp = match word.wrapping_shr(Self::FP) as i16 {
            0 => Value::Unchanged,
            offset => Value::AtCfa(offset.into()),
        };

        Rule::frame(cfa, Value::AtCfa(Rule::RA), fp)?
            .with_cfa_above(above)
            .map(|rule| rule.with_flags(flags))
    }
}
