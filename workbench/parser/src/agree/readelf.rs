// SPDX-License-Identifier: GPL-2.0

//! The output of `readelf --sframe`. One readelf reads the tables of all architectures.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::default_ra;
use crate::listing::{Function, Row, Table};
use crate::parse::{Arch, Key, Register, Rule, Value};

/// The functions of a file.
pub(super) fn table<A: Arch>(path: &Path) -> Result<Table> {
    let mut command = Command::new("readelf");
    let output = command.arg("--sframe").arg(path).output().context("readelf cannot be run")?;
    let (text, errors) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);

    ensure!(output.status.success() && errors.is_empty(), "readelf: {errors}");
    parse::<A>(&text)
}

/// Parses the output of readelf. Each line must be known.
fn parse<A: Arch>(text: &str) -> Result<Table> {
    let mut functions: Vec<Function> = Vec::new();
    let (mut said_functions, mut said_rows) = (None, None);

    for line in text.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let understood = match columns[..] {
            ["func", "idx", ..] => function(line).map(|function| functions.push(function)),
            // The size of the block is not there.
            ["STARTPC[m]", "CFA", "FP", "RA"] => {
                functions.last_mut().map(|function| function.block = Some(0))
            }
            ["Num", "FDEs:", count] => count.parse().ok().map(|count| said_functions = Some(count)),
            ["Num", "FREs:", count] => count.parse().ok().map(|count| said_rows = Some(count)),
            [pc, ..] if pc.len() == 16 => {
                functions.last_mut().and_then(|function| row::<A>(function, line.trim()))
            }
            ["STARTPC" | "Contents" | "Header" | "Version:" | "Flags:", ..]
            | ["SFRAME_F_FDE_FUNC_START_PCREL"]
            | ["CFA", "fixed", "RA", "offset:", "-8"]
            | ["Function", "Index", ":"]
            | [] => Some(()),
            _ => None,
        };
        ensure!(understood.is_some(), "readelf: '{line}'");
    }

    let rows: usize = functions.iter().map(|function| function.rows.len()).sum();
    ensure!(
        said_functions == Some(functions.len()) && said_rows == Some(rows),
        "readelf prints other numbers of functions or rows than it lists"
    );
    Ok(Table(functions))
}

/// `func idx [5]: pc = 0x1040, size = 71 bytes, attr = "F", pauth = B key`
fn function(line: &str) -> Option<Function> {
    let (_, line) = line.split_once("pc = 0x")?;
    let (start, line) = line.split_once(", size = ")?;
    let (size, attributes) = line.split_once(" bytes")?;
    let (mut letters, mut key) = ("", Key::A);

    for attribute in attributes.split(", ").skip(1) {
        match attribute.split_once(" = ")? {
            ("attr", text) => letters = text.strip_prefix('"')?.strip_suffix('"')?,
            ("pauth", "B key") => key = Key::B,
            _ => return None,
        }
    }
    letters.trim_matches(['S', 'F']).is_empty().then_some(Function {
        start: u64::from_str_radix(start, 16).ok()?,
        size: size.parse().ok()?,
        signal: letters.contains('S'),
        flexible: letters.contains('F'),
        block: None,
        key,
        rows: Vec::new(),
    })
}

/// `0000000000001063  r10+0  (fp+0)  U`
fn row<A: Arch>(function: &mut Function, line: &str) -> Option<()> {
    let (pc, columns) = line.split_at_checked(16)?;
    let pc = u64::from_str_radix(pc, 16).ok()?;
    let start = if function.block.is_some() { pc } else { pc.checked_sub(function.start)? };
    let (rule, signed) = rule::<A>(columns)?;
    let rule = rule.with_signal(function.signal).with_signed_ra(signed.then_some(function.key));

    function.rows.push(Row { start: start.try_into().ok()?, rule });
    Some(())
}

/// Returns a rule, and whether the return address is signed.
fn rule<A: Arch>(text: &str) -> Option<(Rule, bool)> {
    if text.trim() == "RA undefined" {
        return Some((Rule::outermost(), false));
    }
    let (cfa, text) = column(text)?;
    let (fp, text) = column(text)?;
    let (ra, text) = column(text)?;
    let signed = match text.trim() {
        "" => false,
        "[s]" => true,
        _ => return None,
    };
    let ra = match ra {
        // The header has the place, or the row does not say it.
        "f" | "U" => default_ra::<A>(),
        ra => value::<A>(ra)?,
    };
    let fp = if fp == "U" { Value::Unchanged } else { value::<A>(fp)? };

    Some((Rule::frame(value::<A>(cfa)?, ra, fp)?, signed))
}

/// Splits a column off a line. There is no space behind a long one: `sp+1193048u f`.
fn column(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let word = text.find([' ', '[']).unwrap_or(text.len());
    let len = match text.find(['+', '-']).filter(|sign| *sign < word) {
        _ if text.starts_with('(') => text.find(')')? + 1,
        Some(sign) => {
            let end = text[sign + 1..].find(|end: char| !end.is_ascii_digit());
            end.map_or(text.len(), |end| sign + 1 + end)
        }
        None => word,
    };

    text.split_at_checked(len).filter(|(column, _)| !column.is_empty())
}

/// `u`, `sp+8`, `(fp-8)`, `r10+0` or `c-16`.
fn value<A: Arch>(text: &str) -> Option<Value> {
    if text == "u" {
        return Some(Value::Unchanged);
    }
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let text = inner.unwrap_or(text);
    let (base, offset) = text.split_at_checked(text.find(['+', '-'])?)?;
    let offset = offset.parse().ok()?;
    let register = match base {
        "c" if inner.is_none() => return Some(Value::AtCfa(offset)),
        "sp" => Register::Sp,
        "fp" => Register::Fp,
        base => A::register(base.strip_prefix('r')?.parse().ok()?)?,
    };

    Some(match inner {
        Some(_) => Value::AtRegister(register, offset),
        None => Value::Register(register, offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{AArch64, Amd64};

    #[test]
    fn columns() {
        use crate::parse::Register::{Fp, Other, Sp};
        use Value::{AtCfa, AtRegister, Register, Unchanged};

        let frame = |cfa, fp, ra, signed| Rule::frame(cfa, ra, fp).map(|rule| (rule, signed));
        let amd64 = [
            (
                "sp+8      u         f            ",
                frame(Register(Sp, 8), Unchanged, AtCfa(-8), false),
            ),
            ("sp+1193048u         f", frame(Register(Sp, 1_193_048), Unchanged, AtCfa(-8), false)),
            (
                "(fp-8)    (fp+0)    U",
                frame(AtRegister(Fp, -8), AtRegister(Fp, 0), AtCfa(-8), false),
            ),
            ("RA undefined", Some((Rule::outermost(), false))),
            ("sp u f", None),
            ("sp+8 u", None),
            ("sp+8 u f f", None),
            ("sp+8 x f", None),
        ];
        let aarch64 = [
            ("fp+48     c-48      c-40[s]", frame(Register(Fp, 48), AtCfa(-48), AtCfa(-40), true)),
            ("sp+0      u         u[s]", frame(Register(Sp, 0), Unchanged, Unchanged, true)),
            (
                "sp+160    r16+0     U",
                frame(Register(Sp, 160), Register(Other(16), 0), Unchanged, false),
            ),
        ];

        for (text, expected) in amd64 {
            assert_eq!(rule::<Amd64>(text), expected, "{text}");
        }
        for (text, expected) in aarch64 {
            assert_eq!(rule::<AArch64>(text), expected, "{text}");
        }
    }

    #[test]
    fn headings_and_counts() {
        let signal = function(r#"func idx [2]: pc = 0x46c, size = 12 bytes, attr = "SF""#);
        let signal = signal.expect("a function");
        assert_eq!((signal.start, signal.size, signal.key), (0x46c, 12, Key::A));
        assert!(signal.signal && signal.flexible);
        let other = function("func idx [3]: pc = 0x0, size = 0 bytes, pauth = B key");
        assert_eq!(other.map(|it| (it.key, it.signal)), Some((Key::B, false)));
        assert_eq!(function(r#"func idx [3]: pc = 0x0, size = 0 bytes, attr = "X""#), None);

        assert!(parse::<Amd64>("Num FDEs: 0\nNum FREs: 0\n").is_ok());
        for text in ["Num FDEs: 1\nNum FREs: 0\n", "Num FDEs: 0\nNum FREs: 0\nsomething else\n"] {
            assert!(parse::<Amd64>(text).is_err());
        }
    }
}
