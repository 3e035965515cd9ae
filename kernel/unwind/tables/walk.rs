// SPDX-License-Identifier: GPL-2.0

//! The state that the lookups of a stack share.

use core::{
    cell::Cell,
    mem::MaybeUninit, //
};

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
    table::{
        Format,
        Machine,
        Table, //
    },
    text::{
        State,
        Text, //
    },
    user_memory::UserMemory, //
};

/// The state that the lookups of a stack share. C has the memory for it.
pub(crate) struct Walk<'a> {
    raw: &'a mut bindings::unwind_tables_walk,
    last: &'a mut Last,
}

/// The text that a stack's last lookup was in: most of its callers are in it, too.
///
/// A walk may sleep between two lookups for as long as another process pleases, and the text may
/// be removed meanwhile. So this is only good for the registry's generation that it was found in.
///
/// # Invariants
///
/// If `generation` is not zero, `text` is initialised.
#[repr(C)]
struct Last {
    /// The registry's generation, from before the text was looked for; 0 if there is no text.
    generation: u64,
    text: MaybeUninit<Text>,
}

// C keeps room for it.
static_assert!(size_of::<Last>() <= size_of::<bindings::unwind_tables_last>());
static_assert!(align_of::<Last>() == align_of::<bindings::unwind_tables_last>());

impl Last {
    /// Returns the text. Returns `None` if no lookup has found one.
    fn text(&self) -> Option<&Text> {
        if self.generation == 0 {
            return None;
        }
        // SAFETY: By the type invariants.
        Some(unsafe { self.text.assume_init_ref() })
    }
}

impl Walk<'_> {
    /// Wraps the state that C has.
    ///
    /// # Safety
    ///
    /// `raw` must be initialised and valid for reading and writing while the result exists, and
    /// nothing else may use it. So must be what its `last` points to, which must have a generation
    /// of zero, or be what the last call for this stack has left.
    pub(crate) unsafe fn from_raw(raw: *mut bindings::unwind_tables_walk) -> Self {
        // SAFETY: By the requirement of this function.
        let raw = unsafe { &mut *raw };
        // INVARIANT: Its generation is zero, or `open()` has set all.
        // SAFETY: By the requirement of this function, and C keeps room for it.
        let last = unsafe { &mut *raw.last.cast() };

        Self { raw, last }
    }

    /// Returns whether the last text holds address `pc`, and nothing was removed since it was
    /// found.
    pub(crate) fn is_at(&self, pc: usize) -> bool {
        self.last.generation == self.generation()
            && self
                .last
                .text()
                .is_some_and(|text| text.start <= pc && pc < text.end)
    }

    /// Returns whether address `pc` is in the last text, and code without a rule keeps frame
    /// pointers there.
    fn keeps_fp(&self, pc: usize) -> bool {
        self.is_at(pc) && self.last.text().is_some_and(|text| text.keeps_fp)
    }

    /// Makes `text` the last one, which was looked for in this generation; or, if it has no table,
    /// remembers that.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if it has no table.
    pub(crate) fn open(&mut self, text: &Text) -> Result<(), Error> {
        if text.is_absent() {
            self.set_skipped(text.start, text.end, Error::NotFound);
            self.raw.skipped.keeps_fp = text.keeps_fp;
            return Err(Error::NotFound);
        }
        // INVARIANT: It is initialised.
        self.last.text.write(*text);
        self.last.generation = self.generation();
        Ok(())
    }

    /// Returns the last text's table of `format`, and the user memory from its start on.
    pub(crate) fn table(&mut self, format: Format) -> Option<(&Table, UserMemory<'_>)> {
        let table = self.last.text()?.table(format)?;

        Some((table, memory(self.raw, table.start())))
    }

    /// Returns the last text, and the generation that it was found in.
    pub(crate) fn last(&self) -> Option<(&Text, u64)> {
        Some((self.last.text()?, self.last.generation))
    }

    /// Sets the state of the last text's table of `format`.
    pub(crate) fn set_state(&mut self, format: Format, state: State) {
        if self.last.generation == 0 {
            return;
        }
        // SAFETY: By the type invariants of `Last`.
        let text = unsafe { self.last.text.assume_init_mut() };

        if let Some(table) = format.of_mut(&mut text.tables) {
            table.state = state;
        }
    }

    /// Returns the user memory from address `base` on, for as much as this walk may read.
    pub(crate) fn memory(&mut self, base: usize) -> UserMemory<'_> {
        memory(self.raw, base)
    }

    /// Returns the generation that C has loaded before the lookup.
    pub(crate) fn generation(&self) -> u64 {
        self.raw.generation
    }

    /// Returns whether this walk may be in an interrupt: it takes no lock, and writes nothing that
    /// others see.
    pub(crate) fn is_immediate(&self) -> bool {
        self.raw.immediate
    }

    /// Keeps C from remembering this lookup: the next one for the address may have another result.
    pub(crate) fn forget(&mut self) {
        self.raw.generation = 0;
    }

    /// Packs the result of a lookup for address `pc` into a word for C: the rule; or that the rule
    /// is in the walk's frame, because it does not fit; or an error.
    pub(crate) fn put(&mut self, pc: usize, found: Result<Rule, Error>) -> u64 {
        match found {
            Ok(rule) => {
                Packed::new::<Machine>(&rule).map_or_else(|| self.put_large(rule), Packed::word)
            }
            Err(Error::NotFound) if self.keeps_fp(pc) => Packed::NOTHING_BUT_FP.word(),
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
        // SAFETY: A rule is laid out as a frame: see `layout`.
        unsafe { (&raw mut self.raw.frame).cast::<Rule>().write(rule) };
        bindings::UNWIND_TABLES_RULE_LARGE.into()
    }

    /// Makes the walk skip `start..end`: C returns `error` for an address there, and does not ask.
    pub(crate) fn set_skipped(&mut self, start: usize, end: usize, error: Error) {
        self.raw.skipped = bindings::unwind_tables_skipped {
            start,
            size: end.saturating_sub(start),
            error: kernel::error::Error::from(error).to_errno(),
            keeps_fp: false,
        };
    }

    /// Tells C that only discovery could answer this lookup, and that this walk leaves it out.
    pub(crate) fn leave_out_discovery(&mut self) {
        self.raw.discovers = true;
    }

    /// Tells C that stacks which are taken at once get further by what this walk has found out.
    pub(crate) fn set_learned(&mut self) {
        self.raw.learned = true;
    }

    /// Takes one of the discoveries that this stack may make, once for all tries of a lookup.
    /// Returns whether one was left.
    pub(crate) fn begin_discovery(&mut self) -> bool {
        if !self.raw.discovers {
            let Some(rest) = self.raw.discoveries.checked_sub(1) else {
                return false;
            };
            self.raw.discoveries = rest;
            self.raw.discovers = true;
        }
        true
    }
}

/// Returns the user memory from address `base` on, for as much as a walk may read.
fn memory(raw: &mut bindings::unwind_tables_walk, base: usize) -> UserMemory<'_> {
    UserMemory::new(
        base,
        Cell::from_mut(&mut raw.budget),
        Cell::from_mut(&mut raw.missing),
    )
}
