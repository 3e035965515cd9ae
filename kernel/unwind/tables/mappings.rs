// SPDX-License-Identifier: GPL-2.0

//! The mappings of the current process, which the C file `mappings.c` looks up.

use core::ops::Range;

use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    types::NotThreadSafe, //
};

pub(crate) use bindings::unwind_tables_object as Object;

/// The mmap lock of the current process, held for reading.
pub(crate) struct Mappings(NotThreadSafe);

impl Mappings {
    /// Takes the lock.
    ///
    /// # Errors
    ///
    /// `EINTR` if the task is being killed; `EAGAIN` if it must not wait, and would have to.
    pub(crate) fn lock() -> Result<Self> {
        // SAFETY: The current task has an address space: it walks, registers, or is in exec.
        to_result(unsafe { bindings::unwind_tables_lock_mappings() })?;
        Ok(Self(NotThreadSafe))
    }

    /// Finds the mapping of the text that holds address `pc`, and that of the start of its file.
    pub(crate) fn object(&self, pc: usize) -> Option<Object> {
        let mut object = Object::default();

        // SAFETY: `self` holds the lock, and C writes to `object` alone.
        unsafe { bindings::unwind_tables_find_object(pc, &mut object) }.then_some(object)
    }

    /// Finds the address of the program headers of a file: `len` bytes from `offset` on.
    pub(crate) fn headers(&self, object: &Object, offset: u64, len: u64) -> Option<usize> {
        // SAFETY: `self` holds the lock, and C only reads `object`.
        match unsafe { bindings::unwind_tables_find_headers(object, offset, len) } {
            0 => None,
            start => Some(start),
        }
    }

    /// Checks that the part of a file from `offset` on is mapped at `range`. Returns that or, with
    /// `around`, the range of the segment that it is in.
    pub(crate) fn part(
        &self,
        object: &Object,
        offset: u64,
        around: bool,
        mut range: Range<usize>,
    ) -> Option<Range<usize>> {
        let (start, end) = (&mut range.start, &mut range.end);

        // SAFETY: `self` holds the lock, C only reads `object`, and writes to `range` alone.
        unsafe { bindings::unwind_tables_find_part(object, offset, around, start, end) }
            .then_some(range)
    }

    /// Finds the range of the segment with the records of an `.eh_frame`: the first one is at
    /// address `record`, and their index at address `header`.
    pub(crate) fn records(
        &self,
        object: &Object,
        header: usize,
        record: usize,
    ) -> Option<Range<usize>> {
        let (mut start, mut end) = (0, 0);

        // SAFETY: `self` holds the lock, C only reads `object`, and writes to the two numbers.
        unsafe {
            bindings::unwind_tables_find_records(object, header, record, &mut start, &mut end)
        }
        .then_some(start..end)
    }

    /// Checks that what a program registers is mapped.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a range is beyond user space; `EACCES` if the text is not executable, or the
    /// table not readable.
    pub(crate) fn check(&self, table: &bindings::unwind_table) -> Result {
        // SAFETY: `self` holds the lock, and C only reads `table`.
        to_result(unsafe { bindings::unwind_tables_check(table) })
    }
}

impl Drop for Mappings {
    fn drop(&mut self) {
        // SAFETY: `lock()` has taken the lock in this task: `Self` is not `Send`.
        unsafe { bindings::unwind_tables_unlock_mappings() };
    }
}
