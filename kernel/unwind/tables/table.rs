// SPDX-License-Identifier: GPL-2.0

//! Tables of all formats: a format is a folder of [`crate::parse`], and a variant here.

use kernel::bindings;

#[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
use crate::parse::eh_frame;
/// What a quick lookup has left to be done.
pub(crate) use crate::parse::sframe::Rest;
use crate::parse::{
    sframe,
    Block,
    Budget,
    Error,
    Index,
    Packed,
    Reader,
    Rule,
    Sink, //
};

/// What this kernel runs.
#[cfg(CONFIG_X86_64)]
pub(crate) type Machine = crate::parse::Amd64;

/// What a table is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Format {
    /// SFrame, version 3.
    SFrame,
    /// `.eh_frame`, with an index.
    EhFrame,
}

impl Format {
    /// How many there are.
    pub(crate) const COUNT: usize = 2;

    /// All of them, in the order in which they are asked for an address: if the first says nothing
    /// about it, the next one may.
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::SFrame, Self::EhFrame];

    /// The first of them, which nobody can switch off alone.
    pub(crate) const FIRST: Self = Self::SFrame;

    /// The others.
    pub(crate) const OTHERS: [Self; Self::COUNT - 1] = [Self::EhFrame];

    /// Whether this kernel reads such tables.
    pub(crate) const fn is_built_in(self) -> bool {
        match self {
            Self::SFrame => true,
            Self::EhFrame => cfg!(CONFIG_UNWIND_USER_EH_FRAME),
        }
    }

    /// Its number, as programs and C know it.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::SFrame => bindings::UNWIND_TABLE_SFRAME,
            Self::EhFrame => bindings::UNWIND_TABLE_EH_FRAME,
        }
    }

    /// One value of each, of which this is that of this format.
    pub(crate) fn of<T>(self, [sframe, eh_frame]: &[T; Self::COUNT]) -> &T {
        match self {
            Self::SFrame => sframe,
            Self::EhFrame => eh_frame,
        }
    }

    /// The same, to be changed.
    pub(crate) fn of_mut<T>(self, [sframe, eh_frame]: &mut [T; Self::COUNT]) -> &mut T {
        match self {
            Self::SFrame => sframe,
            Self::EhFrame => eh_frame,
        }
    }
}

/// Where a table is.
///
/// # Invariants
///
/// - `len` is not zero, and the table ends below 2^64. Byte `place` is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Address of the first byte.
    start: usize,
    /// Bytes that it may use.
    len: core::num::NonZeroU32,
    /// Where its header is, in bytes from its start.
    place: u32,
}

impl Table {
    /// The table at the addresses from `start` up to `end`, whose header is at address `header`.
    ///
    /// None if there can be none: if it is empty, has 4 GiB or more, or the header is elsewhere.
    pub(crate) fn new(start: usize, end: usize, header: usize) -> Option<Self> {
        let len = u32::try_from(end.checked_sub(start)?).ok()?;
        let place = u32::try_from(header.checked_sub(start)?).ok()?;

        // INVARIANT: Just checked.
        (place < len).then_some(Self {
            start,
            len: len.try_into().ok()?,
            place,
        })
    }

    /// Address of the first byte.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Address after the last byte that it may use.
    pub(crate) fn end(&self) -> usize {
        // Does not wrap: it was a number before it became a length.
        self.start.wrapping_add(self.len.get() as usize)
    }

    /// Address of its header.
    pub(crate) fn header(&self) -> usize {
        // Does not wrap: it is in the table.
        self.start.wrapping_add(self.place as usize)
    }

    /// Whether it has a byte in `start..end`.
    pub(crate) fn is_in(&self, start: usize, end: usize) -> bool {
        self.start < end && start < self.end()
    }
}

/// What lookups in the tables of a text have in common, within a stack.
#[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
pub(crate) type Common = Option<eh_frame::Common>;
/// SFrame has nothing of that kind.
#[cfg(not(CONFIG_UNWIND_USER_EH_FRAME))]
pub(crate) type Common = ();

/// The header of a table: all that is kept of its bytes.
#[derive(Clone, Copy)]
pub(crate) enum Header {
    /// Of SFrame.
    SFrame(sframe::Header<Machine>),
    /// Of `.eh_frame`.
    #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
    EhFrame(eh_frame::Header<Machine>),
}

/// The rule that holds at address `pc`, from what a search of an [`Index`] has found. None if it is
/// not found quickly: then `block` says where to go on.
#[inline(always)]
pub(crate) fn block_rule<const N: usize>(block: &mut Block<N>, pc: usize) -> Option<Packed> {
    sframe::block_rule::<Machine, N>(block, pc as u64)
}

impl Header {
    /// Reads and checks the header of `table`, whose first byte is the first one of `reader`.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if it cannot be read, [`Error::Malformed`] if it is none, and
    /// [`Error::NotFound`] if this kernel does not read that format.
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

    /// The index, if quick lookups can search it.
    pub(crate) fn index(&self) -> Option<Index> {
        match self {
            Self::SFrame(header) => header.usual_index(),
            #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
            Self::EhFrame(_) => None,
        }
    }

    /// The rule that holds at address `pc`, from the table that stands at address `base`, if it is
    /// found quickly; or what is left to be done, for [`Header::put_rest`].
    #[inline(always)]
    pub(crate) fn quick_rule<R: Reader>(
        &self,
        reader: &R,
        base: usize,
        pc: usize,
        budget: &mut Budget,
    ) -> Result<Packed, Rest> {
        match self {
            Self::SFrame(header) => header.quick_rule(reader, base as u64, pc as u64, budget),
            #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
            Self::EhFrame(_) => Err(Rest::Search),
        }
    }

    /// Does what is left to be done, and puts the rule into `sink`.
    #[expect(clippy::too_many_arguments)]
    #[inline(always)]
    pub(crate) fn put_rest<R: Reader>(
        &self,
        rest: &Rest,
        _common: &mut Common,
        reader: &R,
        base: usize,
        pc: usize,
        budget: &mut Budget,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        match self {
            Self::SFrame(header) => {
                header.put_rest(rest, reader, base as u64, pc as u64, budget, sink)
            }
            #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
            Self::EhFrame(header) => {
                put_rule_by_eh_frame(header, _common, reader, base, pc, budget, sink)
            }
        }
    }

    /// The rule, but what it says of the frame pointer is true of the register with the DWARF
    /// number `register`. That is so of `.eh_frame` alone: SFrame knows no other registers.
    #[inline(always)]
    #[cfg_attr(not(CONFIG_UNWIND_USER_EH_FRAME), expect(unused_variables))]
    pub(crate) fn rule_of<R: Reader>(
        &self,
        register: u32,
        reader: &R,
        base: usize,
        pc: usize,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        match self {
            Self::SFrame(_) => Err(Error::NotFound),
            #[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
            Self::EhFrame(header) => budget
                .limited(|budget| header.rule_of(register, reader, base as u64, pc as u64, budget)),
        }
    }
}

/// The same as [`Header::put_rest`], where that is all.
///
/// It is not inlined: it needs more of the kernel's stack, which those by SFrame need not.
#[cfg(CONFIG_UNWIND_USER_EH_FRAME)]
#[inline(never)]
fn put_rule_by_eh_frame<R: Reader>(
    header: &eh_frame::Header<Machine>,
    common: &mut Common,
    reader: &R,
    base: usize,
    pc: usize,
    budget: &mut Budget,
    sink: &mut impl Sink,
) -> Result<(), Error> {
    let rule = budget
        .limited(|budget| header.rule_with(common, reader, base as u64, pc as u64, budget))?;

    sink.put(rule);
    Ok(())
}
