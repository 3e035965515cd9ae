// SPDX-License-Identifier: GPL-2.0

//! A rule in a word, as the kernel remembers it.

use super::{
    Arch,
    Register,
    Rule,
    Value, //
};

/// A rule in a word, or the word that no table has one.
///
/// Most rules are usual, and C applies them, too. From the least significant bit, a usual rule has:
/// [`Packed::USUAL`]; [`Packed::FROM_FP`]; the place of the saved frame pointer, in words from
/// [`Packed::NEAR`] bytes below the end of the return address, or 0 if it was not saved; from bit
/// [`Packed::RA`] on, the distance of that end below the CFA in words, which is 0 where calls store
/// the return address; and, from bit [`Packed::CFA`] on, the offset of the CFA in words. The bits
/// between are 0.
///
/// Any other rule has: 0; [`Packed::OTHER`]; six bits of flags; the source of the CFA, a byte; the
/// offset of the saved frame pointer from the CFA, in 16 bits, 0 if it was not saved and
/// [`Packed::LOST`] if it is unknown; and the offset of the CFA, in 32 bits. With
/// [`Rule::CFA_ABOVE`], two offsets share these 32 bits. The return address is just below the CFA,
/// or in its register with [`Packed::RA_IN_REGISTER`].
///
/// No word says whether the return address is signed: the walker strips all of them.
///
/// # Invariants
///
/// It has one of the bits [`Packed::USUAL`] and [`Packed::OTHER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Packed(u64);

impl Packed {
    /// The bit of a usual rule.
    pub(crate) const USUAL: u64 = 1 << 0;
    /// In a usual rule: the CFA counts from the frame pointer, not from the stack pointer.
    pub(crate) const FROM_FP: u64 = 1 << 1;
    /// In a usual rule: the shift of the place of the saved frame pointer.
    pub(crate) const FP: u32 = 2;
    const FP_BITS: u32 = 5;
    /// In a usual rule: the shift of the distance of the return address's end below the CFA.
    pub(crate) const RA: u32 = Self::FP + Self::FP_BITS;
    /// In a usual rule: the number of bits of that distance.
    pub(crate) const RA_BITS: u32 = 12;
    /// In a usual rule: the shift of the offset of the CFA.
    pub(crate) const CFA: u32 = 32;
    /// In a usual rule: the number of bits of the offset of the CFA.
    pub(crate) const CFA_BITS: u32 = 20;
    /// How far below the end of the return address a usual frame may have saved the frame pointer,
    /// in bytes.
    pub(crate) const NEAR: i16 = 256;
    /// The bit of any other rule, and of [`Packed::NOTHING`].
    pub(crate) const OTHER: u64 = 1 << 1;
    /// In any other rule: there is no caller.
    pub(crate) const OUTERMOST: u64 = (Rule::outermost().flags() as u64) << Self::FLAGS;

    /// In any other rule: the return address is in the register in which calls leave it.
    const RA_IN_REGISTER: u64 = (Rule::SIGNED as u64) << Self::FLAGS;

    const BY_SP: u8 = Value::Register(Register::Sp, 0).source();
    const BY_FP: u8 = Value::Register(Register::Fp, 0).source();
    const WORD: u32 = 8;
    const FLAGS: u32 = 2;
    const SOURCE: u32 = 8;
    const OTHER_FP: u32 = 16;
    const OTHER_CFA: u32 = 32;
    /// In any other rule, instead of the offset of the frame pointer: it is unknown.
    const LOST: i16 = i16::MIN;
    /// The word of an address for which no table has a rule.
    // INVARIANT: It has the bit.
    pub(crate) const NOTHING: Self = Self(Self::OTHER);
    /// In such a word: the code keeps frame pointers.
    pub(crate) const KEEPS_FP: u64 = 1 << Self::OTHER_CFA;
    /// The word of an address for which no table has a rule, in code that keeps frame pointers.
    // INVARIANT: It has the bit.
    pub(crate) const NOTHING_BUT_FP: Self = Self(Self::OTHER | Self::KEEPS_FP);

    /// Packs a rule of an architecture. Returns `None` if it does not fit.
    #[inline(always)]
    pub(crate) fn new<A: Arch>(rule: &Rule) -> Option<Self> {
        let flags = rule.flags() & !Rule::SIGNATURE;
        let usual = match flags {
            0 => Self::usual::<A>(rule),
            _ => None,
        };
        if usual.is_some() {
            return usual;
        }
        let short = match rule.fp_from {
            Value::UNKNOWN => Self::LOST,
            _ => i16::try_from(rule.fp_offset).ok()?,
        };
        let (cfa_offset, ra_offset) = match flags & Rule::CFA_ABOVE {
            0 => (rule.cfa_offset as u32, rule.ra_offset),
            _ => (Self::both(rule.cfa_offset, rule.ra_offset)?, Rule::RA),
        };
        let in_register = match (rule.cfa_from, rule.ra_from) {
            (Value::UNCHANGED, _) | (_, Value::AT_CFA) => 0,
            _ => Self::RA_IN_REGISTER,
        };
        let ra_fits = match rule.ra_from {
            Value::UNCHANGED => true,
            from => from == Value::AT_CFA && ra_offset == Rule::RA,
        };

        // A rule without registers; or the frame pointer is at an offset from the CFA, unchanged or
        // unknown.
        let fits = match (rule.cfa_from, rule.fp_from) {
            (Value::UNCHANGED, _) => true,
            (_, Value::UNCHANGED | Value::UNKNOWN) => ra_fits,
            (_, Value::AT_CFA) => ra_fits && short != 0 && short != Self::LOST,
            _ => false,
        };

        // INVARIANT: It has the bit.
        fits.then_some(Self(
            Self::OTHER
                | in_register
                | u64::from(flags) << Self::FLAGS
                | u64::from(rule.cfa_from) << Self::SOURCE
                | u64::from(short as u16) << Self::OTHER_FP
                | u64::from(cfa_offset) << Self::OTHER_CFA,
        ))
    }

    /// Packs a usual rule. Returns `None` if it is not one, or an offset does not fit.
    #[inline(always)]
    fn usual<A: Arch>(rule: &Rule) -> Option<Self> {
        /// Says whether a number of bytes is a number of words of at most `bits` bits.
        const fn is_words(bytes: u32, bits: u32) -> bool {
            bytes & !(((1 << bits) - 1) * Packed::WORD) == 0
        }
        // C does not look for it where calls have stored it.
        let ra_bits = if A::FIXED_RA == 0 { Self::RA_BITS } else { 0 };

        let from_fp = match rule.cfa_from {
            Self::BY_SP => 0,
            Self::BY_FP => Self::FROM_FP,
            _ => return None,
        };
        let cfa = rule.cfa_offset as u32;
        let ra = match rule.ra_from {
            Value::AT_CFA => Rule::RA.wrapping_sub(rule.ra_offset) as u32,
            _ => return None,
        };
        let fp = match rule.fp_from {
            Value::UNCHANGED => 0,
            Value::AT_CFA => {
                let place = rule.fp_offset.wrapping_add(Self::NEAR.into()) as u32;

                match place.wrapping_add(ra) {
                    0 => return None,
                    place => place,
                }
            }
            _ => return None,
        };
        if !is_words(cfa, Self::CFA_BITS) || !is_words(ra, ra_bits) || !is_words(fp, Self::FP_BITS)
        {
            return None;
        }

        // All count bytes, so they are shifted by less than words would be.
        let fp = u64::from(fp >> (Self::WORD.ilog2() - Self::FP));
        let ra = u64::from(ra) << (Self::RA - Self::WORD.ilog2());
        let cfa = u64::from(cfa) << (Self::CFA - Self::WORD.ilog2());
        // INVARIANT: It has the bit.
        Some(Self(Self::USUAL | from_fp | fp | ra | cfa))
    }

    /// Packs the two offsets of a rule with [`Rule::CFA_ABOVE`]. Returns `None` if one does not
    /// fit.
    fn both(offset: i32, above: i32) -> Option<u32> {
        let [a, b] = i16::try_from(offset).ok()?.to_le_bytes();
        let [c, d] = i16::try_from(above).ok()?.to_le_bytes();

        Some(u32::from_le_bytes([a, b, c, d]))
    }

    /// Returns the word, for C.
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// Takes a word from C. Returns `None` if it is not one of these.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        // INVARIANT: It has one of the bits.
        (word & (Self::USUAL | Self::OTHER) != 0).then_some(Self(word))
    }

    /// Unpacks the rule. Returns `None` if the word says that no table has one.
    pub(crate) fn rule(self) -> Option<Rule> {
        let word = self.word();
        if word & Self::USUAL != 0 {
            return self.usual_rule();
        }
        let [first, source, ..] = word.to_le_bytes();
        let flags = first.wrapping_shr(Self::FLAGS) & !Rule::SIGNATURE;

        if source == 0 {
            return (flags != 0).then(|| Rule::without_rows(flags));
        }
        let offset = word.wrapping_shr(Self::OTHER_CFA) as i32;
        let (offset, above) = match flags & Rule::CFA_ABOVE {
            0 => (offset, 0),
            _ => ((offset as i16).into(), offset.wrapping_shr(16)),
        };
        let cfa = Value::from_source(source, offset);
        let fp = match word.wrapping_shr(Self::OTHER_FP) as i16 {
            0 => Value::Unchanged,
            Self::LOST => Value::Unknown,
            offset => Value::AtCfa(offset.into()),
        };

        let ra = match word & Self::RA_IN_REGISTER {
            0 => Value::AtCfa(Rule::RA),
            _ => Value::Unchanged,
        };

        Rule::frame(cfa, ra, fp)?
            .with_cfa_above(above)
            .map(|rule| rule.with_flags(flags))
    }

    /// Unpacks a usual rule.
    fn usual_rule(self) -> Option<Rule> {
        let bytes = |from: u32, bits: u32| {
            let words = self.word().wrapping_shr(from) as u32 & ((1 << bits) - 1);

            words.wrapping_mul(Self::WORD) as i32
        };
        let from = match self.word() & Self::FROM_FP {
            0 => Register::Sp,
            _ => Register::Fp,
        };
        let ra = bytes(Self::RA, Self::RA_BITS);
        let fp = match bytes(Self::FP, Self::FP_BITS) {
            0 => Value::Unchanged,
            place => Value::AtCfa(place.wrapping_sub(Self::NEAR.into()).wrapping_sub(ra)),
        };
        let cfa = Value::Register(from, bytes(Self::CFA, Self::CFA_BITS));

        Rule::frame(cfa, Value::AtCfa(Rule::RA.wrapping_sub(ra)), fp)
    }
}
