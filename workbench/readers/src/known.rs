// SPDX-License-Identifier: GPL-2.0

//! The known differences between other readers and the parser, and their causes.
//!
//! A difference counts as known only if its cause yields exactly the other answer.

use crate::answer::{Answer, Frame, Function, Value};

/// A difference.
pub struct Case<'a> {
    /// The function that holds the address, if one does.
    pub function: Option<&'a Function>,
    /// Whether an empty function has the same start.
    pub shares_start: bool,
    pub ours: Answer,
    pub theirs: Answer,
}

/// A cause of differences.
pub struct Known {
    pub name: &'static str,
    pub why: &'static str,
    is: fn(&Case<'_>) -> bool,
}

impl Known {
    /// The first cause that explains `case`.
    pub fn find(known: &'static [Self], case: &Case<'_>) -> Option<&'static Self> {
        known.iter().find(|known| (known.is)(case))
    }
}

/// The causes of GNU libsframe.
pub const LIBSFRAME: &[Known] = &[NO_ROWS, EMPTY_FUNCTION];

/// The causes of `simple-frame-rs`.
pub const SIMPLE_FRAME: &[Known] = &[
    NO_ROWS,
    EMPTY_FUNCTION,
    Known {
        name: "first row of a block",
        why: "in functions that repeat a block, simple-frame-rs takes the first row that starts at \
              or below the address, but the last one holds",
        is: |case| {
            case.function.is_some_and(|function| {
                let first = function.rows.first().map(|row| row.answer);
                function.block.is_some() && first == Some(case.theirs)
            })
        },
    },
    Known {
        name: "register above 15",
        why: "simple-frame-rs takes a control word of one byte for a signed number: registers \
              above 15 become negative",
        is: |case| match case.theirs {
            Answer::Frame(frame) => {
                case.function.is_some_and(|function| function.flexible)
                    && Answer::Frame(unsigned_registers(frame)) == case.ours
            }
            _ => false,
        },
    },
];

const NO_ROWS: Known = Known {
    name: "trampoline without rows",
    why: "a signal trampoline has no rows if SFrame cannot express its CFI: the parser reports a \
          trampoline, the other readers report nothing",
    is: |case| {
        case.ours == Answer::NoRows
            && case.theirs == Answer::Nothing
            && case.function.is_some_and(|function| function.signal && function.rows.is_empty())
    },
};

const EMPTY_FUNCTION: Known = Known {
    name: "hidden by an empty function",
    why: "a function of size 0 has the same start, and the other reader's search ends there",
    is: |case| {
        let function_says = |answer| {
            case.function
                .is_some_and(|function| function.rows.iter().any(|row| row.answer == answer))
        };
        case.shares_start && case.theirs == Answer::Nothing && function_says(case.ours)
    },
};

fn unsigned_registers(frame: Frame) -> Frame {
    // A control word of one byte has 5 bits for the register.
    let unsigned = |register: u32| {
        if register.cast_signed() < 0 { register & 0x1f } else { register }
    };
    let value = |value| match value {
        Value::Register(register, offset) => Value::Register(unsigned(register), offset),
        Value::AtRegister(register, offset) => Value::AtRegister(unsigned(register), offset),
        value => value,
    };

    Frame { cfa: value(frame.cfa), ra: value(frame.ra), fp: value(frame.fp), signed: frame.signed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Row;

    fn frame(cfa: Value) -> Answer {
        Answer::Frame(Frame { cfa, ra: Value::AtCfa(-8), fp: Value::Unchanged, signed: false })
    }

    fn function(block: Option<u64>) -> Function {
        let row = |start, offset| Row { start, answer: frame(Value::Register(7, offset)) };

        Function {
            start: 0x1000,
            size: 0x40,
            signal: false,
            flexible: true,
            block,
            key_b: false,
            rows: vec![row(0, 8), row(11, 16)],
        }
    }

    /// The name of what explains that `theirs` is not the rule of the second row.
    fn name(function: &Function, shares_start: bool, theirs: Answer) -> Option<&'static str> {
        let case =
            Case { function: Some(function), shares_start, ours: function.rows[1].answer, theirs };

        Known::find(SIMPLE_FRAME, &case).map(|known| known.name)
    }

    #[test]
    fn only_what_the_cause_yields() {
        let (plain, block) = (function(None), function(Some(16)));
        let first = frame(Value::Register(7, 8));
        let other = frame(Value::Register(7, 24));
        let negative = |register: i32| frame(Value::Register(register.cast_unsigned(), 16));

        assert_eq!(name(&block, false, first), Some("first row of a block"));
        assert_eq!(name(&block, false, other), None);
        assert_eq!(name(&plain, false, first), None);
        assert_eq!(name(&plain, true, Answer::Nothing), Some("hidden by an empty function"));
        assert_eq!(name(&plain, false, Answer::Nothing), None);
        assert_eq!(name(&plain, true, other), None);
        assert_eq!(name(&plain, false, negative(7 - 32)), Some("register above 15"));
        assert_eq!(name(&plain, false, negative(6 - 32)), None);
        assert_eq!(name(&plain, false, Answer::Refused("it")), None);
    }
}
