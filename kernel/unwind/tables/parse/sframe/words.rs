// SPDX-License-Identifier: GPL-2.0

//! What a row's data words say: "SFrame FRE Data Words", "Default FDE Type" and "Flexible FDE Type"
//! of the specification.

use super::{
    super::{
        Error,
        Packed,
        Reader,
        Register,
        Rule,
        Unsupported,
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

    /// The number of the register that it names, if it names one. `None` if it has no meaning.
    fn register(self) -> Option<Option<u32>> {
        let number = self.0 >> 3;
        let names = self.0 & Self::REGISTER != 0;

        if self.0 & Self::RESERVED != 0 || (!names && number != 0) {
            return None;
        }
        Some(names.then_some(number))
    }

    fn is_at(self) -> bool {
        self.0 & Self::AT != 0
    }
}

/// Whether there are usual rules: on a little-endian machine all of whose return addresses are just
/// below the CFA.
#[inline(always)]
pub(super) fn has_usual_rules<A: Abi>() -> bool {
    !A::BIG_ENDIAN && i32::from(A::FIXED_RA) == Rule::RA
}

/// The rule of a row of a default function with this information byte, whose data words are at the
/// start of `words`, on a machine that has usual rules.
///
/// `None` only means that [`Window::rule`] has to decide: the rule may not be a usual one, or there
/// is none.
#[inline(always)]
pub(super) fn usual_rule<A: Abi>(info: u8, words: [u8; 8]) -> Option<Packed> {
    let [a, b, c, d, e, f, g, h] = words;
    let one = |byte: u8| i32::from(byte as i8);
    let two = |bytes: [u8; 2]| i32::from(i16::from_le_bytes(bytes));
    // What two words are, by how many bytes they have: most have one.
    let (cfa_offset, fp_offset) = match info {
        0x00..0x20 => (one(a), one(b)),
        0x20..0x40 => (two([a, b]), two([c, d])),
        0x40..0x60 => (
            i32::from_le_bytes([a, b, c, d]),
            i32::from_le_bytes([e, f, g, h]),
        ),
        _ => return None,
    };
    // How many there are.
    let fp_offset = match info & Row::WORDS {
        0x02 => None,
        0x04 => Some(fp_offset),
        _ => return None,
    };

    Packed::usual(Row::is_from_sp(info), cfa_offset, fp_offset)
}

impl<A: Abi, R: Reader> Window<'_, A, R> {
    /// The rule of `row`, which must be of a function with this attribute.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] or [`Error::Malformed`] if its words cannot be had or have no meaning,
    /// [`Error::Unsupported`] if they name a register that no rule can.
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
        let Some(number) = control.register() else {
            return Err(self.error(Reason::Control, row.word_at(nth)));
        };

        // A table may name any register, such as a vector register. A rule names general ones.
        number
            .map(|number| A::register(number).ok_or(Unsupported::Register.into()))
            .transpose()
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
