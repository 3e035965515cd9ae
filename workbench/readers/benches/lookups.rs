// SPDX-License-Identifier: GPL-2.0

//! What a lookup costs, by each reader: of one address in each function of a program.
//!
//! `UNWIND_BENCH_FILE` names the program, `UNWIND_BENCH_INSTRUCTIONS` a file with the instructions
//! of each reader, to be printed with the rest: lines `NUMBER READER`.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use criterion::Criterion;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

use unwind_readers::file::File;
use unwind_readers::lookups::{LIBSFRAME, OURS, Tables};
use unwind_readers::table;

/// Nanoseconds that a lookup may take.
const GOAL: f64 = 60.0;
/// How many times faster than libsframe it is to be.
const GOAL_RATIO: f64 = 1.5;

/// The time for which a processor worked for this thread: others may be busy, too.
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

/// As much of criterion's results as is wanted.
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

/// The instructions of each reader, if they were counted.
fn instructions() -> Result<BTreeMap<String, String>> {
    let Some(path) = env::var_os("UNWIND_BENCH_INSTRUCTIONS") else {
        return Ok(BTreeMap::new());
    };
    let text = std::fs::read_to_string(&path)?;

    text.lines()
        .map(|line| {
            let (number, reader) = line.split_once(' ').context("not NUMBER READER")?;
            Ok((reader.into(), number.into()))
        })
        .collect()
}

fn report(times: &[(&'static str, f64)], instructions: &BTreeMap<String, String>) -> Result<()> {
    let time_of = |name| {
        let found = times.iter().find(|(reader, _)| *reader == name);
        found.map(|(_, time)| *time).context("a reader is missing")
    };
    let (ours, libsframe) = (time_of(OURS)?, time_of(LIBSFRAME)?);
    let titles = [
        "reader",
        "ns per lookup",
        "ratio",
        "instructions per lookup",
    ];
    let mut lines = vec![titles.map(String::from).to_vec()];

    for (reader, time) in times {
        let counted = instructions.get(*reader);
        lines.push(vec![
            (*reader).into(),
            format!("{time:.1}"),
            format!("{:.2}", time / ours),
            counted.map_or("SKIP: not counted".into(), String::clone),
        ]);
    }
    print!("\n{}", table::format(&lines, 1));
    println!(
        "goal: at most {GOAL} ns: {}; at least {GOAL_RATIO} times as fast as libsframe: {}",
        verdict(ours <= GOAL),
        verdict(libsframe / ours >= GOAL_RATIO)
    );
    Ok(())
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn main() -> Result<()> {
    let path = env::var_os("UNWIND_BENCH_FILE").context("UNWIND_BENCH_FILE is not set")?;
    let results = env::var_os("UNWIND_BENCH_RESULTS").context("UNWIND_BENCH_RESULTS is not set")?;
    let file = File::read(Path::new(&path))?;
    let tables = Tables::new(&file)?;
    let times = measure(&tables, &PathBuf::from(results))?;

    report(&times, &instructions()?)?;
    println!(
        "{} functions of {}, one address in each; {} more were left out, where readers differ",
        tables.pcs.len(),
        file.path.display(),
        tables.left_out
    );
    Ok(())
}
