// SPDX-License-Identifier: GPL-2.0

//! The vDSO's tables: the same for all processes.
//!
//! It is part of an image that the kernel maps into processes, and is read in the kernel's own
//! copy. That cannot fault, and what a process does to its mapping changes nothing for others.

use kernel::sync::SetOnce;

use crate::{
    bisect,
    parse::{
        elf,
        Array,
        Budget,
        Element,
        Error,
        Fault,
        Lost,
        Reader,
        Rule, //
    },
    registry::TARGET,
    table::{
        Common,
        Format,
        Header,
        Table, //
    },
    walk::Formats,
};

static VDSO: SetOnce<Vdso> = SetOnce::new();

/// The vDSO's tables, by format.
pub(crate) struct Vdso([Option<Known>; Format::COUNT]);

/// A table of the vDSO.
struct Known {
    header: Header,
    memory: KernelMemory,
    /// Where the table stands, in bytes from the start of the vDSO.
    offset: usize,
}

impl Vdso {
    /// Makes the tables of an image known, once.
    ///
    /// # Errors
    ///
    /// Why there is no table, or the last one cannot be used.
    pub(crate) fn set(image: &'static [u8]) -> Result<(), &'static str> {
        let mut budget = Budget::new(elf::MAX_UNITS);
        let memory = KernelMemory(image);
        let elf::Object {
            sframe, eh_frame, ..
        } = match elf::object(&memory, image.len() as u64, 0, &TARGET, &mut budget) {
            Ok(object) => object,
            Err(elf::Error::Absent(absence)) => return Err(absence.text()),
            Err(_) => return Err("cannot be read"),
        };
        let mut known = [None, None];
        let mut result = Ok(());

        for (format, segment) in [(Format::SFrame, sframe), (Format::EhFrame, eh_frame)] {
            let Some(segment) = segment.filter(|_| format.is_built_in()) else {
                continue;
            };
            match Known::new(format, image, segment.offset as usize, segment.len as usize) {
                Ok(table) => *format.of_mut(&mut known) = Some(table),
                Err(Error::Malformed(malformed)) => result = Err(malformed.reason.text()),
                Err(_) => result = Err("cannot be read"),
            }
        }
        VDSO.populate(Self(known));
        result
    }

    /// The rule that holds at address `pc` if the vDSO starts at address `start`, from tables of
    /// these formats.
    pub(crate) fn rule(
        start: usize,
        pc: usize,
        formats: Formats,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        let vdso = VDSO.as_ref().ok_or(Error::NotFound)?;
        let mut nothing = Error::NotFound;

        for format in Format::ALL {
            let Some(known) = format.of(&vdso.0).as_ref().filter(|_| formats.has(format)) else {
                continue;
            };
            // Does not wrap: a process has mapped all of the vDSO there.
            let base = start.wrapping_add(known.offset);

            let common = &mut Common::default();
            let mut rule = None;

            match known.header.quick_rule(&known.memory, base, pc, budget) {
                Ok(packed) => return packed.rule().ok_or(Error::NotFound),
                Err(rest) => {
                    let (header, memory) = (&known.header, &known.memory);

                    match header.put_rest(&rest, common, memory, base, pc, budget, &mut rule) {
                        Ok(()) => return rule.ok_or(Error::NotFound),
                        Err(Error::Budget) => return Err(Error::Budget),
                        Err(error) if nothing == Error::NotFound => nothing = error,
                        Err(_) => {}
                    }
                }
            }
        }
        Err(nothing)
    }
}

impl Known {
    /// The table of `format` of an image, which has its header, or all of it, in the `len` bytes
    /// from byte `offset`.
    fn new(format: Format, image: &'static [u8], offset: usize, len: usize) -> Result<Self, Error> {
        // The records of `.eh_frame` are anywhere: all of the image is the table.
        let (start, end) = match format {
            Format::SFrame => (offset, offset.saturating_add(len)),
            Format::EhFrame => (0, image.len()),
        };
        let memory = KernelMemory(image.get(start..end).ok_or(Error::Fault)?);
        let table = Table::new(start, end, offset).ok_or(Error::Fault)?;

        Ok(Self {
            header: Header::read(format, &table, &memory)?,
            memory,
            offset: start,
        })
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
