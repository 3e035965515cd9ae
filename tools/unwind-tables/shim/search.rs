// SPDX-License-Identifier: GPL-2.0

//! The kernel's search in sorted arrays, `kernel/unwind/tables/bisect.c`, for any reader of tables.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::slice;

use crate::parse::{AnyBlock, Array, BlockHead, Element, Index, LargeBlock, Lost, Reader};
use crate::parse::{BLOCK, LARGE_BLOCK};

/// How C reads: `struct shim_reader`.
#[repr(C)]
struct ShimReader {
    read: extern "C-unwind" fn(*const c_void, u64, *mut c_void, u32) -> bool,
    reader: *const c_void,
    base: u64,
}

unsafe extern "C-unwind" {
    fn shim_bisect(
        reader: *const ShimReader,
        array: *const Array,
        key: u64,
        element: *mut Element,
    ) -> c_int;

    fn shim_find(
        reader: *const ShimReader,
        index: *const Index,
        key: u64,
        block: *mut LargeBlock,
    ) -> u32;

    fn shim_read_on(reader: *const ShimReader, index: *const Index, block: *mut LargeBlock) -> u32;

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
    // SAFETY: C calls this with the reader that `ShimReader::new()` gave it, and with a number of
    // so many bytes that is initialised.
    let (reader, to) = unsafe {
        (
            &*reader.cast::<R>(),
            slice::from_raw_parts_mut(to.cast::<u8>(), len as usize),
        )
    };

    reader.read(offset, to).is_ok()
}

impl ShimReader {
    /// The table of `reader`, which lives longer than this, at address `base`.
    fn new<R: Reader>(reader: &R, base: u64) -> Self {
        let (read, reader) = (read::<R>, std::ptr::from_ref(reader).cast());

        Self { read, reader, base }
    }
}

/// Searches an array as the kernel does in user memory: each number is read by `reader`.
#[allow(dead_code)]
pub fn in_reader<R: Reader>(reader: &R, array: &Array, key: u64) -> Result<Element, Lost> {
    let mut element = Element::default();
    let shim = ShimReader::new(reader, 0);

    // SAFETY: The structures are laid out as in C, which the kernel's build asserts. C reads by
    // `read` only, which gets its own `R`.
    let ret = unsafe { shim_bisect(&shim, array, key, &mut element) };
    found(ret, element)
}

/// Searches an index, and reads the block that its element leads to, as the kernel does in user
/// memory: each number is read by `reader`, whose table stands at address `base`.
#[allow(dead_code)]
pub fn block_in_reader<'a, R: Reader>(
    reader: &R,
    base: u64,
    index: &Index,
    key: u64,
    room: &'a mut MaybeUninit<LargeBlock>,
) -> Option<AnyBlock<'a>> {
    let shim = ShimReader::new(reader, base);
    let index = index.at(base);

    // SAFETY: The structures are laid out as in C, which the kernel's build asserts. C reads by
    // `read` only, which gets its own `R`.
    let len = unsafe { shim_find(&shim, &index, key, room.as_mut_ptr()) };

    match len as usize {
        // SAFETY: C has filled so much of it.
        BLOCK => Some(AnyBlock::Small(unsafe { &mut *room.as_mut_ptr().cast() })),
        // SAFETY: C has filled all of it.
        LARGE_BLOCK => Some(AnyBlock::Large(unsafe { room.assume_init_mut() })),
        _ => None,
    }
}

/// Reads the block where a lookup goes on, as the kernel does in user memory: each number is read
/// by `reader`, whose table stands at address `base`.
#[allow(dead_code)]
pub fn read_on_in_reader<'a, R: Reader>(
    reader: &R,
    base: u64,
    index: &Index,
    head: &BlockHead,
    room: &'a mut MaybeUninit<LargeBlock>,
) -> Option<&'a mut LargeBlock> {
    let shim = ShimReader::new(reader, base);
    let index = index.at(base);
    let block = room.as_mut_ptr();

    // SAFETY: There is room for it.
    unsafe { (&raw mut (*block).head).write(*head) };

    // SAFETY: The structures are laid out as in C, which the kernel's build asserts. C reads by
    // `read` only, which gets its own `R`.
    let len = unsafe { shim_read_on(&shim, &index, block) };

    // SAFETY: C has filled all of it.
    (len != 0).then(|| unsafe { room.assume_init_mut() })
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
