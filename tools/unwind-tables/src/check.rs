// SPDX-License-Identifier: GPL-2.0

//! `unwind-tables check`: what will the kernel make of a file, and is it right?

mod eh_frame;
mod sframe;

use std::path::Path;

use anyhow::Result;

use crate::arch::Arch;
use crate::augmentation;
use crate::cfi::{self, Cfi};
use crate::coverage::{self, Spans};
use crate::discovery;
use crate::elf::{self, Elf, Machine};
use crate::parse::{AArch64, Amd64, Error};
use crate::report::{self, Format, Problem, Report, Severity, Verdict};
use crate::text;

/// How much work a file may cost, for each format. No real file costs so much, but functions that
/// share their rows can ask for any amount.
const LIMIT: u64 = 1 << 26;

/// How many bytes of code may be without rules in any file: start-up code is.
const LOST: u64 = 4096;

/// Checks a file. What is wrong with it is in the report.
pub fn check(path: &Path) -> Report {
    let name = text::printable(path.as_os_str().as_encoded_bytes());
    let mut report = Report::new(name);

    if let Err(error) = check_file(path, &mut report) {
        report.end(Verdict::Unreadable, format!("{error:#}"));
    }
    report
}

fn check_file(path: &Path, report: &mut Report) -> Result<()> {
    check_bytes(&elf::read(path)?, report)
}

/// Checks the contents of a file.
pub fn check_bytes(data: &[u8], report: &mut Report) -> Result<()> {
    let elf = Elf::parse(data)?;

    match elf.machine {
        Machine::X86_64 => check_elf::<Amd64>(&elf, report),
        Machine::AArch64 => check_elf::<AArch64>(&elf, report),
    }
    Ok(())
}

fn check_elf<A: Arch>(elf: &Elf<'_>, report: &mut Report) {
    let source = cfi::find(elf);
    let (bytes, address) = source
        .as_ref()
        .map_or((&[][..], 0), |source| (source.bytes, source.address));
    let (bytes, changed) = augmentation::readable(bytes);
    let cfi = Cfi::<A>::read(&bytes, &changed, address);

    report.abi = Some(A::NAME);
    if let Some(error) = &elf.sections_error {
        let text = format!("section headers cannot be read: {error}");
        report.add(problem(Severity::Warning, None, "sections", text));
    }
    for error in &cfi.errors {
        let text = format!(".eh_frame: {error}");
        report.add(problem(Severity::Warning, None, "eh-frame", text));
    }
    let (functions, sframe) = sframe::check(elf, report, &cfi).unwrap_or_default();
    let eh_frame = eh_frame::check(elf, report, &cfi).unwrap_or_default();

    discovered::<A>(elf, report);
    if report.table.is_some() && source.is_none() {
        let text = "there is no .eh_frame to compare with".into();
        let format = Some(Format::Sframe);
        report.add(problem(Severity::Warning, format, "no-eh-frame", text));
    }
    if report.table.is_some() || report.eh_frame.index.is_some() {
        report.sizes = Some(report::Sizes {
            sframe: report.table.as_ref().map_or(0, |table| table.bytes),
            eh_frame: source.as_ref().and_then(|source| source.size),
            eh_frame_hdr: source.as_ref().map_or(0, |source| source.hdr_bytes),
        });
        let coverage = coverage::coverage(&functions, &cfi.fdes);
        report.coverage = Some(coverage);
    }
    covered::<A>(elf, report, sframe, eh_frame);
    plt_coverage(report);
    judge(report);
}

/// What the kernel does not find by itself, though there is a table.
fn discovered<A: Arch>(elf: &Elf<'_>, report: &mut Report) {
    let found = discovery::discover::<A>(elf);
    let address = report.table.as_ref().map(|table| table.address);
    let has_sframe = found.iter().any(|(_, found)| {
        let sframe = found.as_ref().ok().and_then(|object| object.sframe);
        sframe.map(|segment| segment.address) == address
    });

    if address.is_some() && !has_sframe {
        let text = "the kernel finds the SFrame table only when it executes the file".into();
        let format = Some(Format::Sframe);
        report.add(problem(Severity::Warning, format, "not-discovered", text));
    }
    if !found.iter().any(|(_, found)| found.is_ok()) {
        return;
    }
    for (text, absence) in found {
        if let Err(absence) = absence {
            let address = text.address;
            let reason = absence.text();
            let text = format!("no table for the segment at {address:#x}: {reason}");
            report.add(Problem {
                address: Some(address),
                ..problem(Severity::Warning, None, "text-not-found", text)
            });
        }
    }
}

/// Says how much of the code the tables are about.
fn covered<A: Arch>(elf: &Elf<'_>, report: &mut Report, sframe: Spans, eh_frame: Spans) {
    let code = coverage::code::<A>(elf, sframe, eh_frame);

    report.text = Some(code.text);
    if report.table.is_some() {
        report.sframe.text = Some(code.sframe);
    }
    if report.eh_frame.index.is_some() {
        report.eh_frame.judgement.text = Some(code.eh_frame);
    }
    if let Some(coverage) = &mut report.coverage {
        coverage.code = code.parts;
        coverage.uncovered = code.uncovered;
        coverage.uncovered_pieces = code.uncovered_pieces;
    }
    let text = &code.text;
    let run = text.bytes.saturating_sub(text.padding);
    let lost = run.saturating_sub(text.unwound);
    if report.coverage.is_some() && lost > LOST && lost > text.unwound {
        let share = text::percent(text.unwound, run);
        let text = format!("tables are about {share} of the code: stacks are lost in the rest");
        report.add(problem(Severity::Warning, None, "little-covered", text));
    }
}

/// Code that only linkers write tables for.
fn plt_coverage(report: &mut Report) {
    let Some(coverage) = report.coverage.as_ref().filter(|_| report.table.is_some()) else {
        return;
    };
    let uncovered: Vec<_> = coverage
        .code
        .iter()
        .filter(|code| code.name.starts_with(".plt") && code.sframe < code.eh_frame)
        .map(|code| {
            let text = format!("the linker wrote no table, or not all, for {}", code.name);
            Problem {
                address: Some(code.address),
                ..problem(
                    Severity::Note,
                    Some(Format::Sframe),
                    "plt-not-covered",
                    text,
                )
            }
        })
        .collect();

    for problem in uncovered {
        report.add(problem);
    }
}

/// The verdict on a file: what is bad of one table is not made good by the other one, but one of
/// them is enough.
fn judge(report: &mut Report) {
    let sframe = &report.sframe;
    let eh_frame = &report.eh_frame.judgement;
    let verdicts = [sframe.verdict, eh_frame.verdict];
    let bad = [Verdict::Refused, Verdict::Wrong]
        .into_iter()
        .find(|bad| verdicts.contains(bad));
    let reason = |judgement: &report::Judgement| judgement.reason.clone();

    let (verdict, reason) = match (bad, sframe.verdict, eh_frame.verdict) {
        (Some(Verdict::Refused), Verdict::Refused, Verdict::Good) => {
            let reason = "the SFrame table; the kernel uses .eh_frame instead";
            (Verdict::Refused, Some(reason.into()))
        }
        (Some(Verdict::Refused), Verdict::Good, Verdict::Refused) => {
            let alone = ".eh_frame; the kernel uses the SFrame table alone";
            let some = reason(eh_frame).map(|reason| format!(".eh_frame: {reason}"));
            (Verdict::Refused, Some(some.unwrap_or(alone.into())))
        }
        (Some(bad), _, other) if bad == other => (bad, reason(eh_frame)),
        (Some(bad), ..) => (bad, None),
        // Whoever links such a table wants it to be used.
        (None, Verdict::NotFound, _) => (Verdict::NotFound, reason(sframe)),
        (None, Verdict::Good, _) | (None, _, Verdict::Good) => (Verdict::Good, None),
        (None, _, Verdict::NoTable) => {
            let reasons = [reason(sframe), reason(eh_frame)];
            let reasons: Vec<_> = reasons.into_iter().flatten().collect();
            (Verdict::NoTable, Some(reasons.join(", and ")))
        }
        (None, _, other) => (other, reason(eh_frame)),
    };
    report.verdict = verdict;
    report.reason = reason;
}

/// A problem that is nowhere in particular.
fn problem(
    severity: Severity,
    format: Option<Format>,
    kind: &'static str,
    text: String,
) -> Problem {
    Problem {
        severity,
        format,
        kind,
        text,
        offset: None,
        address: None,
    }
}

/// Something for which the kernel refuses a table.
fn refusal(format: Format, error: Error, of_what: &str) -> Problem {
    let (kind, offset) = match error {
        Error::Malformed(malformed) => ("malformed", Some(malformed.offset)),
        Error::Fault => ("fault", None),
        Error::Budget => ("budget", None),
        Error::NotFound | Error::Absent(_) => ("missing", None),
        Error::Unsupported(_) => ("unsupported", None),
    };

    Problem {
        offset,
        ..problem(
            Severity::Error,
            Some(format),
            kind,
            format!("{of_what}: {}", text::error(error)),
        )
    }
}
