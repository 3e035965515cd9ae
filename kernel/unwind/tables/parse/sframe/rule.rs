// SPDX-License-Identifier: GPL-2.0

//! The data words of a row: "SFrame FRE Data Words", "Default FDE Type" and "Flexible FDE Type" of
//! the specification.

use super::{
    super::{
        Error,
        Register,
        Rule,
        Unsupported,
        Value, //
    },
    abi::Abi,
    reason::Reason,
    rows::{
        Attribute,
        Row, //
    }, //
};

/// The numbers of words that a row of a flexible function may have, as a set of bits: two for the
/// CFA, then none, two for the return address, or one or two for it and two for the frame pointer.
const FLEXIBLE_WORDS: u16 = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6;
/// Bytes of so many words at most.
const SIZE: usize = 6 * 4;

/// A control word: the base of the offset behind it.
#[derive(Clone, Copy)]
struct Control(u32);

impl Control {
    /// The base is a register, not the CFA.
    const REGISTER: u32 = 1 << 0;
    /// The value is in memory there.
    const AT: u32 = 1 << 1;
    /// Has no meaning.
    const RESERVED: u32 = 1 << 2;

    /// Returns the number of the register, or `Some(None)` if the base is the CFA. Returns `None`
    /// if the word has no meaning.
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

/// The data words of a row: of one at least, and no more than have a meaning.
pub(super) struct Words<'a> {
    row: &'a Row,
    flexible: bool,
    bytes: [u8; SIZE],
}

impl<'a> Words<'a> {
    /// Checks the number and the place of a row's words. The rows of the table end at byte `end`.
    #[inline]
    pub(super) fn new<A: Abi>(
        attribute: &Attribute,
        row: &'a Row,
        end: u64,
    ) -> Result<Self, Error> {
        let flexible = attribute.flexible;
        let numbers = if flexible { FLEXIBLE_WORDS } else { A::WORDS };

        if numbers & 1u16.wrapping_shl(row.words().into()) == 0 {
            return Err(Reason::WordCount.at(row.info_at()));
        }
        if row.word_at(row.words()) > end {
            let last = (0..row.words()).find(|nth| row.word_at(nth.wrapping_add(1)) > end);

            return Err(Reason::RowEnd.at(row.word_at(last.unwrap_or(0)).min(end)));
        }
        Ok(Self {
            row,
            flexible,
            bytes: [0; SIZE],
        })
    }

    /// Makes the rule of the words that `bytes` start with.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if they have no meaning, [`Error::Unsupported`] if they name a register
    /// that no rule can.
    #[inline]
    pub(super) fn rule<A: Abi>(mut self, bytes: [u8; SIZE]) -> Result<Rule, Error> {
        self.bytes = bytes;
        if self.flexible {
            self.flexible::<A>()
        } else {
            self.default::<A>()
        }
    }

    /// Makes the rule of a row of a default function: offsets of the CFA, the return address unless
    /// that is fixed, and the frame pointer.
    #[inline]
    fn default<A: Abi>(&self) -> Result<Rule, Error> {
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
    #[inline(never)] // Some functions align their stacks; most do not.
    fn flexible<A: Abi>(&self) -> Result<Rule, Error> {
        let control = self.control(0);
        let Some(base) = self.register::<A>(0, control)? else {
            return Err(Reason::CfaBase.at(self.row.word_at(0)));
        };
        let offset = self.signed(1);
        let cfa = if control.is_at() {
            Value::AtRegister(base, offset)
        } else {
            Value::Register(base, offset)
        };
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
    fn tracked<A: Abi>(&self, nth: u8) -> Result<(Value, u8), Error> {
        if nth >= self.row.words() {
            return Ok((Value::Unchanged, nth));
        }
        let control = self.control(nth);
        let offset_word = nth.saturating_add(1);
        if control.0 == 0 {
            return Ok((Value::Unchanged, offset_word));
        }
        if offset_word >= self.row.words() {
            return Err(Reason::WordCount.at(self.row.info_at()));
        }

        let register = self.register::<A>(nth, control)?;
        let offset = self.signed(offset_word);
        let value = match register {
            Some(register) if control.is_at() => Value::AtRegister(register, offset),
            Some(register) => Value::Register(register, offset),
            // All other words without a register have no meaning, or are 0.
            None => Value::AtCfa(offset),
        };
        Ok((value, offset_word.saturating_add(1)))
    }

    #[inline(always)] // A default function's values are of known kinds.
    fn frame(&self, cfa: Value, ra: Value, fp: Value) -> Result<Rule, Error> {
        Rule::frame(cfa, ra, fp).ok_or_else(|| Reason::CfaBase.at(self.row.word_at(0)))
    }

    fn register<A: Abi>(&self, nth: u8, control: Control) -> Result<Option<Register>, Error> {
        let Some(number) = control.register() else {
            return Err(Reason::Control.at(self.row.word_at(nth)));
        };

        // A table may name any register, such as a vector register. A rule names general ones.
        number
            .map(|number| A::register(number).ok_or(Unsupported::Register.into()))
            .transpose()
    }

    /// Decodes data word `nth`, which is one of the first six.
    #[inline]
    fn control(&self, nth: u8) -> Control {
        let width = self.row.width();
        let at = usize::from(nth).wrapping_mul(width as usize);
        let bytes = self.bytes.get(at..).unwrap_or_default();
        let number = match (width, bytes) {
            (_, [a, b, c, d, ..]) => width.number([*a, *b, *c, *d]),
            _ => 0,
        };

        Control(number)
    }

    #[inline]
    fn signed(&self, nth: u8) -> i32 {
        let Control(word) = self.control(nth);

        match self.row.width() as usize {
            1 => i32::from(word as i8),
            2 => i32::from(word as i16),
            _ => word as i32,
        }
    }
}
