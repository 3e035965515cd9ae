// SPDX-License-Identifier: GPL-2.0

//! What the lookups of a stack share, beside their budget.

use core::cell::Cell;

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    parse::{
        Error,
        Packed,
        Rule, //
    },
    recent::Recent,
    section::Section,
    table::Format, //
};

/// What the lookups of a stack share: C keeps the room for it.
pub(crate) struct Walk<'a> {
    /// The section that was found last.
    pub(crate) recent: &'a mut Recent,
    /// The formats that are used.
    pub(crate) formats: Formats,
    /// How many more reads may wait for memory.
    pub(crate) waits: &'a Cell<c_uint>,
    /// How often this stack may still look for a table that nobody has registered.
    discoveries: &'a mut c_uint,
    /// A range of text that is not asked for again in this stack.
    pub(crate) nothing: Nothing<'a>,
    /// What C may remember of this lookup.
    pub(crate) answer: Answer<'a>,
}

impl<'a> Walk<'a> {
    /// What C keeps the room for.
    ///
    /// # Safety
    ///
    /// `walk` must be valid for reading and writing while the result exists, the generation of its
    /// `recent` zero or `recent` what the last call left.
    pub(crate) unsafe fn from_raw(walk: *mut bindings::unwind_tables_walk) -> Self {
        // SAFETY: By the requirements of this function; these are different fields.
        unsafe {
            Self {
                recent: Recent::from_raw(&raw mut (*walk).recent),
                formats: Formats::from_raw(walk),
                waits: Cell::from_mut(&mut (*walk).waits),
                discoveries: &mut (*walk).discoveries,
                nothing: Nothing(&mut (*walk).nothing),
                answer: Answer(&mut (*walk).answer),
            }
        }
    }

    /// Takes one of the discoveries that this stack may make.
    ///
    /// # Errors
    ///
    /// [`Error::Budget`] if there is none left.
    pub(crate) fn begin_discovery(&mut self) -> Result<(), Error> {
        *self.discoveries = self.discoveries.checked_sub(1).ok_or(Error::Budget)?;
        Ok(())
    }
}

/// A set of formats: administrators may have switched one off.
#[derive(Clone, Copy)]
pub(crate) struct Formats(c_uint);

impl Formats {
    /// What C keeps for a stack.
    ///
    /// # Safety
    ///
    /// `walk` must be valid for reading.
    pub(crate) unsafe fn from_raw(walk: *const bindings::unwind_tables_walk) -> Self {
        // SAFETY: By the requirement of this function.
        Self(unsafe { (*walk).formats })
    }

    /// Whether a format is among them.
    #[inline]
    pub(crate) fn has(self, format: Format) -> bool {
        self.0.wrapping_shr(format.number()) & 1 != 0
    }
}

/// What the tables of a section have said of an address, and the generation of the registry that
/// was loaded before. C remembers it for other stacks, unless it is zero.
pub(crate) struct Answer<'a>(&'a mut bindings::unwind_tables_answer);

impl Answer<'_> {
    /// Puts an answer there, or nothing: what is only so for now, or takes the program to mend it,
    /// is asked again.
    #[inline]
    pub(crate) fn set(&mut self, generation: u64, answer: &Result<Rule, Error>) {
        let packed = match answer {
            Ok(rule) => Packed::new(rule),
            Err(Error::NotFound) => Some(Packed::NOTHING),
            Err(_) => None,
        };

        *self.0 = bindings::unwind_tables_answer {
            generation,
            rule: packed.map_or(0, Packed::word),
        };
    }
}

/// A range of text about which nothing is known, or cannot be found out now, and the errno that
/// says which: C does not ask for it again in this stack.
pub(crate) struct Nothing<'a>(&'a mut bindings::unwind_tables_nothing);

impl Nothing<'_> {
    /// Remembers the text of a section that has no table.
    pub(crate) fn set_absent(&mut self, section: &Section) {
        self.set(section.text_start, section.text_end, Error::NotFound, true);
    }

    /// Remembers for this stack that asking for `start..end` yields an error.
    pub(crate) fn set_failed(&mut self, start: usize, end: usize, error: Error) {
        self.set(start, end, error, false);
    }

    fn set(&mut self, start: usize, end: usize, error: Error, known: bool) {
        *self.0 = bindings::unwind_tables_nothing {
            start,
            size: end.saturating_sub(start),
            error: kernel::error::Error::from(error).to_errno(),
            known,
        };
    }
}
