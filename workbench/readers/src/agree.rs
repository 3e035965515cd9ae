// SPDX-License-Identifier: GPL-2.0

//! The comparison of the parser with other readers in a whole file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};

use crate::answer::{Abi, Answer, Function, Row};
use crate::dwarf::{self, Dwarf};
use crate::file::File;
use crate::known::{Case, Known, LIBSFRAME};
use crate::{libsframe, ours, readelf};

/// The result of a comparison of two readers.
#[derive(Default)]
pub struct Agreement {
    pub equal: u64,
    /// The number of differences by each known cause.
    pub known: BTreeMap<&'static str, u64>,
}

impl Agreement {
    pub fn known_total(&self) -> u64 {
        self.known.values().sum()
    }

    /// Counts a comparison. Returns false for a difference without a known cause.
    fn count(&mut self, known: &'static [Known], case: &Case<'_>) -> bool {
        if case.ours == case.theirs {
            self.equal += 1;
            return true;
        }
        match Known::find(known, case) {
            Some(known) => {
                *self.known.entry(known.name).or_default() += 1;
                true
            }
            None => false,
        }
    }
}

/// Differences without a known cause: their number, and the first ones.
#[derive(Default)]
pub struct Unexplained {
    pub count: u64,
    pub first: Vec<String>,
}

impl Unexplained {
    /// The number of differences to show for a file.
    const SHOWN: usize = 10;

    fn add(&mut self, text: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push(text());
        }
    }
}

/// The result of the comparison in a file.
pub struct Report {
    pub abi: Abi,
    pub functions: u64,
    pub rows: u64,
    pub pcs: u64,
    pub readelf_rows: u64,
    pub libsframe: Agreement,
    /// Absent if this was not compared.
    pub dwarf: Option<Dwarf>,
    pub unexplained: Unexplained,
}

/// Compares all readers in a file.
pub fn compare(path: &Path, tool_path: &Path) -> Result<Report> {
    let file = File::read(path)?;
    let (bytes, base) = (&*file.table, file.base);
    let ours = ours::Table::new(bytes, base)?;
    let listed = ours.functions()?;
    let dwarf = dwarf::check(tool_path, path).context("comparison with .eh_frame")?;
    let mut report = Report {
        abi: ours.abi,
        functions: listed.len() as u64,
        rows: listed.iter().map(|function| function.rows.len() as u64).sum(),
        pcs: 0,
        readelf_rows: 0,
        libsframe: Agreement::default(),
        dwarf,
        unexplained: Unexplained::default(),
    };

    if let Some(dwarf) = &report.dwarf
        && dwarf.differ != 0
    {
        report.unexplained.count += dwarf.differ;
        let text = format!("{} places differ from .eh_frame", dwarf.differ);
        report.unexplained.first.push(text);
    }
    compare_listings(&listed, &readelf::functions(path, ours.abi)?, &mut report);
    let readers = Readers {
        index: Index::new(&listed),
        libsframe: libsframe::Table::new(bytes, base)?,
        ours,
    };
    for range in &file.code {
        readers.compare(range.clone(), &mut report);
    }
    Ok(report)
}

/// Compares the parser's listing with that of readelf.
fn compare_listings(ours: &[Function], theirs: &[Function], report: &mut Report) {
    let unexplained = &mut report.unexplained;

    if ours.len() != theirs.len() {
        unexplained.add(|| format!("{} functions; readelf: {}", ours.len(), theirs.len()));
    }
    for (our, their) in ours.iter().zip(theirs) {
        // readelf does not print the size of a block.
        let heading = |function: &Function| {
            let kind = (function.signal, function.flexible, function.key_b);
            let rows = function.rows.len();
            (function.start, function.size, kind, function.block.is_some(), rows)
        };
        if heading(our) != heading(their) {
            unexplained.add(|| format!("function {our:x?}; readelf: {their:x?}"));
        }
        for (our_row, their_row) in our.rows.iter().zip(&their.rows) {
            if our_row == their_row {
                report.readelf_rows += 1;
            } else {
                let row = |row: &Row| format!("row +{:#x}: {}", row.start, row.answer);
                unexplained.add(|| {
                    let start = our.start;
                    format!("function {start:#x}, {}; readelf: {}", row(our_row), row(their_row))
                });
            }
        }
    }
}

/// The functions of a listing, by address.
struct Index<'a> {
    functions: Vec<&'a Function>,
    /// The starts of empty functions.
    empty: Vec<u64>,
}

impl<'a> Index<'a> {
    fn new(listed: &'a [Function]) -> Self {
        let (empty, mut functions): (Vec<_>, Vec<_>) =
            listed.iter().partition(|function| function.size == 0);
        let mut empty: Vec<u64> = empty.iter().map(|function| function.start).collect();

        functions.sort_by_key(|function| function.start);
        empty.sort_unstable();
        Self { functions, empty }
    }

    fn function(&self, pc: u64) -> Option<&'a Function> {
        let below = self.functions.partition_point(|function| function.start <= pc);

        self.functions[..below].last().copied().filter(|function| function.holds(pc))
    }

    fn shares_start(&self, function: &Function) -> bool {
        self.empty.binary_search(&function.start).is_ok()
    }
}

struct Readers<'a> {
    index: Index<'a>,
    ours: ours::Table<'a>,
    libsframe: libsframe::Table<'a>,
}

impl Readers<'_> {
    /// Compares the readers at each address of a range.
    fn compare(&self, range: Range<u64>, report: &mut Report) {
        for pc in range {
            let ours = self.ours.answer(pc);
            let function = self.index.function(pc);
            // A plain search in the listed rows, which readelf confirms.
            let listed = function.map_or(Answer::Nothing, |function| function.answer(pc));
            if ours != listed {
                let unexplained = &mut report.unexplained;
                unexplained.add(|| format!("{pc:#x}: {ours}; by its rows: {listed}"));
            }

            let libsframe = self.libsframe.answer(pc);
            let case = Case {
                function,
                shares_start: function.is_some_and(|function| self.index.shares_start(function)),
                ours,
                theirs: libsframe,
            };
            let unexplained = &mut report.unexplained;
            if !report.libsframe.count(LIBSFRAME, &case) {
                unexplained.add(|| format!("{pc:#x}: {ours}; libsframe: {libsframe}"));
            }
            report.pcs += 1;
        }
    }
}
