// SPDX-License-Identifier: GPL-2.0

//! Tables next to `.eh_frame`: what is equal, which mistakes are known, and what is wrong.

mod common;
mod running;
mod toolchain;

use common::*;
use running::json;
use serde_json::Value;
use toolchain::{PROGRAM, build, skip};

/// A test: name, architecture, the function's number of rows, attribute and rows, and its CFI.
type Case = (
    &'static str,
    Arch,
    u16,
    [u8; 3],
    &'static [u8],
    &'static [u8],
);

/// Checks a program of one function of 32 bytes: the status, and what came of comparing.
fn compare(
    name: &str,
    arch: Arch,
    (count, info, rows): (u16, [u8; 3], &[u8]),
    cfi: &[u8],
) -> (i32, Value) {
    let function = Function {
        at: 0,
        size: 32,
        count,
        info,
        rows,
    };
    let file = elf(arch, &table(arch, &[function]), &eh_frame(arch, 0, 32, cfi));
    let (status, mut report) = json(name, &file);

    assert_eq!(report["errors"], 0, "{name}: {report}");
    (status, report["comparison"].take())
}

#[test]
fn equal_rules() {
    let cases: [Case; 5] = [
        // The expression that linkers write: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl,
        // plus.
        (
            "plt",
            X86_64,
            2,
            [0x10, 0, 16],
            &[0, 3, 8, 11, 3, 16],
            &[
                0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
            ],
        ),
        // CFA = *(rbp - 16), rbp = *rbp.
        (
            "realigned",
            X86_64,
            1,
            [0, 1, 0],
            &[0, 0x0a, 0x33, 0xf0, 0, 0x33, 0],
            &[0x0f, 3, 0x76, 0x70, 6, 0x10, 6, 2, 0x76, 0],
        ),
        // The return address is undefined.
        ("outermost", X86_64, 1, [0; 3], &[0, 0], &[0x07, 16]),
        // FP may be anything.
        ("undefined-fp", X86_64, 1, [0; 3], &[0, 3, 8], &[0x07, 6]),
        // DW_CFA_AARCH64_negate_ra_state.
        (
            "signed",
            AARCH64,
            2,
            [0; 3],
            &[0, 3, 0, 4, 0x83, 0],
            &[0x44, 0x2d],
        ),
    ];

    for ((name, arch, count, info, rows, cfi), places) in cases.into_iter().zip([4, 1, 1, 1, 2]) {
        let (status, comparison) = compare(name, arch, (count, info, rows), cfi);
        assert_eq!(comparison["equal"], places, "{name}: {comparison}");
        assert_eq!(comparison["places"], places, "{name}: {comparison}");
        assert_eq!(status, 0, "{name}");
    }
}

#[test]
fn known_defects() {
    let cases: [Case; 4] = [
        (
            "cfi-restore-fp",
            X86_64,
            2,
            [0; 3],
            &[0, 5, 24, 0xf0, 1, 5, 24, 0xf0],
            &[0x0e, 24, 0x86, 2, 0x41, 0xc6],
        ),
        // The return address is at CFA-304, of which -48 is the last byte.
        (
            "flex-ra-truncated",
            X86_64,
            1,
            [0, 1, 0],
            &[0, 8, 0x39, 8, 2, 0xd0],
            &[0x90, 38],
        ),
        // It is at rbp + 8, says an expression.
        (
            "ra-rule-ignored",
            X86_64,
            1,
            [0; 3],
            &[0, 3, 8],
            &[0x10, 16, 2, 0x76, 8],
        ),
        ("sp-rule-ignored", X86_64, 1, [0; 3], &[0, 3, 8], &[0x87, 2]),
    ];

    for (name, arch, count, info, rows, cfi) in cases {
        let (status, comparison) = compare(name, arch, (count, info, rows), cfi);
        assert_eq!(comparison["known_defects"][name], 1, "{comparison}");
        assert_eq!(comparison["differ"], 0, "{comparison}");
        assert_eq!(status, 0, "{name}");
    }
}

#[test]
fn differences_that_no_defect_explains() {
    let cases: [Case; 8] = [
        ("cfa", X86_64, 1, [0; 3], &[0, 3, 16], &[]),
        ("cfa-register", X86_64, 1, [0; 3], &[0, 2, 8], &[]),
        // FP is back, and the row has it elsewhere than the first one.
        (
            "fp",
            X86_64,
            2,
            [0; 3],
            &[0, 5, 24, 0xf0, 1, 5, 24, 0xe8],
            &[0x0e, 24, 0x86, 2, 0x41, 0xc6],
        ),
        // Two things at once are not the one defect.
        (
            "fp-and-cfa",
            X86_64,
            2,
            [0; 3],
            &[0, 5, 24, 0xf0, 1, 5, 32, 0xf0],
            &[0x0e, 24, 0x86, 2, 0x41, 0xc6],
        ),
        ("outermost", X86_64, 1, [0; 3], &[0, 0], &[]),
        ("not-outermost", X86_64, 1, [0; 3], &[0, 3, 8], &[0x07, 16]),
        ("signal", X86_64, 1, [0x80, 0, 0], &[0, 3, 8], &[]),
        ("not-signed", AARCH64, 1, [0; 3], &[0, 3, 0], &[0x2d]),
    ];

    for (name, arch, count, info, rows, cfi) in cases {
        let (status, comparison) = compare(name, arch, (count, info, rows), cfi);
        assert_eq!(comparison["differ"], 1, "{name}: {comparison}");
        assert_eq!(status, 1, "{name}");
    }
}

/// What the tool chain writes is right, except for what is known to be wrong.
#[test]
fn compiled_programs() {
    for (name, gcc, flags) in [
        ("amd64", "gcc", &[][..]),
        ("amd64-static-pie", "gcc", &["-static-pie"]),
        ("amd64-shared", "gcc", &["-shared", "-fPIC"]),
        ("amd64-stripped", "gcc", &["-s"]),
        ("aarch64", "aarch64-linux-gnu-gcc", &[]),
        (
            "aarch64-key-b",
            "aarch64-linux-gnu-gcc",
            &["-mbranch-protection=pac-ret+leaf+b-key"],
        ),
    ] {
        let Some(file) = build(name, gcc, "c", PROGRAM, flags) else {
            continue;
        };
        let (status, report) = json(name, &file);

        assert_eq!(status, 0, "{name}: {report:#}");
        let comparison = &report["comparison"];
        assert!(
            comparison["equal"].as_u64() > Some(15),
            "{name}: {comparison}"
        );
        assert_eq!(report["coverage"]["functions_without_fde"], 0, "{name}");
        for defect in comparison["known_defects"]
            .as_object()
            .expect("an object")
            .keys()
        {
            assert_eq!(defect, "plt-got-cfa", "{name}");
        }
    }
}

/// A change of any bit of the rows is noticed, but for the few that change nothing.
#[test]
fn each_damaged_row_of_a_compiled_program() {
    let Some(file) = build("damage", "gcc", "c", PROGRAM, &[]) else {
        return;
    };
    let (_, report) = json("damage", &file);
    let number = |name: &str| report["table"][name].as_u64().expect("a number") as usize;
    let (at, functions) = (number("file_offset"), number("functions"));
    let rows_at = at + 28 + 16 * functions;
    let mut unnoticed = Vec::new();

    for offset in rows_at..at + number("bytes") {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[offset] ^= 1 << bit;
            let (status, report) = json("damage", &changed);
            let mut problems = report["problems"].as_array().expect("an array").iter();
            let is_noted = problems
                .any(|problem| problem["kind"] == "unsupported" && problem["format"] == "sframe");
            if !is_noted && (status != 1 || report["verdict"] == "good") {
                unnoticed.push(format!("{:#x} bit {bit}", offset - rows_at));
            }
        }
    }
    // Addresses without a row are no error: a function may have less rows, or its rows may start
    // later. A block may be longer if one row holds in all of it.
    let all = 8 * (at + number("bytes") - rows_at);
    assert!(
        unnoticed.len() * 30 < all,
        "{} of {all}: {unnoticed:?}",
        unnoticed.len()
    );
}

/// A section alone does not help: the kernel reads program headers.
#[test]
fn a_section_without_a_program_header() {
    let Some(mut file) = build("section", "gcc", "c", PROGRAM, &[]) else {
        return;
    };
    // PT_GNU_SFRAME becomes PT_NULL.
    let kind = 0x6474_e554_u32.to_le_bytes();
    let at = (64..).step_by(56).find(|&at| file[at..at + 4] == kind);
    file[at.expect("there is one")..][..4].fill(0);
    let (status, report) = json("section", &file);

    assert_eq!((status, &report["verdict"]), (1, &"not-found".into()));
    assert!(
        report["reason"]
            .as_str()
            .is_some_and(|text| text.contains("a section .sframe"))
    );
}

#[test]
fn relocatable_objects() {
    let Some(file) = build("object", "gcc", "c", PROGRAM, &["-c"]) else {
        return;
    };
    let (status, report) = json("object", &file);

    assert_eq!((status, &report["verdict"]), (2, &"unreadable".into()));
    let reason = report["reason"].as_str().expect("there is one");
    assert!(reason.starts_with("relocatable object"), "{reason}");
}

/// What the assembler cannot express is known.
#[test]
fn odd_assembly() {
    let source = "
	.macro function name
	.type \\name, @function
\\name:	.cfi_startproc
	nop
	.endm
	.globl _start
	function _start
	.cfi_undefined rip
	nop
	.cfi_endproc
	function restored
	.cfi_def_cfa_offset 24
	.cfi_offset rbp, -16
	nop
	.cfi_restore rbp
	nop
	.cfi_endproc
	function far
	.cfi_offset rip, -304
	nop
	.cfi_endproc
	function trampoline
	.cfi_signal_frame
	nop
	.cfi_endproc
";
    let flags = ["-nostdlib", "-static"];
    if let Some(file) = build("odd", "gcc", "assembler", source, &flags) {
        let (status, report) = json("odd", &file);
        assert_eq!(status, 0, "{report:#}");
        assert_eq!(report["table"]["functions"], 4);
        assert_eq!(report["table"]["outermost_rows"], 1);
        assert_eq!(report["table"]["signal_functions"], 1);
    }

    // rbp = *(rbx + 8)
    let source = "
	.globl _start
_start:	.cfi_startproc
	nop
	.cfi_escape 0x10, 6, 2, 0x73, 8
	nop
	.cfi_endproc
";
    if let Some(file) = build("bad-register", "gcc", "assembler", source, &flags) {
        let (_, report) = json("bad-register", &file);
        let verdict = report["verdict"].as_str().expect("a word");
        let problems = report["problems"].as_array().expect("an array");
        let unsupported = problems
            .iter()
            .find(|problem| problem["kind"] == "unsupported" && problem["format"] == "sframe");

        assert!(["good", "no-table"].contains(&verdict), "{report:#}");
        assert_eq!(report["comparison"]["differ"], 0, "{report:#}");
        if let Some(problem) = unsupported {
            assert_eq!(problem["text"], "0x401000 row 1: not supported: register");
            assert_eq!(report["sframe"]["text"]["unsupported"], 1, "{report:#}");
        } else {
            // It has learned that: then what it writes is right, or it writes no function.
            skip("bad-register", "the assembler writes no bad register");
        }
    }
}
