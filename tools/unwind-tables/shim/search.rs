// SPDX-License-Identifier: GPL-2.0

//! The kernel's search in sorted arrays, `kernel/unwind/tables/bisect.c`, for any reader of tables.

use std::ffi::{c_int, c_void};
use std::slice;

use crate::parse::{Array, Element, Lost, Reader};

/// How C reads: `struct shim_reader`.
#[repr(C)]
struct ShimReader {
    read: extern "C-unwind" fn(*const c_void, u64, *mut c_void, u32) -> bool,
    reader: *const c_void,
}

unsafe extern "C-unwind" {
    fn shim_bisect(
        reader: *const ShimReader,
        array: *const Array,
        key: u64,
        element: *mut Element,
    ) -> c_int;

    fn unwind_bisect_kernel(
        table: *const c_void,
        array: *const Array,
        key: u64,
        element: *mut Element,
    ) -> c_int;
}

/// Reads for C, from the `R` that `reader` is.
extern "C-unwind" fn read<R: Reader>(
    reader: *const c_void,
    offset: u64,
    to: *mut c_void,
    len: u32,
) -> bool {
    // SAFETY: `shim_bisect()` calls this with the reader that `in_reader` gave it, and with a
    // number of so many bytes that is initialised.
    let (reader, to) = unsafe {
        (
            &*reader.cast::<R>(),
            slice::from_raw_parts_mut(to.cast::<u8>(), len as usize),
        )
    };

    reader.read(offset, to).is_ok()
}

/// Searches an array as the kernel does in user memory: each number is read by `reader`.
#[allow(dead_code)]
pub fn in_reader<R: Reader>(reader: &R, array: &Array, key: u64) -> Result<Element, Lost> {
    let mut element = Element::default();
    let shim = ShimReader {
        read: read::<R>,
        reader: std::ptr::from_ref(reader).cast(),
    };

    // SAFETY: The structures are laid out as in C, which the kernel's build asserts. C reads by
    // `read` only, which gets its own `R`.
    let ret = unsafe { shim_bisect(&shim, array, key, &mut element) };
    found(ret, element)
}

/// Searches an array as the kernel does in its own memory: all of `table` can be read.
#[allow(dead_code)]
#[inline]
pub fn in_slice(table: &[u8], array: &Array, key: u64) -> Result<Element, Lost> {
    let mut element = Element::default();

    if array.end().is_none_or(|end| end > table.len() as u64) {
        return Err(Lost::Fault);
    }
    // SAFETY: The structures are laid out as in C, which the kernel's build asserts. All of the
    // array is in `table`.
    let ret = unsafe { unwind_bisect_kernel(table.as_ptr().cast(), array, key, &mut element) };
    found(ret, element)
}

/// What C has found.
fn found(ret: c_int, element: Element) -> Result<Element, Lost> {
    match ret {
        0 => Ok(element),
        _ => Err(Lost::from_errno(ret, element.nth)),
    }
}
