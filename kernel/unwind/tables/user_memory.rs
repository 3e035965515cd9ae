// SPDX-License-Identifier: GPL-2.0

//! Tables in user memory: the only place that copies from it.

use core::mem::MaybeUninit;

use kernel::{
    bindings,
    prelude::*, //
};

use crate::parse::{
    sframe::{
        Abi,
        Header,
        Lost,
        Place, //
    },
    Fault,
    Reader, //
};

// C understands what these are laid out as.
const _: () =
    assert!(size_of::<crate::section::Header>() == size_of::<bindings::unwind_tables_header>());
const _: () = assert!(size_of::<Place>() == size_of::<bindings::unwind_tables_place>());
const _: () = assert!(align_of::<Place>() == align_of::<bindings::unwind_tables_place>());

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

    /// Numbers are those of this machine: tables of others are not registered.
    #[inline(always)]
    fn find<'a, A: Abi>(
        &self,
        header: &Header<A>,
        base: u64,
        pc: u64,
        place: &'a mut MaybeUninit<Place>,
    ) -> Result<&'a Place, Lost> {
        // SAFETY: Both are laid out as C expects. Of the table any bytes may be asked for.
        let ret = unsafe {
            bindings::unwind_tables_find(
                base as usize,
                core::ptr::from_ref(header).cast(),
                pc as usize,
                place.as_mut_ptr().cast(),
            )
        };

        if ret != 0 {
            return Err(lost(ret, place));
        }
        // SAFETY: C has filled it.
        Ok(unsafe { place.assume_init_ref() })
    }
}

/// Why C says that a search was lost.
#[cold]
#[inline(never)]
fn lost(ret: c_int, place: &MaybeUninit<Place>) -> Lost {
    // SAFETY: For these two reasons, C has set the number.
    let nth = || unsafe { (*place.as_ptr()).nth };

    match Error::from_errno(ret) {
        ENOENT => Lost::NotFound,
        ERANGE => Lost::Beyond(nth()),
        EINVAL => Lost::Unsorted(nth()),
        _ => Lost::Fault,
    }
}
