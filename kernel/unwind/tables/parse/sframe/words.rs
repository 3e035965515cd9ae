// SPDX-License-Identifier: GPL-2.0

//! What a row's data words say: "SFrame FRE Data Words", "Default FDE Type" and "Flexible FDE Type"
//! of the specification.

use super::{
    super::{
        Error,
        Reader,
        Register,
        Rule,
        Value, //
    },
    abi::Abi,
    reason::Reason,
    row::{
        Attribute,
        Row,
        Width, //
    },
    window::Window, //
};

/// The numbers of words that a row of a flexible function may have, as a set of bits: two for the
/// CFA, then none, two for the return address, or one or two for it and two for the frame pointer.
const FLEXIBLE_WORDS: u16 = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6;

/// A control word: what the offset after it counts from.
#[derive(Clone, Copy)]
struct Control(u32);

impl Control {
    /// It counts from a register, not from the CFA.
    const REGISTER: u32 = 1 << 0;
    /// The value is what stands there.
    const AT: u32 = 1 << 1;
    /// Has no meaning.
    const RESERVED: u32 = 1 << 2;

    /// The register that it names, if it names one.
    fn register<A: Abi>(self) -> Result<Option<Register>, Reason> {
        let number = self.0 >> 3;

        if self.0 & Self::RESERVED != 0 {
            return Err(Reason::Control);
        }
        if self.0 & Self::REGISTER == 0 {
            return if number == 0 {
                Ok(None)
            } else {
                Err(Reason::Control)
            };
        }
        A::register(number).map(Some).ok_or(Reason::Register)
    }

    fn is_at(self) -> bool {
        self.0 & Self::AT != 0
    }
}

/// The rule of a row of a default function with this information byte, whose data words are at the
/// start of `words`.
///
/// `None` only means that [`Window::rule`] has to decide: there may be more words, or they have no
/// meaning, or the return address is signed.
#[inline(always)]
pub(super) fn default_rule<A: Abi>(info: u8, words: [u8; 8]) -> Option<Rule> {
    let count = u32::from((info >> 1) & 0xf);
    let bits = 8u32.wrapping_shl(u32::from((info >> 5) & 3));
    let unused = 64u32.wrapping_sub(bits);
    let word = |nth: u32| {
        let skipped = bits.wrapping_mul(nth);
        let top = if A::BIG_ENDIAN {
            u64::from_be_bytes(words).wrapping_shl(skipped)
        } else {
            u64::from_le_bytes(words).wrapping_shl(unused.wrapping_sub(skipped))
        };

        (top as i64).wrapping_shr(unused) as i32
    };

    if A::WORDS & 1u16.wrapping_shl(count) == 0 || Row::is_signed::<A>(info) {
        return None;
    }
    // Two words always fit.
    if A::WORDS > 7 && bits.wrapping_mul(count) > 64 {
        return None;
    }
    let base = if Row::is_from_sp(info) {
        Register::Sp
    } else {
        Register::Fp
    };
    let (ra, fp_word) = if A::FIXED_RA != 0 {
        (Value::AtCfa(A::FIXED_RA.into()), 1)
    } else if count < 2 || (A::RA_FILLER && word(1) == 0) {
        (Value::Unchanged, 2)
    } else {
        (Value::AtCfa(word(1)), 2)
    };
    let fp = if fp_word < count {
        Value::AtCfa(word(fp_word))
    } else {
        Value::Unchanged
    };

    Rule::frame(Value::Register(base, A::cfa_offset(word(0))?), ra, fp)
}

impl<A: Abi, R: Reader> Window<'_, A, R> {
    /// The rule of `row`, which must be of a function with this attribute.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] or [`Error::Malformed`] if its words cannot be had or have no meaning.
    pub(super) fn rule(&mut self, attribute: &Attribute, row: &Row) -> Result<Rule, Error> {
        let rule = if row.words() == 0 {
            Rule::outermost()
        } else if attribute.flexible {
            self.flexible(row)?
        } else {
            self.default(row)?
        };

        Ok(rule
            .with_signal(attribute.signal)
            .with_signed_ra(row.signed::<A>().then_some(attribute.key)))
    }

    /// The rule of a row of a default function: offsets of the CFA, the return address unless that
    /// is fixed, and the frame pointer.
    fn default(&mut self, row: &Row) -> Result<Rule, Error> {
        if A::WORDS & 1u16.wrapping_shl(row.words().into()) == 0 {
            return Err(self.error(Reason::WordCount, row.info_at()));
        }
        let base = if row.counts_from_sp() {
            Register::Sp
        } else {
            Register::Fp
        };
        let cfa = Value::Register(base, self.cfa_offset(row, 0)?);
        let (ra, fp_word) = if A::FIXED_RA != 0 {
            (Value::AtCfa(A::FIXED_RA.into()), 1)
        } else if row.words() < 2 {
            (Value::Unchanged, 2)
        } else {
            match self.signed(row, 1)? {
                0 if A::RA_FILLER => (Value::Unchanged, 2),
                offset => (Value::AtCfa(offset), 2),
            }
        };
        let fp = if fp_word < row.words() {
            Value::AtCfa(self.signed(row, fp_word)?)
        } else {
            Value::Unchanged
        };

        self.frame(row, cfa, ra, fp)
    }

    /// The rule of a row of a flexible function.
    fn flexible(&mut self, row: &Row) -> Result<Rule, Error> {
        if FLEXIBLE_WORDS & 1u16.wrapping_shl(row.words().into()) == 0 {
            return Err(self.error(Reason::WordCount, row.info_at()));
        }
        let control = self.control(row, 0)?;
        let Some(base) = self.register(row, 0, control)? else {
            return Err(self.error(Reason::CfaBase, row.word_at(0)));
        };
        let offset = self.cfa_offset(row, 1)?;
        let cfa = if control.is_at() {
            Value::AtRegister(base, offset)
        } else {
            Value::Register(base, offset)
        };
        let (ra, fp_word) = self.tracked(row, 2)?;
        let (fp, end) = self.tracked(row, fp_word)?;
        let ra = match ra {
            Value::Unchanged if A::FIXED_RA != 0 => Value::AtCfa(A::FIXED_RA.into()),
            ra => ra,
        };

        // A word that says nothing stands only before others.
        if end != row.words() || (fp == Value::Unchanged && fp_word < end) {
            return Err(self.error(Reason::WordCount, row.info_at()));
        }
        self.frame(row, cfa, ra, fp)
    }

    /// What data word `nth` and the next one say about a register; and the number of the word
    /// behind them. If there is no word `nth`, or if it is 0, it stands alone and says nothing.
    fn tracked(&mut self, row: &Row, nth: u8) -> Result<(Value, u8), Error> {
        if nth >= row.words() {
            return Ok((Value::Unchanged, nth));
        }
        let control = self.control(row, nth)?;
        let offset_word = nth.saturating_add(1);
        if control.0 == 0 {
            return Ok((Value::Unchanged, offset_word));
        }
        if offset_word >= row.words() {
            return Err(self.error(Reason::WordCount, row.info_at()));
        }

        let register = self.register(row, nth, control)?;
        let offset = self.signed(row, offset_word)?;
        let value = match register {
            Some(register) if control.is_at() => Value::AtRegister(register, offset),
            Some(register) => Value::Register(register, offset),
            // All other words without a register have no meaning, or are 0.
            None => Value::AtCfa(offset),
        };
        Ok((value, offset_word.saturating_add(1)))
    }

    fn frame(&self, row: &Row, cfa: Value, ra: Value, fp: Value) -> Result<Rule, Error> {
        Rule::frame(cfa, ra, fp).ok_or(self.error(Reason::CfaBase, row.word_at(0)))
    }

    /// The offset of a CFA that data word `nth` stands for.
    fn cfa_offset(&mut self, row: &Row, nth: u8) -> Result<i32, Error> {
        A::cfa_offset(self.signed(row, nth)?)
            .ok_or(self.error(Reason::OffsetRange, row.word_at(nth)))
    }

    fn register(&self, row: &Row, nth: u8, control: Control) -> Result<Option<Register>, Error> {
        control
            .register::<A>()
            .map_err(|reason| self.error(reason, row.word_at(nth)))
    }

    fn control(&mut self, row: &Row, nth: u8) -> Result<Control, Error> {
        let at = row.word_at(nth);

        Ok(Control(match row.width() {
            Width::One => u32::from(u8::from_ne_bytes(self.get(at, Reason::RowEnd)?)),
            Width::Two => u32::from(A::u16(self.get(at, Reason::RowEnd)?)),
            Width::Four => A::u32(self.get(at, Reason::RowEnd)?),
        }))
    }

    fn signed(&mut self, row: &Row, nth: u8) -> Result<i32, Error> {
        let Control(word) = self.control(row, nth)?;

        Ok(match row.width() {
            Width::One => i32::from(word as i8),
            Width::Two => i32::from(word as i16),
            Width::Four => word as i32,
        })
    }
}
