// SPDX-License-Identifier: GPL-2.0

//! Will the kernel accept the unwind tables of this file, and are they right?

#![deny(unsafe_code)]

mod agree;
mod arch;
mod augmentation;
mod cfi;
mod check;
mod compare;
mod coverage;
mod discovery;
mod dump;
mod eh_table;
mod elf;
mod expression;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod hostile;
mod human;
// The kernel's own parser, as it stands. What only the kernel needs is not used here.
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/parse/mod.rs"]
mod parse;
mod ranges;
mod report;
// The kernel's own search in a table's index, which is C.
#[allow(unsafe_code)]
#[path = "../shim/search.rs"]
mod search;
mod table;
mod text;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Checks and prints the unwind tables of programs, as the kernel reads them.
#[derive(Parser)]
#[command(version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check whether the kernel accepts a file's tables, and whether they are right
    Check {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Print all problems, and differences by known defects
        #[arg(long, short)]
        verbose: bool,
        /// Programs and shared libraries
        #[arg(required = true)]
        file: Vec<PathBuf>,
    },
    /// Print a file's SFrame table, or what the kernel finds for an address in each table
    Dump {
        /// Print the rules that the kernel finds for this address, in decimal or hexadecimal (0x)
        #[arg(long, value_name = "ADDR", value_parser = address)]
        pc: Vec<u64>,
        /// A program or shared library
        file: PathBuf,
    },
}

fn address(text: &str) -> Result<u64, String> {
    let result = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };

    result.map_err(|error| error.to_string())
}

/// Checks files; the result is the status to exit with.
fn check(out: &mut impl Write, files: &[PathBuf], json: bool, verbose: bool) -> Result<u8> {
    let mut status = 0;
    let mut reports = Vec::new();

    for file in files {
        let report = check::check(file);
        status = status.max(report.verdict.status());
        if json {
            reports.push(report);
        } else {
            human::print(out, &report, verbose)?;
        }
    }
    if json {
        serde_json::to_writer_pretty(&mut *out, &reports)?;
        writeln!(out)?;
    }
    Ok(status)
}

fn dump(out: &mut impl Write, file: &Path, addresses: &[u64]) -> Result<u8> {
    let name = text::printable(file.as_os_str().as_encoded_bytes());
    let good = dump::dump(out, file, addresses).map_err(|error| error.context(name))?;

    Ok(u8::from(!good))
}

fn run(out: &mut impl Write) -> Result<u8> {
    let status = match Arguments::parse().command {
        Command::Check {
            json,
            verbose,
            file,
        } => check(out, &file, json, verbose)?,
        Command::Dump { pc, file } => dump(out, &file, &pc)?,
    };

    out.flush()?;
    Ok(status)
}

/// Whether nobody reads what is printed any more.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>();

        io.or(json.and_then(serde_json::Error::io_error_kind)) == Some(io::ErrorKind::BrokenPipe)
    })
}

fn main() -> ExitCode {
    match run(&mut BufWriter::new(io::stdout().lock())) {
        Ok(status) => status.into(),
        Err(error) if is_broken_pipe(&error) => 2.into(),
        Err(error) => {
            // Nothing is left to say it with if that fails.
            let _ = writeln!(io::stderr(), "unwind-tables: {error:#}");
            2.into()
        }
    }
}
