// SPDX-License-Identifier: GPL-2.0

//! The vDSO's table: one for all processes.
//!
//! It is part of an image that the kernel maps into processes, and is read in the kernel's own
//! copy. That cannot fault, and what a process does to its mapping changes nothing for others.

use kernel::sync::SetOnce;

use crate::{
    bisect,
    parse::{
        Array,
        Budget,
        Element,
        Error,
        Fault,
        Lost,
        Reader,
        Rule, //
    },
    section::Header, //
};

static VDSO: SetOnce<Vdso> = SetOnce::new();

/// The vDSO's table.
pub(crate) struct Vdso {
    header: Header,
    table: KernelMemory,
    /// Where the table stands, in bytes from the start of the vDSO.
    offset: usize,
}

impl Vdso {
    /// Makes it known, once.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it has no good header. Then there is no table.
    pub(crate) fn set(table: &'static [u8], offset: usize) -> Result<(), Error> {
        let table = KernelMemory(table);
        let header = Header::read(&table, table.0.len() as u64)?;

        VDSO.populate(Self {
            header,
            table,
            offset,
        });
        Ok(())
    }

    /// The rule that holds at address `pc` if the vDSO starts at address `start`.
    pub(crate) fn rule(start: usize, pc: usize, budget: &mut Budget) -> Result<Rule, Error> {
        let vdso = VDSO.as_ref().ok_or(Error::NotFound)?;
        // Does not wrap: a process has mapped all of the vDSO there.
        let table = start.wrapping_add(vdso.offset);

        vdso.header
            .rule(&vdso.table, table as u64, pc as u64, budget)
    }
}

/// A table in the kernel's own memory.
struct KernelMemory(&'static [u8]);

impl Reader for KernelMemory {
    #[inline]
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..)?.get(..buf.len()))
            .ok_or(Fault)?;

        buf.copy_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Lost> {
        bisect::in_kernel_memory(self.0, array, key)
    }
}
