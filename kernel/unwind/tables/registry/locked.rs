// SPDX-License-Identifier: GPL-2.0

//! What only one at a time does with a registry: change it.

use kernel::{
    alloc::{
        flags::__GFP_NOFAIL,
        Flags, //
    },
    bindings,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::Release,
        lock::mutex::MutexGuard,
        rcu, //
    },
};

use super::Registry;

use crate::{
    cache,
    section::{
        Found,
        Judged,
        Section, //
    },
    set::{
        Owned,
        Set, //
    },
    table::Format,
    tree::{
        EntryRef,
        Writer, //
    },
};

/// A registry whose lock is held.
///
/// # Invariants
///
/// `_guard` is of the lock of `registry`.
pub(super) struct Locked<'a> {
    registry: &'a Registry,
    _guard: MutexGuard<'a, ()>,
}

impl Registry {
    /// Takes the lock.
    pub(super) fn lock(&self) -> Locked<'_> {
        // INVARIANT: The guard is of this registry's lock.
        Locked {
            registry: self,
            _guard: self.lock.lock(),
        }
    }

    /// Takes the lock in what may be a walk that must not wait: others may wait for memory while
    /// they hold the lock.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if another task holds the lock, and this is such a walk.
    pub(super) fn lock_in_walk(&self) -> Result<Locked<'_>> {
        // SAFETY: It only looks at the current task.
        if unsafe { bindings::unwind_tables_may_wait() } {
            return Ok(self.lock());
        }
        // INVARIANT: The guard is of this registry's lock.
        Ok(Locked {
            registry: self,
            _guard: self.lock.try_lock().ok_or(EAGAIN)?,
        })
    }
}

impl Locked<'_> {
    /// The set, shared or not.
    pub(super) fn set(&self) -> &Set {
        // SAFETY: By the type invariants of the registry it is replaced under the lock, which is
        // held, and by `replace_set()` alone, which borrows `self` mutably.
        unsafe { self.registry.set.load_locked() }
    }

    /// The section that has exactly the text `start..end`.
    pub(super) fn exact(&self, start: usize, end: usize) -> Option<Found> {
        self.registry
            .find_in(start, end)
            .filter(|found| found.section.has_text(start, end))
    }

    /// The same, if it has a table.
    pub(super) fn exact_with_table(&self, start: usize, end: usize) -> Option<Found> {
        self.exact(start, end)
            .filter(|found| !found.section.is_absent())
    }

    /// The first section whose text reaches beyond `from`, and whose text or table has a byte in
    /// `start..end`: perhaps one of thousands that have to be looked at.
    pub(super) fn touched(&self, from: usize, start: usize, end: usize) -> Option<Found> {
        // SAFETY: Whoever writes to a set that is not shared holds the lock, and nobody writes to
        // one that is.
        let section = unsafe { self.set().touched(from, start, end) }?;

        Some(self.registry.found(section, &rcu::read_lock()))
    }

    /// The set, to be written to. If it is shared, that is a new copy.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(super) fn own_set(&mut self, flags: Flags) -> Result<Owned<'_>> {
        if self.set().is_shared() {
            let room = rcu::DropRoom::new(flags)?;
            // SAFETY: Nobody writes to a set that is shared, and it is: our reference stays.
            let copy = unsafe { self.set().copy(flags) }?;

            self.replace_set(copy, room);
        }
        // SAFETY: Only this registry has it now, and `self`, which holds the lock, is borrowed.
        Ok(unsafe { Owned::new(self.set()) })
    }

    /// Puts a copy into the place of the set.
    pub(super) fn replace_set(&mut self, copy: ARef<Set>, room: rcu::DropRoom<ARef<Set>>) {
        // A tree has to be walked to be freed: too long for a softirq.
        self.registry.set.replace(copy, room);
    }

    /// Puts an entry into the place of the section `old`, and lets no walk go on with that.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(super) fn replace(&mut self, old: &Found, entry: EntryRef<Section>) -> Result {
        self.own_set(GFP_KERNEL_ACCOUNT)?
            .replace(entry, GFP_KERNEL_ACCOUNT)?;
        self.forget(old);
        Ok(())
    }

    /// The flags of what must not fail.
    fn last_flags() -> Flags {
        GFP_KERNEL_ACCOUNT | __GFP_NOFAIL
    }

    /// Puts a section into the place of the one that has the same text. It never fails.
    pub(super) fn replace_at_last(&mut self, section: Section) {
        loop {
            let entry = self.registry.entry(section, Self::last_flags());

            if entry
                .and_then(|entry| self.own_set_at_last().replace(entry, Self::last_flags()))
                .is_ok()
            {
                break;
            }
        }
    }

    /// Like [`Locked::own_set`], but never fails: munmap() can no longer be undone when it removes
    /// sections. `mas_erase()` waits for memory in the same way.
    pub(super) fn own_set_at_last(&mut self) -> Owned<'_> {
        while self.set().is_shared() {
            let _ = self.own_set(Self::last_flags());
        }
        // SAFETY: As in `own_set()`.
        unsafe { Owned::new(self.set()) }
    }

    /// Removes a section that a walk has found, for somebody knows better.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then nothing has changed.
    pub(super) fn drop_found(&mut self, found: &Found) -> Result {
        self.own_set(GFP_KERNEL_ACCOUNT)?.remove(&found.section);
        self.forget(found);
        Ok(())
    }

    /// Removes the verdicts, if there are any, on a section that was removed, and lets no walk go
    /// on with that section. It cannot fail.
    pub(super) fn forget(&mut self, gone: &Found) {
        for format in Format::ALL {
            if format.of(&gone.verdicts).is_some() {
                self.verdicts(format).erase(gone.section.text_start);
            }
        }
        self.raise_generation();
    }

    /// Says that something that was found before must be looked up again.
    pub(super) fn raise_generation(&mut self) {
        // INVARIANT: This follows the change. Who sees the new generation must see the change, too:
        // `Release`.
        self.registry
            .generation
            .fetch_add(cache::GENERATION, Release);
    }

    /// The verdicts on tables of `format`, to be written to.
    pub(super) fn verdicts(&mut self, format: Format) -> Writer<'_, Judged> {
        // SAFETY: The lock is held, and `self` is borrowed.
        unsafe { format.of(&self.registry.verdicts).writer() }
    }
}
