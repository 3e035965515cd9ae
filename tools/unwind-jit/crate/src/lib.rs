// SPDX-License-Identifier: GPL-2.0 OR MIT

//! Unwind tables for generated code.
//!
//! A JIT compiler tells the Linux kernel how the frames of its code look, so that profilers can
//! follow stacks through it (`perf record --call-graph fp,defer`). It says of each function where
//! the CFA and the caller's frame pointer are. This crate is a safe interface to the C library
//! `libunwind-jit`, which it contains.
//!
//! ```no_run
//! use unwind_jit::{Direction, Known, Region, Row};
//!
//! # let code = 0x7000_0000_0000..0x7000_0001_0000;
//! # let function = code.start..code.start + 15;
//! // For all memory that code is generated into.
//! let mut region = Region::open(code, Direction::Up)?;
//!
//! // For each function, before it runs: here, one that pushes a register and pops it.
//! let rows = [Row::sp(0, 8), Row::sp(1, 16), Row::sp(14, 8)];
//! if region.add(function, &rows)? == Known::AfterPublish {
//!     region.publish()?;
//! }
//! # Ok::<(), unwind_jit::Error>(())
//! ```
//!
//! Nothing here is `unsafe`: the kernel takes a table that is wrong, or of other code, for what a
//! stack looks like in a profile, and for nothing else.

#![no_std]

mod sys;

use core::ffi::c_int;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;

pub use sys::{Base, Row};

/// What the C library, or the kernel, has refused: a number of `errno.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(c_int);

impl Error {
    /// The number, which is positive.
    pub fn errno(self) -> c_int {
        self.0
    }

    /// The error of a call, if it returned one.
    fn check(ret: isize) -> Result<usize, Self> {
        usize::try_from(ret).map_err(|_| Self(ret.wrapping_neg() as c_int))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            sys::EACCES => "some of the memory is not mapped as it must be",
            sys::EEXIST => "the function overlaps another one",
            sys::EINVAL => "the arguments are wrong",
            sys::ENOENT => "there is no such thing",
            sys::ENOMEM => "there is no memory",
            sys::ENOSPC => "the process has too many tables",
            errno => return write!(formatter, "error {errno}"),
        };

        formatter.write_str(text)
    }
}

impl core::error::Error for Error {}

/// In what order functions are added at no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the start of the region upwards.
    Up,
    /// From its end downwards.
    Down,
}

/// When the kernel knows of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Known {
    /// Now.
    Now,
    /// After the next [`Region::publish`].
    AfterPublish,
}

impl Row {
    /// A row from byte `offset` of the function on: the CFA is SP + `cfa`.
    pub const fn sp(offset: u32, cfa: i32) -> Self {
        Self::new(offset, cfa, Base::Sp)
    }

    /// A row from byte `offset` of the function on: the CFA is FP + `cfa`.
    pub const fn fp(offset: u32, cfa: i32) -> Self {
        Self::new(offset, cfa, Base::Fp)
    }

    /// A row from byte `offset` of the function on: there is no caller.
    pub const fn outermost(offset: u32) -> Self {
        Self::new(offset, 0, Base::Outermost)
    }

    /// The same row, where the caller's frame pointer is saved at CFA + `fp`, which is not 0.
    pub const fn with_fp(mut self, fp: i32) -> Self {
        self.fp = fp;
        self
    }

    const fn new(offset: u32, cfa: i32, base: Base) -> Self {
        Self {
            offset,
            cfa,
            fp: 0,
            base,
        }
    }
}

/// A range of memory for code, with one table.
///
/// Where the kernel has no tables, there is a region, too: all it is asked for is done at once.
#[derive(Debug)]
pub struct Region(Option<NonNull<sys::unwind_jit>>);

// SAFETY: The C library has no state but the region's, and one thread at a time has that.
unsafe impl Send for Region {}
// SAFETY: Without `&mut` it is not looked into.
unsafe impl Sync for Region {}

impl Region {
    /// Makes a region of the addresses `code`.
    ///
    /// The memory need not be mapped yet.
    ///
    /// # Errors
    ///
    /// If the range is empty, or there is no memory.
    pub fn open(code: Range<usize>, direction: Direction) -> Result<Self, Error> {
        let flags = match direction {
            Direction::Up => 0,
            Direction::Down => sys::UNWIND_JIT_DOWNWARDS,
        };
        let size = code.end.saturating_sub(code.start);

        // SAFETY: The range is but compared.
        let region = unsafe { sys::unwind_jit_open(code.start as *mut _, size, flags) };
        match (NonNull::new(region), sys::errno()) {
            (None, errno) if errno != sys::ENOTSUP => Err(Error(errno)),
            (region, _) => Ok(Self(region)),
        }
    }

    /// Whether the kernel has tables at all.
    pub fn is_supported(&self) -> bool {
        self.0.is_some()
    }

    /// Says how the frames of the function at these addresses look.
    ///
    /// To be called before its code runs; else [`Region::publish`] must follow. The offsets of the
    /// rows ascend from 0, and are in the function.
    ///
    /// # Errors
    ///
    /// If rows or range are not like that, the function overlaps another one, or there is no
    /// memory. Then nothing has changed.
    pub fn add(&mut self, function: Range<usize>, rows: &[Row]) -> Result<Known, Error> {
        let size = function.end.saturating_sub(function.start);
        let (start, nr) = (function.start as *const _, rows.len());

        // SAFETY: The region is open, and there are so many rows.
        let ret = unsafe { sys::unwind_jit_add(self.raw(), start, size, rows.as_ptr(), nr) };
        Ok(match Error::check(ret as isize)? {
            0 => Known::Now,
            _ => Known::AfterPublish,
        })
    }

    /// Forgets all functions that begin at these addresses, and says whether there were any.
    ///
    /// If so, [`Region::publish`] must follow before the memory gets other code.
    ///
    /// # Errors
    ///
    /// If the range ends before it begins.
    pub fn remove(&mut self, range: Range<usize>) -> Result<bool, Error> {
        let size = range.end.wrapping_sub(range.start);

        // SAFETY: The region is open.
        let ret = unsafe { sys::unwind_jit_remove(self.raw(), range.start as *const _, size) };
        Ok(Error::check(ret as isize)? != 0)
    }

    /// Has the kernel know all that was added and removed.
    ///
    /// All of the region must be mapped and executable.
    ///
    /// # Errors
    ///
    /// If it is not, or there is no memory. Then nothing has changed.
    pub fn publish(&mut self) -> Result<(), Error> {
        // SAFETY: The region is open.
        Error::check(unsafe { sys::unwind_jit_publish(self.raw()) } as isize).map(drop)
    }

    fn raw(&mut self) -> *mut sys::unwind_jit {
        self.0.map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: The region is open, and not used any more.
        unsafe { sys::unwind_jit_close(self.raw()) };
    }
}

/// Writes the index, `.eh_frame_hdr`, of an `.eh_frame`, where both are in memory.
///
/// The kernel needs one; see [`register_eh_frame`]. It has 16 bytes and 16 for each function.
/// Returns how many bytes that are: if more than `index` has room for, it is not an index.
///
/// # Errors
///
/// If the records are malformed, or not as the kernel reads them.
pub fn eh_frame_index(index: &mut [u8], eh_frame: &[u8]) -> Result<usize, Error> {
    let (to, room) = (index.as_mut_ptr().cast(), index.len());

    // SAFETY: Both are memory of that many bytes.
    Error::check(unsafe {
        sys::unwind_jit_eh_frame_index(to, room, eh_frame.as_ptr().cast(), eh_frame.len())
    })
}

/// Tells the kernel that the code at these addresses is described by an `.eh_frame`.
///
/// Its records and their index, which is at address `index`, are in the range `table`. This removes
/// each registration that overlaps the code, but for a [`Region`] of exactly this code. It holds
/// until [`unregister_eh_frame`], or until some of the code is unmapped; which is why this takes
/// addresses, not what is borrowed. Unregister before the table is unmapped.
///
/// # Errors
///
/// If the memory is not mapped as it must be, or the kernel does not read this format.
pub fn register_eh_frame(
    code: Range<usize>,
    table: Range<usize>,
    index: usize,
) -> Result<(), Error> {
    // SAFETY: The kernel checks the addresses.
    let ret = unsafe {
        sys::unwind_jit_eh_frame_register(
            code.start as *const _,
            code.end.wrapping_sub(code.start),
            table.start as *const _,
            table.end.wrapping_sub(table.start),
            index as *const _,
        )
    };

    Error::check(ret as isize).map(drop)
}

/// Takes that back.
///
/// # Errors
///
/// If no `.eh_frame` is registered for exactly this code.
pub fn unregister_eh_frame(code: Range<usize>) -> Result<(), Error> {
    let size = code.end.wrapping_sub(code.start);

    // SAFETY: The kernel checks the addresses.
    Error::check(
        unsafe { sys::unwind_jit_eh_frame_unregister(code.start as *const _, size) } as isize,
    )
    .map(drop)
}
