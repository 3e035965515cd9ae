// SPDX-License-Identifier: GPL-2.0

//! Values by address: the only place that knows about maple trees.

use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

use kernel::{
    alloc::Flags,
    bindings,
    error::to_result,
    prelude::*,
    sync::{
        aref::ARef,
        rcu, //
    },
    types::Opaque, //
};

use crate::entry::{
    Entry,
    Value, //
};

/// Values by ranges of addresses.
///
/// Readers take no lock. They cannot hold one while they read user memory, which may sleep for as
/// long as another process pleases, so they copy a value out under RCU and go on with the copy. If
/// it is removed meanwhile, they get a fault or one stale answer, as if they had been faster.
///
/// There are no readers any more when a tree is dropped.
///
/// # Invariants
///
/// `tree` is a maple tree in RCU mode: readers are safe from the one [`Writer`] that there may be.
/// It points to instances of [`Entry<T>`], and has a reference to each.
#[pin_data(PinnedDrop)]
pub(crate) struct Tree<T: Value> {
    #[pin]
    tree: Opaque<bindings::maple_tree>,
    entries: PhantomData<ARef<Entry<T>>>,
}

// SAFETY: A maple tree may be used and destroyed by any thread, and so may plain data.
unsafe impl<T: Value + Send + Sync> Send for Tree<T> {}
// SAFETY: The tree is read under RCU, and there is one writer at most, by the type invariants.
unsafe impl<T: Value + Send + Sync> Sync for Tree<T> {}

impl<T: Value> Tree<T> {
    /// Makes an empty tree.
    ///
    /// Its lock is external, for its own is a spinlock that its functions drop to allocate. But it
    /// is not told which: when processes share a tree, it outlives the locks of each. That there
    /// is one writer is what [`Writer`] stands for, not lockdep.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: It is in RCU mode, and points to nothing.
            tree <- Opaque::ffi_init(|tree: *mut bindings::maple_tree| {
                // SAFETY: `tree` is to be initialised, and will not move; zeroes are no lock.
                unsafe {
                    tree.write_bytes(0, 1);
                    bindings::mt_init_flags(
                        tree,
                        bindings::MT_FLAGS_USE_RCU | bindings::MT_FLAGS_LOCK_EXTERN,
                    );
                }
            }),
            entries: PhantomData,
        })
    }

    /// The value whose range holds an address.
    pub(crate) fn at(&self, address: usize, _rcu: &rcu::Guard) -> Option<T> {
        // SAFETY: By the type invariants the tree is initialised and in RCU mode.
        let entry = unsafe { bindings::mtree_load(self.tree.get(), address) };

        // SAFETY: By the type invariants it is an entry. It was in the tree after the caller's RCU
        // read-side critical section began, and is freed a grace period after it has left the tree.
        unsafe { entry.cast::<Entry<T>>().as_ref() }.map(Entry::value)
    }

    /// The first value whose range has an address in `from..to`, and that meets a condition.
    pub(crate) fn find(
        &self,
        from: usize,
        to: usize,
        condition: impl Fn(&T) -> bool,
        _rcu: &rcu::Guard,
    ) -> Option<T> {
        let last = to.checked_sub(1)?;
        let mut next = Some(from);

        while let Some(from) = next {
            // SAFETY: The caller is in an RCU read-side critical section.
            let found = unsafe { self.first_in(from, last) }?;
            // SAFETY: As in `at()`.
            let value = unsafe { found.entry.as_ref() }.value();

            if condition(&value) {
                return Some(value);
            }
            next = found.last.checked_add(1);
        }
        None
    }

    /// The first entry whose range has an address in `from..=last`.
    ///
    /// Each step is a walk from the root. A step from a node to the next one would be cheaper, but
    /// it has to start again where a writer has replaced the node, and this tree may be empty, or
    /// a single entry without a node, at any time.
    ///
    /// # Safety
    ///
    /// The caller must be in an RCU read-side critical section until the result is not used any
    /// more, or nobody may write to the tree until then.
    unsafe fn first_in(&self, mut from: usize, last: usize) -> Option<Position<T>> {
        while from <= last {
            let mut cursor = self.cursor(from, from);
            // SAFETY: The tree is initialised; and by the requirement of this function no node is
            // freed that the walk is in.
            let entry = unsafe { bindings::mas_walk(&mut cursor) };

            // Now the cursor has the range of the entry, or of the gap.
            if let Some(entry) = NonNull::new(entry.cast()) {
                return Some(Position {
                    first: cursor.index,
                    last: cursor.last,
                    entry,
                });
            }
            from = cursor.last.checked_add(1)?;
        }
        None
    }

    /// The range around an address where there is no value, from its first address to its last;
    /// none if there is a value.
    pub(crate) fn gap(&self, address: usize, _rcu: &rcu::Guard) -> Option<(usize, usize)> {
        let mut cursor = self.cursor(address, address);

        // SAFETY: The tree is initialised, and no node is freed in an RCU read-side critical
        // section.
        unsafe { bindings::mas_walk(&mut cursor) }
            .is_null()
            .then_some((cursor.index, cursor.last))
    }

    /// The same as [`Tree::find`], for one who keeps others from writing.
    ///
    /// # Safety
    ///
    /// Nobody may write to the tree meanwhile.
    pub(crate) unsafe fn find_unchanged(
        &self,
        from: usize,
        to: usize,
        condition: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let last = to.checked_sub(1)?;

        // SAFETY: Nobody writes, by the requirement of this function.
        unsafe { self.unchanged(from, last) }
            // SAFETY: The tree has a reference, and keeps it as nobody writes.
            .map(|found| unsafe { found.entry.as_ref() }.value())
            .find(condition)
    }

    /// The entries whose ranges have an address in `from..=last`, in order.
    ///
    /// # Safety
    ///
    /// Nobody may write to the tree while the result is used.
    unsafe fn unchanged(&self, from: usize, last: usize) -> impl Iterator<Item = Position<T>> {
        let mut cursor = self.cursor(from, from);

        core::iter::from_fn(move || {
            // SAFETY: Nobody writes to the tree, so the node that the cursor is in stays.
            let entry = unsafe { bindings::mas_find(&mut cursor, last) };

            Some(Position {
                first: cursor.index,
                last: cursor.last,
                entry: NonNull::new(entry.cast())?,
            })
        })
    }

    /// A cursor over the tree at addresses `first..=last`.
    fn cursor(&self, first: usize, last: usize) -> bindings::ma_state {
        let mut cursor = bindings::ma_state::default();

        // SAFETY: The tree is initialised, and outlives the cursor, which does not leave this
        // module.
        unsafe { bindings::mas_init(&mut cursor, self.tree.get(), first) };
        cursor.last = last;
        cursor
    }

    /// What is needed to write.
    ///
    /// # Safety
    ///
    /// While the result exists, nobody else may write.
    pub(crate) unsafe fn writer(&self) -> Writer<'_, T> {
        // INVARIANT: By the requirement of this function.
        Writer { tree: self }
    }
}

/// An entry, and the range `first..=last` that it is at.
struct Position<T: Value> {
    first: usize,
    last: usize,
    entry: NonNull<Entry<T>>,
}

#[pinned_drop]
impl<T: Value> PinnedDrop for Tree<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: Nobody else sees the tree any more.
        for found in unsafe { self.unchanged(0, usize::MAX) } {
            // SAFETY: The tree has a reference, by the type invariants, and is destroyed below.
            drop(unsafe { ARef::from_raw(found.entry) });
        }
        // There are no readers any more, so no node has to wait for them.
        // SAFETY: Nobody else sees the tree any more.
        unsafe { bindings::mt_clear_in_rcu(self.tree.get()) };
        // SAFETY: As above. The tree's entries are gone, but it is not looked at again.
        unsafe { bindings::__mt_destroy(self.tree.get()) };
    }
}

/// The right to write to a tree.
///
/// # Invariants
///
/// Nobody else writes to `tree`.
pub(crate) struct Writer<'a, T: Value> {
    tree: &'a Tree<T>,
}

impl<T: Value> Writer<'_, T> {
    /// Stores an entry at `first..=last`, where there must be none.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one; `ENOMEM`.
    pub(crate) fn add(
        &mut self,
        first: usize,
        last: usize,
        entry: ARef<Entry<T>>,
        flags: Flags,
    ) -> Result {
        // SAFETY: There is no other writer, by the type invariants.
        if unsafe { self.tree.unchanged(first, last) }.next().is_some() {
            return Err(EEXIST);
        }
        self.store(first, last, entry, flags)
    }

    /// Stores an entry at `first..=last`, over one that has exactly this range, if there is one.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one that has not; `ENOMEM`.
    pub(crate) fn put(
        &mut self,
        first: usize,
        last: usize,
        entry: ARef<Entry<T>>,
        flags: Flags,
    ) -> Result {
        // SAFETY: There is no other writer, by the type invariants.
        let old = unsafe { self.tree.unchanged(first, last) }.next();

        if old
            .as_ref()
            .is_some_and(|old| (old.first, old.last) != (first, last))
        {
            return Err(EEXIST);
        }
        self.store(first, last, entry, flags)?;
        if let Some(old) = old {
            // SAFETY: The tree has given it up.
            drop(unsafe { ARef::from_raw(old.entry) });
        }
        Ok(())
    }

    /// Stores an entry at `first..=last`, over entries that are wholly in this range and meet a
    /// condition. Says how many that were: at most two, one on each side of what is new.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is another one, or more; `ENOMEM`.
    pub(crate) fn join(
        &mut self,
        first: usize,
        last: usize,
        entry: ARef<Entry<T>>,
        condition: impl Fn(&T) -> bool,
        flags: Flags,
    ) -> Result<usize> {
        let mut old = [None, None];
        let mut places = old.iter_mut();

        // SAFETY: There is no other writer, by the type invariants.
        for found in unsafe { self.tree.unchanged(first, last) } {
            // SAFETY: The tree has a reference, and keeps it as nobody else writes.
            let value = unsafe { found.entry.as_ref() }.value();

            if found.first < first || found.last > last || !condition(&value) {
                return Err(EEXIST);
            }
            *places.next().ok_or(EEXIST)? = Some(found.entry);
        }
        self.store(first, last, entry, flags)?;

        Ok(old
            .into_iter()
            .flatten()
            // SAFETY: The tree has given it up.
            .map(|entry| drop(unsafe { ARef::from_raw(entry) }))
            .count())
    }

    /// Stores an entry over what is at `first..=last`, whose reference is the caller's then.
    ///
    /// The nodes are allocated in a step of its own: `mas_store_gfp()` warns of flags that do not
    /// wait for memory.
    fn store(&mut self, first: usize, last: usize, entry: ARef<Entry<T>>, flags: Flags) -> Result {
        let mut cursor = self.tree.cursor(first, last);
        let entry = ARef::into_raw(entry);
        let new = entry.as_ptr().cast();

        // SAFETY: There is no other writer, by the type invariants.
        to_result(unsafe { bindings::mas_preallocate(&mut cursor, new, flags.as_raw()) })
            // SAFETY: The tree did not take it.
            .inspect_err(|_| drop(unsafe { ARef::from_raw(entry) }))?;
        // INVARIANT: This reference is the tree's from now on.
        // SAFETY: The cursor has the nodes for this store, and nobody has written since.
        unsafe { bindings::mas_store_prealloc(&mut cursor, new) };
        Ok(())
    }

    /// Removes the entry whose range holds an address, and says whether there was one. It cannot
    /// fail: it waits for the memory that it needs.
    pub(crate) fn erase(&mut self, address: usize) -> bool {
        let mut cursor = self.tree.cursor(address, address);
        // SAFETY: There is no other writer, by the type invariants.
        let entry = unsafe { bindings::mas_erase(&mut cursor) };
        let Some(entry) = NonNull::new(entry.cast::<Entry<T>>()) else {
            return false;
        };

        // SAFETY: The tree has given it up.
        drop(unsafe { ARef::from_raw(entry) });
        true
    }

    /// Makes the tree, which is empty, a copy of another one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then it is still empty.
    ///
    /// # Safety
    ///
    /// Nobody may write to the other one meanwhile.
    pub(crate) unsafe fn copy_from(&mut self, old: &Tree<T>, flags: Flags) -> Result {
        let (from, to) = (old.tree.get(), self.tree.tree.get());

        // SAFETY: Nobody else writes to either.
        to_result(unsafe { bindings::__mt_dup(from, to, flags.as_raw()) })?;

        // SAFETY: There is no other writer, by the type invariants.
        for found in unsafe { self.tree.unchanged(0, usize::MAX) } {
            // SAFETY: The old tree has a reference.
            let entry = unsafe { found.entry.as_ref() };
            // INVARIANT: This is the reference of the new tree.
            let _ = ARef::into_raw(ARef::from(entry));
        }
        Ok(())
    }
}
