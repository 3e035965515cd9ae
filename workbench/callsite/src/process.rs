// SPDX-License-Identifier: GPL-2.0

//! A process that is traced: its threads, its memory, and what is mapped there.

use std::collections::HashMap;
use std::io::IoSliceMut;
use std::process::{Child, Command};
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::object::Object;

/// `PTRACE_EVENT_STOP`: of `PTRACE_INTERRUPT`, and of a new thread.
const EVENT_STOP: i32 = 128;

/// A mapping.
#[derive(Clone)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub executable: bool,
    pub path: String,
}

impl Mapping {
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

pub struct Process {
    child: Child,
    threads: Vec<Pid>,
    mappings: Vec<Mapping>,
    objects: HashMap<String, Rc<Object>>,
}

impl Process {
    /// Starts a command and traces it.
    pub fn start(command: &[String]) -> Result<Self> {
        let [program, arguments @ ..] = command else {
            bail!("no command");
        };
        let child = Command::new(program)
            .args(arguments)
            .spawn()
            .with_context(|| format!("cannot execute {program}"))?;
        let pid = Pid::from_raw(child.id() as i32);

        ptrace::seize(pid, Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL)?;
        Ok(Self { child, threads: vec![pid], mappings: Vec::new(), objects: HashMap::new() })
    }

    pub fn threads(&self) -> &[Pid] {
        &self.threads
    }

    /// Stops a thread. Returns whether it still exists.
    pub fn stop(&mut self, thread: Pid) -> Result<bool> {
        loop {
            // Any other stop takes the place of the one that was asked for before.
            if let Err(Errno::ESRCH) = ptrace::interrupt(thread) {
                self.threads.retain(|each| *each != thread);
                return Ok(false);
            }
            let status = match waitpid(thread, Some(WaitPidFlag::__WALL)) {
                Err(Errno::ECHILD) => {
                    self.threads.retain(|each| *each != thread);
                    return Ok(false);
                }
                status => status?,
            };
            match status {
                WaitStatus::PtraceEvent(_, Signal::SIGTRAP, EVENT_STOP) => return Ok(true),
                status => {
                    if !self.handle(status)? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Lets a thread go on behind whatever stopped it. Returns whether it still exists.
    fn handle(&mut self, status: WaitStatus) -> Result<bool> {
        let (thread, signal) = match status {
            WaitStatus::PtraceEvent(thread, _, event) => {
                if event == ptrace::Event::PTRACE_EVENT_CLONE as i32 {
                    self.threads.push(Pid::from_raw(ptrace::getevent(thread)? as i32));
                }
                (thread, None)
            }
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) => {
                self.threads.retain(|each| *each != thread);
                return Ok(false);
            }
            _ => return Ok(true),
        };

        match ptrace::cont(thread, signal) {
            Err(Errno::ESRCH) => Ok(false),
            result => Ok(result.map(|()| true)?),
        }
    }

    /// Handles what has happened to all threads meanwhile.
    pub fn handle_all(&mut self) -> Result<()> {
        loop {
            let flags = WaitPidFlag::__WALL | WaitPidFlag::WNOHANG;
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(()),
                status => self.handle(status?)?,
            };
        }
    }

    /// Lets a stopped thread go on.
    pub fn go_on(&mut self, thread: Pid) -> Result<()> {
        match ptrace::cont(thread, None) {
            Err(Errno::ESRCH) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Lets a stopped thread execute one instruction. Returns whether it did only that.
    pub fn step(&mut self, thread: Pid) -> Result<bool> {
        ptrace::step(thread, None)?;
        match waitpid(thread, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => Ok(true),
            status => {
                self.handle(status)?;
                Ok(false)
            }
        }
    }

    /// Reads memory; fewer bytes than wanted if no more can be read.
    pub fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let remote = RemoteIoVec { base: address as usize, len };
        let pid = Pid::from_raw(self.child.id() as i32);
        let read = process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &[remote]);

        bytes.truncate(read.unwrap_or(0));
        bytes
    }

    pub fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.read(address, 8).try_into().ok()?))
    }

    /// Looks at the mappings again.
    pub fn look(&mut self) {
        let maps = format!("/proc/{}/maps", self.child.id());

        self.mappings =
            std::fs::read_to_string(maps).unwrap_or_default().lines().filter_map(parse).collect();
    }

    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| mapping.holds(address))
    }

    /// The object that has a mapping; an empty one if it cannot be read.
    pub fn object(&mut self, path: &str) -> Rc<Object> {
        let read = || Rc::new(Object::read(path).unwrap_or_default());

        Rc::clone(self.objects.entry(path.into()).or_insert_with(read))
    }

    /// Ends it.
    pub fn end(mut self) -> Result<()> {
        let _ = self.child.kill();
        for thread in self.threads.clone() {
            let _ = ptrace::cont(thread, None);
        }
        while !self.threads.is_empty() {
            match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Err(_) => break,
                Ok(status) => self.handle(status)?,
            };
        }
        Ok(())
    }
}

/// A line of `/proc/PID/maps`.
fn parse(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let number = |text| u64::from_str_radix(text, 16).ok();

    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        executable: permissions.contains('x'),
        path: words.nth(2).unwrap_or_default().into(),
    })
}
