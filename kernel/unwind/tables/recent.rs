// SPDX-License-Identifier: GPL-2.0

//! The section that a stack's last lookup found: most of its callers are in it, too.

use core::mem::{
    offset_of,
    MaybeUninit, //
};

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    parse::Index,
    section::{
        Found,
        Section,
        Verdict, //
    },
    table::{
        Common,
        Format,
        Header, //
    },
};

/// The section that was found last, and what is known about its tables.
///
/// A walk may sleep between two lookups for as long as another process pleases, and the section may
/// be removed meanwhile. So this is only good for the registry's generation that it was found in.
///
/// # Invariants
///
/// If `generation` is not zero, the others are initialised.
#[repr(C)]
pub(crate) struct Recent {
    /// The registry's generation, from before the section was looked for. None has zero.
    generation: u64,
    search: MaybeUninit<Search>,
    last: MaybeUninit<Last>,
}

/// What C searches itself: the index of the table of [`Format::FIRST`].
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Search {
    text_start: usize,
    /// 0 if there is nothing to search.
    text_size: usize,
    index: Index,
}

/// The section that a lookup found.
pub(crate) struct Last {
    pub(crate) found: Found,
    /// What the lookups in its tables had in common.
    pub(crate) common: Common,
}

/// A table that is known to be good.
pub(crate) struct Good<'a> {
    pub(crate) header: &'a Header,
    /// Where it stands.
    pub(crate) base: usize,
}

// C keeps room for it.
const _: () = assert!(size_of::<Recent>() <= size_of::<bindings::unwind_tables_recent>());
const _: () = assert!(align_of::<Recent>() == align_of::<bindings::unwind_tables_recent>());

/// Asserts that a field is where C expects it.
macro_rules! assert_place {
    ($field:ident: $place:expr) => {
        static_assert!(
            offset_of!(Recent, search) + $place
                == offset_of!(bindings::unwind_tables_recent, $field)
        );
    };
}

assert_place!(text_start: offset_of!(Search, text_start));
assert_place!(text_size: offset_of!(Search, text_size));
assert_place!(first: offset_of!(Search, index.first));
assert_place!(blocks: offset_of!(Search, index.blocks));
assert_place!(last: offset_of!(Search, index.last));
assert_place!(count: offset_of!(Search, index.count));
assert_place!(small: offset_of!(Search, index.small));
static_assert!(offset_of!(Recent, generation) == 0);
static_assert!(offset_of!(bindings::unwind_tables_recent, generation) == 0);

impl Search {
    /// That of the table of a section whose header is known, if it can be searched at once.
    ///
    /// What is found then is remembered, so this is for text that has room in the cache.
    fn new(section: &Section, header: &Header) -> Option<Self> {
        let base = section.table(Format::FIRST)?.start();
        if section.text_end >> bindings::UNWIND_TABLES_CACHED_BITS != 0 {
            return None;
        }

        Some(Self {
            text_start: section.text_start,
            text_size: section.text_end.wrapping_sub(section.text_start),
            index: header.index()?.at(base as u64),
        })
    }
}

impl Recent {
    /// What C keeps the room for, for all lookups of a stack.
    ///
    /// # Safety
    ///
    /// `room` must be valid for reading and writing. Its generation must be zero, or the room what
    /// this was called for before.
    pub(crate) unsafe fn from_raw<'a>(room: *mut bindings::unwind_tables_recent) -> &'a mut Self {
        // INVARIANT: Its generation is zero, or `set()` has set all.
        // SAFETY: `room` is valid for reading and writing, has the same alignment, and is not
        // smaller.
        unsafe { &mut *room.cast() }
    }

    /// Remembers a section instead, which was looked for after `generation` was loaded.
    pub(crate) fn set(&mut self, generation: u64, section: Section) {
        // INVARIANT: They are initialised.
        *self = Self {
            generation,
            search: MaybeUninit::new(Search::default()),
            last: MaybeUninit::new(Last {
                found: Found::new(section),
                common: Common::default(),
            }),
        };
    }

    /// The table of `format`, if it is known to be good, and what lookups have in common.
    #[inline(always)]
    pub(crate) fn good(&mut self, format: Format) -> Option<(Good<'_>, &mut Common)> {
        let Last { found, common } = self.last()?;
        let Some(Verdict::Good(header)) = format.of(&found.verdicts) else {
            return None;
        };
        let base = found.section.table(format)?.start();

        Some((Good { header, base }, common))
    }

    /// Whether the section's text holds address `pc`, and nothing was removed since `generation`.
    #[inline(always)]
    pub(crate) fn is_at(&mut self, generation: u64, pc: usize) -> bool {
        self.generation == generation
            && self.last().is_some_and(|last| {
                let section = &last.found.section;

                section.text_start <= pc && pc < section.text_end
            })
    }

    /// Whether the section has a table of `format`.
    #[inline(always)]
    pub(crate) fn has_table(&mut self, format: Format) -> bool {
        self.last()
            .is_some_and(|last| last.found.section.table(format).is_some())
    }

    /// Remembers the verdict on the section's table of `format`.
    pub(crate) fn set_verdict(&mut self, format: Format, verdict: Verdict) {
        let Some(last) = self.last() else {
            return;
        };

        *format.of_mut(&mut last.found.verdicts) = Some(verdict);
        if format == Format::FIRST {
            let search = match &verdict {
                Verdict::Good(header) => Search::new(&last.found.section, header),
                Verdict::Disabled(_) => None,
            };

            self.search = MaybeUninit::new(search.unwrap_or_default());
        }
    }

    /// The section, if there is one.
    #[inline(always)]
    pub(crate) fn last(&mut self) -> Option<&mut Last> {
        if self.generation == 0 {
            return None;
        }
        // SAFETY: By the type invariants.
        Some(unsafe { self.last.assume_init_mut() })
    }
}
