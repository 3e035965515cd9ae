// SPDX-License-Identifier: GPL-2.0

//! Which text belongs to which table: one registry per address space.
//!
//! `slot` is where an address space keeps it, `locked` what changes it, `lookup` what a walk does
//! with it, and `discover` how a walk finds tables that nobody has registered.

mod discover;
mod locked;
mod lookup;
mod slot;

pub(crate) use discover::TARGET;
pub(crate) use lookup::walk_flags;

use core::ptr::NonNull;

use pin_init::pin_init_array_from_fn;

use kernel::{
    alloc::Flags,
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu,
        Mutex, //
    },
};

use crate::{
    cache::{
        self,
        Cache, //
    },
    section::{
        Found,
        Judged,
        Section,
        Verdict, //
    },
    set::Set,
    table::Format,
    tree::{
        EntryRef,
        Tree, //
    },
};

/// What an address space has: a set of sections, which it may share with others, and verdicts.
///
/// fork() shares the set: most children exec, or register nothing. A registry that changes a shared
/// set makes a copy of its own first. Verdicts are not in the set, for they are never shared: the
/// bytes of private tables may differ after a fork.
///
/// # Invariants
///
/// - `set` is replaced under `lock`.
/// - All that write to `verdicts`, or to a set that is not shared, hold `lock`.
/// - Each verdict is in the tree of its table's format, at the first address of its section's text,
///   and no section that was removed has one.
/// - `generation` was changed since the last time that a section was removed or replaced, unless by
///   one that covers it and has no table either, or that a table was disabled.
/// - `cache` is null, or this registry's, made by `KBox`. It stays when it is there.
/// - `unmaps` was raised since the last time that something was unmapped or moved.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(crate) struct Registry {
    /// Changed after a section was removed or replaced, or its table disabled. What a walk has
    /// looked up after it loaded this is good as long as this does not change. It is never zero:
    /// that is what a walk starts with that has found nothing yet. C loads it, too: `struct
    /// unwind_tables`.
    generation: Atomic<u64>,
    /// What walks have looked up, for C.
    cache: Atomic<*mut Cache>,
    /// Held by all that change the set, the verdicts or the generation, and by fork(), so that no
    /// set becomes shared while it is written to. It is taken inside the mmap lock; user memory is
    /// never touched while it is held.
    #[pin]
    lock: Mutex<()>,
    /// Readers go on with the set that they have found when it is replaced, and the reference to it
    /// is dropped a grace period later. The reference keeps the set alive. It also keeps another
    /// registry, which may have the only other one, from taking the set for its own and adding
    /// sections that these readers must not see.
    set: rcu::Pointer<ARef<Set>>,
    #[pin]
    verdicts: [Tree<Judged>; Format::COUNT],
    /// The id of the next section.
    next_id: Atomic<u64>,
    /// Raised, with the mmap lock held for writing, when something is unmapped or moved: also what
    /// no section is about. A walk that finds a table in what is mapped sees by it whether that is
    /// still so.
    unmaps: Atomic<u64>,
}

// C gives it to all tasks of an address space.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Registry>();
};

impl Registry {
    /// Makes an empty registry.
    pub(crate) fn new(flags: Flags) -> Result<Pin<KBox<Self>>> {
        Self::with(Set::new(flags)?, 1, flags)
    }

    /// Makes a registry of the sections in `set`, whose ids are below `next_id`.
    fn with(set: ARef<Set>, next_id: u64, flags: Flags) -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            pin_init!(Self {
                lock <- new_mutex!((), "unwind_tables"),
                set: rcu::Pointer::new(set),
                verdicts <- pin_init_array_from_fn(|_| Tree::new()),
                next_id: Atomic::new(next_id),
                generation: Atomic::new(cache::GENERATION),
                // INVARIANT: There is none yet.
                cache: Atomic::new(core::ptr::null_mut()),
                unmaps: Atomic::new(0),
            }),
            flags,
        )
    }

    /// The set, for one who does not hold the lock.
    fn set<'a>(&'a self, rcu: &'a rcu::Guard) -> &'a Set {
        self.set.load(rcu)
    }

    /// What is known about the table of `format` of a section.
    fn verdict(&self, section: &Section, format: Format, rcu: &rcu::Guard) -> Option<Verdict> {
        // There may be another section with this text by now.
        format
            .of(&self.verdicts)
            .at(section.text_start, rcu)
            .filter(|judged| judged.id == section.id)
            .map(|judged| judged.verdict)
    }

    /// Adds to a section what is known about it.
    fn found(&self, section: Section, rcu: &rcu::Guard) -> Found {
        Found {
            section,
            verdicts: Format::ALL.map(|format| self.verdict(&section, format, rcu)),
        }
    }

    /// The section whose text holds address `pc`.
    ///
    /// It is not inlined: what the search needs of the stack is free again when a table is read.
    #[inline(never)]
    pub(crate) fn find(&self, pc: usize) -> Option<Section> {
        let rcu = rcu::read_lock();

        self.set(&rcu).at(pc, &rcu)
    }

    /// The first section whose text has a byte in `start..end`.
    pub(crate) fn find_in(&self, start: usize, end: usize) -> Option<Found> {
        let rcu = rcu::read_lock();
        let section = self.set(&rcu).first_in(start, end, |_| true, &rcu)?;

        Some(self.found(section, &rcu))
    }

    /// Whether a section with a table has a byte of its text in `start..end`.
    fn has_table_in(&self, start: usize, end: usize) -> bool {
        let rcu = rcu::read_lock();
        let has_table = |section: &Section| !section.is_absent();

        self.set(&rcu)
            .first_in(start, end, has_table, &rcu)
            .is_some()
    }

    /// Whether somebody has registered what has a byte of the text of `new`, and not just another
    /// format for the same text.
    fn is_taken(&self, new: &Section) -> bool {
        let rcu = rcu::read_lock();
        let (start, end) = (new.text_start, new.text_end);
        let is_in_the_way = |old: &Section| {
            let both = |format: &Format| new.table(*format).is_some() && old.has_explicit(*format);

            old.is_explicit() && (!old.has_text(start, end) || Format::ALL.iter().any(both))
        };

        self.set(&rcu)
            .first_in(start, end, is_in_the_way, &rcu)
            .is_some()
    }

    /// Whether a change needs a copy of the set. That may be different as soon as this returns.
    pub(crate) fn is_shared(&self) -> bool {
        self.set(&rcu::read_lock()).is_shared()
    }

    /// How many sections with a table there are.
    pub(crate) fn len(&self) -> usize {
        self.set(&rcu::read_lock()).len()
    }

    /// How many sections without a table there are.
    pub(crate) fn absent(&self) -> usize {
        self.set(&rcu::read_lock()).absent()
    }

    /// Makes an entry of a section, under an id of its own.
    pub(crate) fn entry(&self, section: Section, flags: Flags) -> Result<EntryRef<Section>> {
        let section = Section {
            id: self.next_id.fetch_add(1, Relaxed),
            ..section
        };

        Ok(rcu::Counted::new(section, flags)?)
    }

    /// The entry of a section, or of that with the tables of `old` that it has not itself.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn entry_over(&self, entry: EntryRef<Section>, old: &Section) -> Result<EntryRef<Section>> {
        let new = **entry;
        let all = new.or(old);

        if all.tables().count() == new.tables().count() {
            return Ok(entry);
        }
        self.entry(all, GFP_KERNEL_ACCOUNT)
    }

    /// Adds a section in the place of what walks have found in its text, if that has a table, or if
    /// there are less than `most`. If that text has a section already, but no table of this format
    /// that somebody has registered, it gets one.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if there are too many; `EEXIST` if part of its text is registered; `ENOMEM`, and
    /// then what walks have found in its text may be gone.
    pub(crate) fn insert(&self, entry: EntryRef<Section>, most: usize) -> Result {
        let section = **entry;
        let (start, end) = (section.text_start, section.text_end);
        let mut locked = self.lock();

        // Before anything changes: a shared set is not copied in vain, either.
        let is_taken = self.is_taken(&section);
        let with_table = locked.exact_with_table(start, end);
        if let Some(old) = with_table.filter(|_| !is_taken) {
            let entry = self.entry_over(entry, &old.section)?;

            return locked.replace(&old, entry);
        }
        // A table that was only found makes room for this one.
        if self.len() >= most && (is_taken || !self.has_table_in(start, end)) {
            return Err(ENOSPC);
        }
        if is_taken {
            return Err(EEXIST);
        }
        while let Some(found) = self.find_in(start, end) {
            locked.drop_found(&found)?;
        }
        locked
            .own_set(GFP_KERNEL_ACCOUNT)?
            .add(entry, GFP_KERNEL_ACCOUNT)
    }

    /// Replaces a table of the section that has the same text, and what was found out about it.
    ///
    /// # Errors
    ///
    /// `ENOENT` if nobody has registered a table of this format for just this text; `ENOMEM`.
    pub(crate) fn replace(&self, entry: EntryRef<Section>) -> Result {
        let new = **entry;
        let mut locked = self.lock();
        let old = locked
            .exact_with_table(new.text_start, new.text_end)
            .filter(|old| {
                let has = |format: &Format| old.section.has_explicit(*format);

                Format::ALL
                    .iter()
                    .all(|format| has(format) || new.table(*format).is_none())
            })
            .ok_or(ENOENT)?;
        let entry = self.entry_over(entry, &old.section)?;

        locked.replace(&old, entry)
    }

    /// Removes the table of `format` that somebody has registered for exactly the text
    /// `start..end`, and the section with it, unless it has another such table. If there is such a
    /// table, that cannot fail. Yields the section as it was.
    pub(crate) fn remove(&self, start: usize, end: usize, format: Format) -> Option<Found> {
        self.remove_if(start, end, format, |section| section.has_explicit(format))
    }

    /// The same, if the section meets a condition.
    fn remove_if(
        &self,
        start: usize,
        end: usize,
        format: Format,
        condition: impl FnOnce(&Section) -> bool,
    ) -> Option<Found> {
        let mut locked = self.lock();
        let found = locked
            .exact(start, end)
            .filter(|found| condition(&found.section))?;

        match found.section.without(format) {
            Some(rest) => locked.replace_at_last(rest),
            None => locked.own_set_at_last().remove(&found.section),
        }
        locked.forget(&found);
        Some(found)
    }

    /// Removes the section that has exactly the text `start..end`, and tables or none. If there is
    /// one, that cannot fail.
    pub(crate) fn remove_text(&self, start: usize, end: usize, absent: bool) -> Option<Found> {
        let mut locked = self.lock();
        let found = locked
            .exact(start, end)
            .filter(|found| found.section.is_absent() == absent)?;

        locked.own_set_at_last().remove(&found.section);
        locked.forget(&found);
        Some(found)
    }

    /// Copies the set if it is shared, without the lock: thousands of sections take long.
    ///
    /// The set may be shared again when this returns. Then a change makes another copy.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `EAGAIN` in a walk that must not wait; then nothing has changed.
    pub(crate) fn unshare(&self, flags: Flags) -> Result {
        let shared = {
            let locked = self.lock_in_walk()?;

            if !locked.set().is_shared() {
                return Ok(());
            }
            ARef::from(locked.set())
        };
        let room = rcu::DropRoom::new(flags)?;
        // SAFETY: A registry writes to a set only while it has the only reference. `shared` is
        // another one, which was made under the lock, and stays until the copy is made.
        let copy = unsafe { shared.copy(flags) }?;
        let mut locked = self.lock_in_walk()?;

        // Another thread may have been faster.
        if core::ptr::eq(locked.set(), &raw const *shared) {
            locked.replace_set(copy, room);
        }
        Ok(())
    }

    /// Removes the sections whose text has a byte in `start..end`, which is being unmapped, and of
    /// others the tables that do. It cannot fail.
    ///
    /// Registration holds the mmap lock from when it looks at the mappings until the section is in
    /// the set, and unmapping holds it for writing: so either this sees the section, or that does
    /// not see the mapping.
    pub(crate) fn unmap(&self, start: usize, end: usize) {
        let mut from = 0;

        // Both this and those who compare it hold the mmap lock: nothing has to be ordered.
        self.unmaps.fetch_add(1, Relaxed);

        // Most often there is none: then nothing is written, and a set stays shared.
        while let Some(Found { section, .. }) = self.touched(from, start, end) {
            from = section.text_end;
            if section.is_text_in(start, end) {
                self.drop_section(&section);
            } else {
                self.drop_tables(&section, start, end);
            }
        }
    }

    /// The first section whose text reaches beyond `from`, and whose text or table has a byte in
    /// `start..end`.
    pub(crate) fn touched(&self, from: usize, start: usize, end: usize) -> Option<Found> {
        {
            let rcu = rcu::read_lock();
            let set = self.set(&rcu);

            if !set.may_have_table_in(start, end) {
                let section = set.first_in(start.max(from), end, |_| true, &rcu)?;
                return Some(self.found(section, &rcu));
            }
        }
        self.lock().touched(from, start, end)
    }

    /// Removes a section, if it was not unregistered meanwhile. It cannot fail.
    pub(crate) fn drop_section(&self, section: &Section) {
        let removed = self.remove_text(section.text_start, section.text_end, section.is_absent());

        if let Some(found) = removed {
            found.trace_dropped(None);
        }
    }

    /// Removes those tables of a section that have a byte in `start..end`.
    fn drop_tables(&self, section: &Section, start: usize, end: usize) {
        for format in Format::ALL {
            if section
                .table(format)
                .is_some_and(|table| table.is_in(start, end))
            {
                self.drop_table(section, format);
            }
        }
    }

    /// Removes the table of `format`, if it was not unregistered meanwhile, and the section with
    /// it, unless it has another table that somebody has registered. It cannot fail.
    pub(crate) fn drop_table(&self, section: &Section, format: Format) {
        let (start, end) = (section.text_start, section.text_end);
        let has_table = |section: &Section| section.table(format).is_some();

        if let Some(found) = self.remove_if(start, end, format, has_table) {
            found.trace_dropped(found.section.without(format));
        }
    }

    /// A registry that has the same sections, shared, of which nothing is known.
    pub(crate) fn copy(&self) -> Result<Pin<KBox<Self>>> {
        let (set, next_id) = {
            let locked = self.lock();

            (ARef::from(locked.set()), self.next_id.load(Relaxed))
        };

        Self::with(set, next_id, GFP_KERNEL_ACCOUNT)
    }

    /// The generation, as a walk sees it.
    #[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(kernel::sync::atomic::Acquire)
    }

    /// How many references there are to the set: more than one if it is shared.
    #[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
    pub(crate) fn references(&self) -> i32 {
        self.lock().set().references()
    }
}

#[pinned_drop]
impl PinnedDrop for Registry {
    fn drop(self: Pin<&mut Self>) {
        if let Some(cache) = NonNull::new(self.cache.load(Relaxed)) {
            // SAFETY: By the type invariants, it was made by `KBox`. Nobody uses it any more: only
            // users of the address space walk.
            drop(unsafe { KBox::from_raw(cache.as_ptr()) });
        }
    }
}
