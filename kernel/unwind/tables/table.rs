// SPDX-License-Identifier: GPL-2.0

//! Tables of all formats: a format is a folder of [`crate::parse`], and a variant here.

use kernel::bindings;

#[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
use crate::parse::eh_frame;
use crate::parse::{
    sframe,
    Arch,
    Error,
    Reader,
    Rule, //
};
use crate::text::{
    Origin,
    State, //
};

/// The architecture of this kernel.
#[cfg(CONFIG_X86_64)]
pub(crate) type Machine = crate::parse::Amd64;

/// The architecture of this kernel.
#[cfg(CONFIG_ARM64)]
pub(crate) type Machine = crate::parse::AArch64;

/// The format of a table, with the number by which programs and C know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Format {
    /// SFrame, version 3.
    SFrame = bindings::UNWIND_TABLE_SFRAME as u8,
    /// `.eh_frame`, with an index.
    EhFrame = bindings::UNWIND_TABLE_EH_FRAME as u8,
}

impl Format {
    /// Number of formats.
    pub(crate) const COUNT: usize = 2;

    /// All formats, in the order in which a lookup asks their tables.
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::SFrame, Self::EhFrame];

    /// Says whether this kernel reads tables of this format.
    pub(crate) const fn is_built_in(self) -> bool {
        match self {
            Self::SFrame => cfg!(CONFIG_UNWIND_USER_SFRAME),
            Self::EhFrame => cfg!(CONFIG_UNWIND_USER_EH_FRAME),
        }
    }

    /// Selects the element of this format.
    pub(crate) fn of<T>(self, [sframe, eh_frame]: &[T; Self::COUNT]) -> &T {
        match self {
            Self::SFrame => sframe,
            Self::EhFrame => eh_frame,
        }
    }

    /// Selects the element of this format, to change it.
    pub(crate) fn of_mut<T>(self, [sframe, eh_frame]: &mut [T; Self::COUNT]) -> &mut T {
        match self {
            Self::SFrame => sframe,
            Self::EhFrame => eh_frame,
        }
    }
}

/// A table: its range, its origin and its state.
///
/// # Invariants
///
/// - `len` is not zero, and the table ends below 2^64. Byte `place` is in it.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    /// Address of the first byte.
    start: usize,
    /// Length in bytes; the table may use less.
    len: core::num::NonZeroU32,
    /// Offset of the header, in bytes.
    place: u32,
    /// Who registered it.
    pub(crate) origin: Origin,
    /// What was found out about it.
    pub(crate) state: State,
}

impl Table {
    /// Makes a table of the bytes `start..end`, with its header at address `header`.
    ///
    /// Returns `None` if the range is empty, has 4 GiB or more, or does not hold the header.
    pub(crate) fn new(start: usize, end: usize, header: usize, origin: Origin) -> Option<Self> {
        let len = u32::try_from(end.checked_sub(start)?).ok()?;
        let place = u32::try_from(header.checked_sub(start)?).ok()?;

        // INVARIANT: Just checked.
        (place < len).then_some(Self {
            start,
            len: len.try_into().ok()?,
            place,
            origin,
            state: State::Unread,
        })
    }

    /// Says whether exec or the program has registered the table.
    pub(crate) fn is_explicit(&self) -> bool {
        self.origin != Origin::Discovery
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Returns the address after the last byte.
    pub(crate) fn end(&self) -> usize {
        // Does not wrap: it was a number before it became a length.
        self.start.wrapping_add(self.len.get() as usize)
    }

    /// Returns the address of the header.
    pub(crate) fn header(&self) -> usize {
        // Does not wrap: it is in the table.
        self.start.wrapping_add(self.place as usize)
    }

    /// Says whether the table has a byte in `start..end`.
    pub(crate) fn is_in(&self, start: usize, end: usize) -> bool {
        self.start < end && start < self.end()
    }
}

/// The header of a table: all that is kept of its bytes.
#[derive(Clone, Copy)]
pub(crate) enum Header {
    /// Header of an SFrame table.
    SFrame(sframe::Header<Machine>),
    /// Header of an `.eh_frame` table.
    #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
    EhFrame(eh_frame::Header<Machine>),
}

impl Header {
    /// Reads and checks the header of `table`, whose first byte is the first one of `reader`.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if the header cannot be read, [`Error::Malformed`] if it contradicts the
    /// format, and [`Error::NotFound`] if this kernel does not read that format.
    pub(crate) fn read<R: Reader>(
        format: Format,
        table: &Table,
        reader: &R,
    ) -> Result<Self, Error> {
        let len = table.len.get();

        match format {
            Format::SFrame => sframe::Header::read(reader, len.into()).map(Self::SFrame),
            #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
            Format::EhFrame => eh_frame::Header::read(reader, table.place, len).map(Self::EhFrame),
            #[cfg(not(CONFIG_UNWIND_USER_EH_FRAME))]
            Format::EhFrame => Err(Error::NotFound),
        }
    }

    /// Finds the rule for address `pc` in the table at address `base`.
    ///
    /// The rule has the place of the register with the DWARF number `tracked` instead of that of
    /// the frame pointer. SFrame knows the place of the frame pointer only.
    pub(crate) fn rule<R: Reader>(
        &self,
        reader: &R,
        base: usize,
        pc: usize,
        tracked: u32,
    ) -> Result<Rule, Error> {
        match self {
            Self::SFrame(_) if tracked != Machine::FP => Err(Error::NotFound),
            Self::SFrame(header) => header.rule(reader, base as u64, pc as u64),
            #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
            Self::EhFrame(header) => rule_by_eh_frame(header, reader, base, pc, tracked),
        }
    }
}

/// Finds the rule in an `.eh_frame` table.
///
/// Not inlined: lookups in SFrame do not need so much of the kernel's stack.
#[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
#[inline(never)]
fn rule_by_eh_frame<R: Reader>(
    header: &eh_frame::Header<Machine>,
    reader: &R,
    base: usize,
    pc: usize,
    tracked: u32,
) -> Result<Rule, Error> {
    header.rule(reader, base as u64, pc as u64, tracked)
}
