// SPDX-License-Identifier: GPL-2.0

//! The registry of an address space: its texts, and their tables.
//!
//! `mm` has the pointer from an address space to its registry, `lookup` finds the rule for an
//! address, and `discover` finds tables that nobody has registered.

mod discover;
mod lookup;
mod mm;

pub(crate) use discover::register_at_exec;
pub(crate) use lookup::walk_flags;

use kernel::{
    alloc::Flags,
    bindings,
    maple_tree::{
        RcuMapleTree,
        RcuMapleWriter, //
    },
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        lock::mutex::MutexGuard,
        rcu,
        Mutex, //
    },
};

use crate::{
    table::Format,
    text::{
        State,
        Text, //
    },
};

/// How far beyond its text a table is looked for when memory is unmapped. A table that is farther
/// away stays registered until its text goes: lookups then fail, or read what is mapped there.
const MAX_REACH: usize = 1 << 20;

/// From one generation to the next: odd, so that none comes again before all 2^64 were there, and
/// so that the generations that an address space has are farther apart than addresses.
pub(crate) const GENERATION: u64 = 0xd134_2543_de82_ef95;

/// Loads the limit of texts that exec and the program may register.
pub(crate) fn max_explicit() -> usize {
    // SAFETY: The variable is never gone, and all access it atomically while programs run.
    let max = unsafe { Atomic::from_ptr(&raw mut bindings::unwind_tables_max) };

    max.load(Relaxed) as usize
}

/// The texts of an address space, and what walks remember of it.
///
/// Readers take no lock. A walk may sleep between two lookups for as long as another process
/// pleases, so it copies a text out under RCU and goes on with the copy. If the text is removed
/// meanwhile, the walk gets a fault or one stale answer, as if it had been faster.
///
/// # Invariants
///
/// - All that write to `texts` or `generation` hold `lock`.
/// - Each text is in `texts` at its bounds.
/// - `generation` was changed since the last time that a text or a table was removed, or another
///   table came into its place.
#[repr(C)]
#[pin_data]
pub(crate) struct Registry {
    /// Changed after a text or a table was removed. What a walk has looked up after it loaded this
    /// is good as long as this does not change. It is never zero: that is what a walk starts with
    /// that has found nothing yet. C loads it, too: `struct unwind_tables`.
    generation: Atomic<u64>,
    /// The rules that walks remember. C makes the cache, and frees it.
    cache: Atomic<*mut bindings::unwind_tables_cache>,
    /// C reads and writes these alone, for walks that bring in what others lack.
    warm_up_after: Atomic<usize>,
    idle: Atomic<u32>,
    /// Taken inside the mmap lock. No user memory is read while it is held.
    #[pin]
    lock: Mutex<Counts>,
    #[pin]
    texts: RcuMapleTree<Text>,
}

/// The numbers of texts, and the reach of their tables.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Texts that exec or the program has registered.
    pub(crate) explicit: usize,
    /// Texts with a table that discovery has found.
    pub(crate) found: usize,
    /// Texts without a table.
    pub(crate) absent: usize,
    /// How far a table reaches beyond its text, at most [`MAX_REACH`]. It never falls.
    reach: usize,
}

impl Counts {
    /// Selects the counter of texts like this one.
    fn of(&mut self, text: &Text) -> &mut usize {
        if text.is_absent() {
            &mut self.absent
        } else if text.is_explicit() {
            &mut self.explicit
        } else {
            &mut self.found
        }
    }

    /// Counts a text that was stored.
    fn add(&mut self, text: &Text) {
        let count = self.of(text);

        // Does not wrap: each one takes memory.
        *count = count.wrapping_add(1);
        self.reach = self.reach.max(text.reach().min(MAX_REACH));
    }

    /// Counts a text that was removed.
    fn sub(&mut self, text: &Text) {
        let count = self.of(text);

        // Does not wrap: it was counted.
        *count = count.wrapping_sub(1);
    }
}

// C gives it to all tasks of an address space.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Registry>();
};

impl Registry {
    /// Makes an empty registry.
    pub(crate) fn new(flags: Flags) -> Result<Pin<KBox<Self>>> {
        Self::with(RcuMapleTree::new(), Counts::default(), flags)
    }

    /// Makes a registry of these texts.
    fn with<E>(
        texts: impl PinInit<RcuMapleTree<Text>, E>,
        counts: Counts,
        flags: Flags,
    ) -> Result<Pin<KBox<Self>>>
    where
        Error: From<E>,
    {
        KBox::try_pin_init(
            try_pin_init!(Self {
                generation: Atomic::new(GENERATION),
                // INVARIANT: There is none yet.
                cache: Atomic::new(core::ptr::null_mut()),
                warm_up_after: Atomic::new(0),
                idle: Atomic::new(0),
                lock <- new_mutex!(counts, "unwind_tables"),
                texts <- texts,
            }? Error),
            flags,
        )
    }

    /// Calls `look` with the text that holds address `pc`, if there is one. It must not sleep.
    #[inline]
    fn look<T>(&self, pc: usize, look: impl FnOnce(&Text) -> T) -> Option<T> {
        let rcu = rcu::read_lock();

        self.texts.load(pc, &rcu).map(look)
    }

    /// Copies the text that holds address `pc`.
    pub(crate) fn find(&self, pc: usize) -> Option<Text> {
        self.look(pc, |text| *text)
    }

    /// Finds the range around address `pc` that no text has: its first and its last address.
    /// Returns `None` if a text holds `pc`.
    #[inline(never)]
    pub(crate) fn gap(&self, pc: usize) -> Option<(usize, usize)> {
        match self.texts.load_range(pc, &rcu::read_lock()) {
            (range, None) => Some(range.into_inner()),
            _ => None,
        }
    }

    /// Finds the first text that reaches beyond address `from`.
    pub(crate) fn next(&self, from: usize) -> Option<Text> {
        self.change().any(from, usize::MAX)
    }

    /// Loads the generation, as a walk sees it.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// Returns the numbers of texts.
    #[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
    pub(crate) fn counts(&self) -> Counts {
        *self.change().counts
    }

    /// Calls `act` while the lock is held.
    #[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
    pub(crate) fn locked<T>(&self, act: impl FnOnce() -> T) -> T {
        let _change = self.change();

        act()
    }

    /// Takes the lock.
    fn change(&self) -> Changing<'_> {
        Changing {
            registry: self,
            counts: self.lock.lock(),
        }
    }

    /// Takes the lock in a walk. A walk that must not wait takes it only if it is free: its holder
    /// may be waiting for memory.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if another task holds the lock, and this is such a walk.
    fn change_in_walk(&self) -> Result<Changing<'_>> {
        // SAFETY: The current task stays, and only it changes this field.
        if !unsafe { (*bindings::get_current()).unwind_info.no_wait } {
            return Ok(self.change());
        }
        Ok(Changing {
            registry: self,
            counts: self.lock.try_lock().ok_or(EAGAIN)?,
        })
    }

    /// Registers a text. Removes all texts that overlap it. If one of them has the same bounds, its
    /// explicit table of another format stays.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if there are `max` explicit texts, and the new one removes none of them. `ENOMEM`:
    /// then texts that overlap the new one may be gone.
    pub(crate) fn register(&self, new: Text, max: usize) -> Result {
        let mut change = self.change();
        let (start, end) = (new.start, new.end);
        let old = change.exact(start, end);
        let text = old.map_or(new, |old| new.with_explicit(&old));

        // What takes the place of another one needs no room.
        if change.counts.explicit >= max && change.first(start, end, Text::is_explicit).is_none() {
            return Err(ENOSPC);
        }
        if old.is_none() {
            while let Some(old) = change.any(start, end) {
                change.remove(&old);
            }
        }
        change.put(text, GFP_KERNEL_ACCOUNT)?;
        if old.is_some() {
            change.raise_generation();
        }
        Ok(())
    }

    /// Removes the explicit table of `format` of the text with the bounds `start..end`. Removes the
    /// text if it has no other table.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is no such table; `ENOMEM`, if the text has another one.
    pub(crate) fn unregister(&self, start: usize, end: usize, format: Format) -> Result {
        let mut change = self.change();
        let text = change
            .exact(start, end)
            .filter(|text| text.has_explicit(format))
            .ok_or(ENOENT)?;

        match text.without(format) {
            Some(rest) => {
                change.put(rest, GFP_KERNEL_ACCOUNT)?;
                change.raise_generation();
            }
            None => change.remove(&text),
        }
        Ok(())
    }

    /// Removes the texts that have a byte in `start..end`, which is being unmapped, and the texts
    /// near it that have a table there. Cannot fail.
    ///
    /// Registration and discovery hold the mmap lock from when they look at the mappings until the
    /// text is in the tree, and unmapping holds it for writing: so either this sees the text, or
    /// they do not see the mapping.
    pub(crate) fn unmap(&self, start: usize, end: usize) {
        let mut change = self.change();
        let reach = change.counts.reach;
        let mut from = start.saturating_sub(reach);
        let to = end.saturating_add(reach);

        while let Some(text) = change.first(from, to, |text| text.is_in(start, end)) {
            from = text.end;
            change.remove(&text);
        }
    }

    /// Sets the state of a table: that of `format`, of the text `seen`, which was found after
    /// `generation` was loaded. Returns `false` if that text is gone, or its table has such a state
    /// already.
    ///
    /// A bad table stays bad. This raises no generation: rules that are remembered were read
    /// before.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `EAGAIN` in a walk that must not wait.
    pub(crate) fn set_state(
        &self,
        seen: &Text,
        format: Format,
        state: State,
        generation: u64,
    ) -> Result<bool> {
        let mut change = self.change_in_walk()?;
        // What was read may be of another table, which was at the same place before.
        if self.generation() != generation {
            return Ok(false);
        }
        let Some(mut text) = change.exact(seen.start, seen.end) else {
            return Ok(false);
        };
        let Some(table) = format.of_mut(&mut text.tables) else {
            return Ok(false);
        };

        match (table.state, state) {
            (State::Unread, _) | (State::Good(_), State::Bad(_)) => {}
            _ => return Ok(false),
        }
        table.state = state;
        change.put(text, walk_flags())?;
        Ok(true)
    }

    /// Stores a text that discovery has found, and returns it. A text without a table is joined
    /// with its neighbours that have none for the same reason.
    ///
    /// The caller holds the mmap lock, and has checked the mappings.
    ///
    /// # Errors
    ///
    /// `EEXIST` if another text overlaps it; `ENOSPC` if there are `max` texts of its kind;
    /// `EAGAIN` if the walk must not wait; `ENOMEM`.
    #[inline(never)] // What it needs of the kernel's stack is free when the headers are read.
    pub(crate) fn insert_found(&self, mut text: Text, max: usize) -> Result<Text> {
        let mut change = self.change_in_walk()?;

        if change.any(text.start, text.end).is_some() {
            return Err(EEXIST);
        }
        let has_room = *change.counts.of(&text) < max;
        let is_like = |other: &Text| text.is_absent() && other.absence == text.absence;
        let below = change.first(text.start.saturating_sub(1), text.start, is_like);
        let above = change.first(text.end, text.end.saturating_add(1), is_like);

        if !has_room && below.or(above).is_none() {
            return Err(ENOSPC);
        }
        // INVARIANT: The text only grows.
        text.start = below.map_or(text.start, |below| below.start);
        text.end = above.map_or(text.end, |above| above.end);
        change.put(text, walk_flags())?;
        Ok(text)
    }

    /// Makes a registry for a child: of the texts that have a table. Returns `None` if there are
    /// none.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn copy(&self) -> Result<Option<Pin<KBox<Self>>>> {
        let mut change = self.change();
        let counts = Counts {
            absent: 0,
            ..*change.counts
        };
        let absent = change.counts.absent;
        let len = counts.explicit.saturating_add(counts.found);
        // A whole tree is soon copied, but not if most of it has to go again.
        let whole = absent <= len;
        let flags = GFP_KERNEL_ACCOUNT;

        if len == 0 {
            return Ok(None);
        }
        let texts = change.texts();
        let mut copy = if whole {
            Self::with(texts.dup(flags), counts, flags)?
        } else {
            Self::with(RcuMapleTree::new(), counts, flags)?
        };
        if absent == 0 {
            return Ok(Some(copy));
        }
        let mut copied = copy.as_mut().project().texts.writer_mut();

        for (range, text) in texts.iter(..) {
            match (whole, text.is_absent()) {
                (true, true) => drop(copied.erase(*range.start())),
                (false, false) => {
                    let [] = copied.store_range(range, ARef::from(text), flags)?;
                }
                _ => {}
            }
        }
        Ok(Some(copy))
    }
}

/// The right to change a registry: it holds the lock.
struct Changing<'a> {
    registry: &'a Registry,
    counts: MutexGuard<'a, Counts>,
}

impl Changing<'_> {
    /// Returns a writer of the tree.
    fn texts(&mut self) -> RcuMapleWriter<'_, Text> {
        // SAFETY: The lock is held, and `self` is borrowed.
        unsafe { self.registry.texts.writer() }
    }

    /// Finds the first text that has a byte in `start..end`, and meets a condition.
    fn first(
        &mut self,
        start: usize,
        end: usize,
        condition: impl Fn(&Text) -> bool,
    ) -> Option<Text> {
        self.texts()
            .iter(start..end)
            .map(|(_, text)| **text)
            .find(condition)
    }

    /// Finds the first text that has a byte in `start..end`.
    fn any(&mut self, start: usize, end: usize) -> Option<Text> {
        self.first(start, end, |_| true)
    }

    /// Finds the text that is exactly `start..end`.
    fn exact(&mut self, start: usize, end: usize) -> Option<Text> {
        self.any(start, end)
            .filter(|text| (text.start, text.end) == (start, end))
    }

    /// Stores a text, in the place of at most two that lie in it.
    ///
    /// # Errors
    ///
    /// `EEXIST` if another text overlaps it; `ENOMEM`. Then nothing has changed.
    fn put(&mut self, text: Text, flags: Flags) -> Result {
        let entry = rcu::Counted::new(text, flags)?;
        let range = text.start..text.end;
        let replaced = self.texts().store_range::<2>(range, entry, flags)?;

        for old in replaced.iter().flatten() {
            self.counts.sub(old);
        }
        self.counts.add(&text);
        Ok(())
    }

    /// Removes a text. Cannot fail: waits for the memory that the tree needs.
    fn remove(&mut self, text: &Text) {
        if self.texts().erase(text.start).is_some() {
            self.counts.sub(text);
        }
        self.raise_generation();
    }

    /// Makes all remembered rules void.
    fn raise_generation(&mut self) {
        // INVARIANT: This follows the change. Who sees the new generation must see the change, too:
        // `Release`.
        self.registry.generation.fetch_add(GENERATION, Release);
    }
}
