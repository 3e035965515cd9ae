// SPDX-License-Identifier: GPL-2.0

//! The program as it is called, on files made by hand.

mod common;
mod running;

use common::*;
use running::*;
use serde_json::Value;

#[test]
fn a_good_program() {
    let (status, text) = run("good", &good(), &["check"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains(": good\n"), "{text}");
    assert!(text.contains("1 functions, 3 rows"), "{text}");
    assert!(text.contains("3 places: 3 equal, 0 differ"), "{text}");

    let (status, report) = json("good-json", &good());
    assert_eq!((status, &report["verdict"]), (0, &"good".into()));
    assert_eq!(report["abi"], "x86-64");
    assert_eq!(report["errors"], 0);
    assert_eq!(report["comparison"]["equal"], 3);
    assert_eq!(report["coverage"]["code"][0]["sframe"], 6);
    assert_eq!(report["coverage"]["code"][0]["eh_frame"], 6);
}

#[test]
fn the_other_architecture() {
    // SP+16 with the return address and FP at the two words below.
    let arch = AARCH64;
    let function = Function {
        count: 2,
        size: 8,
        rows: &[0, 3, 0, 4, 7, 16, 0xf8, 0xf0],
        ..PUSH_AND_POP
    };
    let cfi = &[0x44, 0x0e, 16, 0x9e, 1, 0x9d, 2];
    let file = elf(
        arch,
        &table(arch, &[function]),
        &eh_frame(arch, 0x10, 8, cfi),
    );

    let (status, text) = run(arch.name, &file, &["check"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("2 places: 2 equal, 0 differ"), "{text}");
    let (status, text) = run(arch.name, &file, &["dump"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("+0x04 cfa=sp+16 ra=c-8 fp=c-16"), "{text}");
}

#[test]
fn a_damaged_row_is_named() {
    let rows = &[0, 3, 8, 1, 3, 24, 5, 3, 8];
    let damaged = table(
        X86_64,
        &[Function {
            rows,
            ..PUSH_AND_POP
        }],
    );
    let file = elf(
        X86_64,
        &damaged,
        &eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI),
    );

    let (status, text) = run("damaged", &file, &["check"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains(": wrong\n"), "{text}");
    let line = "differs: 0x401010+0x1 (0x401011): \
                table cfa=sp+24 ra=c-8 fp=u, .eh_frame cfa=sp+16 ra=c-8 fp=u";
    assert!(text.contains(line), "{text}");

    let (status, report) = json("damaged-json", &file);
    assert_eq!((status, &report["verdict"]), (1, &"wrong".into()));
    assert_eq!(report["comparison"]["differ"], 1);
    assert_eq!(report["comparison"]["differences"][0]["address"], 0x40_1011);
}

#[test]
fn a_refusal_has_a_reason_and_an_offset() {
    let second = Function {
        at: 0x8,
        ..PUSH_AND_POP
    };
    let rows_at = 28 + 16 + 5;
    let change = |offset: usize, byte: u8| {
        let mut bytes = table(X86_64, &[PUSH_AND_POP]);
        bytes[offset] = byte;
        bytes
    };
    let cases = [
        (change(0, 0), "the header: not an SFrame table", 0),
        (change(2, 2), "the header: not version 3", 2),
        (
            change(4, 2),
            "the header: written for another architecture",
            4,
        ),
        (
            change(8, 9),
            "parts overlap or reach beyond the table",
            0x14,
        ),
        (
            change(rows_at - 1, 1),
            "row 0: wrong size of a repeated block",
            rows_at - 1,
        ),
        (
            change(rows_at + 6, 0),
            "row 2: rows not in ascending order",
            rows_at + 6,
        ),
        (
            change(rows_at + 4, 0x83),
            "row 1: unknown bits in a row",
            rows_at + 4,
        ),
        (
            change(rows_at + 6, 7),
            "row 2: row starts beyond its function",
            rows_at + 6,
        ),
        (
            table(X86_64, &[PUSH_AND_POP, second]),
            "0x401008: functions not sorted by address",
            28 + 16,
        ),
    ];

    for (nth, (bytes, reason, offset)) in cases.into_iter().enumerate() {
        let file = elf(X86_64, &bytes, &[]);
        let (status, text) = run(&format!("refused-{nth}"), &file, &["check"]);
        let expected = format!("{reason} (table offset {offset:#x})");
        assert_eq!(status, 1, "{text}");
        assert!(text.contains(": refused\n"), "{text}");
        assert!(text.contains(&expected), "'{expected}' is not in:\n{text}");

        let (_, report) = json(&format!("refused-{nth}-json"), &file);
        assert_eq!(report["verdict"], "refused");
        let problems = report["problems"].as_array().expect("there are problems");
        let error = problems
            .iter()
            .find(|problem| problem["severity"] == "error");
        assert_eq!(error.expect("there is an error")["offset"], offset);
    }
}

#[test]
fn what_a_kernel_would_not_mind() {
    let empty = Function {
        size: 0,
        count: 1,
        rows: &[0, 3, 8],
        ..PUSH_AND_POP
    };
    let inside = Function {
        at: 0x12,
        size: 1,
        count: 1,
        rows: &[0, 3, 16],
        ..PUSH_AND_POP
    };
    let file = elf(X86_64, &table(X86_64, &[empty, PUSH_AND_POP, inside]), &[]);

    let (status, text) = run("mild", &file, &["check", "--verbose"]);
    assert_eq!(status, 0, "{text}");
    for line in [
        "note: 0x401010 is empty",
        "note: 0x401010 starts where another does",
        "warning: 0x401012 overlaps another function",
        "warning: 0x401010 is not found by the kernel at +0x5",
        "warning: there is no .eh_frame to compare with",
    ] {
        assert!(text.contains(line), "'{line}' is not in:\n{text}");
    }
}

#[test]
fn functions_that_are_no_code() {
    let outside = Function {
        at: 0x1ff,
        ..PUSH_AND_POP
    };
    let file = elf(X86_64, &table(X86_64, &[outside]), &[]);
    let (status, text) = run("outside", &file, &["check"]);

    assert_eq!(status, 1, "{text}");
    assert!(
        text.contains("error: 0x4011ff is not in an executable segment"),
        "{text}"
    );
}

#[test]
fn files_without_a_table() {
    let bytes = table(X86_64, &[PUSH_AND_POP]);
    let text = Segment {
        kind: 1,
        flags: 5,
        address: TEXT,
        size: 0x100,
    };
    let named = |size| Segment {
        kind: 0x6474_e554,
        flags: 4,
        address: TABLE,
        size,
    };
    let cases = [
        (vec![], "no table: there is no PT_GNU_SFRAME program header"),
        (
            vec![named(0)],
            "no table: the PT_GNU_SFRAME program header is empty",
        ),
        (
            vec![text, named(100)],
            "not found by the kernel: PT_GNU_SFRAME is at 0x403000, where nothing is loaded",
        ),
    ];

    for (nth, (segments, reason)) in cases.into_iter().enumerate() {
        let file = elf_of(X86_64, &segments, &bytes, &[]);
        let (status, text) = run(&format!("none-{nth}"), &file, &["check"]);
        assert_eq!(status, 1, "{text}");
        assert!(text.contains(reason), "{text}");
        let (status, text) = run(&format!("none-dump-{nth}"), &file, &["dump"]);
        assert_eq!(status, 2, "{text}");
    }
}

#[test]
fn files_that_are_none_of_ours() {
    let change = |offset: usize, byte: u8| {
        let mut bytes = good();
        bytes[offset] = byte;
        bytes
    };
    let cases = [
        (b"#!/bin/sh\n".to_vec(), "not an ELF file"),
        (vec![], "not an ELF file"),
        (change(4, 1), "32-bit ELF file"),
        (change(16, 1), "relocatable object"),
        (change(16, 4), "core file"),
        (change(18, 40), "for a machine whose tables are not read"),
    ];

    for (nth, (bytes, reason)) in cases.into_iter().enumerate() {
        let (status, text) = run(&format!("foreign-{nth}"), &bytes, &["check"]);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains(&format!("unreadable: {reason}")), "{text}");
        let (status, text) = run(&format!("foreign-dump-{nth}"), &bytes, &["dump"]);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains(reason), "{text}");
    }
    let output = sframe(&["check", "/nonexistent", "/dev/zero"], &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("/dev/zero: unreadable: not a regular file"),
        "{text}"
    );
}

#[test]
fn the_worst_status_counts() {
    let good = File::new("several-good", &good());
    let none = File::new("several-none", &elf_of(X86_64, &[], &[], &[]));
    let output = sframe(&["check", "--json"], &[&good.0, &none.0]);
    let reports: Vec<Value> = serde_json::from_slice(&output.stdout).expect("it prints JSON");

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(reports.len(), 2);
    let output = sframe(&["check", "/nonexistent"], &[&none.0]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn wrong_usage() {
    for arguments in [
        &[][..],
        &["check"],
        &["dump"],
        &["dump", "--pc", "x", "file"],
        &["other", "file"],
    ] {
        assert_eq!(
            sframe(arguments, &[]).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_dump() {
    let (status, text) = run("dump", &good(), &["dump"]);
    let expected = "table at 0x403000, 58 bytes: version 3, flags 0x5, ABI 3 (x86-64)\n\
        fixed offsets: FP 0, RA -8; auxiliary header 0 bytes; 1 functions, 3 rows\n\
        \n\
        0x401010-0x401016\n  \
        +0x00 cfa=sp+8 ra=c-8 fp=u\n  \
        +0x01 cfa=sp+16 ra=c-8 fp=u\n  \
        +0x05 cfa=sp+8 ra=c-8 fp=u\n";

    assert_eq!((status, text.as_str()), (0, expected));
}

#[test]
fn lookups() {
    let late = Function {
        at: 0x20,
        size: 4,
        count: 1,
        rows: &[2, 3, 8],
        ..PUSH_AND_POP
    };
    let file = elf(X86_64, &table(X86_64, &[PUSH_AND_POP, late]), &[]);
    let cases = [
        (
            "0x401012",
            0,
            "0x401010+0x2 (0x401012): cfa=sp+16 ra=c-8 fp=u",
        ),
        (
            "4198421",
            0,
            "0x401010+0x5 (0x401015): cfa=sp+8 ra=c-8 fp=u",
        ),
        (
            "0x401016",
            1,
            "no function there, between 0x401010 and 0x401020",
        ),
        ("0x401020", 1, "no rule: the function has no row there"),
        ("0x401100", 1, "no function there, behind 0x401020"),
        ("0x401000", 1, "no function there, before 0x401010"),
        ("0x1", 1, "the address is not in an executable segment"),
    ];

    for (address, expected, line) in cases {
        let name = format!("lookup-{address}");
        let (status, text) = run(&name, &file, &["dump", "--pc", address]);
        assert_eq!(status, expected, "{text}");
        assert!(text.contains(line), "'{line}' is not in:\n{text}");
    }
    let two = ["dump", "--pc", "0x401012", "--pc", "0x401016"];
    let (status, text) = run("lookups", &file, &two);
    assert_eq!((status, text.lines().count()), (1, 6), "{text}");
}
