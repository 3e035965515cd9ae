// SPDX-License-Identifier: GPL-2.0

//! The section that a stack's last lookup found: most of its callers are in it, too.

use core::mem::MaybeUninit;

use kernel::bindings;

use crate::section::{
    Header,
    Section, //
};

/// The section that was found last, and its table's header.
///
/// A walk may sleep between two lookups for as long as another process pleases, and the section may
/// be removed meanwhile. So this is only good for the registry's generation that it was found in.
///
/// # Invariants
///
/// If `text_start < text_end`, the others are initialised, and this is the text of `section`.
#[repr(C)]
pub(crate) struct Recent {
    text_start: usize,
    text_end: usize,
    /// The registry's generation, from before the section was looked for.
    generation: u64,
    section: MaybeUninit<Section>,
    header: MaybeUninit<Header>,
}

// C keeps room for it.
const _: () = assert!(size_of::<Recent>() == size_of::<bindings::unwind_tables_recent>());
const _: () = assert!(align_of::<Recent>() == align_of::<bindings::unwind_tables_recent>());

impl Recent {
    /// What C keeps the room for, for all lookups of a stack.
    ///
    /// # Safety
    ///
    /// `room` must be valid for reading and writing, and either have only zeroes or be what this
    /// was called for before.
    pub(crate) unsafe fn from_raw<'a>(room: *mut bindings::unwind_tables_recent) -> &'a mut Self {
        // INVARIANT: Zeroes are no section.
        // SAFETY: `room` is valid for reading and writing, and the two have the same size and
        // alignment.
        unsafe { &mut *room.cast() }
    }

    /// Remembers a section instead, which was looked for after `generation` was loaded.
    pub(crate) fn set(&mut self, generation: u64, section: Section, header: Header) {
        // INVARIANT: Both are initialised, and it is the section's text.
        *self = Self {
            text_start: section.text_start,
            text_end: section.text_end,
            generation,
            section: MaybeUninit::new(section),
            header: MaybeUninit::new(header),
        };
    }

    /// The section and its table's header, if the section's text holds address `pc` and nothing was
    /// removed since `generation`.
    #[inline]
    pub(crate) fn at(&self, generation: u64, pc: usize) -> Option<(&Section, &Header)> {
        (self.generation == generation && self.text_start <= pc && pc < self.text_end).then(|| {
            // SAFETY: By the type invariants: the text is not empty.
            unsafe {
                (
                    self.section.assume_init_ref(),
                    self.header.assume_init_ref(),
                )
            }
        })
    }
}
