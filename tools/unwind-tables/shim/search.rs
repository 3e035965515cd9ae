// SPDX-License-Identifier: GPL-2.0

//! The kernel's search in sorted arrays, `kernel/unwind/tables/bisect.c`, for any reader of tables.

use std::ffi::{c_int, c_void};
use std::slice;

use crate::parse::{Array, Element, Error};

/// A function that copies bytes of a table from an offset, and says whether that was possible.
type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

unsafe extern "C-unwind" {
    fn shim_bisect(
        read: extern "C-unwind" fn(*const c_void, u64, *mut c_void, u32) -> bool,
        reader: *const c_void,
        array: *const c_void,
        key: u64,
        element: *mut Element,
    ) -> c_int;
}

/// Reads for C, from the [`Read`] that `reader` points to.
extern "C-unwind" fn read(reader: *const c_void, offset: u64, to: *mut c_void, len: u32) -> bool {
    // SAFETY: C calls this with the reader that `bisect()` gave it, and with a number of so many
    // bytes that is initialised.
    let (read, to) = unsafe {
        (
            *reader.cast::<Read<'_>>(),
            slice::from_raw_parts_mut(to.cast::<u8>(), len as usize),
        )
    };

    read(offset, to)
}

/// Searches an array as the kernel does in user memory: `by` reads each number.
pub fn bisect(by: Read<'_>, array: &Array, key: u64) -> Result<Element, Error> {
    let mut element = Element::default();
    let (reader, array_in_c) = (std::ptr::from_ref(&by), std::ptr::from_ref(array));

    // SAFETY: The structures are laid out as in C, which the kernel's build asserts. C reads by
    // `read` only, which gets its own reader.
    let errno = unsafe { shim_bisect(read, reader.cast(), array_in_c.cast(), key, &mut element) };
    array.found(errno, element)
}
