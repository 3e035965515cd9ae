// SPDX-License-Identifier: GPL-2.0

//! Values by address.

use kernel::{
    alloc::Flags,
    maple_tree::{
        RcuMapleTree,
        RcuMapleWriter, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        rcu, //
    },
};

/// An entry: a reference to a value, which is not changed any more. Trees that are copies of each
/// other share it.
pub(crate) type EntryRef<T> = ARef<rcu::Counted<T>>;

/// Values by ranges of addresses.
///
/// Readers take no lock. They cannot hold one while they read user memory, which may sleep for as
/// long as another process pleases, so they copy a value out under RCU and go on with the copy. If
/// it is removed meanwhile, they get a fault or one stale answer, as if they had been faster.
#[pin_data]
pub(crate) struct Tree<T: Copy + 'static> {
    #[pin]
    tree: RcuMapleTree<EntryRef<T>>,
}

impl<T: Copy + 'static> Tree<T> {
    /// Makes an empty tree.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            tree <- RcuMapleTree::new(),
        })
    }

    /// Makes a copy of a tree, which shares its entries.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// Nobody may write to this tree until the copy is initialised.
    pub(crate) unsafe fn copy(&self, flags: Flags) -> impl PinInit<Self, Error> + '_ {
        try_pin_init!(Self {
            // SAFETY: As this function requires.
            tree <- unsafe { self.tree.dup(flags) },
        }? Error)
    }

    /// The value whose range holds an address.
    pub(crate) fn at(&self, address: usize, rcu: &rcu::Guard) -> Option<T> {
        self.tree.load(address, rcu).copied()
    }

    /// The first value whose range has an address in `from..to`, and that meets a condition.
    pub(crate) fn find(
        &self,
        from: usize,
        to: usize,
        condition: impl Fn(&T) -> bool,
        rcu: &rcu::Guard,
    ) -> Option<T> {
        self.tree
            .iter(from..to, rcu)
            .map(|(_, value)| value)
            .find(|value| condition(value))
            .copied()
    }

    /// The range around an address where there is no value, from its first address to its last;
    /// none if there is a value.
    pub(crate) fn gap(&self, address: usize, rcu: &rcu::Guard) -> Option<(usize, usize)> {
        match self.tree.load_range(address, rcu) {
            (range, None) => Some(range.into_inner()),
            _ => None,
        }
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
        // SAFETY: As this function requires.
        unsafe { self.tree.iter_locked(from..to) }
            .map(|(_, entry)| &**entry)
            .find(|value| condition(value))
            .copied()
    }

    /// What is needed to write.
    ///
    /// # Safety
    ///
    /// While the result exists, nobody else may write, or be in [`Tree::find_unchanged`].
    pub(crate) unsafe fn writer(&self) -> Writer<'_, T> {
        // SAFETY: As this function requires.
        Writer(unsafe { self.tree.writer() })
    }
}

/// The right to write to a tree.
pub(crate) struct Writer<'a, T: Copy + 'static>(RcuMapleWriter<'a, EntryRef<T>>);

impl<T: Copy + 'static> Writer<'_, T> {
    /// Stores an entry at `first..=last`, where there must be none.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one; `ENOMEM`.
    pub(crate) fn add(
        &mut self,
        first: usize,
        last: usize,
        entry: EntryRef<T>,
        flags: Flags,
    ) -> Result {
        Ok(self.0.insert_range(first..=last, entry, flags)?)
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
        entry: EntryRef<T>,
        flags: Flags,
    ) -> Result {
        let range = first..=last;
        let is_same = |old, _: &_| old == range;

        self.0
            .replace_range::<1>(range.clone(), entry, is_same, flags)?;
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
        entry: EntryRef<T>,
        condition: impl Fn(&T) -> bool,
        flags: Flags,
    ) -> Result<usize> {
        let old = self
            .0
            .replace_range::<2>(first..=last, entry, |_, old| condition(old), flags)?;

        Ok(old.iter().flatten().count())
    }

    /// Removes the entry whose range holds an address, and says whether there was one. It cannot
    /// fail: it waits for the memory that it needs.
    pub(crate) fn erase(&mut self, address: usize) -> bool {
        self.0.erase(address).is_some()
    }
}
