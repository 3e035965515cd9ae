// SPDX-License-Identifier: GPL-2.0

//! The tree of an address space's sections: the only place that knows about maple trees and locks.

use kernel::{
    alloc::Flags,
    bindings,
    error::to_result,
    prelude::*,
    sync::{
        lock::mutex::MutexGuard,
        rcu,
        Mutex, //
    },
    types::Opaque, //
};

use crate::{
    entry::Slot,
    section::{
        Section,
        Verdict, //
    },
};

/// A section as it is in a tree, copied out.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The section.
    pub(crate) section: Section,
    /// What was found out about its table, if it was looked at.
    pub(crate) verdict: Option<Verdict>,
}

impl Found {
    /// # Safety
    ///
    /// As for [`Slot::section`].
    unsafe fn new(slot: Slot) -> Self {
        // SAFETY: By the requirement of this function.
        let (section, verdict) = unsafe { (slot.section(), slot.verdict()) };

        Self { section, verdict }
    }
}

/// Sections by their text.
///
/// Readers take no lock. They cannot hold one while they read user memory, which may sleep for as
/// long as another process pleases, so they copy a section out under RCU and go on with the copy.
/// If it is removed meanwhile, they get a fault or one stale answer, as if they had been faster.
///
/// # Invariants
///
/// - `tree` is a maple tree in RCU mode whose external lock is `lock`: readers are safe from
///   writers, which hold it. Each of its entries is a [`Slot`] stored at its section's text, and
///   counted as such.
/// - `lock` is an initialised mutex.
#[pin_data(PinnedDrop)]
pub(crate) struct Tree {
    #[pin]
    tree: Opaque<bindings::maple_tree>,
    /// An external lock, for the tree's own is a spinlock that its functions drop to allocate.
    /// It is taken inside the mmap lock; user memory is never touched while it is held.
    #[pin]
    lock: Opaque<bindings::mutex>,
}

// SAFETY: A maple tree and a mutex may be used and destroyed by any thread.
unsafe impl Send for Tree {}
// SAFETY: The tree is read under RCU and written under `lock`, by the type invariants.
unsafe impl Sync for Tree {}

impl Tree {
    /// Makes an empty tree.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            lock <- Opaque::ffi_init(|lock| {
                // SAFETY: `lock` is to be initialised, and will not move.
                unsafe {
                    bindings::__mutex_init(
                        lock,
                        c"unwind_tables".as_char_ptr(),
                        kernel::static_lock_class!().as_ptr(),
                    )
                }
            }),
            tree <- Opaque::ffi_init(|tree| {
                // SAFETY: `tree` is to be initialised, and will not move.
                unsafe {
                    bindings::mt_init_flags(
                        tree,
                        bindings::MT_FLAGS_USE_RCU | bindings::MT_FLAGS_LOCK_EXTERN,
                    )
                }
            }),
            _: {
                // INVARIANT: From here on, `lock` is the tree's lock.
                // SAFETY: Both were just initialised, and live equally long.
                unsafe { bindings::mt_set_external_lock(tree.get(), lock.get()) };
            },
        })
    }

    /// The section whose text holds address `pc`.
    pub(crate) fn find(&self, pc: usize) -> Option<Found> {
        let _rcu = rcu::read_lock();
        // SAFETY: By the type invariants the tree is initialised and in RCU mode.
        let entry = unsafe { bindings::mtree_load(self.tree.get(), pc) };

        // SAFETY: By the type invariants; and it was in the tree just now.
        unsafe { Slot::from_ptr(entry).map(|slot| Found::new(slot)) }
    }

    /// The first section whose text has a byte in `start..end`.
    pub(crate) fn find_in(&self, mut start: usize, end: usize) -> Option<Found> {
        let last = end.checked_sub(1).filter(|last| start <= *last)?;
        let _rcu = rcu::read_lock();
        // SAFETY: As in `find()`.
        let entry = unsafe { bindings::mt_find(self.tree.get(), &mut start, last) };

        // SAFETY: As in `find()`.
        unsafe { Slot::from_ptr(entry).map(|slot| Found::new(slot)) }
    }

    /// The first section whose text has a byte in `from..to` and meets a condition.
    pub(crate) fn find_where(
        &self,
        from: usize,
        to: usize,
        condition: impl Fn(&Section) -> bool,
    ) -> Option<Found> {
        let last = to.checked_sub(1).filter(|last| from <= *last)?;
        let mut cursor = bindings::ma_state::default();
        let _rcu = rcu::read_lock();

        // SAFETY: As in `find()`; the cursor is not used after this RCU read-side critical section.
        unsafe { bindings::mas_init(&mut cursor, self.tree.get(), from) };
        loop {
            // SAFETY: As in `find()`.
            let entry = unsafe { bindings::mas_find(&mut cursor, last) };
            // SAFETY: As in `find()`.
            let found = unsafe { Slot::from_ptr(entry).map(|slot| Found::new(slot)) }?;

            if condition(&found.section) {
                return Some(found);
            }
        }
    }

    /// Takes the lock that all writers hold.
    pub(crate) fn lock(&self) -> Locked<'_> {
        // SAFETY: By the type invariants `lock` is an initialised mutex.
        let guard = unsafe { Mutex::from_raw(self.lock.get()) }.lock();

        // INVARIANT: The guard is of this tree's lock.
        Locked {
            tree: self,
            _guard: guard,
        }
    }

    /// Makes an empty tree a copy of another one, without what was found out. Says how many
    /// sections it has.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then it is still empty.
    pub(crate) fn copy_from(&self, old: &Self) -> Result<usize> {
        let old = old.lock();
        // Nobody else has seen this tree. Not `lock()`, for lockdep would take the two for one.
        // SAFETY: As in `lock()`.
        let guard = unsafe { Mutex::from_raw(self.lock.get()) }
            .try_lock()
            .ok_or(EBUSY)?;
        // INVARIANT: The guard is of this tree's lock.
        let mut new = Locked {
            tree: self,
            _guard: guard,
        };

        // SAFETY: Both locks are held.
        to_result(unsafe {
            bindings::__mt_dup(
                old.tree.tree.get(),
                new.tree.tree.get(),
                GFP_KERNEL_ACCOUNT.as_raw(),
            )
        })?;

        let mut cursor = new.cursor(0, 0);
        let mut count = 0_usize;
        loop {
            // SAFETY: The lock is held.
            let entry = unsafe { bindings::mas_find(&mut cursor, usize::MAX) };
            // SAFETY: The other tree's entries, whose lock is held.
            let Some(shared) = (unsafe { Slot::from_ptr(entry).map(|slot| slot.share()) }) else {
                return Ok(count);
            };
            if shared.as_ptr() != entry {
                // In the place of another entry, it needs no memory.
                // SAFETY: The lock is held, and the cursor is at that entry.
                unsafe { bindings::mas_store(&mut cursor, shared.as_ptr()) };
            }
            count = count.wrapping_add(1);
        }
    }
}

#[pinned_drop]
impl PinnedDrop for Tree {
    fn drop(self: Pin<&mut Self>) {
        let mut locked = self.lock();
        let mut cursor = locked.cursor(0, 0);

        loop {
            // SAFETY: The lock is held.
            let entry = unsafe { bindings::mas_find(&mut cursor, usize::MAX) };
            // SAFETY: By the type invariants of the tree.
            let Some(slot) = (unsafe { Slot::from_ptr(entry) }) else {
                break;
            };
            // SAFETY: Nobody else sees the tree any more, and below it is destroyed.
            unsafe { slot.release() };
        }
        // There are no readers any more. In RCU mode, mt_free_walk() takes the metadata of a full
        // node for a child, where the tree has four levels or more.
        // SAFETY: The lock is held.
        unsafe { bindings::mt_clear_in_rcu(self.tree.get()) };
        // SAFETY: The lock is held. The tree's entries are gone, but it is not looked at again.
        unsafe { bindings::__mt_destroy(self.tree.get()) };
    }
}

/// A tree whose lock is held.
///
/// # Invariants
///
/// `_guard` is of the lock of `tree`.
pub(crate) struct Locked<'a> {
    tree: &'a Tree,
    _guard: MutexGuard<'a, ()>,
}

impl Locked<'_> {
    /// A cursor over the tree at addresses `first..=last`.
    fn cursor(&mut self, first: usize, last: usize) -> bindings::ma_state {
        let mut cursor = bindings::ma_state::default();

        // SAFETY: The tree is initialised, and outlives the cursor, which this module keeps no
        // longer than the lock.
        unsafe { bindings::mas_init(&mut cursor, self.tree.tree.get(), first) };
        cursor.last = last;
        cursor
    }

    /// The first slot whose text has a byte in `start..end`.
    fn first(&mut self, start: usize, end: usize) -> Option<Slot> {
        let last = end.checked_sub(1).filter(|last| start <= *last)?;
        let mut cursor = self.cursor(start, start);

        // SAFETY: The lock is held, by the type invariants; so are the tree's.
        unsafe { Slot::from_ptr(bindings::mas_find(&mut cursor, last)) }
    }

    /// Stores a slot at its section's text, over what is there.
    fn store(&mut self, slot: Slot, section: &Section, flags: Flags) -> Result {
        let mut cursor = self.cursor(section.text_start, section.text_last());

        // SAFETY: The lock is held, by the type invariants.
        to_result(unsafe { bindings::mas_store_gfp(&mut cursor, slot.as_ptr(), flags.as_raw()) })
    }

    /// Adds a section.
    ///
    /// # Errors
    ///
    /// `EEXIST` if a byte of its text has one already; `ENOMEM`.
    pub(crate) fn add(&mut self, section: Section) -> Result {
        if self.first(section.text_start, section.text_end).is_some() {
            return Err(EEXIST);
        }
        let slot = Slot::new(section)?;

        self.store(slot, &section, GFP_KERNEL_ACCOUNT)
            // SAFETY: The tree did not take it.
            .inspect_err(|_| unsafe { slot.release() })
    }

    /// Puts a section into the place of one that has the same text.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none; `ENOMEM`.
    pub(crate) fn replace(&mut self, section: Section) -> Result {
        let old = self
            .exact(section.text_start, section.text_end)
            .ok_or(ENOENT)?;
        let slot = Slot::new(section)?;

        self.store(slot, &section, GFP_KERNEL_ACCOUNT)
            // SAFETY: The tree did not take it.
            .inspect_err(|_| unsafe { slot.release() })?;
        // SAFETY: The tree has given it up.
        unsafe { old.release() };
        Ok(())
    }

    /// Adds a verdict to section `id`, whose text is `section`'s, unless there is no such section
    /// any more or it is known to be malformed already. Says whether it did.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn judge(
        &mut self,
        section: &Section,
        verdict: Verdict,
        flags: Flags,
    ) -> Result<bool> {
        let Some(old) = self.exact(section.text_start, section.text_end) else {
            return Ok(false);
        };
        // SAFETY: The lock is held.
        let now = unsafe { Found::new(old) };

        // Not the addresses: another section may have them by now.
        if now.section.id != section.id || matches!(now.verdict, Some(Verdict::Disabled(_))) {
            return Ok(false);
        }
        // SAFETY: The lock is held.
        let new = unsafe { old.with_verdict(verdict, flags) }?;
        self.store(new, section, flags)
            // SAFETY: The tree did not take it, and has the other still.
            .inspect_err(|_| unsafe { new.free_verdict() })?;
        // SAFETY: The tree has given it up, but not the section.
        unsafe { old.free_verdict() };
        Ok(true)
    }

    /// Removes the section that has exactly the text `start..end`.
    pub(crate) fn remove(&mut self, start: usize, end: usize) -> Option<Found> {
        let slot = self.exact(start, end)?;
        // SAFETY: The lock is held.
        let found = unsafe { Found::new(slot) };
        let mut cursor = self.cursor(start, start);

        // It cannot fail: what memory it needs it waits for.
        // SAFETY: The lock is held.
        unsafe { bindings::mas_erase(&mut cursor) };
        // SAFETY: The tree has given it up.
        unsafe { slot.release() };
        Some(found)
    }

    /// The slot of the section that has exactly the text `start..end`.
    fn exact(&mut self, start: usize, end: usize) -> Option<Slot> {
        self.first(start, end).filter(|slot| {
            // SAFETY: The lock is held.
            let section = unsafe { slot.section() };

            (section.text_start, section.text_end) == (start, end)
        })
    }
}
