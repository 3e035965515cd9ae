// SPDX-License-Identifier: GPL-2.0

//! The text that a stack's last lookup was in: most of its callers are in it, too.

use core::mem::MaybeUninit;

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    table::{
        Format,
        Table, //
    },
    text::{
        State,
        Text, //
    },
};

/// The text that was found last, and what is known about its tables.
///
/// A walk may sleep between two lookups for as long as another process pleases, and the text may
/// be removed meanwhile. So this is only good for the registry's generation that it was found in.
///
/// # Invariants
///
/// If `generation` is not zero, `text` is initialised.
#[repr(C)]
pub(crate) struct Last {
    /// The registry's generation, from before the text was looked for; 0 if there is no text.
    generation: u64,
    text: MaybeUninit<Text>,
}

// C keeps room for it.
static_assert!(size_of::<Last>() <= size_of::<bindings::unwind_tables_last>());
static_assert!(align_of::<Last>() == align_of::<bindings::unwind_tables_last>());

impl Last {
    /// Returns the last text of a stack, from where C has it.
    ///
    /// # Safety
    ///
    /// `room` must be valid for reading and writing. Its generation must be zero, or it must be
    /// what the last call for this stack has left.
    pub(crate) unsafe fn from_raw<'a>(room: *mut bindings::unwind_tables_last) -> &'a mut Self {
        // INVARIANT: Its generation is zero, or `set()` has set all.
        // SAFETY: `room` is valid for reading and writing, has the same alignment, and is not
        // smaller.
        unsafe { &mut *room.cast() }
    }

    /// Replaces the text by another one, which was looked for after `generation` was loaded.
    pub(crate) fn set(&mut self, generation: u64, text: &Text) {
        // INVARIANT: It is initialised.
        self.text.write(*text);
        self.generation = generation;
    }

    /// Returns whether the text holds address `pc`, and nothing was removed since `generation`.
    pub(crate) fn is_at(&self, generation: u64, pc: usize) -> bool {
        self.generation == generation
            && self
                .text()
                .is_some_and(|text| text.start <= pc && pc < text.end)
    }

    /// Returns the generation that was loaded before the text was looked for.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the text. Returns `None` if no lookup has found one.
    pub(crate) fn text(&self) -> Option<&Text> {
        if self.generation == 0 {
            return None;
        }
        // SAFETY: By the type invariants.
        Some(unsafe { self.text.assume_init_ref() })
    }

    /// Returns the text's table of `format`.
    pub(crate) fn table(&self, format: Format) -> Option<&Table> {
        self.text()?.table(format)
    }

    /// Sets the state of the text's table of `format`.
    pub(crate) fn set_state(&mut self, format: Format, state: State) {
        if self.generation == 0 {
            return;
        }
        // SAFETY: By the type invariants.
        let text = unsafe { self.text.assume_init_mut() };

        if let Some(table) = format.of_mut(&mut text.tables) {
            table.state = state;
        }
    }
}
