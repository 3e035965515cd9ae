// SPDX-License-Identifier: GPL-2.0

//! Tables in user memory: nothing else copies from it.

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
        Array,
        Block,
        Element,
        Fault,
        Lost,
        Reader, //
    }, //
};

static_assert!(Block::LEN == bindings::UNWIND_TABLES_BLOCK as usize);

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
    fn read_block<'a>(
        &self,
        offset: u64,
        room: &'a mut MaybeUninit<Block>,
    ) -> Result<&'a Block, Fault> {
        let offset = usize::try_from(offset).map_err(|_| Fault)?;
        let addr = self.base.checked_add(offset).ok_or(Fault)?;
        let to = room.as_mut_ptr().cast::<u8>();

        // SAFETY: A block has `LEN` bytes and `MORE` behind them. Any address may be asked for, and
        // only this thread uses the number of waits.
        let ret = unsafe {
            to.add(Block::LEN).write_bytes(0, Block::MORE);
            bindings::unwind_tables_read_block(to.cast(), addr, self.waits.as_ptr())
        };
        match ret {
            // SAFETY: The first bytes were read, the others written above.
            0 => Ok(unsafe { room.assume_init_ref() }),
            _ => Err(Fault),
        }
    }

    #[inline(always)]
    fn bisect_wide<'a>(
        &self,
        base: u64,
        place: u64,
        count: u32,
        key: u64,
        room: &'a mut MaybeUninit<Element>,
    ) -> Result<&'a Element, Lost> {
        // Only tests read a table that was written for another place.
        if base != self.base as u64 {
            let array = Array::wide(base, place, count);

            return Ok(room.write(self.bisect(&array, key)?));
        }
        let first = base.wrapping_add(place) as usize;

        bisect::wide_in_user_memory(first, count, key, self.waits, room)
    }

    #[inline(always)]
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        bisect::in_user_memory(self.base, array, key, self.waits)
    }
}
