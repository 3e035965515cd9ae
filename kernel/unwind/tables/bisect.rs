// SPDX-License-Identifier: GPL-2.0

//! The search in sorted arrays, which is C: see `bisect.c` for the reason.

use core::{
    cell::Cell,
    mem::{
        offset_of,
        MaybeUninit, //
    },
};

use kernel::{
    bindings,
    prelude::*, //
};

use crate::parse::{
    AnyBlock,
    Array,
    BlockHead,
    Element,
    Index,
    LargeBlock,
    Lost,
    SmallBlock,
    BLOCK,
    LARGE_BLOCK, //
};

/// The size of the field that a function yields.
const fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Asserts that two structures are the same for a machine, field by field.
macro_rules! assert_layout {
    ($ours:ty, $theirs:ty: $($field:ident),+) => {
        static_assert!(size_of::<$ours>() == size_of::<$theirs>());
        static_assert!(align_of::<$ours>() == align_of::<$theirs>());
        $(
            static_assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));
            static_assert!(
                size_of_field(|ours: &$ours| &ours.$field)
                    == size_of_field(|theirs: &$theirs| &theirs.$field)
            );
        )+
    };
}

assert_layout!(
    Array, bindings::unwind_bisect_array:
    place, origin, count, wide, relative, swapped
);
assert_layout!(Element, bindings::unwind_bisect_element: start, rest, nth);
assert_layout!(LargeBlock, bindings::unwind_bisect_block: bytes);
assert_layout!(
    Index, bindings::unwind_bisect_index:
    first, blocks, last, count, small
);

/// Asserts that a field of what a block is of is where C expects it.
macro_rules! assert_head {
    ($($field:ident),+) => {$(
        static_assert!(
            offset_of!(BlockHead, $field) == offset_of!(bindings::unwind_bisect_block, $field)
        );
        static_assert!(
            size_of_field(|ours: &BlockHead| &ours.$field)
                == size_of_field(|theirs: &bindings::unwind_bisect_block| &theirs.$field)
        );
    )+};
}

assert_head!(element, at);
static_assert!(
    offset_of!(BlockHead, progress.place) == offset_of!(bindings::unwind_bisect_block, progress)
);
static_assert!(
    offset_of!(BlockHead, progress.left) == offset_of!(bindings::unwind_bisect_block, state)
);
static_assert!(offset_of!(SmallBlock, bytes) == offset_of!(LargeBlock, bytes));
static_assert!(BLOCK == bindings::UNWIND_BISECT_BLOCK as usize);
static_assert!(LARGE_BLOCK == bindings::UNWIND_BISECT_LARGE_BLOCK as usize);

static_assert!(Lost::ENOENT == -(bindings::ENOENT as i32));
static_assert!(Lost::EINVAL == -(bindings::EINVAL as i32));

/// Searches an array in a table of the current process, at any address. `waits` searches may wait
/// for memory.
#[allow(dead_code, reason = "the parser's tests read no user memory")]
#[inline(always)]
pub(crate) fn in_user_memory(
    table: usize,
    array: &Array,
    key: u64,
    waits: &Cell<c_uint>,
) -> Result<Element, Lost> {
    let mut element = Element::default();

    // SAFETY: Both structures are laid out as C expects, see above, and C may write to `element`.
    // User memory may be asked for at any address, and only this thread uses the number of waits.
    let ret = unsafe {
        bindings::unwind_bisect_user(
            table,
            core::ptr::from_ref(array).cast(),
            key,
            core::ptr::from_mut(&mut element).cast(),
            waits.as_ptr(),
        )
    };
    found(ret, element)
}

/// Searches an index of addresses in the current process, and reads the block that the element
/// leads to, into `room`. Nothing waits for memory.
#[allow(dead_code, reason = "the parser's tests read no user memory")]
#[inline(always)]
pub(crate) fn block_in_user_memory<'a>(
    index: &Index,
    key: u64,
    room: &'a mut MaybeUninit<LargeBlock>,
) -> Option<AnyBlock<'a>> {
    // SAFETY: Both structures are laid out as C expects, see above, and C may write to `room`. User
    // memory may be asked for at any address.
    let len = unsafe {
        bindings::unwind_bisect_block_user(
            core::ptr::from_ref(index).cast(),
            key,
            room.as_mut_ptr().cast(),
        )
    };

    match len as usize {
        // SAFETY: C has filled so much of it.
        BLOCK => Some(AnyBlock::Small(unsafe { &mut *room.as_mut_ptr().cast() })),
        // SAFETY: C has filled all of it.
        LARGE_BLOCK => Some(AnyBlock::Large(unsafe { room.assume_init_mut() })),
        _ => None,
    }
}

/// Searches an array in a table that the kernel has.
#[inline]
pub(crate) fn in_kernel_memory(table: &[u8], array: &Array, key: u64) -> Result<Element, Lost> {
    let mut element = Element::default();

    if array.end().is_none_or(|end| end > table.len() as u64) {
        return Err(Lost::Fault);
    }
    // SAFETY: Both structures are laid out as C expects, see above, and C may write to `element`.
    // All of the array is in `table`.
    let ret = unsafe {
        bindings::unwind_bisect_kernel(
            table.as_ptr().cast(),
            core::ptr::from_ref(array).cast(),
            key,
            core::ptr::from_mut(&mut element).cast(),
        )
    };
    found(ret, element)
}

/// Reads the block where `head` says that a lookup goes on, into `room`. An index at addresses of
/// the current process has led there. Nothing waits for memory.
#[allow(dead_code, reason = "the parser's tests read no user memory")]
pub(crate) fn read_on_in_user_memory<'a>(
    index: &Index,
    head: &BlockHead,
    room: &'a mut MaybeUninit<LargeBlock>,
) -> Option<&'a mut LargeBlock> {
    let block = room.as_mut_ptr();

    // SAFETY: There is room for it.
    unsafe { (&raw mut (*block).head).write(*head) };
    // SAFETY: Both structures are laid out as C expects, see above, and C may write to `room`. User
    // memory may be asked for at any address.
    let len = unsafe {
        bindings::unwind_bisect_read_on_user(core::ptr::from_ref(index).cast(), block.cast())
    };

    // SAFETY: C has filled the rest of it.
    (len != 0).then(|| unsafe { room.assume_init_mut() })
}

/// What C has found.
#[inline(always)]
fn found(ret: c_int, element: Element) -> Result<Element, Lost> {
    match ret {
        0 => Ok(element),
        _ => Err(Lost::from_errno(ret, element.nth)),
    }
}
