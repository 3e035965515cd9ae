// SPDX-License-Identifier: GPL-2.0 OR MIT

//! A kernel that is none: prctl(), which the library calls, keeps here what was registered.

// Each test needs but a part.
#![allow(dead_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_ulong};
use std::ops::Range;

use kernel_reader::{Answer, SFrame};
use unwind_jit::{Base, Direction, Known, Region, Row};

/// Where code would be: nothing is mapped there.
pub const CODE: usize = 0x7000_0000_0000;

/// What the call takes: `struct unwind_table`.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub text: [u64; 2],
    pub table: [u64; 2],
    pub header: u64,
    pub format: u32,
    pub flags: u32,
}

impl Entry {
    /// The bytes of the table.
    pub fn bytes(&self) -> &[u8] {
        let [start, end] = self.table.map(|address| address as usize);

        // SAFETY: The library has registered it, and not taken it back: it is mapped. No thread
        // but this one writes to it.
        unsafe { std::slice::from_raw_parts(start as *const u8, end - start) }
    }

    /// Whether registering `new` leaves this one.
    fn stays_beside(&self, new: &Self) -> bool {
        if self.text == new.text {
            return self.format != new.format;
        }
        self.text[1] <= new.text[0] || new.text[1] <= self.text[0]
    }
}

/// What was registered by this thread.
#[derive(Default)]
pub struct Kernel {
    pub entries: Vec<Entry>,
    /// How often something was registered or unregistered.
    pub calls: usize,
    /// What all calls fail with, if not 0.
    pub errno: c_int,
}

thread_local! {
    pub static KERNEL: RefCell<Kernel> = RefCell::default();
}

/// Instead of the C library's, which has the arguments in the same places.
///
/// # Safety
///
/// `entry` must point to an `Entry` if `count` is not 0.
#[no_mangle]
unsafe extern "C" fn prctl(
    option: c_int,
    operation: c_ulong,
    entry: *const Entry,
    count: c_ulong,
    size: c_ulong,
) -> c_int {
    assert_eq!((option, size), (82, 48));
    let (ret, errno) = KERNEL.with_borrow_mut(|kernel| {
        if kernel.errno != 0 {
            return (-1, kernel.errno);
        }
        if (operation, count) == (0, 0) {
            return (0, 0);
        }
        assert_eq!(count, 1);
        // SAFETY: By the contract of this function.
        let entry = unsafe { (*entry).clone() };
        assert_eq!(entry.flags, 0);
        match operation {
            0 => {
                kernel.entries.retain(|other| other.stays_beside(&entry));
                kernel.entries.push(entry);
            }
            1 => {
                let same = |other: &Entry| other.text == entry.text && other.format == entry.format;
                let Some(nth) = kernel.entries.iter().position(same) else {
                    return (-1, libc::ENOENT);
                };
                kernel.entries.remove(nth);
            }
            _ => return (-1, libc::EINVAL),
        }
        kernel.calls += 1;
        (1, 0)
    });

    if ret < 0 {
        // SAFETY: It is always valid.
        unsafe { *libc::__errno_location() = errno };
    }
    ret
}

/// How often something was registered or unregistered.
pub fn calls() -> usize {
    KERNEL.with_borrow(|kernel| kernel.calls)
}

/// Has all calls of this thread fail, unless `errno` is 0.
pub fn fail(errno: c_int) {
    KERNEL.with_borrow_mut(|kernel| kernel.errno = errno);
}

/// The table that is registered for code from `start` on.
pub fn registered(start: usize) -> Option<Entry> {
    KERNEL.with_borrow(|kernel| {
        kernel
            .entries
            .iter()
            .find(|entry| entry.text[0] == start as u64)
            .cloned()
    })
}

/// What rows say of byte `offset` of their function.
pub fn answer_of(rows: &[Row], offset: usize) -> Answer {
    let Some(row) = rows.iter().rev().find(|row| row.offset as usize <= offset) else {
        return Answer::Nothing;
    };
    let fp = (row.fp != 0).then_some(row.fp);

    match row.base {
        Base::Sp => Answer::Sp(row.cfa, fp),
        Base::Fp => Answer::Fp(row.cfa, fp),
        Base::Outermost => Answer::Outermost,
    }
}

/// Functions by where they start: their size and rows.
#[derive(Clone, Default)]
pub struct Functions(pub BTreeMap<usize, (usize, Vec<Row>)>);

impl Functions {
    /// What is true at address `pc`.
    pub fn answer(&self, pc: usize) -> Answer {
        match self.0.range(..=pc).next_back() {
            Some((start, (size, rows))) if pc - start < *size => answer_of(rows, pc - start),
            _ => Answer::Nothing,
        }
    }

    /// Whether a function would overlap one of these.
    pub fn overlaps(&self, start: usize, size: usize) -> bool {
        self.0
            .range(..start + size)
            .next_back()
            .is_some_and(|(other, (size, _))| other + size > start)
    }
}

/// A region, and what it should say.
pub struct Checked {
    pub region: Region,
    pub code: Range<usize>,
    /// All functions.
    pub all: Functions,
    /// Those that the kernel should know.
    pub known: Functions,
}

impl Checked {
    pub fn new(code: Range<usize>, direction: Direction) -> Self {
        Self {
            region: Region::open(code.clone(), direction).unwrap(),
            code,
            all: Functions::default(),
            known: Functions::default(),
        }
    }

    /// Adds a function, which must be good.
    pub fn add(&mut self, start: usize, size: usize, rows: &[Row]) -> Known {
        let known = self.region.add(start..start + size, rows).unwrap();

        self.all.0.insert(start, (size, rows.to_vec()));
        if known == Known::Now {
            self.known.0.insert(start, (size, rows.to_vec()));
        }
        known
    }

    /// Adds a function, and publishes if that is needed. Tells whether it was.
    pub fn add_now(&mut self, start: usize, size: usize, rows: &[Row]) -> bool {
        let publish = self.add(start, size, rows) == Known::AfterPublish;

        if publish {
            self.publish();
        }
        publish
    }

    pub fn remove(&mut self, range: Range<usize>) {
        let before = self.all.0.len();

        self.all.0.retain(|start, _| !range.contains(start));
        let removed = self.region.remove(range).unwrap();
        assert_eq!(removed, self.all.0.len() != before);
    }

    pub fn publish(&mut self) {
        self.region.publish().unwrap();
        self.known = self.all.clone();
    }

    /// Compares what the kernel reads at each of these addresses with what it should.
    pub fn check_at(&self, addresses: impl IntoIterator<Item = usize>) {
        let Some(entry) = registered(self.code.start) else {
            assert!(self.known.0.is_empty());
            return;
        };
        let bytes = entry.bytes();
        let table = SFrame::new(bytes, entry.table[0] as usize).unwrap();

        for pc in addresses {
            assert_eq!(
                table.answer(bytes, pc),
                Ok(self.known.answer(pc)),
                "at {pc:#x}"
            );
        }
    }

    /// The same at each byte of the code.
    pub fn check(&self) {
        self.check_at(self.code.clone());
    }
}
