// SPDX-License-Identifier: GPL-2.0

//! Will the kernel accept the SFrame table, and is it right?

use super::{LIMIT, problem, refusal};
use crate::arch::Arch;
use crate::cfi::Cfi;
use crate::compare::{self, Defect, Outcome};
use crate::coverage::Spans;
use crate::elf::{self, Elf};
use crate::parse::Error;
use crate::parse::sframe::{Attribute, Function, Reason};
use crate::ranges::Range;
use crate::report::{self, Format, Problem, Report, Severity, Verdict};
use crate::table::{self, Found, Rows, Table};
use crate::text;

/// What all problems here are about.
const FORMAT: Option<Format> = Some(Format::Sframe);

/// How many functions are looked at.
const FUNCTIONS: usize = 1 << 24;

/// Checks the table; the result is its functions and for which addresses it has rules, if there is
/// one.
pub fn check<A: Arch>(
    elf: &Elf<'_>,
    report: &mut Report,
    cfi: &Cfi<'_, A>,
) -> Option<(Vec<Function>, Spans)> {
    let before = report.errors;
    let (table, numbers) = find::<A>(elf, report)?;
    let mut check = Check {
        elf,
        report,
        table: &table,
        functions: Vec::new(),
        numbers,
        comparison: report::Comparison::default(),
        spans: Spans::default(),
        rows_left: LIMIT,
        places_left: LIMIT,
        plt_got: elf.section(".plt.got").map_or((0, 0), elf::Section::range),
    };

    check.index();
    let mut rows = Rows::new();
    for function in std::mem::take(&mut check.functions) {
        check.function(&function, cfi, &mut rows);
        check.functions.push(function);
    }
    Some(check.finish(before))
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
    spans: Spans,
    rows_left: u64,
    places_left: u64,
    /// The addresses of the section `.plt.got`.
    plt_got: Range,
}

impl<A: Arch> Check<'_, '_, A> {
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

    fn function(&mut self, function: &Function, cfi: &Cfi<'_, A>, rows: &mut Rows) {
        if self.rows_left == 0 {
            return;
        }
        let result = self.table.rows(function, rows);

        self.rows_left = self.rows_left.saturating_sub(rows.len() as u64);
        self.numbers.rows += rows.len() as u64;
        self.numbers.outermost_rows += rows
            .iter()
            .filter(|(_, rule)| rule.is_ok_and(|rule| rule.is_outermost()))
            .count() as u64;
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
        for (row, (_, rule)) in rows.iter().enumerate() {
            if let Err(cause) = rule {
                let text = format!("row {row}: not supported: {}", cause.text());
                self.about(function, Severity::Note, "unsupported", &text);
            }
        }
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
        self.cover(function, &attribute, rows);
        self.look_up(function, &attribute, rows);
        self.compare(function, &attribute, rows, cfi);
    }

    /// Notes for which addresses a function has rules.
    fn cover(&mut self, function: &Function, attribute: &Attribute, rows: &Rows) {
        let end = function.start.saturating_add(function.size.into());
        if rows.iter().any(|(_, rule)| rule.is_err()) {
            self.cover_in_part(function, attribute, rows);
            return;
        }
        let first = match rows.first() {
            Some((first, _)) => u64::from(*first),
            // That a signal frame is here is a rule of its own.
            None if attribute.signal => 0,
            None => return,
        };

        let Some(block) = attribute.block.filter(|block| *block != 0 && first != 0) else {
            let start = function.start.saturating_add(first);
            self.spans.add_rule((start.min(end), end));
            return;
        };
        for start in (function.start..end).step_by(block.into()) {
            if self.rows_left == 0 {
                break;
            }
            let until = start.saturating_add(block.into()).min(end);
            let start = start.saturating_add(first).min(until);
            self.rows_left -= 1;
            self.spans.add_rule((start, until));
        }
    }

    /// The same if some of the rules are not supported.
    fn cover_in_part(&mut self, function: &Function, attribute: &Attribute, rows: &Rows) {
        let mut offset = 0;

        while offset < function.size && self.rows_left != 0 {
            let (row, until) = table::row_at(rows, attribute.block, function.size, offset);
            let range = (
                function.start.saturating_add(offset.into()),
                function.start.saturating_add(until.into()),
            );
            match row.and_then(|row| rows.get(row)) {
                Some((_, Ok(_))) => self.spans.add_rule(range),
                Some((_, Err(_))) => self.spans.add_unsupported(range),
                None => {}
            }
            self.rows_left -= 1;
            offset = until.max(offset + 1);
        }
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
            if found != rule.map_err(Error::from) {
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

    fn finish(self, errors_before: u64) -> (Vec<Function>, Spans) {
        let functions = self.table.header.functions as usize;
        if self.rows_left == 0 || self.places_left == 0 || functions > FUNCTIONS {
            let text = "there is more to check than any real file has: not all was checked".into();
            self.report
                .add(problem(Severity::Error, FORMAT, "too-large", text));
        }
        let said = self.table.rows_in_header().map(u64::from);
        if self.report.errors == errors_before && said.is_some_and(|said| said != self.numbers.rows)
        {
            let text = format!(
                "the header counts {} rows, but there are {}",
                said.unwrap_or_default(),
                self.numbers.rows
            );
            self.report
                .add(problem(Severity::Warning, FORMAT, "row-count", text));
        }
        self.report.sframe.verdict = if self.report.errors != errors_before {
            Verdict::Refused
        } else if self.comparison.differ != 0 {
            Verdict::Wrong
        } else {
            Verdict::Good
        };
        self.report.table = Some(self.numbers);
        self.report.comparison = Some(self.comparison);
        (self.functions, self.spans)
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
            ..problem(severity, FORMAT, kind, text)
        });
    }

    /// The kernel would refuse this.
    fn refuse(&mut self, error: Error, of_what: &str) {
        self.report.add(refusal(Format::Sframe, error, of_what));
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
                    report.add(refusal(Format::Sframe, error, "the header"));
                    report.sframe.verdict = Verdict::Refused;
                    return None;
                }
            };
            let numbers = report::Table {
                address: segment.address,
                file_offset,
                segment_bytes: segment.file_size,
                bytes: table.len(),
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

    report.sframe.end(verdict, reason);
    None
}

/// What is odd about the program header.
fn segment_problems(elf: &Elf<'_>, report: &mut Report, table: &report::Table) {
    if elf.tables.len() > 1 {
        let text = "several PT_GNU_SFRAME program headers: the kernel takes the first".into();
        report.add(problem(Severity::Warning, FORMAT, "several-tables", text));
    }
    if elf
        .tables
        .first()
        .is_some_and(|segment| segment.file_offset != table.file_offset)
    {
        let text = "PT_GNU_SFRAME has another file offset than what is loaded at its address";
        report.add(problem(
            Severity::Warning,
            FORMAT,
            "file-offset",
            text.into(),
        ));
    }
    if table.segment_bytes > table.bytes {
        let text = format!(
            "PT_GNU_SFRAME is {} bytes longer than the table",
            table.segment_bytes - table.bytes
        );
        report.add(problem(Severity::Note, FORMAT, "long-segment", text));
    }
}
