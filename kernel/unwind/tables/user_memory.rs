// SPDX-License-Identifier: GPL-2.0

//! Tables in user memory. `bisect` reads there, too.

use core::{
    cell::Cell,
    mem::MaybeUninit, //
};

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    bisect,
    parse::{
        AnyBlock,
        Array,
        BlockHead,
        Element,
        Fault,
        Index,
        LargeBlock,
        Lost,
        Reader, //
    }, //
};

/// A table in the memory of the current process.
///
/// A read may sleep, and may wait for a device. It first tries without. Only so many reads of a
/// stack may wait: for the others what is not there is a fault, and the next stack gets further.
pub(crate) struct UserMemory<'a> {
    /// Address of the first byte.
    base: usize,
    /// How many more reads may wait.
    waits: &'a Cell<c_uint>,
}

impl<'a> UserMemory<'a> {
    /// The memory from address `base` on, of which `waits` reads may wait.
    ///
    /// Nothing is checked here: an address that is not user memory faults when it is read.
    pub(crate) fn new(base: usize, waits: &'a Cell<c_uint>) -> Self {
        Self { base, waits }
    }
}

impl Reader for UserMemory<'_> {
    #[inline]
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let offset = usize::try_from(offset).map_err(|_| Fault)?;
        let addr = self.base.checked_add(offset).ok_or(Fault)?;

        let len = buf.len().try_into().map_err(|_| Fault)?;

        let to = buf.as_mut_ptr().cast();
        // SAFETY: `buf` has room for so many bytes, any address may be asked for, and only this
        // thread uses the number of waits.
        match unsafe { bindings::unwind_tables_read(to, addr, len, self.waits.as_ptr()) } {
            0 => Ok(()),
            _ => Err(Fault),
        }
    }

    #[inline(always)]
    fn find<'a>(
        &self,
        base: u64,
        index: &Index,
        key: u64,
        room: &'a mut MaybeUninit<LargeBlock>,
    ) -> Option<AnyBlock<'a>> {
        // Only tests read a table that was written for another place.
        if base != self.base as u64 {
            return self.find_in_parts(base, index, key, room);
        }
        bisect::block_in_user_memory(&index.at(base), key, room)
    }

    fn read_on<'a>(
        &self,
        base: u64,
        index: &Index,
        head: &BlockHead,
        room: &'a mut MaybeUninit<LargeBlock>,
    ) -> Option<&'a mut LargeBlock> {
        if base != self.base as u64 {
            return self.read_block(index, head, room);
        }
        bisect::read_on_in_user_memory(&index.at(base), head, room)
    }

    #[inline(always)]
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        bisect::in_user_memory(self.base, array, key, self.waits)
    }
}
