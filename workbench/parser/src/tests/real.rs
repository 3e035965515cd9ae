// SPDX-License-Identifier: GPL-2.0

//! The table of a real program: the parser and `readelf --sframe` read the same in it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSection};

use super::{decode, rule};
use crate::parse::{Error, Register, Rule, Value};
use crate::vectors::Arch;

/// Names the program; its path is absolute, or relative to this package.
const PROGRAM: &str = "UNWIND_DEMO_LUA";

/// What readelf prints of a table.
#[derive(Default)]
struct Printed {
    functions: usize,
    rows: usize,
    /// The rule of each address that has one.
    rules: BTreeMap<u64, Rule>,
}

/// The number in `text`, which is in hexadecimal with or without a prefix.
fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

/// Takes a line's columns apart: `sp+8 u f`, `fp+16 c-16 f` or `RA undefined`.
fn printed_rule(columns: &[&str]) -> Option<Rule> {
    let (cfa, fp) = match columns {
        ["RA", "undefined"] => return Some(Rule::outermost()),
        // The return address is at the place that the header fixes.
        [cfa, fp, "f"] => (cfa, fp),
        _ => return None,
    };
    let (base, cfa) = cfa.split_at_checked(2)?;
    let base = match base {
        "sp" => Register::Sp,
        "fp" => Register::Fp,
        _ => return None,
    };
    let fp = match *fp {
        "u" => Value::Unchanged,
        fp => Value::AtCfa(fp.strip_prefix('c')?.parse().ok()?),
    };

    Rule::frame(
        Value::Register(base, cfa.parse().ok()?),
        Value::AtCfa(-8),
        fp,
    )
}

impl Printed {
    /// Parses what readelf printed.  It is told by what it says, and all of it must be understood.
    fn parse(text: &str) -> Self {
        let mut printed = Self::default();
        let (mut start, mut end) = (0, 0);

        for line in text.lines() {
            let columns: Vec<&str> = line.split_whitespace().collect();
            match columns[..] {
                ["func", "idx", _, "pc", "=", pc, "size", "=", size, "bytes"] => {
                    start = hexadecimal(pc.trim_end_matches(',')).expect(line);
                    end = start + size.parse::<u64>().expect(line);
                    printed.functions += 1;
                }
                [pc, ref columns @ ..] if pc.len() == 16 && hexadecimal(pc).is_some() => {
                    let pc = hexadecimal(pc).expect(line);
                    let rule = printed_rule(columns).expect(line);
                    assert!(start <= pc, "{line}");
                    // It holds to the end of the function, unless there is a next one.
                    printed.rules.extend((pc..end).map(|pc| (pc, rule)));
                    printed.rows += 1;
                }
                [
                    "Contents" | "Header" | "Version:" | "Flags:" | "CFA" | "Num",
                    ..,
                ]
                | ["SFRAME_F_FDE_FUNC_START_PCREL" | "Function" | "STARTPC", ..]
                | [] => {}
                _ => panic!("readelf prints '{line}'"),
            }
        }
        printed
    }
}

/// The parser's answer at every address from the first function's to the last one's, and around.
fn compare(program: &Path) {
    let data = std::fs::read(program).expect("the program can be read");
    let file = object::File::parse(&*data).expect("it is an ELF file");
    let section = file.section_by_name(".sframe").expect("it has a table");
    let (base, bytes) = (section.address(), section.data().expect("of bytes"));

    let readelf = Command::new("readelf")
        .arg("--sframe")
        .arg(program)
        .output();
    let readelf = readelf.expect("readelf can be run");
    assert!(readelf.status.success() && readelf.stderr.is_empty());
    let printed = Printed::parse(&String::from_utf8(readelf.stdout).expect("it prints text"));

    let table = decode(Arch::Amd64, bytes, base).expect("the table is well-formed");
    let rows = |function: &crate::listing::Function| function.rows.len();
    assert_eq!(table.functions.len(), printed.functions);
    assert_eq!(
        table.functions.iter().map(rows).sum::<usize>(),
        printed.rows
    );

    let (first, _) = printed.rules.first_key_value().expect("there are rows");
    let (last, _) = printed.rules.last_key_value().expect("there are rows");
    for pc in first - 0x1000..last + 0x1000 {
        let expected = printed.rules.get(&pc).copied().ok_or(Error::NotFound);
        assert_eq!(rule(Arch::Amd64, bytes, base, pc), expected, "at {pc:#x}");
    }
    for pc in table.boundaries() {
        let expected = table.rule(pc).ok_or(Error::NotFound);
        assert_eq!(rule(Arch::Amd64, bytes, base, pc), expected, "at {pc:#x}");
    }
}

#[test]
fn demo_program() {
    match std::env::var_os(PROGRAM) {
        Some(program) => compare(Path::new(&program)),
        // Not by a macro, whose output is not shown when a test passes.
        None => writeln!(
            std::io::stderr(),
            "SKIP: comparison with readelf: set {PROGRAM} to a program with a table"
        )
        .expect("stderr is open"),
    }
}
