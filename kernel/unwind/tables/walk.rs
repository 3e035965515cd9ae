// SPDX-License-Identifier: GPL-2.0

//! What the lookups of a stack share.

use core::{
    cell::Cell,
    marker::PhantomData,
    mem::MaybeUninit, //
};

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    parse::{
        Budget,
        Error,
        Packed,
        Rule,
        Sink, //
    },
    recent::Recent,
    section::Section,
    table::Format, //
};

/// What the lookups of a stack share: C keeps the room for it.
///
/// # Invariants
///
/// - `raw` is valid for reading and writing for `'a`, and nothing else uses it meanwhile. What the
///   functions here refer to is initialised, but for `frame` and the words of `recent`.
/// - The generation of its `recent` is zero, or `recent` is what the last lookup left.
pub(crate) struct Walk<'a> {
    raw: *mut bindings::unwind_tables_walk,
    _lifetime: PhantomData<&'a mut bindings::unwind_tables_walk>,
}

impl Walk<'_> {
    /// What C keeps the room for.
    ///
    /// # Safety
    ///
    /// `raw` must be valid for reading and writing while the result exists, and nothing else may
    /// use it. It must be from `unwind_tables_start()`, and its `nothing` be set; the generation of
    /// its `recent` must be zero, or `recent` what the last call left.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(raw: *mut bindings::unwind_tables_walk) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            raw,
            _lifetime: PhantomData,
        }
    }

    /// The formats that are used.
    #[inline(always)]
    pub(crate) fn formats(&self) -> Formats {
        // SAFETY: By the type invariants, `raw` is valid for reading.
        Formats(unsafe { (*self.raw).formats })
    }

    /// What a lookup uses of it.
    #[inline(always)]
    pub(crate) fn lookups(&mut self) -> Lookups<'_> {
        // SAFETY: By the type invariants, `raw` is valid, only used by this, and its `recent` is
        // what was left there or has a generation of zero. These are different fields. A rule is
        // laid out as a frame, and a budget as two numbers: see `layout`.
        unsafe {
            Lookups {
                recent: Recent::from_raw(&raw mut (*self.raw).recent),
                waits: Cell::from_mut(&mut (*self.raw).waits),
                budget: &mut *(&raw mut (*self.raw).budget).cast(),
                answer: Answer {
                    word: &mut (*self.raw).answer,
                    rule: &mut *(&raw mut (*self.raw).frame).cast(),
                },
            }
        }
    }

    /// How many more reads may wait for memory.
    pub(crate) fn waits(&mut self) -> &Cell<c_uint> {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        Cell::from_mut(unsafe { &mut (*self.raw).waits })
    }

    /// Whether there was no memory for something that this walk can do without.
    pub(crate) fn lacks_memory(&self) -> bool {
        // SAFETY: By the type invariants, `raw` is valid for reading.
        unsafe { (*self.raw).lacks_memory }
    }

    /// Remembers that for the rest of the walk.
    pub(crate) fn set_lacks_memory(&mut self) {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        unsafe { (*self.raw).lacks_memory = true };
    }

    /// Does what may cost no more than a single lookup.
    pub(crate) fn with_budget<T>(&mut self, act: impl FnOnce(&mut Self, &mut Budget) -> T) -> T {
        let mut part = self.lookups().budget.part();
        let most = part.left();
        let done = act(self, &mut part);

        // This does not fail: it was a part.
        let _ = self
            .lookups()
            .budget
            .spend(most.saturating_sub(part.left()));
        done
    }

    /// A range of text that is not asked for again in this stack.
    pub(crate) fn nothing(&mut self) -> Nothing<'_> {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        Nothing(unsafe { &mut (*self.raw).nothing })
    }

    /// Takes one of the discoveries that this stack may make. Returns whether there was one left.
    pub(crate) fn begin_discovery(&mut self) -> bool {
        // SAFETY: By the type invariants, `raw` is valid, and only used by this.
        let discoveries = unsafe { &mut (*self.raw).discoveries };

        match discoveries.checked_sub(1) {
            Some(left) => {
                *discoveries = left;
                true
            }
            None => false,
        }
    }
}

/// What a lookup uses of a [`Walk`].
pub(crate) struct Lookups<'a> {
    /// The section that was found last.
    pub(crate) recent: &'a mut Recent,
    /// How many more reads may wait for memory.
    pub(crate) waits: &'a Cell<c_uint>,
    /// What further lookups may cost.
    pub(crate) budget: &'a mut Budget,
    /// Where the answer goes.
    pub(crate) answer: Answer<'a>,
}

/// Where the answer of a lookup goes: into a word, or else into a rule.
///
/// C may remember a word for other stacks, unless its generation is zero. That is the registry's,
/// which C has loaded before.
pub(crate) struct Answer<'a> {
    word: &'a mut bindings::unwind_tables_answer,
    rule: &'a mut MaybeUninit<Rule>,
}

impl Answer<'_> {
    /// The generation: C has loaded it.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u64 {
        self.word.generation
    }

    /// Records that there is no rule, and returns `error`. The tables are asked again about errors
    /// that may pass.
    pub(crate) fn put_error(&mut self, error: Error) -> Result {
        match error {
            Error::NotFound => self.word.rule = Packed::NOTHING.word(),
            _ => self.put_nothing(),
        }
        Err(error.into())
    }

    /// Lets C remember nothing of this address.
    pub(crate) fn forget(&mut self) {
        self.word.generation = 0;
    }

    /// Records that there is no word.
    fn put_nothing(&mut self) {
        *self.word = bindings::unwind_tables_answer {
            generation: 0,
            rule: 0,
        };
    }
}

impl Sink for Answer<'_> {
    #[inline(always)]
    fn put_packed(&mut self, packed: Packed) {
        self.word.rule = packed.word();
    }

    fn put_large(&mut self, rule: Rule) {
        self.put_nothing();
        self.rule.write(rule);
    }
}

/// A set of formats: administrators may have switched one off.
#[derive(Clone, Copy)]
pub(crate) struct Formats(c_uint);

impl Formats {
    /// Whether a format is among them.
    #[inline]
    pub(crate) fn has(self, format: Format) -> bool {
        self.0.wrapping_shr(format.number()) & 1 != 0
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

    fn set(&mut self, start: usize, end: usize, error: Error, remember: bool) {
        *self.0 = bindings::unwind_tables_nothing {
            start,
            size: end.saturating_sub(start),
            error: kernel::error::Error::from(error).to_errno(),
            remember,
        };
    }
}
