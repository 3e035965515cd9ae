// SPDX-License-Identifier: GPL-2.0

//! The kernel's reader of `.eh_frame` beside gimli, row by row, in the files of this system.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::agree;
use crate::arch::Arch;
use crate::augmentation::readable;
use crate::cfi::{self, Cfi};
use crate::eh_table::{EhTable, Found, find};
use crate::elf::{self, Elf, Machine};
use crate::parse::{AArch64, Amd64};

/// Where programs and libraries of each machine are.
const X86_64: &[&str] = &[
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/gcc/x86_64-linux-gnu",
];
const AARCH64: &[&str] = &["/usr/lib/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/lib"];

/// How many files are looked at if not all are, and how large they are then at most.
const SOME: usize = 200;
const SMALL: u64 = 8 << 20;

/// How many rows of a function are looked at; of what follows it is one in so many.
const ROWS: u64 = 400;
const ONE_IN: u64 = 97;

/// What came out, by kinds of rules: how many rows and bytes.
#[derive(Default)]
struct Outcome {
    files: u64,
    kinds: BTreeMap<String, (u64, u64)>,
    wrong: Vec<String>,
    /// What the most expensive lookup cost.
    units: u32,
}

impl Outcome {
    fn bytes(&self, of: impl Fn(&str) -> bool) -> u64 {
        let kinds = self.kinds.iter().filter(|(kind, _)| of(kind));

        kinds.map(|(_, (_, bytes))| bytes).sum()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.bytes(|_| true);

        writeln!(
            f,
            "{} files, a lookup costs at most {} units",
            self.files, self.units
        )?;
        for (kind, (rows, bytes)) in &self.kinds {
            let share = *bytes as f64 * 100.0 / all as f64;
            writeln!(f, "{rows:10} rows {bytes:12} bytes {share:9.5} %  {kind}")?;
        }
        Ok(())
    }
}

/// Compares all rows of a file, if it is one of that machine. It has none if it has no index.
fn compare_file(path: &Path, machine: Machine, outcome: &mut Outcome) -> Result<()> {
    let data = elf::read(path)?;
    let Ok(elf) = Elf::parse(&data) else {
        return Ok(());
    };

    if elf.machine != machine {
        return Ok(());
    }
    match machine {
        Machine::X86_64 => compare::<Amd64>(&elf, outcome),
        Machine::AArch64 => compare::<AArch64>(&elf, outcome),
    }
}

fn compare<A: Arch>(elf: &Elf<'_>, outcome: &mut Outcome) -> Result<()> {
    let Found::Index(index) = find::<A>(elf) else {
        return Ok(());
    };
    let table = EhTable::<A>::read(elf, &index)
        .map_err(|absence| anyhow!("{}", absence.text()))?
        .map_err(|error| anyhow!("{error:?}"))?;

    let source = cfi::find(elf).context("no .eh_frame")?;
    let (readable, changed) = readable(source.bytes);
    let cfi = Cfi::<A>::read(&readable, &changed, source.address);
    outcome.files += 1;
    for fde in &cfi.fdes {
        let mut nth = 0;
        cfi.rows(fde, |start, end, expected| {
            nth += 1;
            if start >= end || (nth > ROWS && nth % ONE_IN != 0) {
                return true;
            }
            // What depends on the address is looked at everywhere.
            let pcs = if expected(start).1 {
                (start..end).collect()
            } else {
                vec![start, end - 1]
            };
            let mut kinds = Vec::new();
            for pc in pcs {
                let (rule, units) = table.lookup(pc);
                outcome.units = outcome.units.max(units);
                let expected = expected(pc).0;
                match agree::kind::<A>(rule, &expected) {
                    Some(kind) => kinds.push(kind.text()),
                    None => {
                        let wrong = format!("{pc:#x}: {rule:?} but {expected:?}");
                        outcome.wrong.push(wrong);
                    }
                }
            }
            if let Some(kind) = kinds.first() {
                let seen = outcome.kinds.entry(kind.clone()).or_default();
                *seen = (seen.0 + 1, seen.1 + (end - start));
            }
            true
        })
        .or_else(|error| match error {
            // The offset of a CFA that is an expression: the other rows are good, and were seen.
            gimli::Error::CfiInstructionInInvalidContext => Ok(()),
            error => Err(error),
        })?;
    }
    Ok(())
}

/// Whether all files are looked at: the environment says so by UNWIND_TEST_FILES=all.
fn all_files() -> bool {
    match std::env::var("UNWIND_TEST_FILES").as_deref() {
        Err(_) => false,
        Ok("all") => true,
        Ok(other) => panic!("UNWIND_TEST_FILES is {other}, not all"),
    }
}

/// The files in some directories and one level below them: all, or some of them.
fn files(directories: &[&str]) -> Vec<PathBuf> {
    let all = all_files();
    let entries = |directory: &Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let top = directories.iter().flat_map(|top| entries(Path::new(top)));
    let mut files: Vec<_> = top
        .flat_map(|path| match path.is_dir() && !path.is_symlink() {
            true => entries(&path),
            false => vec![path],
        })
        .filter(|path| {
            let file = path.symlink_metadata();
            file.is_ok_and(|file| file.is_file() && (all || file.len() <= SMALL))
        })
        .collect();

    files.sort();
    let step = if all {
        1
    } else {
        files.len().div_ceil(SOME).max(1)
    };
    files.into_iter().step_by(step).collect()
}

/// Whether no rule of a kind is followed, however much work it takes to find it.
fn is_unsupported(kind: &str) -> bool {
    kind.starts_with("not supported") && kind != agree::Kind::TooMuchWork.text()
}

/// Compares the files of a machine; says so if there are none.
fn compare_all(machine: Machine, directories: &[&str]) {
    let mut outcome = Outcome::default();

    for file in files(directories) {
        let before = outcome.wrong.len();
        let others = outcome.bytes(is_unsupported);

        if let Err(error) = compare_file(&file, machine, &mut outcome) {
            outcome.wrong.push(format!("{error:#}"));
        }
        for wrong in &mut outcome.wrong[before..] {
            *wrong = format!("{}: {wrong}", file.display());
        }
        let unsupported = outcome.bytes(is_unsupported) - others;
        if unsupported != 0 {
            println!("{}: {unsupported} bytes not supported", file.display());
        }
    }
    if outcome.files == 0 {
        // Not by a macro, whose output is not shown when a test passes.
        let reason = format!("SKIP: .eh_frame of {machine:?}: no files in {directories:?}");
        writeln!(std::io::stderr(), "{reason}").expect("stderr is open");
        return;
    }
    println!("{machine:?}: {outcome}");
    let wrong: Vec<_> = outcome.wrong.iter().take(20).collect();
    assert!(
        wrong.is_empty(),
        "{} wrong: {wrong:#?}",
        outcome.wrong.len()
    );
    // How much it is depends on the files: a few functions in the assembly of libcrypto and
    // libgcrypt are nearly all of it on x86-64. Among all files of AArch64 are vector functions,
    // whose frames have a size that depends on the machine.
    let least = match machine {
        Machine::AArch64 if all_files() => 350,
        _ if all_files() => 30_000,
        _ => 5_000,
    };
    let all = outcome.bytes(|_| true);
    let too_much = agree::Kind::TooMuchWork.text();
    let without = outcome.bytes(is_unsupported);
    assert!(
        without <= all / least,
        "{without} of {all} bytes not supported"
    );
    // The ends of generated functions of cc1.
    let too_much = outcome.bytes(|kind| kind == too_much);
    assert!(
        too_much <= all / 30_000,
        "{too_much} of {all} bytes cost too much"
    );
}

#[test]
fn x86_64() {
    compare_all(Machine::X86_64, X86_64);
}

#[test]
fn aarch64() {
    compare_all(Machine::AArch64, AARCH64);
}
