// SPDX-License-Identifier: GPL-2.0

//! The data words of a row: "SFrame FRE Data Words", "Default FDE Type" and "Flexible FDE Type" of
//! the specification.

use super::{
    super::{
        reader::field,
        Arch,
        Error,
        Register,
        Rule,
        Unsupported,
        Value, //
    },
    reason::Reason,
    rows::{
        number,
        Row, //
    }, //
};

/// The data words of a row, one at least.
pub(super) struct Words<'a> {
    pub(super) row: &'a Row,
    /// The bytes that start with the words, and others behind them.
    pub(super) bytes: [u8; Words::SIZE],
}

impl Words<'_> {
    /// The numbers of words that a row of a flexible function may have, as a set of bits: two for
    /// the CFA, then none, two for the return address, or one or two for it and two for the frame
    /// pointer.
    pub(super) const FLEXIBLE: u16 = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6;
    /// Bytes of so many words at most.
    pub(super) const SIZE: usize = 6 * 4;
    /// In a control word: the base of the offset behind it is a register, not the CFA.
    const REGISTER: u32 = 1 << 0;
    /// In a control word: the value is in memory there.
    const AT: u32 = 1 << 1;
    /// In a control word: has no meaning.
    const RESERVED: u32 = 1 << 2;

    /// Makes the rule of a row of a default function: offsets of the CFA, the return address unless
    /// that is fixed, and the frame pointer.
    #[inline]
    pub(super) fn default<A: Arch>(&self) -> Result<Rule, Error> {
        let words = self.row.words();
        let base = if self.row.counts_from_sp() {
            Register::Sp
        } else {
            Register::Fp
        };
        let cfa = Value::Register(base, self.signed(0));
        let (ra, fp_word) = if A::FIXED_RA != 0 {
            (Value::AtCfa(A::FIXED_RA.into()), 1)
        } else if words < 2 {
            (Value::Unchanged, 2)
        } else {
            (Value::AtCfa(self.signed(1)), 2)
        };
        let fp = if fp_word < words {
            Value::AtCfa(self.signed(fp_word))
        } else {
            Value::Unchanged
        };

        self.frame(cfa, ra, fp)
    }

    /// Makes the rule of a row of a flexible function.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the words have no meaning, [`Error::Unsupported`] if they name a
    /// register that no rule can.
    #[inline(never)] // Some functions align their stacks; most do not.
    pub(super) fn flexible<A: Arch>(&self) -> Result<Rule, Error> {
        let cfa = self.value::<A>(0)?;
        let (ra, fp_word) = self.tracked::<A>(2)?;
        let (fp, end) = self.tracked::<A>(fp_word)?;
        let ra = match ra {
            Value::Unchanged if A::FIXED_RA != 0 => Value::AtCfa(A::FIXED_RA.into()),
            ra => ra,
        };

        // A word that says nothing stands only before others.
        if end != self.row.words() || (fp == Value::Unchanged && fp_word < end) {
            return Err(Reason::WordCount.at(self.row.info_at()));
        }
        self.frame(cfa, ra, fp)
    }

    /// Returns what data word `nth` and the next one say about a register; and the number of the
    /// word behind them. A word 0 stands alone and says nothing, and neither does one that is not
    /// there.
    fn tracked<A: Arch>(&self, nth: u8) -> Result<(Value, u8), Error> {
        let behind = |words| nth.saturating_add(words);

        if nth >= self.row.words() {
            return Ok((Value::Unchanged, nth));
        }
        if self.word(nth) == 0 {
            return Ok((Value::Unchanged, behind(1)));
        }
        if behind(1) >= self.row.words() {
            return Err(Reason::WordCount.at(self.row.info_at()));
        }
        Ok((self.value::<A>(nth)?, behind(2)))
    }

    /// Decodes data word `nth`, which is a control word, and the offset behind it.
    fn value<A: Arch>(&self, nth: u8) -> Result<Value, Error> {
        let control = self.word(nth);
        let number = control >> 3;
        let offset = self.signed(nth.saturating_add(1));

        match control & (Self::REGISTER | Self::RESERVED) {
            0 if number == 0 => Ok(Value::AtCfa(offset)),
            Self::REGISTER => {
                // A table may name any register, such as a vector register. A rule names general
                // ones.
                let register = A::register(number).ok_or(Unsupported::Register)?;

                Ok(match control & Self::AT {
                    0 => Value::Register(register, offset),
                    _ => Value::AtRegister(register, offset),
                })
            }
            _ => Err(Reason::Control.at(self.row.word_at(nth))),
        }
    }

    #[inline(always)] // A default function's values are of known kinds.
    fn frame(&self, cfa: Value, ra: Value, fp: Value) -> Result<Rule, Error> {
        Rule::frame(cfa, ra, fp).ok_or_else(|| Reason::CfaBase.at(self.row.word_at(0)))
    }

    /// Decodes data word `nth`, which is one of the first six.
    #[inline]
    fn word(&self, nth: u8) -> u32 {
        let width = self.row.width();

        number(width, field(&self.bytes, width.wrapping_mul(nth.into())))
    }

    /// Decodes data word `nth` as a signed number.
    #[inline]
    fn signed(&self, nth: u8) -> i32 {
        let word = self.word(nth);

        match self.row.width() {
            1 => i32::from(word as i8),
            2 => i32::from(word as i16),
            _ => word as i32,
        }
    }
}
