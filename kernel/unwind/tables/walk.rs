// SPDX-License-Identifier: GPL-2.0

//! What the lookups of a stack share.

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
    user_memory::UserMemory, //
};

/// What the lookups of a stack share: C keeps the room for it.
///
/// # Invariants
///
/// - `raw` is valid for reading and writing for `'a`, and nothing else uses it meanwhile. All of it
///   is initialised.
/// - The generation of its `last` is zero, or `last` is what the last lookup left.
pub(crate) struct Walk<'a> {
    raw: *mut bindings::unwind_tables_walk,
    _lifetime: PhantomData<&'a mut bindings::unwind_tables_walk>,
}

impl Walk<'_> {
    /// Takes what C keeps the room for.
    ///
    /// # Safety
    ///
    /// `raw` must be initialised and valid for reading and writing while the result exists, and
    /// nothing else may use it. The generation of its `last` must be zero, or `last` what the last
    /// call left.
    pub(crate) unsafe fn from_raw(raw: *mut bindings::unwind_tables_walk) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            raw,
            _lifetime: PhantomData,
        }
    }

    /// Returns the text that was found last.
    pub(crate) fn last(&mut self) -> &mut Last {
        // SAFETY: By the type invariants, `raw` is valid, only used by this, and its `last` is
        // what was left there or has a generation of zero.
        unsafe { Last::from_raw(&raw mut (*self.raw).last) }
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

    /// Lets C remember nothing of this address: asked again, the tables may say something else.
    pub(crate) fn forget(&mut self) {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        unsafe { (*self.raw).generation = 0 };
    }

    /// Puts what a lookup has found into a word for C: a rule, if it fits; that it is in the walk's
    /// frame; or an error.
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

    /// Puts a rule into the walk's frame.
    #[cold]
    fn put_large(&mut self, rule: Rule) -> u64 {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this. A rule is laid out
        // as a frame: see `layout`.
        unsafe { (&raw mut (*self.raw).frame).cast::<Rule>().write(rule) };
        bindings::UNWIND_TABLES_RULE_LARGE.into()
    }

    /// Remembers for this stack that lookups in `start..end` fail with `error`: C does not ask for
    /// this text again.
    pub(crate) fn set_nothing(&mut self, start: usize, end: usize, error: Error) {
        let nothing = bindings::unwind_tables_nothing {
            start,
            size: end.saturating_sub(start),
            error: kernel::error::Error::from(error).to_errno(),
        };

        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        unsafe { (*self.raw).nothing = nothing };
    }

    /// Takes one of the discoveries that this stack may make, once for all tries of a lookup.
    /// Returns whether there was one left.
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
