// SPDX-License-Identifier: GPL-2.0

//! How things are written for people.

use crate::arch::{Arch, register_name};
use crate::parse::{Error, Key, Rule, Value};

/// Text from a file, without characters that a terminal would act on.
pub fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// A value: `sp+16`, `(fp-8)` for what is there, `c-8` for what is at CFA-8, `u` for unchanged,
/// `?` for one that is not known.
pub fn value<A: Arch>(value: Value) -> String {
    match value {
        Value::Unchanged => "u".into(),
        Value::AtCfa(offset) => format!("c{offset:+}"),
        Value::Register(register, offset) => format!("{}{offset:+}", register_name::<A>(register)),
        Value::AtRegister(register, offset) => {
            format!("({}{offset:+})", register_name::<A>(register))
        }
        Value::Unknown => "?".into(),
    }
}

/// A rule: `cfa=sp+16 ra=c-8 fp=u`. `cfa=(sp+8)+8` is 8 bytes above what is there.
pub fn rule<A: Arch>(rule: &Rule) -> String {
    let mut text = if rule.is_outermost() {
        "outermost".into()
    } else if rule.cfa() == Value::Unchanged {
        "signal frame without rows".into()
    } else {
        format!(
            "cfa={}{} ra={} fp={}{}",
            value::<A>(rule.cfa()),
            match rule.cfa_above() {
                0 => String::new(),
                above => format!("+{above}"),
            },
            value::<A>(rule.ra()),
            value::<A>(rule.fp()),
            if rule.is_signal() { " signal" } else { "" },
        )
    };

    text += match rule.signed_ra() {
        None => "",
        Some(Key::A) => " signed-a",
        Some(Key::B) => " signed-b",
    };
    text
}

/// An address in a function: `main+0x5 (0x401005)`, or the address alone.
pub fn place(name: Option<&str>, start: u64, address: u64) -> String {
    match name {
        Some(name) if address == start => format!("{name} ({address:#x})"),
        Some(name) => format!("{name}+{:#x} ({address:#x})", address.wrapping_sub(start)),
        None if address == start => format!("{address:#x}"),
        None => format!(
            "{start:#x}+{:#x} ({address:#x})",
            address.wrapping_sub(start)
        ),
    }
}

/// Why the parser has no answer.
pub fn error(error: Error) -> String {
    match error {
        Error::NotFound => "nothing known about this address".into(),
        Error::Fault => "in no loaded part of the file".into(),
        Error::Malformed(malformed) => {
            format!(
                "{} (table offset {:#x})",
                malformed.reason.text(),
                malformed.offset
            )
        }
        Error::Unsupported(cause) => format!("not supported: {}", cause.text()),
        Error::Budget => "a lookup costs too much".into(),
        Error::Absent(absence) => absence.text().into(),
    }
}

/// Part of a whole, in percent.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::Register;
    use crate::parse::{AArch64, Amd64};

    #[test]
    fn rules_are_readable() {
        let frame = Rule::frame(
            Value::Register(Register::Sp, 16),
            Value::AtCfa(-8),
            Value::Unchanged,
        );
        let flexible = Rule::frame(
            Value::AtRegister(Register::Fp, -16),
            Value::AtCfa(-8),
            Value::Register(Register::Other(3), 0),
        );

        let above = flexible.unwrap().with_cfa_above(80);

        assert_eq!(rule::<Amd64>(&frame.unwrap()), "cfa=sp+16 ra=c-8 fp=u");
        assert_eq!(
            rule::<Amd64>(&flexible.unwrap()),
            "cfa=(fp-16) ra=c-8 fp=rbx+0"
        );
        assert_eq!(
            rule::<Amd64>(&above.unwrap().with_signal(true)),
            "cfa=(fp-16)+80 ra=c-8 fp=rbx+0 signal"
        );
        assert_eq!(rule::<Amd64>(&Rule::outermost()), "outermost");
        assert_eq!(
            value::<AArch64>(Value::Register(Register::Other(17), 0)),
            "x17+0"
        );
    }

    #[test]
    fn names_do_not_reach_the_terminal_as_commands() {
        assert_eq!(printable(b"a\x1b[2Jb\n\xff"), "a?[2Jb?\u{fffd}");
    }
}
