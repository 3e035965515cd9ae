// SPDX-License-Identifier: GPL-2.0

//! The known differences between other readers and the parser, and their causes.
//!
//! A difference counts as known only if its cause yields exactly the other answer.

use crate::answer::{Answer, Function};

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
pub const LIBSFRAME: &[Known] = &[
    Known {
        name: "trampoline without rows",
        why: "a signal trampoline has no rows if SFrame cannot express its CFI: the parser \
              reports a trampoline, libsframe reports nothing",
        is: |case| {
            case.ours == Answer::NoRows
                && case.theirs == Answer::Nothing
                && case.function.is_some_and(|function| function.signal && function.rows.is_empty())
        },
    },
    Known {
        name: "hidden by an empty function",
        why: "a function of size 0 has the same start, and libsframe's search ends there",
        is: |case| {
            let function_says = |answer| {
                case.function
                    .is_some_and(|function| function.rows.iter().any(|row| row.answer == answer))
            };
            case.shares_start && case.theirs == Answer::Nothing && function_says(case.ours)
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Frame, Row, Value};

    fn row(start: u64, offset: i32) -> Row {
        let (cfa, ra, fp) = (Value::Register(7, offset), Value::AtCfa(-8), Value::Unchanged);

        Row { start, answer: Answer::Frame(Frame { cfa, ra, fp, signed: false }) }
    }

    fn function(signal: bool, rows: Vec<Row>) -> Function {
        Function {
            start: 0x1000,
            size: 0x40,
            signal,
            flexible: true,
            block: None,
            key_b: false,
            rows,
        }
    }

    #[test]
    fn only_what_the_cause_yields() {
        let name = |function: &Function, shares_start, ours, theirs| {
            let case = Case { function: Some(function), shares_start, ours, theirs };

            Known::find(LIBSFRAME, &case).map(|known| known.name)
        };
        let rows = function(false, vec![row(0, 8), row(11, 16)]);
        let (second, other) = (rows.rows[1].answer, row(0, 24).answer);
        let hidden = Some("hidden by an empty function");

        assert_eq!(name(&rows, true, second, Answer::Nothing), hidden);
        assert_eq!(name(&rows, false, second, Answer::Nothing), None);
        assert_eq!(name(&rows, true, second, other), None);
        assert_eq!(name(&rows, true, other, Answer::Nothing), None);
        assert_eq!(name(&rows, true, second, Answer::Refused("it")), None);

        let (signal, plain) = (function(true, vec![]), function(false, vec![]));
        let none = Some("trampoline without rows");
        assert_eq!(name(&signal, false, Answer::NoRows, Answer::Nothing), none);
        assert_eq!(name(&plain, false, Answer::NoRows, Answer::Nothing), None);
        assert_eq!(name(&signal, false, Answer::NoRows, other), None);
    }
}
