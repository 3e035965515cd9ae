// SPDX-License-Identifier: GPL-2.0

//! Callers of code without a table: what the kernel would guess, beside the truth.
//!
//! Stops the threads of a program at random. If one is in code of a file with a table that says
//! nothing about this code, guesses its return address as `kernel/unwind/call_site.c` does, by the
//! kernel's own recogniser of calls. Then lets the thread go on step by step: the first return from
//! where the stack pointer was, or above, shows the true one. Prints a line for each file.

mod object;
mod process;

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use nix::sys::ptrace;
use nix::unistd::Pid;
use unwind_parser::call::{self, Found};

use process::{Mapping, Process};

/// As in `call_site.c`.
const WORDS: u64 = 32;
const REACH: u64 = 0x1_0000;
const ALIGN: u64 = 16;
/// As `UNWIND_USER_TEXT_LOOKUPS`.
const LOOKUPS: u32 = 4;

#[derive(Parser)]
#[command(about = "Compares guessed callers with the real ones")]
struct Arguments {
    /// How many samples of code without a table to take
    #[arg(long, default_value_t = 1000)]
    samples: u32,
    /// After how many instructions to give up on the truth
    #[arg(long, default_value_t = 200_000)]
    steps: u32,
    /// After how many seconds to stop with fewer samples
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Microseconds between two stops
    #[arg(long, default_value_t = 700)]
    interval: u64,
    #[arg(required = true, trailing_var_arg = true)]
    command: Vec<String>,
}

#[derive(Default)]
struct Counts {
    right: u32,
    wrong: u32,
    none: u32,
    /// The truth did not show.
    unknown: u32,
}

/// What is called, and the stack that is looked at.
struct Callee<'a> {
    process: &'a mut Process,
    ip: u64,
    sp: u64,
    fp: u64,
    text: Mapping,
    stack: Mapping,
    start: u64,
    only_near: bool,
    lookups: u32,
    last: Mapping,
}

impl Callee<'_> {
    fn find_text(&mut self, address: u64) -> Option<Mapping> {
        if self.last.holds(address) {
            return Some(self.last.clone());
        }
        let found = self.process.mapping(address).cloned();
        let is_heap = found.as_ref().is_some_and(|found| found.path == "[heap]");
        if address < 0x1000 || address >> 47 != 0 || self.stack.holds(address) || is_heap {
            return None;
        }
        self.lookups = self.lookups.checked_sub(1)?;
        let text = found.filter(|found| found.executable)?;
        self.last = text.clone();
        Some(text)
    }

    fn call(&mut self, ra: u64) -> Option<Found> {
        let text = self.find_text(ra)?;
        let code = self.process.read(ra.checked_sub(call::LEN as u64)?, call::LEN);

        if ra - text.start < call::LEN as u64 {
            return None;
        }
        call::before(&code.try_into().ok()?, ra)
    }

    fn is_near(&self, found: Found) -> bool {
        let Found::To(target) = found else {
            return false;
        };

        target >= self.start && target < self.text.end && self.ip.wrapping_sub(target) < REACH
    }

    fn is_caller(&mut self, cfa: u64, ra: u64, found: Found) -> bool {
        let (aligned, near) = (cfa.is_multiple_of(ALIGN), self.is_near(found));

        if self.only_near || aligned == near {
            return near;
        }
        let Some(text) = self.process.mapping(ra - 1).cloned() else {
            return false;
        };
        let object = self.process.object(&text.path);
        aligned == object.covers(ra - 1 - text.start + text.offset)
    }

    fn word(&self, address: u64) -> Option<u64> {
        if !self.stack.holds(address) {
            return None;
        }
        self.process.word(address)
    }

    fn find_return_address(&mut self, count: u64) -> Option<u64> {
        let sp = self.sp;

        if !sp.is_multiple_of(8) {
            return None;
        }
        for slot in (sp..sp + count * 8).step_by(8) {
            let ra = self.word(slot)?;
            if let Some(found) = self.call(ra)
                && self.is_caller(slot + 8, ra, found)
            {
                return Some(slot);
            }
        }
        None
    }

    /// Finds the place of the return address.
    fn find(&mut self) -> Option<u64> {
        let by_fp = self.fp.wrapping_add(8);
        let found = match self.word(by_fp).filter(|_| self.fp >= self.sp) {
            Some(ra) => self.call(ra).filter(|found| self.is_near(*found)),
            None => None,
        };
        let Some(Found::To(target)) = found else {
            return self.find_return_address(WORDS);
        };

        self.start = target + 1;
        self.only_near = true;
        let count = WORDS.min((self.fp - self.sp) / 8);
        self.find_return_address(count).or(Some(by_fp))
    }
}

/// Whether the instruction at an address is a return.
fn is_return(process: &Process, ip: u64) -> bool {
    matches!(process.read(ip, 2)[..], [0xc3 | 0xc2, ..] | [0xf2 | 0xf3, 0xc3])
}

/// Finds the place of the return address that is used.
fn truth(process: &mut Process, thread: Pid, sp: u64, steps: u32) -> Result<Option<u64>> {
    for _ in 0..steps {
        let registers = ptrace::getregs(thread)?;
        if registers.rsp >= sp && is_return(process, registers.rip) {
            return Ok(Some(registers.rsp));
        }
        if !process.step(thread)? {
            return Ok(None);
        }
    }
    Ok(None)
}

/// A place in code without a table: its file, and where on the stack its return address is.
struct Sample {
    path: String,
    guess: Option<u64>,
    truth: Option<u64>,
}

/// Looks at a stopped thread, if it is in code that no table covers.
fn sample(process: &mut Process, thread: Pid, steps: u32) -> Result<Option<Sample>> {
    let registers = ptrace::getregs(thread)?;
    let (ip, sp) = (registers.rip, registers.rsp);

    if process.mapping(ip).is_none() || process.mapping(sp).is_none() {
        process.look();
    }
    let (Some(text), Some(stack)) = (process.mapping(ip).cloned(), process.mapping(sp).cloned())
    else {
        return Ok(None);
    };
    // Behind a system call, a thread may wait for another one.
    if process.read(ip.wrapping_sub(2), 2) == [0x0f, 0x05] {
        return Ok(None);
    }
    let object = process.object(&text.path);
    if !object.has_table() || object.covers(ip - text.start + text.offset) {
        return Ok(None);
    }
    let mut callee = Callee {
        ip,
        sp,
        fp: registers.rbp,
        start: text.start,
        last: text.clone(),
        only_near: false,
        lookups: LOOKUPS,
        text: text.clone(),
        stack,
        process,
    };
    let guess = callee.find();
    let truth = truth(process, thread, sp, steps)?;
    if let (Some(guess), Some(truth)) = (guess, truth)
        && guess != truth
    {
        let offset = ip - text.start + text.offset;
        let words = |slot: u64| (slot.wrapping_sub(sp) as i64) / 8;
        eprintln!(
            "wrong: {} at byte {offset:#x}: word {} instead of {}",
            text.path,
            words(guess),
            words(truth)
        );
    }

    Ok(Some(Sample { path: text.path, guess, truth }))
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut process = Process::start(&arguments.command)?;
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut left = arguments.samples;
    let mut turn = 0;
    let start = Instant::now();

    while left > 0 && start.elapsed().as_secs() < arguments.seconds && !process.threads().is_empty()
    {
        sleep(Duration::from_micros(arguments.interval));
        process.handle_all()?;
        let threads = process.threads();
        let Some(&thread) = threads.get(turn % threads.len().max(1)) else {
            break;
        };
        turn += 1;
        if !process.stop(thread)? {
            continue;
        }
        if let Some(sample) = sample(&mut process, thread, arguments.steps)? {
            let counts = counts.entry(sample.path).or_default();
            let count = match (sample.guess, sample.truth) {
                (_, None) => &mut counts.unknown,
                (None, _) => &mut counts.none,
                (guess, truth) if guess == truth => &mut counts.right,
                _ => &mut counts.wrong,
            };
            *count += 1;
            left -= 1;
        }
        process.go_on(thread)?;
    }
    process.end()?;
    for (path, found) in counts {
        let known = f64::from((found.right + found.wrong + found.none).max(1));
        let percent = |count| 100.0 * f64::from(count) / known;

        println!(
            "{path}: right {} ({:.1} %), wrong {} ({:.1} %), none {} ({:.1} %); unknown {}",
            found.right,
            percent(found.right),
            found.wrong,
            percent(found.wrong),
            found.none,
            percent(found.none),
            found.unknown
        );
    }
    Ok(())
}
