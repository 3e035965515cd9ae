// SPDX-License-Identifier: GPL-2.0

//! Tables in user memory. The C files `user_memory.c` and `bisect.c` read there.

use core::{
    cell::Cell,
    mem::offset_of, //
};

use kernel::{
    bindings,
    prelude::*, //
};

use crate::parse::{
    bisect_price,
    read_price,
    Array,
    Element,
    Error,
    Reader, //
};

/// Asserts that a field has the same place in two structures.
macro_rules! assert_layout {
    ($ours:ty, $theirs:ty: $($field:ident),+) => {
        static_assert!(size_of::<$ours>() == size_of::<$theirs>());
        static_assert!(align_of::<$ours>() == align_of::<$theirs>());
        $(static_assert!(offset_of!($ours, $field) == offset_of!($theirs, $field));)+
    };
}

assert_layout!(
    Array, bindings::unwind_bisect_array:
    place, origin, count, wide, relative, unsorted
);
assert_layout!(Element, bindings::unwind_bisect_element: start, rest, nth);
static_assert!(Array::ENOENT == -(bindings::ENOENT as i32));
static_assert!(Array::EINVAL == -(bindings::EINVAL as i32));

/// A table in the memory of the current process.
///
/// Page faults are disabled: a read of memory that is not there fails, and the walk waits for it.
pub(crate) struct UserMemory<'a> {
    /// Address of the first byte.
    base: usize,
    /// The budget that is left for the stack.
    budget: &'a Cell<u32>,
    /// Gets the address of a byte that is not in memory.
    missing: &'a Cell<usize>,
}

impl<'a> UserMemory<'a> {
    /// Makes a reader of the memory from address `base` on, which pays from `budget`. A read that
    /// fails puts the address of a byte that is not there into `missing`.
    ///
    /// Any address will do: a read of an address that is not user memory fails.
    pub(crate) fn new(base: usize, budget: &'a Cell<u32>, missing: &'a Cell<usize>) -> Self {
        Self {
            base,
            budget,
            missing,
        }
    }

    /// Takes `price` off the budget. If less is left, takes all of it, and fails.
    #[inline]
    fn spend(&self, price: u32) -> Result<(), Error> {
        let left = self.budget.get().checked_sub(price);

        self.budget.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Error::Budget)
    }
}

impl Reader for UserMemory<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let offset = usize::try_from(offset).map_err(|_| Error::Fault)?;
        let addr = self.base.checked_add(offset).ok_or(Error::Fault)?;
        let len = buf.len().try_into().map_err(|_| Error::Fault)?;

        self.spend(read_price(buf.len()))?;
        let to = buf.as_mut_ptr().cast();
        // SAFETY: `buf` has room for so many bytes, any address may be asked for, and only this
        // thread uses `missing`.
        match unsafe { bindings::unwind_tables_read(to, addr, len, self.missing.as_ptr()) } {
            0 => Ok(()),
            _ => Err(Error::Fault),
        }
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        let mut element = Element::default();

        self.spend(bisect_price(array.count))?;
        // SAFETY: Both structures are laid out as C expects, see above, and C may write to
        // `element`. User memory may be asked for at any address, and only this thread uses
        // `missing`.
        let errno = unsafe {
            bindings::unwind_bisect_user(
                self.base,
                core::ptr::from_ref(array).cast(),
                key,
                core::ptr::from_mut(&mut element).cast(),
                self.missing.as_ptr(),
            )
        };
        array.found(errno, element)
    }
}
