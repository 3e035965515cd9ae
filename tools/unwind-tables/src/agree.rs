// SPDX-License-Identifier: GPL-2.0

//! What the kernel's reader says of an address next to what gimli says.

use crate::arch::Arch;
use crate::cfi::{self, Expected, Said};
use crate::parse::{Error, Register, Rule, Unsupported, Value};

/// What kind of answer it is that the kernel's reader gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Outermost,
    /// The frame of a signal, whose registers are where the kernel has saved them.
    SignalFrame,
    /// The CFA is a word above what is at a register.
    Above,
    /// The CFA counts from another register than the stack pointer and the frame pointer.
    OtherRegister,
    /// The CFA counts from one of these.
    Usual,
    /// The CFA is at a register.
    AtRegister,
    Unsupported(Unsupported),
    TooMuchWork,
}

impl Kind {
    #[cfg(test)]
    pub fn text(self) -> String {
        match self {
            Self::Outermost => "outermost",
            Self::SignalFrame => "frame of a signal",
            Self::Above => "CFA above what is at a register",
            Self::OtherRegister => "CFA from another register",
            Self::Usual => "CFA from the stack pointer or frame pointer",
            Self::AtRegister => "CFA at a register",
            Self::Unsupported(cause) => return format!("not supported: {}", cause.text()),
            Self::TooMuchWork => "not supported: too much work",
        }
        .into()
    }
}

/// What kind of answer it is; none if it is not what gimli says.
pub fn kind<A: Arch>(found: Result<Rule, Error>, expected: &Expected) -> Option<Kind> {
    let rule = match found {
        Ok(rule) => rule,
        Err(Error::Unsupported(cause)) => {
            return is_unsupported(cause, expected).then_some(Kind::Unsupported(cause));
        }
        Err(Error::Budget) => return Some(Kind::TooMuchWork),
        Err(_) => return None,
    };

    if rule.is_outermost() {
        return (expected.ra == Said::Undefined).then_some(Kind::Outermost);
    }
    if rule == Rule::signal_frame() {
        let cfa = Said::Value(Value::AtRegister(Register::Sp, 160));
        return (expected.signal && expected.cfa == cfa).then_some(Kind::SignalFrame);
    }
    is_equal::<A>(&rule, expected).then(|| match rule.cfa() {
        _ if rule.cfa_above() != 0 => Kind::Above,
        Value::Register(Register::Other(_), _) => Kind::OtherRegister,
        Value::Register(..) => Kind::Usual,
        _ => Kind::AtRegister,
    })
}

/// Whether there is something that no rule can say.
fn is_unsupported(cause: Unsupported, expected: &Expected) -> bool {
    match cause {
        Unsupported::StackPointer => expected.unusual_sp,
        // It is in a register that calls do not leave it in.
        Unsupported::ReturnAddress => expected.ra == Said::Value(Value::Unchanged),
        // Gimli refuses what this row comes from, or has no word for it.
        Unsupported::Cfa | Unsupported::Signed | Unsupported::ReturnRegister => true,
        // The kernel knows the shape of a few, and evaluates none. Gimli evaluates them all.
        Unsupported::Expression => expected.by_expression,
        _ => [expected.cfa, expected.ra].contains(&Said::Other),
    }
}

fn is_equal<A: Arch>(rule: &Rule, expected: &Expected) -> bool {
    let (cfa, base) = match rule.cfa_above() {
        0 => (Said::Value(rule.cfa()), Some(rule.cfa())),
        above => (Said::Above(rule.cfa(), above), None),
    };
    let ra = cfi::normal::<A>(rule.ra(), A::RA as u16, base);
    let fp = match rule.fp() {
        // No rule can say where it is, or nobody knows.
        Value::Unknown => {
            expected.fp_by_expression || [Said::Other, Said::Undefined].contains(&expected.fp)
        }
        fp => Said::Value(cfi::normal::<A>(fp, A::FP as u16, base)) == expected.fp,
    };

    cfa == expected.cfa
        && Said::Value(ra) == expected.ra
        && fp
        && rule.is_signal() == expected.signal
        && rule.signed_ra() == expected.signed
        && !expected.unusual_sp
}
