// SPDX-License-Identifier: GPL-2.0 OR MIT

//! What others see of a table while a function is appended.
//!
//! The processor stops after each instruction of `unwind_jit_add()`. Each time that something in
//! the table has changed, it is copied. Then it is searched: as it was at each of these moments,
//! and by somebody who reads some of it before and some after.

mod common;

use std::arch::asm;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Mutex;

use common::{answer_of, registered, Checked, CODE};
use kernel_reader::{Answer, SFrame};
use unwind_jit::{Direction, Known, Row};

/// What is watched, and what it was after each instruction that wrote to it.
struct Watch {
    at: *const u8,
    len: usize,
    /// There is room for more: nothing is allocated while something is watched.
    seen: Vec<Vec<u8>>,
    nr: usize,
    steps: usize,
}

// SAFETY: It is only used by the thread that has the lock.
unsafe impl Send for Watch {}

/// More instructions than that do not write to a table.
const ROOM_SEEN: usize = 100;

static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

extern "C" fn on_trap(_: c_int) {
    // The lock is the thread's own, but nobody uses what it protects meanwhile.
    WATCHED.with(|watched| {
        // SAFETY: Set by `watch()`, to something that lives until there are no more traps.
        let Some(watch) = (unsafe { watched.get().as_mut() }) else {
            return;
        };
        // SAFETY: This is mapped while it is watched.
        let now = unsafe { std::slice::from_raw_parts(watch.at, watch.len) };

        watch.steps += 1;
        if watch.seen[watch.nr] != now {
            watch.nr += 1;
            watch.seen[watch.nr].copy_from_slice(now);
        }
    });
}

thread_local! {
    static WATCHED: Cell<*mut Watch> = const { Cell::new(std::ptr::null_mut()) };
}

/// What `bytes` are, before and after each instruction of `act` that writes to them.
fn watch(bytes: &[u8], act: impl FnOnce()) -> Vec<Vec<u8>> {
    let mut lock = WATCH.lock().unwrap();
    let watch = lock.insert(Watch {
        at: bytes.as_ptr(),
        len: bytes.len(),
        seen: vec![bytes.to_vec(); ROOM_SEEN],
        nr: 0,
        steps: 0,
    });

    // SAFETY: The handler does not allocate, and changes nothing that anybody else uses.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        assert_eq!(
            libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()),
            0
        );
    }
    WATCHED.set(watch);
    // SAFETY: A trap after each instruction, for which there is a handler.
    unsafe { asm!("pushfq", "or dword ptr [rsp], 0x100", "popfq") };
    act();
    // SAFETY: And no more.
    unsafe { asm!("pushfq", "and dword ptr [rsp], 0xfffffeff", "popfq") };
    WATCHED.set(std::ptr::null_mut());

    assert!(watch.steps > 100, "nothing was stepped through");
    watch.seen.truncate(watch.nr + 1);
    std::mem::take(&mut watch.seen)
}

/// Reads the table as it was at moment `first`, and from the `switch`th read on as at `then`.
fn read_in_two(
    table: &SFrame,
    seen: &[Vec<u8>],
    (first, then, switch): (usize, usize, usize),
    pc: usize,
) -> (Result<Answer, String>, usize) {
    let reads = Cell::new(0);
    let read = |offset: usize, buf: &mut [u8]| {
        let bytes = &seen[if reads.get() < switch { first } else { then }];

        reads.set(reads.get() + 1);
        buf.copy_from_slice(&bytes[offset..offset + buf.len()]);
        true
    };
    let answer = table.answer_by(read, pc);

    (answer, reads.get())
}

/// Appends a function to so many others, and looks at each moment of it.
fn append_to(direction: Direction, others: usize, rows: &[Row], gap: usize) {
    let slots = others + 3;
    let slot = |nth: usize| match direction {
        Direction::Up => CODE + 64 * nth,
        Direction::Down => CODE + 64 * (slots - 1 - nth),
    };
    let mut checked = Checked::new(CODE..CODE + 64 * slots, direction);

    for nth in 0..others {
        checked.add_now(slot(nth), 60, &[Row::sp(0, 8 + nth as i32)]);
    }
    // With what is in no function behind the others.
    let (start, size) = (slot(others + gap), 60);
    let entry = registered(CODE).unwrap();
    let before = checked.known.clone();
    let seen = watch(entry.bytes(), || {
        assert_eq!(
            checked.region.add(start..start + size, rows),
            Ok(Known::Now)
        );
    });
    // At least rows, where they are, the size, and the start.
    assert!(seen.len() > 4, "{}", seen.len());

    let table = SFrame::new(entry.bytes(), entry.table[0] as usize).unwrap();
    for pc in checked.code.clone() {
        let old = before.answer(pc);
        let new = match pc.wrapping_sub(start) {
            offset if offset < size => answer_of(rows, offset),
            _ => old,
        };
        for first in 0..seen.len() {
            for then in first..seen.len() {
                let mut switch = 0;
                loop {
                    let (answer, reads) = read_in_two(&table, &seen, (first, then, switch), pc);
                    assert!(
                        answer == Ok(old) || answer == Ok(new),
                        "{answer:?} at {pc:#x}: {first} {then} {switch}"
                    );
                    if switch >= reads || first == then {
                        break;
                    }
                    switch += 1;
                }
            }
        }
        let last = seen.len() - 1;
        let known = read_in_two(&table, &seen, (last, last, 0), pc).0;
        assert_eq!(known, Ok(new));
    }
}

#[test]
fn a_function_that_is_half_written_is_not_there() {
    let rows = [
        Row::sp(0, 8),
        Row::sp(1, 16).with_fp(-16),
        Row::fp(4, 16).with_fp(-16),
        Row::sp(14, 100_000),
        Row::outermost(59),
    ];

    for direction in [Direction::Up, Direction::Down] {
        for others in [1, 2, 7] {
            for gap in [0, 1] {
                append_to(direction, others, &rows, gap);
                append_to(direction, others, &rows[..1], gap);
            }
        }
    }
}
