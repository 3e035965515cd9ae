// SPDX-License-Identifier: GPL-2.0

//! Tables in user memory: nothing else copies from it.

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    bisect,
    parse::{
        Array,
        Element,
        Fault,
        Lost,
        Reader, //
    }, //
};

/// A table in the memory of the current process.
///
/// Reading may sleep, and may wait for a device.
pub(crate) struct UserMemory {
    /// Address of the first byte.
    base: usize,
}

impl UserMemory {
    /// The memory from address `base` on.
    ///
    /// Nothing is checked here: an address that is not user memory faults when it is read.
    pub(crate) fn new(base: usize) -> Self {
        Self { base }
    }
}

impl Reader for UserMemory {
    #[inline]
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let offset = usize::try_from(offset).map_err(|_| Fault)?;
        let addr = self.base.checked_add(offset).ok_or(Fault)?;

        let len = buf.len().try_into().map_err(|_| Fault)?;

        // SAFETY: `buf` has room for so many bytes, and any address may be asked for.
        match unsafe { bindings::unwind_tables_read(buf.as_mut_ptr().cast(), addr, len) } {
            0 => Ok(()),
            _ => Err(Fault),
        }
    }

    #[inline(always)]
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        bisect::in_user_memory(self.base, array, key)
    }
}
