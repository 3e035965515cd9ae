// SPDX-License-Identifier: GPL-2.0

//! Rows, which programs compute: the places of the CFA and of the caller's registers.

use super::{
    super::{
        Arch,
        Key,
        Register,
        Rule,
        Unsupported,
        Value, //
    },
    cie::Cie, //
};

/// The place of a value, or why no rule can name it. [`Value::Unknown`] is a value that is gone.
pub(crate) type Place = Result<Value, Unsupported>;

/// The place of the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cfa {
    /// Register + offset, of which either may be one that no rule can name.
    Parts(Option<Register>, Option<i32>),
    /// The value of an expression, which has no parts to change, and so many bytes above it.
    Expression(Place, i8),
}

impl Cfa {
    /// A CFA that is not said.
    pub(super) const UNSAID: Self = Self::Expression(Err(Unsupported::Cfa), 0);
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
        cfa: Cfa::UNSAID,
        ra: Ok(Value::Unchanged),
        fp: Ok(Value::Unchanged),
        other_sp: false,
        signed: 0,
    };

    /// Makes the rule of this row.
    pub(super) fn rule<A: Arch>(&self, cie: &Cie) -> Result<Rule, Unsupported> {
        // Whoever says that there is no return address says that there is no caller.
        if self.ra == Ok(Value::Unknown) {
            return Ok(Rule::outermost());
        }
        let at_sp = |offset| Ok(Value::AtRegister(Register::Sp, offset));
        let saved = |[sp, pc, fp]: [i32; 3]| {
            (self.cfa, self.ra, self.fp) == (Cfa::Expression(at_sp(sp), 0), at_sp(pc), at_sp(fp))
        };
        if cie.signal && A::SIGNAL_FRAME.is_some_and(saved) {
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
            Cfa::Expression(place, above) => (place?, above),
        };
        let ra = match self.ra? {
            Value::Unchanged if A::FIXED_RA != 0 => return Err(Unsupported::ReturnAddress),
            ra => ra,
        };
        // Whatever the reason is, the rest is a rule.
        let fp = self.fp.unwrap_or(Value::Unknown);
        let rule = Rule::frame(cfa, ra, fp)
            .and_then(|rule| rule.with_cfa_above(above.into()))
            .ok_or(Unsupported::Cfa)?;

        Ok(rule.with_signal(cie.signal).with_signed_ra(key))
    }
}
