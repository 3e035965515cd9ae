// SPDX-License-Identifier: GPL-2.0

//! How a format reads a table, and what that may cost.

use core::mem::{
    offset_of,
    MaybeUninit, //
};

use super::{
    array::{
        AnyBlock,
        Array,
        Block,
        BlockHead,
        Element,
        Index,
        LargeBlock,
        Lost,
        BLOCK,
        LARGE_BLOCK,
        MORE, //
    },
    error::Error, //
};

/// Bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault;

/// A table's bytes.
///
/// Nothing is assumed of them: two reads of the same place may yield different bytes. So bytes are
/// used only from the copy that was checked.
///
/// The callers ask only for bytes inside the length that they were told.
pub(crate) trait Reader {
    /// Copies `buf.len()` bytes from byte `offset` of the table.
    ///
    /// After an error the contents of `buf` are undefined.
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault>;

    /// Finds the last element of `array` that starts at or below `key`.
    ///
    /// There is one search, `kernel/unwind/tables/bisect.c`. A reader says where the array is.
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost>;

    /// Finds the last element of `index` that starts at or below `key`, and reads the block that it
    /// leads to, into `room`. The table stands at address `base`.
    ///
    /// `None` only means that [`Reader::bisect`] has to find out. Nearly all lookups call this, so
    /// a reader may have a way of its own.
    #[inline]
    fn find<'a>(
        &self,
        base: u64,
        index: &Index,
        key: u64,
        room: &'a mut MaybeUninit<LargeBlock>,
    ) -> Option<AnyBlock<'a>> {
        self.find_in_parts(base, index, key, room)
    }

    /// The same by the other functions. It finds large blocks only.
    #[inline]
    fn find_in_parts<'a>(
        &self,
        base: u64,
        index: &Index,
        key: u64,
        room: &'a mut MaybeUninit<LargeBlock>,
    ) -> Option<AnyBlock<'a>> {
        let element = self.bisect(&index.array(base), key).ok()?;
        let head = BlockHead::new(element);

        self.read_block(index, &head, room).map(AnyBlock::Large)
    }

    /// Reads the block where `head` says that a lookup goes on, into `room`. Nothing waits for
    /// memory.
    ///
    /// `None` if it could not be read so.
    #[inline]
    fn read_on<'a>(
        &self,
        _base: u64,
        index: &Index,
        head: &BlockHead,
        room: &'a mut MaybeUninit<LargeBlock>,
    ) -> Option<&'a mut LargeBlock> {
        self.read_block(index, head, room)
    }

    /// The same by the other functions.
    #[inline]
    fn read_block<'a>(
        &self,
        index: &Index,
        head: &BlockHead,
        room: &'a mut MaybeUninit<LargeBlock>,
    ) -> Option<&'a mut LargeBlock> {
        const MORE_THAN_SMALL: u64 = (LARGE_BLOCK - BLOCK) as u64;
        let BlockHead {
            element, progress, ..
        } = *head;
        let [_, place] = element.rest;
        let place = index
            .blocks
            .wrapping_add(place.into())
            .wrapping_add(progress.place.into());
        let start = place.min(index.last.checked_sub(MORE_THAN_SMALL)?);
        let at = place.wrapping_sub(start);
        if at >= LARGE_BLOCK as u64 {
            return None;
        }

        let block = room.write(Block {
            head: BlockHead { at, ..*head },
            bytes: [0; LARGE_BLOCK + MORE],
        });

        self.read(start, block.bytes.get_mut(..LARGE_BLOCK)?).ok()?;
        Some(block)
    }

    /// Copies `N` bytes from byte `offset` of the table.
    fn read_array<const N: usize>(&self, offset: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];

        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// How much work a stack may still cost.
///
/// One unit is what it costs to pass a row that was read with others. Whoever walks a stack makes
/// one budget for all its frames: then no table can make the walk long, whatever it says.
///
/// C has the same two numbers.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Budget {
    left: u32,
    /// What a single lookup may cost, if it is not a quick one.
    lookup: u32,
}

impl Budget {
    /// Where its parts are, as C expects them.
    pub(crate) const PLACES: [usize; 2] = [offset_of!(Self, left), offset_of!(Self, lookup)];

    /// What it costs to find a function: at most 32 comparisons, and a read of its first rows.
    pub(crate) const FIND: u32 = 32;

    /// What it costs to step over a row that is unusual: a long one takes half a read.
    pub(super) const STEP: u32 = 6;

    /// What a read costs, beside what is done with its bytes.
    pub(super) const READ: u32 = 7;

    /// What it costs to read on in rows, and to pass those that were read: 77 at most.
    pub(crate) const READ_ON: u32 = 64;

    /// How many lookups it takes at least to use up the budget of a stack: one alone may not.
    pub(crate) const LOOKUPS: u32 = 4;

    /// A budget of `units`, which a single lookup may use up.
    pub(crate) fn new(units: u32) -> Self {
        Self {
            left: units,
            lookup: units,
        }
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> u32 {
        self.left
    }

    /// What of it a single lookup may cost.
    pub(crate) fn part(&self) -> Self {
        Self::new(self.left.min(self.lookup))
    }

    /// Does what may cost no more than a single lookup.
    #[inline(always)]
    pub(crate) fn limited<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let mut part = self.part();
        let most = part.left;
        let done = act(&mut part);

        // This does not fail: it was a part.
        let _ = self.spend(most.saturating_sub(part.left));
        done
    }

    /// Takes `units` from what is left.
    ///
    /// # Errors
    ///
    /// [`Error::Budget`] if less than that is left. Then nothing is left.
    #[inline]
    pub(crate) fn spend(&mut self, units: u32) -> Result<(), Error> {
        if self.left < units {
            return self.use_up();
        }
        self.left = self.left.wrapping_sub(units);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn use_up(&mut self) -> Result<(), Error> {
        self.left = 0;
        Err(Error::Budget)
    }
}

/// Takes the first `N` bytes off `bytes`.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;

    *bytes = rest;
    Some(*first)
}
