// SPDX-License-Identifier: GPL-2.0

//! Measures the cost of a lookup by each reader, for one address in each function of a program.
//!
//! `UNWIND_BENCH_FILE` names the program, `UNWIND_BENCH_RESULTS` a directory for criterion's results.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use criterion::Criterion;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

use unwind_readers::file::File;
use unwind_readers::lookups::{LIBSFRAME, OURS, Tables};
use unwind_readers::table;

/// The goal for a lookup, in nanoseconds.
const GOAL: f64 = 60.0;
/// The goal for the ratio to libsframe.
const GOAL_RATIO: f64 = 1.5;
/// valgrind counts the instructions of this number of passes, and of twice this number.
const PASSES: u64 = 5;

/// The CPU time of this thread: other threads may use the CPU, too.
struct CpuTime;

static WALL_TIME: WallTime = WallTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let now = clock_gettime(ClockId::ThreadCPUTime);

        Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec as u32)
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, first: &Duration, second: &Duration) -> Duration {
        *first + *second
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WALL_TIME.formatter()
    }
}

/// A part of criterion's results.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

fn measure(tables: &Tables<'_>, results: &Path) -> Result<Vec<(&'static str, f64)>> {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime)
        .output_directory(results)
        .configure_from_args();
    let mut readers = tables.readers();

    for reader in &mut readers {
        criterion.bench_function(reader.name, |bencher| bencher.iter(|| reader.pass()));
    }
    criterion.final_summary();
    readers
        .iter()
        .map(|reader| {
            let path = results.join(reader.name).join("new/estimates.json");
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            let estimates: Estimates = serde_json::from_slice(&text)?;
            let time = estimates.median.point_estimate / tables.pcs.len() as f64;
            Ok((reader.name, time))
        })
        .collect()
}

/// The instructions of a reader's pass, by valgrind. The difference of two runs leaves out the
/// start of the program.
fn instructions(file: &Path, reader: &str) -> Result<u64> {
    let count = |passes: u64| -> Result<u64> {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .args([Path::new(env!("CARGO_BIN_EXE_lookups")), file])
            .args([reader, &passes.to_string()])
            .output()
            .context("valgrind cannot be run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let counted = said.lines().find_map(|line| line.split_once("Collected :"));

        ensure!(output.status.success(), "valgrind failed: {said}");
        let (_, number) = counted.with_context(|| format!("valgrind has not counted: {said}"))?;
        Ok(number.trim().parse()?)
    };

    Ok((count(2 * PASSES)? - count(PASSES)?) / PASSES)
}

fn report(file: &Path, lookups: usize, times: &[(&'static str, f64)]) -> Result<()> {
    let time_of = |name| {
        let found = times.iter().find(|(reader, _)| *reader == name);
        found.map(|(_, time)| *time).context("a reader is missing")
    };
    let (ours, libsframe) = (time_of(OURS)?, time_of(LIBSFRAME)?);
    let titles = ["reader", "ns per lookup", "ratio", "instructions per lookup"];
    let mut lines = vec![titles.map(String::from).to_vec()];

    for (reader, time) in times {
        lines.push(vec![
            (*reader).into(),
            format!("{time:.1}"),
            format!("{:.2}", time / ours),
            (instructions(file, reader)? / lookups as u64).to_string(),
        ]);
    }
    print!("\n{}", table::format(&lines, 1));
    ensure!(
        ours <= GOAL && libsframe / ours >= GOAL_RATIO,
        "the goal is missed: at most {GOAL} ns, and {GOAL_RATIO} times as fast as libsframe"
    );
    Ok(())
}

fn main() -> Result<()> {
    let path = env::var_os("UNWIND_BENCH_FILE").context("UNWIND_BENCH_FILE is not set")?;
    let results = env::var_os("UNWIND_BENCH_RESULTS").context("UNWIND_BENCH_RESULTS is not set")?;
    let file = File::read(Path::new(&path))?;
    let tables = Tables::new(&file)?;
    let times = measure(&tables, &PathBuf::from(results))?;

    println!(
        "{} functions of {}, one address in each; {} more were left out, where readers differ",
        tables.pcs.len(),
        file.path.display(),
        tables.left_out
    );
    report(&file.path, tables.pcs.len(), &times)
}
