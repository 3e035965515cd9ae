// SPDX-License-Identifier: GPL-2.0 OR MIT

//! The C library: `unwind_jit.h`.

use core::ffi::{c_int, c_uint, c_void};

/// What the CFA is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Base {
    /// The stack pointer.
    Sp,
    /// The frame pointer.
    Fp,
    /// Nothing: there is no caller, the stack ends here.
    Outermost,
}

/// How a frame looks from an instruction on.
///
/// The return address is at CFA - 8. On entry to a function that was called, the row is
/// `Row::sp(0, 8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Row {
    /// Where the row begins to hold, in bytes from the function's start.
    pub offset: u32,
    /// The CFA, which is the stack pointer before the call, is `base` plus this.
    pub cfa: i32,
    /// Where the caller's frame pointer is saved, in bytes from the CFA; 0 if in its register.
    pub fp: i32,
    /// What the CFA is computed from.
    pub base: Base,
}

/// A region, of which nothing is known here.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct unwind_jit {
    opaque: [u8; 0],
}

pub const UNWIND_JIT_DOWNWARDS: c_uint = 1;

pub const ENOENT: c_int = 2;
pub const ENOMEM: c_int = 12;
pub const EACCES: c_int = 13;
pub const EEXIST: c_int = 17;
pub const EINVAL: c_int = 22;
pub const ENOSPC: c_int = 28;
pub const ENOTSUP: c_int = 95;

extern "C" {
    pub fn unwind_jit_open(code: *mut c_void, size: usize, flags: c_uint) -> *mut unwind_jit;
    pub fn unwind_jit_add(
        region: *mut unwind_jit,
        start: *const c_void,
        size: usize,
        rows: *const Row,
        nr_rows: usize,
    ) -> c_int;
    pub fn unwind_jit_remove(region: *mut unwind_jit, start: *const c_void, size: usize) -> c_int;
    pub fn unwind_jit_publish(region: *mut unwind_jit) -> c_int;
    pub fn unwind_jit_close(region: *mut unwind_jit);
    pub fn unwind_jit_eh_frame_index(
        index: *mut c_void,
        room: usize,
        eh_frame: *const c_void,
        len: usize,
    ) -> isize;
    pub fn unwind_jit_eh_frame_register(
        code: *const c_void,
        size: usize,
        table: *const c_void,
        len: usize,
        index: *const c_void,
    ) -> c_int;
    pub fn unwind_jit_eh_frame_unregister(code: *const c_void, size: usize) -> c_int;

    fn __errno_location() -> *mut c_int;
}

/// The thread's last error.
pub fn errno() -> c_int {
    // SAFETY: It is always valid in the thread that asks.
    unsafe { *__errno_location() }
}
