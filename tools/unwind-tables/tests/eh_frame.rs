// SPDX-License-Identifier: GPL-2.0

//! What the kernel makes of `.eh_frame`: alone, beside SFrame, and where it cannot be used.

mod common;
mod running;
mod toolchain;

use common::*;
use running::*;
use serde_json::Value;
use toolchain::{PROGRAM, build_plain};

/// Checks a file: the status, and what is said of `.eh_frame`.
fn eh_frame_of_file(name: &str, file: &[u8]) -> (i32, Value) {
    let (status, mut report) = json(name, file);

    (status, report["eh_frame"].take())
}

/// A file with one function of 16 bytes that has this CFI, and no SFrame table.
fn with_cfi(arch: Arch, cfi: &[u8]) -> Vec<u8> {
    elf(arch, &[], &eh_frame(arch, 0, 16, cfi))
}

/// The same file with some bytes at an address changed.
fn changed(file: &[u8], address: u64, bytes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();

    file[place(address)..][..bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn it_is_enough() {
    let (status, text) = run("alone", &good_eh_frame(), &["check"]);
    assert_eq!(status, 0, "{text}");
    for line in [
        ": good\n",
        "  sframe    no table: there is no PT_GNU_SFRAME program header\n",
        "  eh_frame  good\n",
        "x86-64 at 0x402000, 20 bytes: 1 functions, 3 rows\n",
        "unwound   1.2 % of 512 bytes of code, 1.2 % by .eh_frame\n",
        "rules for 1.2 %, 506 bytes without information\n",
    ] {
        assert!(text.contains(line), "'{line}' is not in:\n{text}");
    }

    let (status, report) = json("alone-json", &good_eh_frame());
    assert_eq!((status, &report["verdict"]), (0, &"good".into()));
    assert_eq!(report["sframe"]["verdict"], "no-table");
    assert_eq!(report["eh_frame"]["verdict"], "good");
    assert_eq!(report["eh_frame"]["index"]["address"], EH_FRAME_HDR);
    assert_eq!(report["eh_frame"]["index"]["entries"], 1);
    assert_eq!(report["eh_frame"]["text"]["rule"], 6);
    assert_eq!(report["eh_frame"]["text"]["nothing"], 506);
    // Both ends of three rows, of which two have one byte.
    assert_eq!(report["eh_frame"]["readers"]["addresses"], 4);
    assert_eq!(report["eh_frame"]["readers"]["equal"], 4);
    assert_eq!(report["text"]["unwound"], 6);
    assert_eq!(report["text"]["by_eh_frame"], 6);
    // All else are no-operations.
    assert_eq!(report["text"]["padding"], 506);
    assert_eq!(report["comparison"], Value::Null);
}

#[test]
fn sframe_is_asked_first() {
    let functions: [(u64, u32, &[u8]); 2] = [(0x10, 6, PUSH_AND_POP_CFI), (0x20, 10, &[])];
    let eh_frame = eh_frame_of(X86_64, &functions);
    let file = elf(X86_64, &table(X86_64, &[PUSH_AND_POP]), &eh_frame);
    let (status, report) = json("both", &file);

    assert_eq!((status, &report["verdict"]), (0, &"good".into()));
    assert_eq!(report["text"]["by_sframe"], 6);
    assert_eq!(report["text"]["by_eh_frame"], 10);
    assert_eq!(report["text"]["unwound"], 16);
    assert_eq!(report["eh_frame"]["text"]["rule"], 16);
    assert_eq!(report["coverage"]["code"][0]["sframe"], 6);
    assert_eq!(report["coverage"]["code"][0]["eh_frame"], 16);
    assert_eq!(report["coverage"]["code"][0]["unwound"], 16);
    assert_eq!(report["comparison"]["equal"], 3);
}

/// Each has a rule, and one of them is wrong.
#[test]
fn formats_that_differ() {
    let cfi = &[0x41, 0x0e, 24, 0x44, 0x0e, 8];
    let eh_frame = eh_frame(X86_64, 0x10, 6, cfi);
    let file = elf(X86_64, &table(X86_64, &[PUSH_AND_POP]), &eh_frame);
    let (status, report) = json("differ", &file);

    assert_eq!((status, &report["verdict"]), (1, &"wrong".into()));
    assert_eq!(report["sframe"]["verdict"], "wrong");
    assert_eq!(report["eh_frame"]["verdict"], "good");
    assert_eq!(report["comparison"]["differ"], 1);

    let (status, text) = run("differ-pc", &file, &["dump", "--pc", "0x401012"]);
    let expected = "0x401010+0x2 (0x401012): cfa=sp+16 ra=c-8 fp=u\n  \
        sframe    cfa=sp+16 ra=c-8 fp=u\n  \
        eh_frame  cfa=sp+24 ra=c-8 fp=u\n";
    assert_eq!((status, text.as_str()), (0, expected));
}

/// A bad table of one format is not made good by the other.
#[test]
fn one_of_two_is_refused() {
    let bad_sframe = changed(&good(), TABLE + 2, &[2]);
    let bad_eh_frame = changed(&good(), EH_FRAME_HDR, &[2]);

    for (name, file, verdicts) in [
        ("bad-sframe", bad_sframe, ["refused", "good"]),
        ("bad-eh-frame", bad_eh_frame, ["good", "refused"]),
    ] {
        let (status, report) = json(name, &file);
        assert_eq!((status, &report["verdict"]), (1, &"refused".into()));
        assert_eq!(report["sframe"]["verdict"], verdicts[0], "{name}");
        assert_eq!(report["eh_frame"]["verdict"], verdicts[1], "{name}");
        // The other one is used.
        assert_eq!(report["text"]["unwound"], 6, "{name}");
        let reason = report["reason"].as_str().expect("there is one");
        assert!(reason.contains("; the kernel uses "), "{name}: {reason}");
    }
}

#[test]
fn other_architecture() {
    let cfi = [0x44, 0x0e, 16, 0x9e, 1, 0x9d, 2];
    let (status, eh_frame) = eh_frame_of_file("aarch64", &with_cfi(AARCH64, &cfi));

    assert_eq!(status, 0, "{eh_frame}");
    assert_eq!(eh_frame["index"]["rows"], 2, "{eh_frame}");
    assert_eq!(eh_frame["text"]["rule"], 16, "{eh_frame}");
    assert_eq!(eh_frame["readers"]["equal"], 4, "{eh_frame}");
}

/// A rule that is not supported is no fault of the table.
#[test]
fn unsupported_rules_by_cause() {
    // Each from byte 4 of 16 on.
    let cases: [(&str, &[u8]); 8] = [
        // The kernel evaluates no expression, right as it is: CFA = what is at rsp + 64, plus 16.
        (
            "expression",
            &[0x44, 0x0f, 8, 0x77, 0xc0, 0, 0x06, 0x08, 16, 0x22, 0x96],
        ),
        // CFA = rsp + the value of rax.
        ("expression", &[0x44, 0x0f, 5, 0x77, 0, 0x70, 0, 0x22]),
        ("stack-pointer", &[0x44, 0x87, 2]),
        ("return-address", &[0x44, 0x08, 16]),
        ("register", &[0x44, 0x0d, 40]),
        ("offset", &[0x44, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        ("instruction", &[0x44, 0x3f]),
        ("depth", &[0x44, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a]),
    ];

    for (cause, cfi) in cases {
        let file = with_cfi(X86_64, cfi);
        let (status, eh_frame) = eh_frame_of_file(cause, &file);
        assert_eq!(
            (status, &eh_frame["verdict"]),
            (0, &"good".into()),
            "{cause}: {eh_frame}"
        );
        assert_eq!(eh_frame["text"]["rule"], 4, "{cause}: {eh_frame}");
        assert_eq!(eh_frame["text"]["unsupported"], 12, "{cause}: {eh_frame}");
        let unsupported = eh_frame["unsupported"].as_object().expect("an object");
        assert_eq!(unsupported.len(), 1, "{cause}: {eh_frame}");
        assert_eq!(unsupported[cause]["rows"], 1, "{cause}: {eh_frame}");
        assert_eq!(unsupported[cause]["bytes"], 12, "{cause}: {eh_frame}");

        let (_, text) = run(cause, &file, &["check", "--verbose"]);
        assert!(text.contains(": 1 rows, 12 bytes\n"), "{text}");
        let note = "note: .eh_frame: 0x401000+0x4 (0x401004): not supported: ";
        assert!(text.contains(note), "{text}");
        let (status, text) = run(cause, &file, &["dump", "--pc", "0x401004"]);
        assert_eq!(status, 1, "{text}");
        assert!(
            text.contains("eh_frame  no rule: not supported: "),
            "{text}"
        );
    }
}

/// Where the frame pointer is may be nowhere, or beyond what a rule can say: the rest is a rule.
#[test]
fn frame_pointers_that_are_lost() {
    // Undefined, the CFA + 8, CFA + 8 less the value of rax, and what is at rsp + 64, plus 16.
    let cases: [&[u8]; 4] = [
        &[0x44, 0x07, 6],
        &[0x44, 0x14, 6, 1],
        &[0x44, 0x16, 6, 5, 0x77, 8, 0x70, 0, 0x1c],
        &[0x44, 0x16, 6, 7, 0x77, 0xc0, 0, 0x06, 0x08, 16, 0x22],
    ];

    for (nth, cfi) in cases.into_iter().enumerate() {
        let (name, file) = (format!("lost-{nth}"), with_cfi(X86_64, cfi));
        let (status, eh_frame) = eh_frame_of_file(&name, &file);
        assert_eq!(
            (status, &eh_frame["verdict"]),
            (0, &"good".into()),
            "{nth}: {eh_frame}"
        );
        assert_eq!(eh_frame["text"]["rule"], 16, "{nth}: {eh_frame}");
        let (status, text) = run(&name, &file, &["dump", "--pc", "0x401004"]);
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("eh_frame  cfa=sp+8 ra=c-8 fp=?\n"), "{text}");
    }
}

/// A CIE of version 4 has two bytes more, and says the same.
#[test]
fn version_4() {
    let mut cie = vec![4, b'z', b'R', 0, 8, 0, 1, 0x78, 16, 1, 0x1b];
    cie.extend([0x0c, 7, 8, 0x90, 1]);
    let file = with_cfi(X86_64, &[0x44, 0x0e, 16]);
    // The length of the CIE in the file, and the place of its FDE.
    assert_eq!(file[place(EH_FRAME)], 20);
    let file = changed(&file, EH_FRAME + 8, &cie);
    let (status, eh_frame) = eh_frame_of_file("version-4", &file);

    assert_eq!(
        (status, &eh_frame["verdict"]),
        (0, &"good".into()),
        "{eh_frame}"
    );
    assert_eq!(eh_frame["text"]["rule"], 16, "{eh_frame}");
    // Both ends of two rows.
    assert_eq!(eh_frame["readers"]["equal"], 4, "{eh_frame}");

    // Addresses of other sizes.
    let (status, eh_frame) =
        eh_frame_of_file("version-4-sizes", &changed(&file, EH_FRAME + 12, &[4]));
    assert_eq!(
        (status, &eh_frame["unsupported"]["pointer-encoding"]["rows"]),
        (0, &1.into()),
        "{eh_frame}"
    );
}

/// The same for what concerns all functions of a CIE.
#[test]
fn unsupported_cies_by_cause() {
    let file = with_cfi(X86_64, &[]);

    for (cause, offset, byte) in [
        ("cie-version", 8, 5),
        ("augmentation", 10, b'Q'),
        ("return-register", 14, 5),
        ("pointer-encoding", 16, 0x1a),
    ] {
        let file = changed(&file, EH_FRAME + offset, &[byte]);
        let (status, eh_frame) = eh_frame_of_file(cause, &file);
        assert_eq!(
            eh_frame["unsupported"][cause]["rows"], 1,
            "{cause}: {eh_frame}"
        );
        assert_eq!(eh_frame["text"]["rule"], 0, "{cause}: {eh_frame}");
        assert_eq!(
            (status, &eh_frame["verdict"]),
            (0, &"good".into()),
            "{cause}"
        );
    }
}

#[test]
fn an_index_that_is_refused() {
    let file = good_eh_frame();
    // The table is all that is mapped with the index, which starts a page here.
    let cases: [(u64, &[u8], &str); 4] = [
        (0, &[2], "not version 1 (table offset 0x0)"),
        (
            1,
            &[0x15],
            "unknown encoding of the index (table offset 0x1)",
        ),
        (
            3,
            &[0x1b],
            "unknown encoding of the index (table offset 0x3)",
        ),
        (
            8,
            &[0xff, 0xff],
            "index reaches beyond the table (table offset 0x8)",
        ),
    ];

    for (offset, bytes, reason) in cases {
        let file = changed(&file, EH_FRAME_HDR + offset, bytes);
        let name = format!("index-{offset}");
        let (status, text) = run(&name, &file, &["check"]);
        assert_eq!(status, 1, "{text}");
        assert!(text.contains(": refused\n"), "{text}");
        let line = format!("error: .eh_frame_hdr: {reason}");
        assert!(text.contains(&line), "'{line}' is not in:\n{text}");
        let (status, text) = run(&name, &file, &["dump", "--pc", "0x401011"]);
        assert_eq!(status, 1, "{text}");
        let line = format!("eh_frame  no rule: refused: .eh_frame_hdr: {reason}");
        assert!(text.contains(&line), "'{line}' is not in:\n{text}");
    }
}

/// What is malformed has a reason and a place.
#[test]
fn malformed_records() {
    let file = good_eh_frame();
    let record = EH_FRAME - EH_FRAME_HDR;
    // Length and id, nine bytes, the program of five: padded to four.
    let fde = record + 8 + 16;
    let at = |offset: u64, reason: &str| format!("{reason} (table offset {offset:#x})");
    let cases: [(u64, &[u8], String); 8] = [
        (
            INDEX + 4,
            &[0, 0, 0x10, 0],
            at(INDEX, "FDE beyond the table"),
        ),
        (INDEX + 4, &[0, 2, 0, 0], at(record, "record is no FDE")),
        (
            fde,
            &[0xff, 0xff, 0, 0],
            at(fde, "record reaches beyond the table"),
        ),
        (
            fde + 4,
            &[0xff, 0xff, 0, 0],
            at(fde + 4, "CIE beyond the table"),
        ),
        (fde + 4, &[4], at(fde, "record is no CIE")),
        (
            fde + 8,
            &[0x77],
            at(fde + 8, "FDE starts elsewhere than the index says"),
        ),
        // A second byte of the augmentation's length, and it is longer than the record.
        (
            fde + 16,
            &[0x7f],
            at(fde + 24, "record ends within a field"),
        ),
        (
            fde + 17,
            &[0x0b],
            at(fde + 17, "state restored that was not remembered"),
        ),
    ];

    for (nth, (offset, bytes, reason)) in cases.into_iter().enumerate() {
        let file = changed(&file, EH_FRAME_HDR + offset, bytes);
        let name = format!("malformed-{nth}");
        let (status, text) = run(&name, &file, &["check"]);
        assert_eq!(status, 1, "{text}");
        // Only what is wrong with the index disables the table.
        let verdict = match nth {
            0 => ": refused\n",
            _ => ": refused: some functions are malformed; the kernel uses the others\n",
        };
        assert!(text.contains(verdict), "{text}");
        let line = format!("error: .eh_frame: 0x401010: {reason}");
        assert!(text.contains(&line), "'{line}' is not in:\n{text}");

        let (_, report) = json(&name, &file);
        let problems = report["problems"].as_array().expect("there are problems");
        let errors: Vec<_> = problems
            .iter()
            .filter(|problem| problem["severity"] == "error")
            .collect();
        assert_eq!(errors.len(), 1, "{report}");
        assert_eq!(errors[0]["kind"], "malformed");
        assert_eq!(errors[0]["format"], "eh_frame");
    }
}

#[test]
fn an_index_of_several_functions() {
    let functions: [(u64, u32, &[u8]); 3] = [(0x10, 16, &[]), (0x20, 8, &[]), (0x30, 8, &[])];
    let file = elf(X86_64, &[], &eh_frame_of(X86_64, &functions));
    let entry = |nth: u64| EH_FRAME_HDR + INDEX + 8 * nth;
    let start = |at: u64| ((TEXT + at).wrapping_sub(EH_FRAME_HDR) as u32).to_le_bytes();
    let [first, second] = [entry(0), entry(1)].map(|at| {
        let at = place(at);
        file[at..at + 8].to_vec()
    });

    let (status, eh_frame) = eh_frame_of_file("several", &file);
    assert_eq!(
        (status, &eh_frame["text"]["rule"]),
        (0, &32.into()),
        "{eh_frame}"
    );

    // The second entry before the first.
    let swapped = changed(&file, entry(0), &[second.clone(), first.clone()].concat());
    let (status, text) = run("unsorted", &swapped, &["check"]);
    assert_eq!(status, 1, "{text}");
    let line = "error: .eh_frame: 0x401010: functions not sorted by address (table offset 0x14)";
    assert!(text.contains(line), "{text}");

    // The second is there twice, and the first one not at all.
    let twice = changed(&file, entry(0), &second);
    let (status, text) = run("twice", &twice, &["check", "--verbose"]);
    assert_eq!(status, 1, "{text}");
    let line = ": wrong: the index lacks 1 of 3 functions, 16 bytes of code: stacks end there\n";
    assert!(text.contains(line), "{text}");
    assert!(
        text.contains("note: .eh_frame: 0x401020 has several entries"),
        "{text}"
    );
    let line = "warning: .eh_frame: 1 FDEs are not in the index, the first of 0x401010\n";
    assert!(text.contains(line), "{text}");
    let (_, eh_frame) = eh_frame_of_file("twice-json", &twice);
    assert_eq!(eh_frame["index"]["fdes_without_entry"], 1);
    assert_eq!(eh_frame["text"]["rule"], 16);

    // A linker has filled the entry of the second: the first one ends before that.
    let filled = [&start(0x1c)[..], &[0; 4]].concat();
    let (status, eh_frame) = eh_frame_of_file("filled", &changed(&file, entry(1), &filled));
    assert_eq!((status, &eh_frame["verdict"]), (1, &"wrong".into()));
    assert_eq!(eh_frame["index"]["functions"], 2);
    assert_eq!(eh_frame["text"]["rule"], 12 + 8);

    // The third is not code, and is not looked at.
    let outside = changed(&file, entry(2), &start(0x8000));
    let (status, text) = run("outside", &outside, &["check", "--verbose"]);
    assert_eq!(status, 0, "{text}");
    let line = "note: .eh_frame: 0x409000 is not in an executable segment";
    assert!(text.contains(line), "{text}");
}

/// Functions without bytes, at the start of one that has some.
#[test]
fn empty_functions() {
    let empty = (0x10, 0, &[][..]);
    let function = (0x10, 16, &[0x44, 0x0e, 16][..]);
    let other = (0x20, 8, &[][..]);
    let warning = "warning: .eh_frame: 1 functions have an empty one behind them in the index, \
                   the first 0x401010: the kernel finds them, other readers may not\n";

    for (nth, (functions, warns)) in [
        (vec![empty, function, other], false),
        (vec![function, empty, other], true),
        (vec![empty, function, empty, empty, other], true),
        (vec![function, function, other], false),
    ]
    .into_iter()
    .enumerate()
    {
        let file = elf(X86_64, &[], &eh_frame_of(X86_64, &functions));
        let name = format!("empty-{nth}");
        let (status, text) = run(&name, &file, &["check"]);
        assert_eq!(status, 0, "{text}");
        assert_eq!(text.contains(warning), warns, "{text}");
        let (_, eh_frame) = eh_frame_of_file(&name, &file);
        assert_eq!(eh_frame["text"]["rule"], 16 + 8, "{nth}: {eh_frame}");
        assert_eq!(eh_frame["readers"]["differ"], 0, "{nth}: {eh_frame}");
        let (status, text) = run(&name, &file, &["dump", "--pc", "0x401014"]);
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("cfa=sp+16"), "{text}");
    }

    // A linker has kept the empty one alone.
    let file = elf(X86_64, &[], &eh_frame_of(X86_64, &[empty, function, other]));
    let lost = changed(
        &file,
        EH_FRAME_HDR + 12 + 8,
        &file[place(EH_FRAME_HDR + 12)..][..8],
    );
    let (status, text) = run("empty-lost", &lost, &["check"]);
    assert_eq!(status, 1, "{text}");
    let line = ": wrong: the index lacks 1 of 2 functions, 16 bytes of code: stacks end there\n";
    assert!(text.contains(line), "{text}");
}

/// The records are in another segment than their index, which is read-only.
#[test]
fn records_in_another_segment() {
    let eh_frame = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);
    let index = index(X86_64, &eh_frame);
    let all = segments(X86_64, &[], &eh_frame);
    let page = |at: u64| at & !0xfff;
    let [hdr, named] = [2, 3].map(|nth: usize| all[nth]);
    // A page for each.
    let moved = 0x2000;
    let only = |address, size, flags| Segment {
        flags,
        address,
        size,
        ..hdr
    };
    let parts = [
        all[0],
        all[1],
        only(page(EH_FRAME_HDR), 0x1000, 4),
        only(page(EH_FRAME) + moved, 0x1000, 6),
        named,
    ];
    let mut file = elf_of(X86_64, &parts, &[], &eh_frame);
    file.resize(place(page(EH_FRAME) + moved + 0x1000), 0);
    // Everything counts from its own place, but for the start of the function.
    let at = place(EH_FRAME + moved);
    file.copy_within(place(EH_FRAME)..place(EH_FRAME) + eh_frame.len(), at);
    file[place(EH_FRAME)..][..eh_frame.len()].fill(0xff);
    let start = at + 24 + 8;
    let number = |file: &[u8], at: usize| {
        u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"))
    };
    let less = number(&file, start).wrapping_sub(moved as u32);
    file[start..start + 4].copy_from_slice(&less.to_le_bytes());
    for at in [4, 16] {
        let at = place(EH_FRAME_HDR) + at;
        let more = number(&file, at).wrapping_add(moved as u32);
        file[at..at + 4].copy_from_slice(&more.to_le_bytes());
    }
    assert_eq!(index.len(), 20);

    let (status, report) = json("two-segments", &file);
    assert_eq!(
        (status, &report["verdict"]),
        (0, &"good".into()),
        "{report}"
    );
    assert_eq!(report["eh_frame"]["text"]["rule"], 6, "{report}");
    let bytes = page(EH_FRAME) + moved + 0x1000 - page(EH_FRAME_HDR);
    assert_eq!(report["eh_frame"]["index"]["table_bytes"], bytes);
}

#[test]
fn functions_that_overlap() {
    let functions: [(u64, u32, &[u8]); 2] = [(0x10, 32, &[]), (0x20, 8, &[])];
    let file = elf(X86_64, &[], &eh_frame_of(X86_64, &functions));
    let (status, text) = run("overlap", &file, &["check"]);

    assert_eq!(status, 0, "{text}");
    let line = "warning: .eh_frame: 0x401010 overlaps another function";
    assert!(text.contains(line), "{text}");
    // The kernel asks the second, and not the first for what is behind that.
    let (_, eh_frame) = eh_frame_of_file("overlap-json", &file);
    assert_eq!(eh_frame["text"]["rule"], 16 + 8);
}

#[test]
fn files_without_an_index() {
    let eh_frame = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);
    let all = segments(X86_64, &[], &eh_frame);
    let [header, text, tables, named] = [all[0], all[1], all[2], all[3]];
    let elsewhere = Segment {
        address: TABLE + 0x10_0000,
        ..named
    };
    let empty = Segment { size: 0, ..named };
    let unreadable = Segment { flags: 1, ..tables };
    let mut many = vec![header, text, tables, named];
    many.resize(129, Segment { kind: 0, ..header });
    let cases = [
        (
            vec![header, text, tables],
            "no-table",
            "no PT_GNU_EH_FRAME: compile with -fasynchronous-unwind-tables",
        ),
        (
            vec![text, tables, named],
            "not-found",
            "PT_GNU_EH_FRAME: the ELF header is in no segment",
        ),
        (
            vec![header, tables, named],
            "not-found",
            "PT_GNU_EH_FRAME: no executable segment at this place",
        ),
        (
            vec![header, text, tables, empty],
            "not-found",
            "PT_GNU_EH_FRAME: table empty, too long or beyond the address space",
        ),
        (
            vec![header, text, tables, elsewhere],
            "not-found",
            "PT_GNU_EH_FRAME: the table is in no segment that has it where its header says",
        ),
        (
            vec![header, text, unreadable, named],
            "not-found",
            "PT_GNU_EH_FRAME: the table is in no segment that has it where its header says",
        ),
        (
            many,
            "not-found",
            "PT_GNU_EH_FRAME: wrong size, number or place of program headers",
        ),
    ];

    for (nth, (segments, verdict, reason)) in cases.into_iter().enumerate() {
        let file = elf_of(X86_64, &segments, &[], &eh_frame);
        let (status, report) = json(&format!("no-index-{nth}"), &file);
        assert_eq!(
            (status, &report["verdict"]),
            (1, &verdict.into()),
            "{report}"
        );
        assert_eq!(report["eh_frame"]["reason"], reason, "{report}");
        let all = report["reason"].as_str().expect("there is one");
        assert!(all.ends_with(reason), "{all}");
        let dump = run(
            &format!("no-index-{nth}"),
            &file,
            &["dump", "--pc", "0x401011"],
        );
        assert_eq!(dump.0, 1, "{}", dump.1);
    }

    // Version 1, and nothing else; or no entries.
    for (offset, bytes) in [(0, &[1, 0x1b, 0xff, 0xff][..]), (8, &[0])] {
        let omitted = changed(&good_eh_frame(), EH_FRAME_HDR + offset, bytes);
        let (status, report) = json("omitted", &omitted);
        assert_eq!((status, &report["verdict"]), (1, &"no-index".into()));
        let reason = report["reason"].as_str().expect("there is one");
        let line = ".eh_frame_hdr has no entries, for the linker could not read the .eh_frame";
        assert!(reason.starts_with(line), "{reason}");
    }
}

/// A table of one function, in a program of many.
#[test]
fn little_code_is_covered() {
    let eh_frame = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);
    let mut all = segments(X86_64, &[], &eh_frame);

    for (size, warns) in [(0x800, false), (0x3000, true)] {
        all[1].size = size;
        let file = elf_of(X86_64, &all, &[], &eh_frame);
        let (status, text) = run(&format!("little-{size}"), &file, &["check"]);
        assert_eq!(status, 0, "{text}");
        let line = " of the code: stacks are lost in the rest\n";
        assert_eq!(text.contains(line), warns, "{text}");
        // The rest of the segment, which has no symbols.
        let line = "  no table  0x401016, ";
        assert!(text.contains(line), "{text}");
    }
}

/// What the kernel cannot map, or finds only in what it executes.
#[test]
fn texts_that_are_not_found() {
    let eh_frame = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);
    let sframe = table(X86_64, &[PUSH_AND_POP]);
    let mut all = segments(X86_64, &sframe, &eh_frame);
    let (status, report) = json("found", &elf_of(X86_64, &all, &sframe, &eh_frame));
    assert_eq!((status, &report["warnings"]), (0, &0.into()), "{report}");

    // A second text that no loader can map.
    all.push(Segment {
        address: TABLE,
        size: 1 << 63,
        ..all[1]
    });
    let file = elf_of(X86_64, &all, &sframe, &eh_frame);
    let (_, text) = run("odd-text", &file, &["check"]);
    let reason = "no executable segment at this place";
    let line = format!("warning: no table for the segment at 0x403000: {reason}\n");
    assert!(text.contains(&line), "{text}");

    // Not even the file's first page is mapped.
    let file = elf_of(X86_64, &all[1..], &sframe, &eh_frame);
    let (_, text) = run("no-header", &file, &["check"]);
    let line = "warning: the kernel finds the SFrame table only when it executes the file\n";
    assert!(text.contains(line), "{text}");
}

/// Tools that add program headers to a finished file put all of them behind its end.
#[test]
fn program_headers_in_a_segment_of_their_own() {
    let eh_frame = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);
    let mut all = segments(X86_64, &[], &eh_frame);
    let end = elf_of(X86_64, &all, &[], &eh_frame)
        .len()
        .next_multiple_of(0x1000);

    for (flags, status, verdict) in [(4, 0, "good"), (2, 1, "not-found")] {
        all.push(Segment {
            kind: 1,
            flags,
            address: LOAD + end as u64,
            size: 0x1000,
        });
        let mut file = elf_of(X86_64, &all, &[], &eh_frame);
        let headers: Vec<u8> = file[64..64 + 56 * all.len()].to_vec();
        file[64..64 + headers.len()].fill(0);
        file.resize(end, 0);
        file.extend(headers);
        file.resize(end + 0x1000, 0);
        file[32..40].copy_from_slice(&(end as u64).to_le_bytes());
        all.pop();

        let report = json(&format!("headers-{verdict}"), &file);
        assert_eq!(
            (report.0, &report.1["verdict"]),
            (status, &verdict.into()),
            "{}",
            report.1
        );
    }
}

/// Of what compilers make, all but start-up code can be unwound: some 200 bytes, and 300 in static
/// programs.
#[test]
fn compiled_programs() {
    for (name, gcc, flags, most) in [
        ("plain-amd64", "gcc", &[][..], 256),
        ("plain-amd64-static-pie", "gcc", &["-static-pie"], 384),
        ("plain-amd64-shared", "gcc", &["-shared", "-fPIC"], 256),
        ("plain-amd64-stripped", "gcc", &["-s"], 256),
        (
            "plain-amd64-index",
            "gcc",
            &["-static", "-Wl,--eh-frame-hdr"],
            384,
        ),
        ("plain-aarch64", "aarch64-linux-gnu-gcc", &[], 256),
        (
            "plain-aarch64-key-b",
            "aarch64-linux-gnu-gcc",
            &["-mbranch-protection=pac-ret+leaf+b-key"],
            256,
        ),
    ] {
        let Some(file) = build_plain(name, gcc, "c", PROGRAM, flags) else {
            continue;
        };
        let (status, report) = json(name, &file);

        assert_eq!(
            (status, &report["verdict"]),
            (0, &"good".into()),
            "{name}: {report:#}"
        );
        let eh_frame = &report["eh_frame"];
        assert!(
            eh_frame["index"]["functions"].as_u64() > Some(4),
            "{name}: {eh_frame}"
        );
        assert_eq!(
            eh_frame["index"]["fdes_without_entry"], 0,
            "{name}: {eh_frame}"
        );
        assert!(
            eh_frame["readers"]["equal"].as_u64() > Some(30),
            "{name}: {eh_frame}"
        );
        assert_eq!(eh_frame["readers"]["differ"], 0, "{name}: {eh_frame}");
        let number = |what: &str| report["text"][what].as_u64().expect("a number");
        assert_eq!(
            number("by_sframe") + number("by_eh_frame"),
            number("unwound")
        );
        // Start-up code has no CFI, nor have some linkage tables.
        let code = number("bytes") - number("padding");
        let sections = report["coverage"]["code"].as_array().expect("an array");
        let other: u64 = sections
            .iter()
            .filter(|code| {
                [".init", ".fini", ".plt"]
                    .iter()
                    .any(|name| code["name"] == *name)
            })
            .map(|code| code["bytes"].as_u64().unwrap_or(0) - code["unwound"].as_u64().unwrap_or(0))
            .sum();
        let lost = code - number("unwound") - other;
        assert!(lost <= most, "{name}: {lost} bytes: {}", report["text"]);
    }
}

/// `gcc -static` has the linker write no index.
#[test]
fn a_static_program() {
    let Some(file) = build_plain("static", "gcc", "c", PROGRAM, &["-static"]) else {
        return;
    };
    let (status, report) = json("static", &file);

    assert_eq!(
        (status, &report["verdict"]),
        (1, &"no-index".into()),
        "{report}"
    );
    let reason = report["reason"].as_str().expect("there is one");
    assert!(reason.contains("link with -Wl,--eh-frame-hdr"), "{reason}");
    assert_eq!(report["text"]["unwound"], 0);
}
