// SPDX-License-Identifier: GPL-2.0

//! Compares the kernel's parser with other readers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use unwind_readers::agree::{self, Agreement, Report};
use unwind_readers::known::LIBSFRAME;
use unwind_readers::table;

/// Compare the parser with readelf in every row, and with libsframe at every address, of files
/// with SFrame tables.
#[derive(Parser)]
struct Arguments {
    /// Also the files of a corpus: lines PROGRAM VARIANT ABI PATH
    #[arg(long)]
    list: Option<PathBuf>,
    /// The tool that compares rows with .eh_frame
    #[arg(long = "tool")]
    tool_path: PathBuf,
    files: Vec<PathBuf>,
}

/// A file and its name.
struct Input {
    name: String,
    path: PathBuf,
}

fn inputs(arguments: &Arguments) -> Result<Vec<Input>> {
    let mut inputs: Vec<Input> = arguments
        .files
        .iter()
        .map(|path| Input { name: path.display().to_string(), path: path.clone() })
        .collect();

    if let Some(list) = &arguments.list {
        let text = std::fs::read_to_string(list).with_context(|| list.display().to_string())?;
        let near = list.parent().unwrap_or(Path::new(""));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let [program, variant, _, path] = columns[..] else {
                bail!("{}: not PROGRAM VARIANT ABI PATH: '{line}'", list.display());
            };
            inputs.push(Input {
                name: format!("{program} {variant}"),
                // An absolute path stays.
                path: near.join(path),
            });
        }
    }
    ensure!(!inputs.is_empty(), "no files are given");
    Ok(inputs)
}

fn line(name: &str, report: &Report) -> Vec<String> {
    let pcs = |agreement: &Agreement| format!("{} / {}", agreement.equal, agreement.known_total());
    let none = "SKIP: no .eh_frame";
    let dwarf = report.dwarf.as_ref().map_or(none.into(), |dwarf| {
        let known: Vec<String> =
            dwarf.known.iter().map(|(name, count)| format!("{name}: {count}")).collect();
        format!(
            "{} / {}",
            dwarf.equal,
            if known.is_empty() { "0".into() } else { known.join(", ") }
        )
    });

    vec![
        name.into(),
        report.abi.name().into(),
        report.functions.to_string(),
        report.rows.to_string(),
        report.pcs.to_string(),
        report.readelf_rows.to_string(),
        pcs(&report.libsframe),
        dwarf,
    ]
}

fn run() -> Result<u64> {
    let arguments = Arguments::parse();
    let inputs = inputs(&arguments)?;
    let mut reports = Vec::new();
    let mut unexplained = 0;

    for input in inputs {
        let report = agree::compare(&input.path, &arguments.tool_path)
            .with_context(|| input.path.display().to_string())?;
        for text in &report.unexplained.first {
            eprintln!("{}: {text}", input.path.display());
        }
        unexplained += report.unexplained.count;
        reports.push((input.name, report));
    }

    let titles = [
        "file",
        "ABI",
        "functions",
        "rows",
        "pcs",
        "readelf rows equal",
        "libsframe pcs equal / known",
        "DWARF places equal / known",
    ];
    let mut lines = vec![titles.map(String::from).to_vec()];
    lines.extend(reports.iter().map(|(name, report)| line(name, report)));
    print!("{}", table::format(&lines, 2));
    let reports = reports.iter().map(|(_, report)| report);
    for known in LIBSFRAME {
        let counts = reports.clone().filter_map(|report| report.libsframe.known.get(known.name));
        println!("known: libsframe, {}: {} pcs: {}", known.name, counts.sum::<u64>(), known.why);
    }
    Ok(unexplained)
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(count) => {
            eprintln!("error: {count} differences without a known cause");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
