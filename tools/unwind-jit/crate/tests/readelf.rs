// SPDX-License-Identifier: GPL-2.0 OR MIT

//! The tables that are written, read with readelf: GNU binutils 2.46 or later.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{registered, Checked, CODE};
use unwind_jit::{Base, Direction, Row};

/// Runs a program, and takes what it prints.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = String::from_utf8(output.stdout).unwrap();

    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// What readelf says of a table: by function its size, and by address its rows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Dump {
    functions: BTreeMap<(usize, usize), Vec<(usize, String)>>,
}

/// Functions without size are left out.
fn dump(table: &[u8], base: usize, directory: &Path) -> Dump {
    let (raw, object) = (directory.join("table"), directory.join("table.o"));
    let (raw, object) = (raw.to_str().unwrap(), object.to_str().unwrap());

    std::fs::write(raw, table).unwrap();
    run(
        "objcopy",
        &[
            "--input-target=binary",
            "--output-target=elf64-x86-64",
            "--rename-section=.data=.sframe,alloc,load,readonly,data,contents",
            &format!("--change-section-address=.data={base:#x}"),
            raw,
            object,
        ],
    );
    parse(&run("readelf", &["--sframe", object]))
}

/// Reads lines such as
///
/// ```text
///     func idx [1]: pc = 0x700000000010, size = 15 bytes
///     STARTPC           CFA       FP        RA
///     0000700000000010  sp+8      u         f
/// ```
fn parse(text: &str) -> Dump {
    let mut dump = Dump::default();
    let mut function = None;

    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["func", "idx", _, "pc", "=", pc, "size", "=", size, "bytes", ..] => {
                let number = pc.trim_start_matches("0x").trim_end_matches(',');
                let start = usize::from_str_radix(number, 16).unwrap();
                let size = size.parse().unwrap();
                function = (size != 0).then_some((start, size));
                if let Some(function) = function {
                    assert_eq!(dump.functions.insert(function, Vec::new()), None);
                }
            }
            [pc, ref rest @ ..] if pc.len() == 16 => {
                let Ok(pc) = usize::from_str_radix(pc, 16) else {
                    continue;
                };
                let rows = dump.functions.get_mut(&function.unwrap()).unwrap();
                rows.push((pc, rest.concat()));
            }
            _ => {}
        }
    }
    dump
}

/// How readelf prints a row, without spaces: where a number is long, there is none.
fn printed(row: &Row) -> String {
    let base = match row.base {
        Base::Sp => "sp",
        Base::Fp => "fp",
        Base::Outermost => return "RAundefined".into(),
    };
    let fp = match row.fp {
        0 => "u".into(),
        fp => format!("c{fp:+}"),
    };

    format!("{base}{:+}{fp}f", row.cfa)
}

#[test]
fn readelf_reads_the_same() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let frames = [16, 120, 136, 32760, 32776, 1 << 30];

    for direction in [Direction::Up, Direction::Down] {
        let mut checked = Checked::new(CODE..CODE + 0x200_0000, direction);
        for nth in 0..300usize {
            let nth_place = match direction {
                Direction::Up => nth,
                Direction::Down => 299 - nth,
            };
            let start = CODE + nth_place * 0x1_4000;
            let frame = frames[nth % frames.len()];
            let far = [20, 300, 70000][nth % 3];
            let rows = [
                Row::sp(0, 8),
                Row::sp(1, 16).with_fp(-16),
                Row::fp(4, 16).with_fp(-16),
                Row::sp(10, frame).with_fp(-frame),
                Row::outermost(19),
                Row::sp(far, 8),
            ];
            checked.add_now(start, far as usize + 1, &rows[..1 + nth % 6]);
        }
        let entry = registered(CODE).unwrap();
        let base = entry.table[0] as usize;
        let expected = Dump {
            functions: checked
                .known
                .0
                .iter()
                .map(|(start, (size, rows))| {
                    let place = |row: &Row| (start + row.offset as usize, printed(row));
                    ((*start, *size), rows.iter().map(place).collect())
                })
                .collect(),
        };
        assert_eq!(expected.functions.len(), 300);
        assert_eq!(dump(entry.bytes(), base, directory), expected);
    }
}
