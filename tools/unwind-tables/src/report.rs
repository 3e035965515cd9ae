// SPDX-License-Identifier: GPL-2.0

//! What `check` has to say about a file.

use std::collections::BTreeMap;

use serde::Serialize;

/// How many problems and differences are kept of each severity. Others are only counted.
pub const KEPT: usize = 1000;

/// What is said of a table, and of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The kernel accepts the table, and it is right. Of a file: the kernel has one, and whatever
    /// else it has is good as well.
    Good,
    /// There is no table.
    NoTable,
    /// There is an `.eh_frame` without an index, which the kernel does not search.
    NoIndex,
    /// There is a table, but the kernel does not find it.
    NotFound,
    /// The kernel refuses the table, or some of it can never be used.
    Refused,
    /// The table contradicts `.eh_frame`, or the kernel's reader of that contradicts another one.
    Wrong,
    /// The file cannot be read.
    Unreadable,
}

impl Verdict {
    /// How many there are.
    #[cfg(test)]
    pub const COUNT: usize = 7;

    pub fn text(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::NoTable => "no table",
            Self::NoIndex => "no index",
            Self::NotFound => "not found by the kernel",
            Self::Refused => "refused",
            Self::Wrong => "wrong",
            Self::Unreadable => "unreadable",
        }
    }

    /// The status to exit with.
    pub fn status(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::NoTable | Self::NoIndex | Self::NotFound | Self::Refused | Self::Wrong => 1,
            Self::Unreadable => 2,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

impl Severity {
    pub fn text(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// What a table is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Sframe,
    EhFrame,
}

#[derive(Serialize)]
pub struct Problem {
    pub severity: Severity,
    /// Which table it is about; none if it is about the file.
    pub format: Option<Format>,
    /// What it is, for programs.
    pub kind: &'static str,
    /// What it is, for people.
    pub text: String,
    /// Bytes from the start of the table.
    pub offset: Option<u32>,
    pub address: Option<u64>,
}

/// What the SFrame table has.
#[derive(Default, Serialize)]
pub struct Table {
    pub address: u64,
    pub file_offset: u64,
    pub segment_bytes: u64,
    pub bytes: u64,
    pub functions: u64,
    pub rows: u64,
    pub flexible_functions: u64,
    pub repeating_functions: u64,
    pub signal_functions: u64,
    pub outermost_rows: u64,
}

#[derive(Serialize)]
pub struct Difference {
    pub address: u64,
    pub place: String,
    pub sframe: String,
    pub eh_frame: String,
    pub defect: Option<&'static str>,
}

/// What came of comparing with `.eh_frame`. Places are counted: ranges of addresses in which
/// neither side changes.
#[derive(Default, Serialize)]
pub struct Comparison {
    pub places: u64,
    pub equal: u64,
    pub known_defects: BTreeMap<&'static str, u64>,
    pub differ: u64,
    pub without_row: u64,
    pub without_rule: u64,
    pub differences: Vec<Difference>,
}

/// How many bytes of code a table says something about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amounts {
    /// It has a rule.
    pub rule: u64,
    /// It has one that the kernel does not support.
    pub unsupported: u64,
    /// What it has contradicts the format, or cannot be read.
    pub malformed: u64,
    /// It has nothing.
    pub nothing: u64,
}

/// What the kernel makes of the table of one format.
#[derive(Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why there is nothing more to say.
    pub reason: Option<String>,
    /// Of the code; none if there is no table that can be used.
    pub text: Option<Amounts>,
}

/// What the kernel's index of `.eh_frame` has.
#[derive(Default, Serialize)]
pub struct Index {
    /// Of the index.
    pub address: u64,
    pub file_offset: u64,
    pub segment_bytes: u64,
    /// Of what is mapped with it, which offsets of problems count from.
    pub table_address: u64,
    pub table_bytes: u64,
    pub entries: u64,
    /// FDEs of code that the index leads to.
    pub functions: u64,
    /// How many FDEs there are, and how many of them the index does not have.
    pub fdes: u64,
    pub fdes_without_entry: u64,
    pub rows: u64,
    pub outermost_rows: u64,
    pub signal_rows: u64,
}

/// Rows that the kernel does not support, for one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unsupported {
    #[serde(skip)]
    pub text: &'static str,
    pub rows: u64,
    pub bytes: u64,
}

#[derive(Serialize)]
pub struct Disagreement {
    pub address: u64,
    pub place: String,
    pub kernel: String,
    pub gimli: String,
}

/// What came of comparing the kernel's reader of `.eh_frame` with another one, at both ends of each
/// row.
#[derive(Default, Serialize)]
pub struct Readers {
    pub addresses: u64,
    pub equal: u64,
    pub differ: u64,
    pub differences: Vec<Disagreement>,
}

/// What the kernel makes of `.eh_frame`.
#[derive(Serialize)]
pub struct EhFrame {
    #[serde(flatten)]
    pub judgement: Judgement,
    pub index: Option<Index>,
    pub unsupported: BTreeMap<&'static str, Unsupported>,
    pub readers: Option<Readers>,
}

#[derive(Serialize)]
pub struct Code {
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    pub sframe: u64,
    pub eh_frame: u64,
    pub unwound: u64,
}

/// How much of all code the kernel can unwind through: it asks SFrame first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Text {
    pub bytes: u64,
    pub unwound: u64,
    pub by_sframe: u64,
    /// Where SFrame says nothing.
    pub by_eh_frame: u64,
    /// Between functions, of what no table says anything about: it is never run.
    pub padding: u64,
}

/// Code that no table says anything about.
#[derive(Serialize)]
pub struct Uncovered {
    /// What it belongs to: a function, or another label; or else its section.
    pub name: String,
    pub address: u64,
    pub bytes: u64,
}

#[derive(Default, Serialize)]
pub struct Coverage {
    pub functions_without_fde: u64,
    pub fdes: u64,
    pub fdes_without_function: u64,
    pub code: Vec<Code>,
    /// The largest pieces of code without a table, the largest first.
    pub uncovered: Vec<Uncovered>,
    /// How many pieces there are.
    pub uncovered_pieces: u64,
}

#[derive(Default, Serialize)]
pub struct Sizes {
    pub sframe: u64,
    pub eh_frame: Option<u64>,
    pub eh_frame_hdr: u64,
}

#[derive(Serialize)]
pub struct Report {
    pub file: String,
    pub verdict: Verdict,
    /// Why there is nothing more to say.
    pub reason: Option<String>,
    pub abi: Option<&'static str>,
    pub text: Option<Text>,
    pub sframe: Judgement,
    pub eh_frame: EhFrame,
    pub table: Option<Table>,
    pub errors: u64,
    pub warnings: u64,
    pub notes: u64,
    pub problems: Vec<Problem>,
    pub comparison: Option<Comparison>,
    pub coverage: Option<Coverage>,
    pub sizes: Option<Sizes>,
}

impl Judgement {
    fn new() -> Self {
        Self {
            verdict: Verdict::NoTable,
            reason: None,
            text: None,
        }
    }

    /// There is nothing more to say.
    pub fn end(&mut self, verdict: Verdict, reason: String) {
        self.verdict = verdict;
        self.reason = Some(reason);
    }
}

impl Report {
    pub fn new(file: String) -> Self {
        Self {
            file,
            verdict: Verdict::NoTable,
            reason: None,
            abi: None,
            text: None,
            sframe: Judgement::new(),
            eh_frame: EhFrame {
                judgement: Judgement::new(),
                index: None,
                unsupported: BTreeMap::new(),
                readers: None,
            },
            table: None,
            errors: 0,
            warnings: 0,
            notes: 0,
            problems: Vec::new(),
            comparison: None,
            coverage: None,
            sizes: None,
        }
    }

    /// There is nothing more to say.
    pub fn end(&mut self, verdict: Verdict, reason: String) {
        self.verdict = verdict;
        self.reason = Some(reason);
    }

    /// How many of a severity there are.
    fn count(&mut self, severity: Severity) -> &mut u64 {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        }
    }

    pub fn add(&mut self, problem: Problem) {
        let count = self.count(problem.severity);

        *count += 1;
        if *count <= KEPT as u64 {
            self.problems.push(problem);
        }
    }
}

impl Comparison {
    /// Adds a place at which the two sides are not equal.
    pub fn add(&mut self, difference: impl FnOnce() -> Difference, defect: Option<&'static str>) {
        let count = match defect {
            Some(defect) => self.known_defects.entry(defect).or_default(),
            None => &mut self.differ,
        };

        *count += 1;
        if *count <= KEPT as u64 {
            self.differences.push(difference());
        }
    }
}

impl Readers {
    /// Adds an address at which the two are not equal.
    pub fn add(&mut self, difference: impl FnOnce() -> Disagreement) {
        self.differ += 1;
        if self.differ <= KEPT as u64 {
            self.differences.push(difference());
        }
    }
}
