// SPDX-License-Identifier: GPL-2.0

//! The output of `readelf --sframe`. One readelf reads the tables of all architectures.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::answer::{Abi, Answer, Frame, Function, Row, Value};

/// The functions of a file, in the order of its index.
pub fn functions(path: &Path, abi: Abi) -> Result<Vec<Function>> {
    let output = Command::new("readelf")
        .arg("--sframe")
        .arg(path)
        .output()
        .context("readelf cannot be run")?;

    ensure!(
        output.status.success() && output.stderr.is_empty(),
        "readelf: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    parse(&String::from_utf8(output.stdout)?, abi)
}

/// Parses the output of readelf. Each line must be known.
fn parse(text: &str, abi: Abi) -> Result<Vec<Function>> {
    let mut functions: Vec<Function> = Vec::new();
    let (mut said_functions, mut said_rows) = (None, None);

    for line in text.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let understood = match columns[..] {
            ["func", "idx", ..] => {
                functions.push(function(line).with_context(|| format!("readelf: '{line}'"))?);
                true
            }
            ["STARTPC[m]", "CFA", "FP", "RA"] => {
                functions.last_mut().map(|function| function.block = Some(0)).is_some()
            }
            ["Num", "FDEs:", count] => {
                said_functions = Some(count.parse()?);
                true
            }
            ["Num", "FREs:", count] => {
                said_rows = Some(count.parse()?);
                true
            }
            [pc, ..] if pc.len() == 16 => {
                functions.last_mut().and_then(|function| row(function, line.trim(), abi)).is_some()
            }
            ["STARTPC" | "Contents" | "Header" | "Version:" | "Flags:", ..]
            | ["SFRAME_F_FDE_FUNC_START_PCREL"]
            | ["CFA", "fixed", "RA", "offset:", "-8"]
            | ["Function", "Index", ":"]
            | [] => true,
            _ => false,
        };
        ensure!(understood, "readelf: '{line}'");
    }

    let rows: usize = functions.iter().map(|function| function.rows.len()).sum();
    if said_functions != Some(functions.len()) || said_rows != Some(rows) {
        bail!("readelf prints other numbers of functions or rows than it lists");
    }
    Ok(functions)
}

/// `func idx [5]: pc = 0x1040, size = 71 bytes, attr = "F", pauth = B key`
fn function(line: &str) -> Option<Function> {
    let (_, line) = line.split_once("pc = 0x")?;
    let (start, line) = line.split_once(", size = ")?;
    let (size, attributes) = line.split_once(" bytes")?;
    let (mut letters, mut key_b) = ("", false);

    for attribute in attributes.split(", ").skip(1) {
        match attribute.split_once(" = ")? {
            ("attr", text) => letters = text.strip_prefix('"')?.strip_suffix('"')?,
            ("pauth", "B key") => key_b = true,
            _ => return None,
        }
    }
    letters.trim_matches(['S', 'F']).is_empty().then_some(())?;

    Some(Function {
        start: u64::from_str_radix(start, 16).ok()?,
        size: size.parse().ok()?,
        signal: letters.contains('S'),
        flexible: letters.contains('F'),
        block: None,
        key_b,
        rows: Vec::new(),
    })
}

/// `0000000000001063  r10+0  (fp+0)  U`
fn row(function: &mut Function, line: &str, abi: Abi) -> Option<()> {
    let (pc, columns) = line.split_at_checked(16)?;
    let pc = u64::from_str_radix(pc, 16).ok()?;
    let start = if function.block.is_some() { pc } else { pc.checked_sub(function.start)? };
    let answer = answer(columns, abi)?;

    function.rows.push(Row { start, answer });
    Some(())
}

fn answer(text: &str, abi: Abi) -> Option<Answer> {
    if text.trim() == "RA undefined" {
        return Some(Answer::Outermost);
    }
    let (cfa, text) = column(text)?;
    let (fp, text) = column(text)?;
    let (ra, text) = column(text)?;
    let signed = match text.trim() {
        "" => false,
        "[s]" => true,
        _ => return None,
    };

    Some(Answer::Frame(Frame {
        cfa: value(cfa, abi)?,
        ra: match ra {
            // The header has the place, or the row does not say it.
            "f" | "U" => abi.default_ra(),
            "u" => Value::Unchanged,
            ra => value(ra, abi)?,
        },
        fp: match fp {
            "u" | "U" => Value::Unchanged,
            fp => value(fp, abi)?,
        },
        signed,
    }))
}

/// Splits a column off a line. There is no space behind a long one: `sp+1193048u f`.
fn column(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let len = if text.starts_with('(') {
        text.find(')')? + 1
    } else {
        let base = text.find(['+', '-']);
        let word = text.find([' ', '[']).unwrap_or(text.len());
        match base {
            Some(sign) if sign < word => {
                let digits = &text[sign + 1..];
                let end = digits.find(|end: char| !end.is_ascii_digit());
                sign + 1 + end.unwrap_or(digits.len())
            }
            _ => word,
        }
    };

    text.split_at_checked(len).filter(|(column, _)| !column.is_empty())
}

/// `sp+8`, `(fp-8)`, `r10+0` or `c-16`.
fn value(text: &str, abi: Abi) -> Option<Value> {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let text = inner.unwrap_or(text);
    let (base, offset) = text.split_at_checked(text.find(['+', '-'])?)?;
    let offset = offset.parse().ok()?;
    let register = match base {
        "c" if inner.is_none() => return Some(Value::AtCfa(offset)),
        "sp" => abi.sp(),
        "fp" => abi.fp(),
        base => base.strip_prefix('r')?.parse().ok()?,
    };

    Some(match inner {
        Some(_) => Value::AtRegister(register, offset),
        None => Value::Register(register, offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(cfa: Value, fp: Value, ra: Value, signed: bool) -> Option<Answer> {
        Some(Answer::Frame(Frame { cfa, ra, fp, signed }))
    }

    #[test]
    fn columns() {
        use Value::{AtCfa, AtRegister, Register, Unchanged};

        let cases = [
            (
                Abi::Amd64,
                "sp+8      u         f            ",
                frame(Register(7, 8), Unchanged, AtCfa(-8), false),
            ),
            (
                Abi::Amd64,
                "sp+1193048u         f",
                frame(Register(7, 1_193_048), Unchanged, AtCfa(-8), false),
            ),
            (
                Abi::Amd64,
                "(fp-8)    (fp+0)    U",
                frame(AtRegister(6, -8), AtRegister(6, 0), AtCfa(-8), false),
            ),
            (
                Abi::AArch64,
                "fp+48     c-48      c-40[s]",
                frame(Register(29, 48), AtCfa(-48), AtCfa(-40), true),
            ),
            (
                Abi::AArch64,
                "sp+0      u         u[s]",
                frame(Register(31, 0), Unchanged, Unchanged, true),
            ),
            (
                Abi::AArch64,
                "sp+160    r16+0     U",
                frame(Register(31, 160), Register(16, 0), Unchanged, false),
            ),
            (Abi::Amd64, "RA undefined", Some(Answer::Outermost)),
            (Abi::Amd64, "sp u f", None),
            (Abi::Amd64, "sp+8 u", None),
            (Abi::Amd64, "sp+8 u f f", None),
            (Abi::Amd64, "sp+8 x f", None),
        ];

        for (abi, text, expected) in cases {
            assert_eq!(answer(text, abi), expected, "{text}");
        }
    }

    #[test]
    fn headings() {
        let function = function(r#"func idx [2]: pc = 0x46c, size = 12 bytes, attr = "SF""#);
        let function = function.expect("a function");
        assert_eq!((function.start, function.size), (0x46c, 12));
        assert!(function.signal && function.flexible && !function.key_b);

        let function = super::function("func idx [3]: pc = 0x0, size = 0 bytes, pauth = B key");
        assert!(function.expect("a function").key_b);
        assert!(super::function(r#"func idx [3]: pc = 0x0, size = 0 bytes, attr = "X""#).is_none());
    }

    #[test]
    fn counts_must_match() {
        assert!(parse("Num FDEs: 1\nNum FREs: 0\n", Abi::Amd64).is_err());
        assert!(parse("Num FDEs: 0\nNum FREs: 0\n", Abi::Amd64).is_ok());
        assert!(parse("Num FDEs: 0\nNum FREs: 0\nsomething else\n", Abi::Amd64).is_err());
    }
}
