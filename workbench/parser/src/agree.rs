// SPDX-License-Identifier: GPL-2.0

//! A comparison of the parser with other readers of SFrame tables, in whole files: with readelf in
//! every row, with libsframe at every address, and with `.eh_frame` by the tool `unwind-tables`.
//!
//! Each reader has a module that makes [`Rule`]s of its results. The modules share no other code, so
//! they agree only if the readers do.

#[allow(unsafe_code, reason = "a C library")]
mod libsframe;
mod readelf;

use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};
use object::{Object, ObjectSection, SectionFlags, elf};

use crate::listing::Table;
use crate::memory::Slice;
use crate::parse::sframe::Header;
use crate::parse::{AArch64, Amd64, Arch, Error, Rule, Value};

/// How many differences of a file are shown.
const SHOWN: u64 = 10;
/// What differs, and why. A difference is known only if its cause yields exactly that answer.
const KNOWN: [&str; 2] = [
    "a signal trampoline has no rows if SFrame cannot express its CFI: the parser reports a \
     trampoline, libsframe reports nothing",
    "a function of size 0 has the same start, and libsframe's search ends there",
];

/// The needed parts of an ELF file.
struct File {
    /// The SFrame table, and its address.
    table: Vec<u8>,
    base: u64,
    /// The addresses of each section with instructions.
    code: Vec<Range<u64>>,
}

impl File {
    fn read(path: &Path) -> Result<Self> {
        let data = std::fs::read(path)?;
        let file = object::File::parse(&*data).context("not an ELF file")?;
        let table = file.section_by_name(".sframe").context("no section .sframe")?;
        let code = file.sections().filter(|section| {
            matches!(section.flags(), SectionFlags::Elf { sh_flags }
                if sh_flags & u64::from(elf::SHF_EXECINSTR) != 0)
        });

        Ok(Self {
            table: table.data()?.to_vec(),
            base: table.address(),
            code: code.map(|it| it.address()..it.address() + it.size()).collect(),
        })
    }
}

/// The numbers of what is equal, and of differences.
#[derive(Default)]
struct Counts {
    rows: u64,
    pcs: u64,
    known: [u64; KNOWN.len()],
    unexplained: u64,
}

impl Counts {
    /// Counts and shows a difference, unless the two are equal.
    fn compare<T: PartialEq>(
        &mut self,
        ours: &T,
        theirs: &T,
        show: impl FnOnce() -> String,
    ) -> bool {
        if ours != theirs {
            self.unexplained += 1;
            if self.unexplained <= SHOWN {
                eprintln!("{}", show());
            }
        }
        ours == theirs
    }
}

/// The place of a return address if a row does not say it.
fn default_ra<A: Arch>() -> Value {
    if A::FIXED_RA == 0 { Value::Unchanged } else { Value::AtCfa(A::FIXED_RA.into()) }
}

/// The known cause of a difference from libsframe.
fn cause(table: &Table, pc: u64, ours: Result<Rule, Error>, theirs: Option<Rule>) -> Option<usize> {
    match (ours, theirs) {
        (Ok(rule), None) if rule == Rule::signal_frame() => Some(0),
        (Ok(_), None) => table.candidates(pc).any(|function| function.size == 0).then_some(1),
        _ => None,
    }
}

/// Compares the parser's listing with that of readelf.
fn compare_listings(ours: &Table, theirs: &Table, counts: &mut Counts) {
    let (number, listed) = (ours.0.len(), theirs.0.len());

    counts.compare(&number, &listed, || format!("{number} functions; readelf: {listed}"));
    for (our, their) in ours.0.iter().zip(&theirs.0) {
        // readelf does not print the size of a block.
        let [ours, theirs] = [our, their].map(|it| {
            (it.start, it.size, it.signal, it.flexible, it.key, it.block.is_some(), it.rows.len())
        });
        counts.compare(&ours, &theirs, || format!("function {ours:x?}; readelf: {theirs:x?}"));
        for (ours, theirs) in our.rows.iter().zip(&their.rows) {
            let show = || format!("function {:#x}, {ours:?}; readelf: {theirs:?}", our.start);
            counts.rows += u64::from(counts.compare(ours, theirs, show));
        }
    }
}

/// Compares all readers in a file. Prints a line about it.
fn compare<A: Arch>(path: &Path, file: &File, dwarf: &impl Display) -> Result<Counts> {
    let table = Slice(&file.table);
    let mut counts = Counts::default();
    let refused = |error| anyhow!("{}: the parser says {error:?}", path.display());
    let header = Header::<A>::read(&table, file.table.len() as u64).map_err(refused)?;
    let listed = Table::read(&header, &table, file.base).map_err(refused)?;
    let libsframe = libsframe::Table::<A>::new(&file.table, file.base)?;
    let mut equal = 0_u64;

    ensure!(!listed.0.is_empty(), "{}: the table is empty", path.display());
    compare_listings(&listed, &readelf::table::<A>(path)?, &mut counts);
    for pc in file.code.iter().cloned().flatten() {
        let ours = header.rule(&table, file.base, pc);
        // A plain search in the listed rows, which readelf confirms.
        let ours_by_rows = listed.rule(pc);
        let theirs = libsframe.rule(pc)?;

        counts.compare(&ours, &ours_by_rows, || {
            format!("{pc:#x}: {ours:?}; by its rows: {ours_by_rows:?}")
        });
        if ours == theirs.ok_or(Error::NotFound) {
            equal += 1;
        } else if let Some(cause) = cause(&listed, pc, ours, theirs) {
            counts.known[cause] += 1;
        } else {
            counts.compare(&ours.ok(), &theirs, || {
                format!("{pc:#x}: {ours:?}; libsframe: {theirs:?}")
            });
        }
        counts.pcs += 1;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (functions, rows, known) = (listed.0.len(), counts.rows, counts.known.iter().sum::<u64>());
    println!("{name:32} {functions:9} {rows:9} {:10} {equal:10} {known:6}  {dwarf}", counts.pcs);
    Ok(counts)
}

/// Compares a file with its `.eh_frame` by the tool. Returns the numbers of equal places and of
/// those that differ by a known defect, as text.
fn compare_with_dwarf(tool: &Path, file: &Path) -> Result<String> {
    // The tool's status only shows whether it has found errors.
    let output = Command::new(tool).args(["check", "--json"]).arg(file).output()?;
    let reports: serde_json::Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let comparison = &reports[0]["comparison"];

    if comparison.is_null() {
        ensure!(reports[0].is_object(), "{} reports no file", tool.display());
        return Ok("SKIP: no .eh_frame".into());
    }
    ensure!(comparison["differ"] == 0, "{} places differ from .eh_frame", comparison["differ"]);
    Ok(format!("{} / {}", comparison["equal"], comparison["known_defects"]))
}

/// Compares all readers in these files, with the tool `unwind-tables` as one of them.
pub fn run(tool: &Path, files: &[PathBuf]) -> Result<()> {
    let mut known = [0; KNOWN.len()];
    let mut unexplained = 0;

    ensure!(!files.is_empty(), "no files are given");
    println!(
        "{:32} {:>9} {:>9} {:>10} {:>10} {:>6}  DWARF equal / known",
        "file", "functions", "rows", "pcs", "libsframe", "known"
    );
    for path in files {
        let file = File::read(path).with_context(|| path.display().to_string())?;
        let dwarf = compare_with_dwarf(tool, path).with_context(|| path.display().to_string())?;
        let counts = match file.table.get(4) {
            Some(&AArch64::SFRAME_ID) => compare::<AArch64>(path, &file, &dwarf)?,
            Some(&Amd64::SFRAME_ID) => compare::<Amd64>(path, &file, &dwarf)?,
            _ => bail!("{}: the table is of no known architecture", path.display()),
        };

        if counts.unexplained > 0 {
            eprintln!("{}: {} differences", path.display(), counts.unexplained);
        }
        unexplained += counts.unexplained;
        known.iter_mut().zip(counts.known).for_each(|(known, count)| *known += count);
    }
    for (count, why) in known.iter().zip(KNOWN) {
        println!("known: libsframe, {count} pcs: {why}");
    }
    ensure!(unexplained == 0, "{unexplained} differences without a known cause");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::{Function, Row};
    use crate::parse::{Key, Register};

    #[test]
    fn only_what_the_cause_yields() {
        let frame = |offset| {
            let cfa = Value::Register(Register::Sp, offset);
            Rule::frame(cfa, Value::AtCfa(-8), Value::Unchanged).expect("a frame")
        };
        let row = Row { start: 0, rule: frame(8) };
        let function = |size, rows| {
            let (block, flexible, signal, key) = (None, true, false, Key::A);
            Function { start: 0x1000, size, block, flexible, signal, key, rows }
        };
        let alone = Table(vec![function(8, vec![row])]);
        let hidden = Table(vec![function(8, vec![row]), function(0, vec![])]);
        let signal = Ok(Rule::signal_frame());

        assert_eq!(cause(&hidden, 0x1001, Ok(frame(8)), None), Some(1));
        assert_eq!(cause(&hidden, 0x1001, Ok(frame(8)), Some(frame(16))), None);
        assert_eq!(cause(&hidden, 0x1001, Err(Error::NotFound), Some(frame(8))), None);
        assert_eq!(cause(&alone, 0x1001, Ok(frame(8)), None), None);
        assert_eq!(cause(&alone, 0x1001, signal, None), Some(0));
        assert_eq!(cause(&alone, 0x1001, signal, Some(frame(8))), None);
    }
}
