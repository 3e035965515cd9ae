// SPDX-License-Identifier: GPL-2.0

//! `sframe check`: will the kernel accept the table, and is it right?

use std::path::Path;

use anyhow::Result;

use crate::arch::Arch;
use crate::augmentation;
use crate::cfi::{self, Cfi, endian};
use crate::compare::{self, Defect, Outcome};
use crate::coverage;
use crate::elf::{self, Elf, Machine};
use crate::parse::sframe::{Attribute, Function, Reason};
use crate::parse::{self, AArch64, Amd64, Error, Malformed, S390x};
use crate::ranges::Range;
use crate::report::{self, Problem, Report, Severity, Verdict};
use crate::table::{self, Found, Rows, Table};
use crate::text;

/// How much work a file may cost: rows read, and as much again compared. No real file costs so
/// much, but functions that share their rows can ask for any amount.
const LIMIT: u64 = 1 << 26;
/// How many functions are looked at.
const FUNCTIONS: usize = 1 << 24;

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
        Machine::X86_64 => Check::<Amd64>::run(&elf, report),
        Machine::AArch64 => Check::<AArch64>::run(&elf, report),
        Machine::S390x => Check::<S390x>::run(&elf, report),
    }
    Ok(())
}

/// The check of a table.
struct Check<'f, 'a, A> {
    elf: &'f Elf<'a>,
    report: &'f mut Report,
    table: &'f Table<'a, A>,
    /// The functions of the table.
    functions: Vec<Function>,
    numbers: report::Table,
    comparison: report::Comparison,
    rows_left: u64,
    places_left: u64,
    /// The addresses of the section `.plt.got`.
    plt_got: Range,
}

impl<'f, 'a, A: Arch> Check<'f, 'a, A> {
    fn run(elf: &'f Elf<'a>, report: &'f mut Report) {
        report.abi = Some(A::NAME);
        if let Some(error) = &elf.sections_error {
            let text = format!("section headers cannot be read: {error}");
            report.add(problem(Severity::Warning, "sections", text));
        }
        let Some((table, numbers)) = find::<A>(elf, report) else {
            return;
        };

        let mut check = Check {
            elf,
            report,
            table: &table,
            functions: Vec::new(),
            numbers,
            comparison: report::Comparison::default(),
            rows_left: LIMIT,
            places_left: LIMIT,
            plt_got: elf.section(".plt.got").map_or((0, 0), elf::Section::range),
        };
        check.index();
        check.unwind_information();
        check.finish();
    }

    /// Reads and checks the index.
    fn index(&mut self) {
        let table = self.table;
        let mut end = 0;
        let mut last: Option<Function> = None;

        for function in table.index().take(FUNCTIONS) {
            let function = match function {
                Ok(function) => function,
                Err(error) => {
                    self.refuse(error, "an entry of the index");
                    continue;
                }
            };
            let range = (function.start, function.start + u64::from(function.size));
            if last.is_some_and(|last| last.start > function.start) {
                let name = self.name(&function);
                self.refuse(Reason::Unsorted.at(function.entry), &name);
            } else if function.size != 0 && function.start < end {
                self.about(
                    &function,
                    Severity::Warning,
                    "overlap",
                    "overlaps another function",
                );
            } else if last.is_some_and(|last| last.start == function.start) {
                self.about(
                    &function,
                    Severity::Note,
                    "equal-start",
                    "starts where another does",
                );
            }
            if !self.elf.is_code(range) {
                let text = "is not in an executable segment";
                self.about(&function, Severity::Error, "not-code", text);
            }
            if function.size == 0 {
                self.about(&function, Severity::Note, "empty-function", "is empty");
            }
            end = end.max(range.1);
            last = Some(function);
            self.functions.push(function);
        }
        self.numbers.functions = self.functions.len() as u64;
    }

    /// Reads `.eh_frame` and goes through all functions with it.
    fn unwind_information(&mut self) {
        let source = cfi::find(self.elf, endian::<A>());
        let (bytes, address) = source
            .as_ref()
            .map_or((&[][..], 0), |source| (source.bytes, source.address));
        let (bytes, changed) = augmentation::readable(bytes, endian::<A>());
        let cfi = Cfi::<A>::read(&bytes, &changed, address);

        if source.is_none() {
            let text = "there is no .eh_frame to compare with".into();
            self.report
                .add(problem(Severity::Warning, "no-eh-frame", text));
        }
        for error in &cfi.errors {
            let text = format!(".eh_frame: {error}");
            self.report
                .add(problem(Severity::Warning, "eh-frame", text));
        }
        let mut rows = Rows::new();
        for function in std::mem::take(&mut self.functions) {
            self.function(&function, &cfi, &mut rows);
            self.functions.push(function);
        }
        self.report.coverage = Some(coverage::coverage(self.elf, &self.functions, &cfi.fdes));
        self.plt_coverage();
        self.report.sizes = Some(report::Sizes {
            sframe: self.table.header.table_len(),
            eh_frame: source.as_ref().and_then(|source| source.size),
            eh_frame_hdr: source.as_ref().map_or(0, |source| source.hdr_bytes),
        });
    }

    fn function(&mut self, function: &Function, cfi: &Cfi<'_, A>, rows: &mut Rows) {
        if self.rows_left == 0 {
            return;
        }
        let result = self.table.rows(function, rows);

        self.rows_left = self.rows_left.saturating_sub(rows.len() as u64);
        self.numbers.rows += rows.len() as u64;
        self.numbers.outermost_rows +=
            rows.iter().filter(|(_, rule)| rule.is_outermost()).count() as u64;
        let attribute = match result {
            Ok(attribute) => attribute,
            Err((error, row)) => {
                let name = self.name(function);
                self.refuse(error, &format!("{name}, row {row}"));
                return;
            }
        };
        self.numbers.flexible_functions += u64::from(attribute.flexible);
        self.numbers.repeating_functions += u64::from(attribute.block.is_some());
        self.numbers.signal_functions += u64::from(attribute.signal);
        if attribute.rows == 0 && !attribute.signal {
            self.about(function, Severity::Warning, "without-rows", "has no rows");
        } else if rows.first().is_some_and(|(start, _)| *start != 0) {
            self.about(
                function,
                Severity::Warning,
                "late-row",
                "has no row at its start",
            );
        }
        self.look_up(function, &attribute, rows);
        self.compare(function, &attribute, rows, cfi);
    }

    /// Asks as the kernel does, at both ends of a function.
    fn look_up(&mut self, function: &Function, attribute: &Attribute, rows: &Rows) {
        let Some(last) = function.size.checked_sub(1) else {
            return;
        };

        for offset in [0, last] {
            let row = table::row_at(rows, attribute.block, function.size, offset).0;
            let Some((_, rule)) = row.and_then(|row| rows.get(row)) else {
                continue;
            };
            let (found, cost) = self.table.lookup(function.start + u64::from(offset));
            self.rows_left = self.rows_left.saturating_sub(cost.into());
            if found != Ok(*rule) {
                let why = match found {
                    Ok(_) => "another function is found instead".into(),
                    Err(error) => text::error(error),
                };
                let text = format!("is not found by the kernel at +{offset:#x}: {why}");
                self.about(function, Severity::Warning, "hidden", &text);
                return;
            }
        }
    }

    fn compare(
        &mut self,
        function: &Function,
        attribute: &Attribute,
        rows: &Rows,
        cfi: &Cfi<'_, A>,
    ) {
        let comparison = compare::Comparison {
            cfi,
            function,
            attribute,
            rows,
            plt_got: (self.plt_got.0..self.plt_got.1).contains(&function.start),
        };
        let (elf, numbers) = (self.elf, &mut self.comparison);

        let result = comparison.run(&mut self.places_left, |place| {
            numbers.places += 1;
            let defect = match place.outcome {
                Outcome::Equal => return numbers.equal += 1,
                Outcome::NoRow => return numbers.without_row += 1,
                Outcome::NoRule => return numbers.without_rule += 1,
                Outcome::Known(defect) => Some(Defect::name(defect)),
                Outcome::Differs => None,
            };
            let difference = || report::Difference {
                address: place.address,
                place: text::place(
                    elf.name(function.start).as_deref(),
                    function.start,
                    place.address,
                ),
                sframe: place.rule.map_or("-".into(), text::rule::<A>),
                eh_frame: compare::expected_text::<A>(&place.expected),
                defect,
            };
            numbers.add(difference, defect);
        });
        if let Err(error) = result {
            let text = format!("cannot be compared: .eh_frame: {error}");
            self.about(function, Severity::Warning, "eh-frame", &text);
        }
    }

    /// Code that only linkers write tables for.
    fn plt_coverage(&mut self) {
        let Some(coverage) = &self.report.coverage else {
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
                    ..problem(Severity::Note, "plt-not-covered", text)
                }
            })
            .collect();

        for problem in uncovered {
            self.report.add(problem);
        }
    }

    fn finish(self) {
        let functions = self.table.header.functions() as usize;
        if self.rows_left == 0 || self.places_left == 0 || functions > FUNCTIONS {
            let text = "there is more to check than any real file has: not all was checked".into();
            self.report.add(problem(Severity::Error, "too-large", text));
        }
        let said = self.table.rows_in_header().map(u64::from);
        if self.report.errors == 0 && said.is_some_and(|said| said != self.numbers.rows) {
            let text = format!(
                "the header counts {} rows, but there are {}",
                said.unwrap_or_default(),
                self.numbers.rows
            );
            self.report
                .add(problem(Severity::Warning, "row-count", text));
        }
        self.report.verdict = if self.report.errors != 0 {
            Verdict::Refused
        } else if self.comparison.differ != 0 {
            Verdict::Wrong
        } else {
            Verdict::Good
        };
        self.report.table = Some(self.numbers);
        self.report.comparison = Some(self.comparison);
    }

    fn name(&self, function: &Function) -> String {
        let name = self.elf.name(function.start);

        text::place(name.as_deref(), function.start, function.start)
    }

    fn about(&mut self, function: &Function, severity: Severity, kind: &'static str, text: &str) {
        let text = format!("{} {text}", self.name(function));

        self.report.add(Problem {
            offset: u32::try_from(function.entry).ok(),
            address: Some(function.start),
            ..problem(severity, kind, text)
        });
    }

    /// The kernel would refuse this.
    fn refuse(&mut self, error: Error, of_what: &str) {
        let mut problem = refusal(error, of_what);

        if let Error::Malformed(Malformed {
            reason: parse::Reason::SFrame(Reason::Register),
            offset,
        }) = error
            && self.table.bytes.has_bad_register(offset)
        {
            problem.text += "; GNU as writes this for an expression that it cannot express";
        }
        self.report.add(problem);
    }
}

/// Finds the table and reads its header; if there is none, the report is complete.
fn find<'a, A: Arch>(elf: &Elf<'a>, report: &mut Report) -> Option<(Table<'a, A>, report::Table)> {
    let (verdict, reason) = match table::find(elf) {
        Found::Table {
            segment,
            bytes,
            file_offset,
        } => {
            let table = match Table::<A>::read(bytes, segment.address, segment.file_size) {
                Ok(table) => table,
                Err(error) => {
                    report.add(refusal(error, "the header"));
                    report.verdict = Verdict::Refused;
                    return None;
                }
            };
            let numbers = report::Table {
                address: segment.address,
                file_offset,
                segment_bytes: segment.file_size,
                bytes: table.header.table_len(),
                ..Default::default()
            };
            segment_problems(elf, report, &numbers);
            return Some((table, numbers));
        }
        Found::None => (
            Verdict::NoTable,
            "there is no PT_GNU_SFRAME program header".into(),
        ),
        Found::Empty => (
            Verdict::NoTable,
            "the PT_GNU_SFRAME program header is empty".into(),
        ),
        Found::SectionOnly => (
            Verdict::NotFound,
            "there is a section .sframe, but no PT_GNU_SFRAME program header".into(),
        ),
        Found::NotLoaded(address) => (
            Verdict::NotFound,
            format!("PT_GNU_SFRAME is at {address:#x}, where nothing is loaded"),
        ),
    };

    report.end(verdict, reason);
    None
}

/// What is odd about the program header.
fn segment_problems(elf: &Elf<'_>, report: &mut Report, table: &report::Table) {
    if elf.tables.len() > 1 {
        let text = "several PT_GNU_SFRAME program headers: the kernel takes the first".into();
        report.add(problem(Severity::Warning, "several-tables", text));
    }
    if elf
        .tables
        .first()
        .is_some_and(|segment| segment.file_offset != table.file_offset)
    {
        let text = "PT_GNU_SFRAME has another file offset than what is loaded at its address";
        report.add(problem(Severity::Warning, "file-offset", text.into()));
    }
    if table.segment_bytes > table.bytes {
        let text = format!(
            "PT_GNU_SFRAME is {} bytes longer than the table",
            table.segment_bytes - table.bytes
        );
        report.add(problem(Severity::Note, "long-segment", text));
    }
}

/// A problem that is nowhere in particular.
fn problem(severity: Severity, kind: &'static str, text: String) -> Problem {
    Problem {
        severity,
        kind,
        text,
        offset: None,
        address: None,
    }
}

/// Something for which the kernel refuses a table.
fn refusal(error: Error, of_what: &str) -> Problem {
    let (kind, offset) = match error {
        Error::Malformed(malformed) => ("malformed", Some(malformed.offset)),
        Error::Fault => ("fault", None),
        Error::Budget => ("budget", None),
        Error::NotFound => ("missing", None),
        Error::Unsupported(_) => ("unsupported", None),
    };

    Problem {
        offset,
        ..problem(
            Severity::Error,
            kind,
            format!("{of_what}: {}", text::error(error)),
        )
    }
}
