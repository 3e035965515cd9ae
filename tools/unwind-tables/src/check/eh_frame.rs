// SPDX-License-Identifier: GPL-2.0

//! What the kernel makes of `.eh_frame`, by its index.

use std::collections::HashSet;

use super::{LIMIT, problem, refusal};
use crate::agree;
use crate::arch::Arch;
use crate::cfi::{Cfi, Expected, Fde};
use crate::compare::expected_text;
use crate::coverage::Spans;
use crate::discovery::Absence;
use crate::eh_table::{self, EhTable, Entry, Found};
use crate::elf::Elf;
use crate::parse::eh_frame::Reason;
use crate::parse::elf::Segment;
use crate::parse::{Error, Rule, Unsupported};
use crate::ranges::Range;
use crate::report::{self, Format, Problem, Report, Severity, Verdict};
use crate::text;

/// How many units of the kernel's budget looking at a byte of a file may cost. Real files cost a
/// small part of that.
const UNITS_PER_BYTE: u64 = 256;

/// How many rows of a function are asked for at both ends; those that follow only at their start,
/// for each lookup runs the function's program from the beginning.
const BOTH_ENDS: u64 = 400;

/// What the kernel finds for an address.
type Answer = Result<Rule, Error>;

/// What gimli finds for an address, and whether that depends on it.
type At<'f> = &'f dyn Fn(u64) -> (Expected, bool);

/// Checks the table; the result is what the kernel finds for which addresses, if there is one.
pub fn check<A: Arch>(elf: &Elf<'_>, report: &mut Report, cfi: &Cfi<'_, A>) -> Option<Spans> {
    let segment = find::<A>(elf, report)?;
    let before = report.errors;
    let judgement = &mut report.eh_frame.judgement;
    let table = match EhTable::<A>::read(elf, &segment) {
        Ok(Ok(table)) => table,
        Ok(Err(error)) => {
            judgement.verdict = Verdict::Refused;
            report.add(refusal(Format::EhFrame, error, ".eh_frame_hdr"));
            return None;
        }
        Err(Absence::NoIndex) => {
            judgement.end(Verdict::NoIndex, without_entries(cfi));
            return None;
        }
        Err(absence) => {
            let reason = format!("PT_GNU_EH_FRAME: {}", absence.text());
            judgement.end(Verdict::NotFound, reason);
            return None;
        }
    };
    if table.header.count == 0 {
        judgement.end(Verdict::NoIndex, without_entries(cfi));
        return None;
    }

    let mut check = Check {
        elf,
        table: &table,
        cfi,
        numbers: report::Index {
            address: segment.address,
            file_offset: segment.offset,
            segment_bytes: segment.len,
            table_address: table.base,
            table_bytes: table.len.into(),
            entries: table.header.count.into(),
            ..Default::default()
        },
        readers: report::Readers::default(),
        spans: Spans::default(),
        refused: false,
        hidden: Vec::new(),
        lost: Vec::new(),
        left: LIMIT.max((elf.data.len() as u64).saturating_mul(UNITS_PER_BYTE)),
        report,
    };
    check.index();
    Some(check.finish(before))
}

/// Finds the index; if there is none, all is said.
fn find<A: Arch>(elf: &Elf<'_>, report: &mut Report) -> Option<Segment> {
    let judgement = &mut report.eh_frame.judgement;

    match eh_table::find::<A>(elf) {
        Found::Index(segment) => return Some(segment),
        Found::None => {
            let reason = "no PT_GNU_EH_FRAME: compile with -fasynchronous-unwind-tables";
            judgement.end(Verdict::NoTable, reason.into());
        }
        Found::NoIndex => {
            let reason = "there is an .eh_frame, but no index of it (PT_GNU_EH_FRAME): \
                          link with -Wl,--eh-frame-hdr, or -static-pie instead of -static";
            judgement.end(Verdict::NoIndex, reason.into());
        }
        Found::Missing(absence) => {
            let reason = format!("PT_GNU_EH_FRAME: {}", absence.text());
            judgement.end(Verdict::NotFound, reason);
        }
    }
    None
}

/// Why an index has no entries: the kernel takes it for none.
fn without_entries<A: Arch>(cfi: &Cfi<'_, A>) -> String {
    let reason = match cfi.fdes.is_empty() && cfi.errors.is_empty() {
        true => "and .eh_frame no functions",
        false => {
            "for the linker could not read the .eh_frame of a file that was linked: \
             it has said \"no .eh_frame_hdr table will be created\""
        }
    };

    format!(".eh_frame_hdr has no entries, {reason}")
}

/// The check of a table.
struct Check<'f, 'a, A> {
    elf: &'f Elf<'a>,
    report: &'f mut Report,
    table: &'f EhTable<'a, A>,
    cfi: &'f Cfi<'f, A>,
    numbers: report::Index,
    readers: report::Readers,
    spans: Spans,
    /// The kernel refuses the whole table, not only some functions.
    refused: bool,
    /// Starts of functions behind which the index has an empty one.
    hidden: Vec<u64>,
    /// FDEs that the kernel never comes to.
    lost: Vec<Fde>,
    /// How many units of the kernel's budget may still be spent.
    left: u64,
}

impl<A: Arch> Check<'_, '_, A> {
    /// Goes through the index, and all functions in it.
    fn index(&mut self) {
        let mut entries: Vec<Entry> = Vec::new();

        for entry in self.table.entries() {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error) => self.refuse(error, ".eh_frame_hdr"),
            }
        }
        let mut done = 0;
        for same in entries.chunk_by(|one, next| one.start == next.start) {
            let start = same[0].start;
            done += same.len();
            // What the next entry is about is not asked of these.
            let next = entries.get(done).map_or(u64::MAX, |next| next.start);

            if next < start {
                let name = self.name(next);
                let name = format!(".eh_frame: {name}");
                self.refuse(Reason::Unsorted.at(entries[done].place), &name);
            }
            let limit = if next < start { u64::MAX } else { next };
            self.same_start(same, limit);
            if self.left == 0 {
                break;
            }
        }
        self.hidden();
        self.without_entry(&entries);
    }

    /// Looks at entries with the same start, which the kernel finds for addresses below `limit`. It
    /// asks the last one first, and each about what those behind it are not about.
    fn same_start(&mut self, entries: &[Entry], limit: u64) {
        let start = entries[0].start;
        let is_empty = |entry: &Entry| entry.fde.is_some_and(|fde| self.cfi.is_empty(fde));

        if let Some((last, rest)) = entries.split_last().filter(|(_, rest)| !rest.is_empty()) {
            if is_empty(last) && !rest.iter().all(is_empty) {
                self.hidden.push(start);
            }
            let text = "has several entries, of which the kernel asks the last one first";
            self.about(last, Severity::Note, "equal-start", text);
        }
        let mut from = start;
        for entry in entries.iter().rev() {
            from = self.entry(entry, from, limit);
        }
    }

    /// Functions that readers miss if they look at the last of several entries only.
    fn hidden(&mut self) {
        if let Some(first) = self.hidden.first() {
            let text = format!(
                ".eh_frame: {} functions have an empty one behind them in the index, the first {}: \
                 the kernel finds them, other readers may not",
                self.hidden.len(),
                self.name(*first)
            );
            let first = *first;
            self.add(Severity::Warning, "hidden-function", text, Some(first));
        }
    }

    /// FDEs that the kernel does not find.
    fn without_entry(&mut self, entries: &[Entry]) {
        let known: HashSet<u64> = entries.iter().filter_map(|entry| entry.fde).collect();
        let code = |fde: &&Fde| self.elf.is_code((fde.start, fde.start + 1));
        let missing = |fde: &&Fde| !known.contains(&self.cfi.address_of(fde));
        let missing: Vec<_> = self.cfi.fdes.iter().filter(code).filter(missing).collect();

        self.numbers.fdes = self.cfi.fdes.len() as u64;
        self.numbers.fdes_without_entry = missing.len() as u64;
        // The others are of functions that have another entry.
        let nothing = |fde: &&&Fde| self.table.lookup(fde.start).0 == Err(Error::NotFound);
        self.lost = missing.iter().filter(nothing).map(|fde| **fde).collect();
        if let Some(fde) = missing.first() {
            let text = format!(
                ".eh_frame: {} FDEs are not in the index, the first of {}",
                missing.len(),
                self.name(fde.start)
            );
            self.add(Severity::Warning, "not-indexed", text, Some(fde.start));
        }
    }

    /// Looks at an entry, which the kernel asks about the addresses from `from` on and below
    /// `limit`; the result is up to where all is said.
    fn entry(&mut self, entry: &Entry, from: u64, limit: u64) -> u64 {
        let Some(address) = entry.fde else {
            return from;
        };
        let Some(code_end) = self.elf.code_end(entry.start) else {
            let text = "is not in an executable segment";
            self.about(entry, Severity::Note, "not-code", text);
            return from;
        };
        let fde = self.cfi.fde_at(entry.start, address);
        let end = fde.map(|fde| fde.end);

        if end.is_some_and(|end| end > limit) {
            let text = "overlaps another function";
            self.about(entry, Severity::Warning, "overlap", text);
        }
        let limit = limit.min(code_end);
        self.numbers.functions += 1;
        if self.cfi.is_empty(address) {
            self.about(entry, Severity::Note, "empty-function", "is empty");
            return from;
        }
        if from >= limit || end.is_some_and(|end| end <= from) {
            return from;
        }
        let first = self.ask(from);
        match (fde, first) {
            (_, Err(Error::NotFound)) => {
                self.about(entry, Severity::Note, "empty-function", "is empty");
                return from;
            }
            (_, Err(error)) if ends_lookups(first) => {
                let unknown = match error {
                    Error::Unsupported(_) => limit,
                    _ => from,
                };
                self.place((from, end.unwrap_or(unknown).min(limit)), first);
            }
            (Some(fde), _) => self.rows(fde, from, limit),
            (None, _) => self.bytes((from, limit), None),
        }
        end.map_or(limit, |end| end.min(limit))
    }

    /// Goes through the rows of a function from an address on, as gimli finds them.
    fn rows(&mut self, fde: &Fde, from: u64, limit: u64) {
        let end = fde.end.min(limit);
        let mut done = from;
        let mut nth = 0;

        // It is read to its end, whatever it has of rows.
        self.left = self.left.saturating_sub(fde.bytes);
        let cfi = self.cfi;
        // What it cannot read, and why, is of no interest: the kernel may.
        let _ = cfi.rows(fde, |from, to, at| {
            let (from, to) = (from.max(done), to.min(end));

            if from < to {
                nth += 1;
                done = self.row((from, to), end, nth <= BOTH_ENDS, at);
            }
            done < end && self.left != 0
        });
        if done < end && self.left != 0 {
            self.bytes((done, end), None);
        }
    }

    /// Looks at a row of a function that ends at `end`; the result is up to where all is said.
    fn row(&mut self, (from, to): Range, end: u64, both_ends: bool, at: At<'_>) -> u64 {
        let (expected, depends) = at(from);

        if depends {
            self.bytes((from, to), Some(at));
            return to;
        }
        let first = self.compare(from, &expected);
        let last = match both_ends && to - from > 1 {
            true => self.compare(to - 1, &expected),
            false => first,
        };
        let done = if ends_lookups(last) { end } else { to };
        if first == last {
            self.place((from, done), first);
        } else {
            self.place((from, to - 1), first);
            self.place((to - 1, done), last);
        }
        done
    }

    /// Looks at each address of a range, as long as the kernel has an answer.
    fn bytes(&mut self, (from, to): Range, at: Option<At<'_>>) {
        let mut start = from;
        let mut last: Option<Answer> = None;

        for pc in from..to {
            let answer = match at {
                Some(at) => self.compare(pc, &at(pc).0),
                None => self.ask(pc),
            };
            if let Some(last) = last.filter(|last| *last != answer) {
                self.place((start, pc), last);
                start = pc;
            }
            last = Some(answer);
            if ends_lookups(answer) {
                self.place((start, to), answer);
                return;
            }
            // Behind the function, if gimli does not know where it ends.
            if answer == Err(Error::NotFound) || self.left == 0 || pc == to - 1 {
                self.place((start, pc + 1), answer);
                return;
            }
        }
    }

    /// Asks as the kernel does.
    fn ask(&mut self, pc: u64) -> Answer {
        let (answer, units) = self.table.lookup(pc);

        self.left = self.left.saturating_sub(units.max(1).into());
        answer
    }

    /// Asks as the kernel does, and compares that with what gimli says.
    fn compare(&mut self, pc: u64, expected: &Expected) -> Answer {
        let answer = self.ask(pc);

        if matches!(answer, Err(Error::Malformed(_) | Error::Fault)) {
            return answer;
        }
        self.readers.addresses += 1;
        if agree::kind::<A>(answer, expected).is_some() {
            self.readers.equal += 1;
            return answer;
        }
        let (elf, cfi) = (self.elf, self.cfi);
        self.readers.add(|| report::Disagreement {
            address: pc,
            place: place_name(elf, cfi, pc),
            kernel: answer.map_or_else(text::error, |rule| text::rule::<A>(&rule)),
            gimli: expected_text::<A>(expected),
        });
        answer
    }

    /// Counts what the kernel finds for a range of addresses.
    fn place(&mut self, range: Range, answer: Answer) {
        match answer {
            Ok(rule) => {
                self.numbers.rows += 1;
                self.numbers.outermost_rows += u64::from(rule.is_outermost());
                self.numbers.signal_rows += u64::from(rule.is_signal());
                self.spans.add_rule(range);
            }
            Err(Error::NotFound) => {}
            Err(Error::Unsupported(cause)) => {
                let name = cause.name().to_str().unwrap_or_default();
                self.unsupported(range, name, cause.text());
            }
            Err(Error::Budget) => self.unsupported(range, "budget", "a lookup costs too much"),
            Err(error) => {
                let name = place_name(self.elf, self.cfi, range.0);
                self.refuse(error, &format!(".eh_frame: {name}"));
                self.spans.add_malformed(range);
            }
        }
    }

    fn unsupported(&mut self, range: Range, name: &'static str, cause: &'static str) {
        let unsupported = self.report.eh_frame.unsupported.entry(name).or_default();
        let place = place_name(self.elf, self.cfi, range.0);

        unsupported.text = cause;
        unsupported.rows += 1;
        unsupported.bytes += range.1 - range.0;
        self.spans.add_unsupported(range);
        let text = format!(".eh_frame: {place}: not supported: {cause}");
        self.add(Severity::Note, "unsupported", text, Some(range.0));
    }

    fn finish(mut self, errors_before: u64) -> Spans {
        let report = self.report;

        if self.left == 0 {
            let text = "there is more to check in .eh_frame than any real file has: \
                        not all was checked";
            let format = Some(Format::EhFrame);
            report.add(problem(Severity::Error, format, "too-large", text.into()));
            self.refused = true;
        }
        let judgement = &mut report.eh_frame.judgement;
        judgement.verdict = if report.errors != errors_before {
            if !self.refused {
                let reason = "some functions are malformed; the kernel uses the others";
                judgement.reason = Some(reason.into());
            }
            Verdict::Refused
        } else if !self.lost.is_empty() {
            let bytes: u64 = self.lost.iter().map(|fde| fde.end - fde.start).sum();
            judgement.reason = Some(format!(
                "the index lacks {} of {} functions, {bytes} bytes of code: stacks end there",
                self.lost.len(),
                self.cfi.fdes.len()
            ));
            Verdict::Wrong
        } else if self.readers.differ != 0 {
            Verdict::Wrong
        } else {
            Verdict::Good
        };
        report.eh_frame.index = Some(self.numbers);
        report.eh_frame.readers = Some(self.readers);
        self.spans
    }

    /// A function's name, as far as there is one.
    fn name(&self, start: u64) -> String {
        text::place(self.elf.name(start).as_deref(), start, start)
    }

    fn add(&mut self, severity: Severity, kind: &'static str, text: String, address: Option<u64>) {
        self.report.add(Problem {
            address,
            ..problem(severity, Some(Format::EhFrame), kind, text)
        });
    }

    fn about(&mut self, entry: &Entry, severity: Severity, kind: &'static str, text: &str) {
        let text = format!(".eh_frame: {} {text}", self.name(entry.start));

        self.report.add(Problem {
            offset: u32::try_from(entry.place).ok(),
            address: Some(entry.start),
            ..problem(severity, Some(Format::EhFrame), kind, text)
        });
    }

    /// The kernel would refuse this: the whole table, or a function.
    fn refuse(&mut self, error: Error, of_what: &str) {
        self.refused |= match error {
            Error::Malformed(malformed) => malformed.reason.is_of_table(),
            _ => true,
        };
        self.report.add(refusal(Format::EhFrame, error, of_what));
    }
}

/// Whether this is the answer for what follows in a function as well: each lookup runs its program
/// from the beginning.
fn ends_lookups(answer: Answer) -> bool {
    matches!(
        answer,
        Err(Error::Malformed(_)
            | Error::Fault
            | Error::Budget
            | Error::Unsupported(
                // Of the CIE.
                Unsupported::CieVersion
                    | Unsupported::Augmentation
                    | Unsupported::Encoding
                    | Unsupported::ReturnRegister
                    // Of a program, whose rest is not run.
                    | Unsupported::Instruction
                    | Unsupported::Depth
            ))
    )
}

/// An address, by the name of its function.
fn place_name<A: Arch>(elf: &Elf<'_>, cfi: &Cfi<'_, A>, pc: u64) -> String {
    let start = cfi.about(pc, pc.saturating_add(1)).last();
    let start = start.map_or(pc, |fde| fde.start);

    text::place(elf.name(start).as_deref(), start, pc)
}
