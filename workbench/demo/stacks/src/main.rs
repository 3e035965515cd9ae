// SPDX-License-Identifier: GPL-2.0

//! Judges and shows the stacks that perf recorded.
//!
//! `stacks report` compares two recordings of the same program: one without
//! unwind tables, and one with them.  `stacks graph` draws one of any program.

mod flame;
mod profile;
mod script;
mod show;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};

use profile::Profile;
use script::Sample;

/// Judge and show the stacks that perf recorded.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare recordings of a program without and with unwind tables.
    ///
    /// Prints stacks of the same kind side by side, the share of complete ones, and where the
    /// others end.  The last line is 'complete before: N % after: N % samples: N', with the
    /// number of samples of the second recording.  Shares are rounded down: 100.0 % means all
    /// stacks.  Depths are in user frames; the mean is that of all samples.  'unknown' is the
    /// share of user frames without a function's name.  It is an error if either recording has
    /// no sample of the program.
    Report(Report),

    /// Draw a flame graph of a recording.
    Graph(Graph),
}

#[derive(Args)]
struct Report {
    /// The output of 'perf script' for the program without its table.
    #[arg(long, value_name = "FILE")]
    before: PathBuf,

    /// The output of 'perf script' for the program with its table.
    #[arg(long, value_name = "FILE")]
    after: PathBuf,

    /// The functions the process starts in, separated by commas: a stack that reaches one of
    /// them is complete, unless the kernel says otherwise.
    #[arg(long, value_name = "FUNCTION", default_value = "_start")]
    entry: String,

    /// The commands whose samples count.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "lua,lua-plain")]
    comm: Vec<String>,

    /// What only the second recording has; a part of the headings.
    #[arg(long, value_name = "TEXT", default_value = "the table")]
    what: String,

    /// The directory for the flame graphs before.svg and after.svg.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// A prefix for the names of these files.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
}

#[derive(Args)]
struct Graph {
    /// The output of 'perf script'.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,

    /// The title of the graph.
    #[arg(long, value_name = "TEXT")]
    title: String,

    /// The image to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Report(report) => report.run(),
        Command::Graph(graph) => graph.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The workbench's scripts print errors in this form, too.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Report {
    fn run(&self) -> Result<()> {
        let before_text = read(&self.before)?;
        let after_text = read(&self.after)?;
        let before = self.profile(&self.before, &before_text)?;
        let after = self.profile(&self.after, &after_text)?;

        fs::create_dir_all(&self.out)
            .with_context(|| format!("cannot make {}", self.out.display()))?;
        let headings = [format!("Without {}", self.what), format!("With {}", self.what)];
        for (name, heading, profile) in
            [("before.svg", &headings[0], &before), ("after.svg", &headings[1], &after)]
        {
            self.graph(&format!("{}{name}", self.prefix), heading, profile)?;
        }

        io::stdout()
            .write_all(show::report(&headings, &before, &after).as_bytes())
            .context("cannot print the report")
    }

    fn profile<'a>(&'a self, path: &Path, text: &'a str) -> Result<Profile<'a>> {
        let samples = samples(path, text)?;

        let others: BTreeSet<_> = samples.iter().map(|sample| sample.comm).collect();
        let samples: Vec<_> = samples
            .into_iter()
            .filter(|sample| self.comm.iter().any(|comm| comm == sample.comm))
            .collect();
        if samples.is_empty() {
            bail!(
                "{} holds no samples of {}, only of {}",
                path.display(),
                self.comm.join(" or "),
                Vec::from_iter(others).join(", ")
            );
        }
        Ok(Profile::new(samples, &self.entry))
    }

    fn graph(&self, name: &str, title: &str, profile: &Profile<'_>) -> Result<()> {
        draw(&self.out.join(name), title, &profile.samples)
    }
}

impl Graph {
    fn run(&self) -> Result<()> {
        let text = read(&self.script)?;
        draw(&self.out, &self.title, &samples(&self.script, &text)?)
    }
}

/// The samples in the output of 'perf script'. It is an error if there are none.
fn samples<'a>(path: &Path, text: &'a str) -> Result<Vec<Sample<'a>>> {
    let samples = script::parse(text).with_context(|| format!("cannot read {}", path.display()))?;
    if samples.is_empty() {
        bail!("{} holds no samples", path.display());
    }
    Ok(samples)
}

fn draw(path: &Path, title: &str, samples: &[Sample<'_>]) -> Result<()> {
    let svg =
        flame::graph(title, samples).with_context(|| format!("cannot draw {}", path.display()))?;
    fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a file. Names in it may have any bytes.
fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
