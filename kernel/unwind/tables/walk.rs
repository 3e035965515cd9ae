// SPDX-License-Identifier: GPL-2.0

//! The state that the lookups of a stack share.

use core::{
    cell::Cell,
    marker::PhantomData, //
};

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    last::Last,
    parse::{
        Error,
        Packed,
        Rule, //
    },
    table::{
        Format,
        Table, //
    },
    text::Text,
    user_memory::UserMemory, //
};

/// The state that the lookups of a stack share. C has the memory for it.
///
/// # Invariants
///
/// - `raw` is valid for reading and writing for `'a`, and nothing else uses it meanwhile. All of it
///   is initialised.
/// - Its `last` is valid for reading and writing for `'a`, and nothing else uses it meanwhile. It
///   has a generation of zero, or is what the last lookup left.
pub(crate) struct Walk<'a> {
    raw: *mut bindings::unwind_tables_walk,
    _lifetime: PhantomData<&'a mut bindings::unwind_tables_walk>,
}

impl Walk<'_> {
    /// Wraps the state that C has.
    ///
    /// # Safety
    ///
    /// `raw` must be initialised and valid for reading and writing while the result exists, and
    /// nothing else may use it. The same holds for what its `last` points to, which must have a
    /// generation of zero, or be what the last call left.
    pub(crate) unsafe fn from_raw(raw: *mut bindings::unwind_tables_walk) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            raw,
            _lifetime: PhantomData,
        }
    }

    /// Returns the text that was found last.
    pub(crate) fn last(&mut self) -> &mut Last {
        // SAFETY: By the type invariants, `raw` and its `last` are valid, only used by this, and
        // `last` is what was left there or has a generation of zero.
        unsafe { Last::from_raw((*self.raw).last) }
    }

    /// Makes `text` the last one, which was looked for in this generation; or, if it has no table,
    /// remembers that.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if it has no table.
    pub(crate) fn open(&mut self, text: &Text) -> Result<(), Error> {
        let generation = self.generation();

        if text.is_absent() {
            self.set_skipped(text.start, text.end, Error::NotFound);
            return Err(Error::NotFound);
        }
        self.last().set(generation, text);
        Ok(())
    }

    /// Returns the last text's table of `format`, and the user memory from its start on.
    pub(crate) fn table(&mut self, format: Format) -> Option<(&Table, UserMemory<'_>)> {
        // SAFETY: As in `last`. It is not a part of `raw`, so `memory` uses nothing of it.
        let last: &Last = unsafe { Last::from_raw((*self.raw).last) };
        let table = last.table(format)?;

        Some((table, self.memory(table.start())))
    }

    /// Returns the user memory from address `base` on, for as much as this walk may read.
    pub(crate) fn memory(&mut self, base: usize) -> UserMemory<'_> {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this. These are
        // different fields.
        let (budget, missing) = unsafe { (&mut (*self.raw).budget, &mut (*self.raw).missing) };

        UserMemory::new(base, Cell::from_mut(budget), Cell::from_mut(missing))
    }

    /// Returns the generation that C has loaded before the lookup.
    pub(crate) fn generation(&self) -> u64 {
        // SAFETY: By the type invariants, `raw` is valid for reading.
        unsafe { (*self.raw).generation }
    }

    /// Keeps C from remembering this lookup: the next one for the address may have another result.
    pub(crate) fn forget(&mut self) {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        unsafe { (*self.raw).generation = 0 };
    }

    /// Packs the result of a lookup into a word for C: the rule; or that the rule is in the walk's
    /// frame, because it does not fit; or an error.
    pub(crate) fn put(&mut self, found: Result<Rule, Error>) -> u64 {
        match found {
            Ok(rule) => Packed::new(&rule).map_or_else(|| self.put_large(rule), Packed::word),
            Err(Error::NotFound) => Packed::NOTHING.word(),
            Err(error) => {
                let errno = kernel::error::Error::from(error).to_errno().unsigned_abs();

                u64::from(bindings::UNWIND_TABLES_RULE_ERROR)
                    | u64::from(errno) << bindings::UNWIND_TABLES_RULE_ERRNO
            }
        }
    }

    /// Writes a rule to the walk's frame. Returns the word that says so.
    #[cold]
    fn put_large(&mut self, rule: Rule) -> u64 {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this. A rule is laid out
        // as a frame: see `layout`.
        unsafe { (&raw mut (*self.raw).frame).cast::<Rule>().write(rule) };
        bindings::UNWIND_TABLES_RULE_LARGE.into()
    }

    /// Makes the walk skip `start..end`: C returns `error` for an address there, and does not ask.
    pub(crate) fn set_skipped(&mut self, start: usize, end: usize, error: Error) {
        let skipped = bindings::unwind_tables_skipped {
            start,
            size: end.saturating_sub(start),
            error: kernel::error::Error::from(error).to_errno(),
        };

        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        unsafe { (*self.raw).skipped = skipped };
    }

    /// Takes one of the discoveries that this stack may make, once for all tries of a lookup.
    /// Returns whether one was left.
    pub(crate) fn begin_discovery(&mut self) -> bool {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        let (left, discovers) =
            unsafe { (&mut (*self.raw).discoveries, &mut (*self.raw).discovers) };

        if !*discovers {
            let Some(rest) = left.checked_sub(1) else {
                return false;
            };
            *left = rest;
            *discovers = true;
        }
        true
    }
}
