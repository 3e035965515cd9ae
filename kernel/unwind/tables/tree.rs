// SPDX-License-Identifier: GPL-2.0

//! Values by address: the only place that knows about maple trees.

use core::{
    ffi::c_void,
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

use crate::entry::Entry;

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
pub(crate) struct Tree<T: Copy> {
    #[pin]
    tree: Opaque<bindings::maple_tree>,
    entries: PhantomData<ARef<Entry<T>>>,
}

// SAFETY: A maple tree may be used and destroyed by any thread, and so may plain data.
unsafe impl<T: Copy + Send + Sync> Send for Tree<T> {}
// SAFETY: The tree is read under RCU, and there is one writer at most, by the type invariants.
unsafe impl<T: Copy + Send + Sync> Sync for Tree<T> {}

impl<T: Copy> Tree<T> {
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

    /// The value of what the tree points to, if it is anything.
    ///
    /// # Safety
    ///
    /// `entry` must have been in a tree since this RCU read-side critical section began.
    unsafe fn value(entry: *mut c_void) -> Option<T> {
        // SAFETY: By the type invariants; it is freed a grace period after it was in a tree.
        unsafe { entry.cast::<Entry<T>>().as_ref() }.map(Entry::value)
    }

    /// The value whose range holds an address.
    pub(crate) fn at(&self, address: usize, _rcu: &rcu::Guard) -> Option<T> {
        // SAFETY: By the type invariants the tree is initialised and in RCU mode.
        let entry = unsafe { bindings::mtree_load(self.tree.get(), address) };

        // SAFETY: It was in the tree just now, and the caller is in such a section.
        unsafe { Self::value(entry) }
    }

    /// The first value whose range has an address in `from..to`, and that meets a condition.
    pub(crate) fn find(
        &self,
        from: usize,
        to: usize,
        condition: impl Fn(&T) -> bool,
        _rcu: &rcu::Guard,
    ) -> Option<T> {
        let last = to.checked_sub(1).filter(|last| from <= *last)?;
        let mut cursor = self.cursor(from, from);

        loop {
            // SAFETY: As in `at()`; the cursor is not used after this RCU read-side critical
            // section.
            let value = unsafe { Self::value(bindings::mas_find(&mut cursor, last)) }?;

            if condition(&value) {
                return Some(value);
            }
        }
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

#[pinned_drop]
impl<T: Copy> PinnedDrop for Tree<T> {
    fn drop(self: Pin<&mut Self>) {
        let mut cursor = self.cursor(0, 0);

        loop {
            // SAFETY: Nobody else sees the tree any more.
            let entry = unsafe { bindings::mas_find(&mut cursor, usize::MAX) };
            let Some(entry) = NonNull::new(entry.cast::<Entry<T>>()) else {
                break;
            };
            // SAFETY: The tree has a reference, by the type invariants, and is destroyed below.
            drop(unsafe { ARef::from_raw(entry) });
        }
        // There are no readers any more. In RCU mode, mt_free_walk() takes the metadata of a full
        // node for a child, where the tree has four levels or more.
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
pub(crate) struct Writer<'a, T: Copy> {
    tree: &'a Tree<T>,
}

impl<T: Copy> Writer<'_, T> {
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
        let mut cursor = self.tree.cursor(first, first);

        // SAFETY: There is no other writer, by the type invariants.
        if !unsafe { bindings::mas_find(&mut cursor, last) }.is_null() {
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
        let mut cursor = self.tree.cursor(first, first);
        // SAFETY: There is no other writer, by the type invariants.
        let old = NonNull::new(unsafe { bindings::mas_find(&mut cursor, last) });

        // Where there is something, the cursor has its range now.
        if old.is_some() && (cursor.index, cursor.last) != (first, last) {
            return Err(EEXIST);
        }
        self.store(first, last, entry, flags)?;
        if let Some(old) = old {
            // SAFETY: The tree has given it up.
            drop(unsafe { ARef::from_raw(old.cast::<Entry<T>>()) });
        }
        Ok(())
    }

    /// Stores an entry over what is at `first..=last`, whose reference is the caller's then.
    fn store(&mut self, first: usize, last: usize, entry: ARef<Entry<T>>, flags: Flags) -> Result {
        let mut cursor = self.tree.cursor(first, last);
        let entry = ARef::into_raw(entry);

        // SAFETY: There is no other writer, by the type invariants.
        to_result(unsafe {
            bindings::mas_store_gfp(&mut cursor, entry.as_ptr().cast(), flags.as_raw())
        })
        // SAFETY: The tree did not take it.
        .inspect_err(|_| drop(unsafe { ARef::from_raw(entry) }))
    }

    /// Removes the entry whose range holds an address. It cannot fail: what memory it needs it
    /// waits for.
    pub(crate) fn erase(&mut self, address: usize) {
        let mut cursor = self.tree.cursor(address, address);
        // SAFETY: There is no other writer, by the type invariants.
        let entry = unsafe { bindings::mas_erase(&mut cursor) };

        if let Some(entry) = NonNull::new(entry.cast::<Entry<T>>()) {
            // SAFETY: The tree has given it up.
            drop(unsafe { ARef::from_raw(entry) });
        }
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

        let mut cursor = self.tree.cursor(0, 0);
        loop {
            // SAFETY: There is no other writer, by the type invariants.
            let entry = unsafe { bindings::mas_find(&mut cursor, usize::MAX) };
            // SAFETY: The old tree has a reference.
            let Some(entry) = (unsafe { entry.cast::<Entry<T>>().as_ref() }) else {
                return Ok(());
            };
            // INVARIANT: This is the reference of the new tree.
            let _ = ARef::into_raw(ARef::from(entry));
        }
    }
}
