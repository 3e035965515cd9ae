// SPDX-License-Identifier: GPL-2.0

//! Rows, which programs compute: the places of the CFA and of the caller's registers.

use super::{
    super::{
        Key,
        Register,
        Rule,
        Unsupported,
        Value, //
    },
    abi::Abi,
    cie::Cie, //
};

/// How long a word is, in bytes.
const WORD: i32 = 8;

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In its own register.
    Unchanged,
    /// Nowhere any more.
    Undefined,
    /// In memory, at CFA + offset.
    AtCfa(i32),
    /// Not in memory: the value is register + offset.
    Register(Register, i32),
    /// In memory, at register + offset.
    AtRegister(Register, i32),
    /// Not in memory: the value is so many words above the word at register + offset.
    AboveAtRegister(Register, i32, u8),
    /// In a place that no rule can name.
    Unsupported(Unsupported),
}

/// The place of the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cfa {
    /// Register + offset, of which either may be one that no rule can name.
    Parts(Option<Register>, Option<i32>),
    /// The value of an expression, which has no parts to change.
    Expression(Place),
}

/// The rules that hold at an address.
///
/// Of registers the stack pointer, the return address, and the frame pointer or another one in its
/// place are tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(super) cfa: Cfa,
    pub(super) ra: Place,
    pub(super) fp: Place,
    /// Whether the caller's stack pointer is not the CFA.
    pub(super) other_sp: bool,
    /// How return addresses are signed, as a set of bits: 0 or 1, or more that is not supported.
    pub(super) signed: u8,
}

// Of these a program has one for each remembered state, on the kernel's stack.
const _: () = assert!(size_of::<Row>() <= 32);

impl Row {
    /// The row that a CIE's program starts with.
    pub(super) const EMPTY: Self = Self {
        cfa: Cfa::Expression(Place::Unsupported(Unsupported::Cfa)),
        ra: Place::Unchanged,
        fp: Place::Unchanged,
        other_sp: false,
        signed: 0,
    };

    /// Makes the rule of this row.
    pub(super) fn rule<A: Abi>(&self, cie: &Cie) -> Result<Rule, Unsupported> {
        // Whoever says that there is no return address says that there is no caller.
        if self.ra == Place::Undefined {
            return Ok(Rule::outermost());
        }
        if cie.signal && A::is_signal_frame(self) {
            return Ok(Rule::signal_frame());
        }
        if self.other_sp {
            return Err(Unsupported::StackPointer);
        }
        let key = match self.signed {
            0 => None,
            1 if cie.key_b => Some(Key::B),
            1 => Some(Key::A),
            _ => return Err(Unsupported::Signed),
        };
        let (cfa, above) = match self.cfa {
            Cfa::Parts(register, offset) => (
                Value::Register(
                    register.ok_or(Unsupported::Register)?,
                    offset.ok_or(Unsupported::Offset)?,
                ),
                0,
            ),
            Cfa::Expression(Place::AboveAtRegister(register, offset, words)) => (
                Value::AtRegister(register, offset),
                i32::from(words).wrapping_mul(WORD),
            ),
            Cfa::Expression(place) => (place.value(Unsupported::Cfa)?, 0),
        };
        let ra = match self.ra {
            Place::Unchanged if !A::LINK_REGISTER => return Err(Unsupported::ReturnAddress),
            ra => ra.value(Unsupported::ReturnAddress)?,
        };
        // Whatever the reason is, the rest is a rule.
        let fp = self
            .fp
            .value(Unsupported::Register)
            .unwrap_or(Value::Unknown);
        let rule = Rule::frame(cfa, ra, fp)
            .and_then(|rule| rule.with_cfa_above(above))
            .ok_or(Unsupported::Cfa)?;

        Ok(rule.with_signal(cie.signal).with_signed_ra(key))
    }
}

impl Place {
    /// Makes a value of a rule. `lost` is the error for a value that is gone.
    fn value(self, lost: Unsupported) -> Result<Value, Unsupported> {
        Ok(match self {
            Self::Unchanged => Value::Unchanged,
            Self::AtCfa(offset) => Value::AtCfa(offset),
            Self::Register(register, offset) => Value::Register(register, offset),
            Self::AtRegister(register, offset) => Value::AtRegister(register, offset),
            Self::Undefined | Self::AboveAtRegister(..) => return Err(lost),
            Self::Unsupported(unsupported) => return Err(unsupported),
        })
    }
}
