// SPDX-License-Identifier: GPL-2.0

//! What trees point to.

use kernel::{
    alloc::Flags,
    prelude::*,
    sync::{
        aref::ARef,
        rcu::Counted, //
    },
};

use crate::section::{
    Judged,
    Section, //
};

/// What trees point to: plain data, of which an entry keeps a head, and a tail if there is one.
///
/// # Safety
///
/// For each value, `has_tail()` must say of the head from `split()` whether a tail came with it.
pub(crate) unsafe trait Value: Copy + 'static {
    /// What each entry keeps.
    type Head: Copy;
    /// What it keeps besides, if there is more.
    type Tail: Copy;

    /// Takes a value apart, so that it can be kept.
    fn split(self) -> (Self::Head, Option<Self::Tail>);

    /// Whether there is a tail.
    fn has_tail(head: Self::Head) -> bool;

    /// The value that was taken apart.
    fn join(head: Self::Head, tail: Option<Self::Tail>) -> Self;
}

/// A value that one tree points to, or several that are copies of each other.
///
/// It is not changed any more, and readers copy the value out under RCU.
///
/// # Invariants
///
/// If the head has a tail, this is the first field of a [`Long`].
#[repr(C)]
pub(crate) struct Entry<T: Value> {
    head: T::Head,
}

/// A reference to an entry.
pub(crate) type EntryRef<T> = ARef<Counted<Entry<T>>>;

/// An entry, and the tail of its value.
#[repr(C)]
struct Long<T: Value> {
    entry: Entry<T>,
    tail: T::Tail,
}

// Beside the trees' nodes, this is all that a section costs, with one table or two, and a table
// that is used.
static_assert!(size_of::<Counted<Entry<Section>>>() <= 64);
static_assert!(size_of::<Counted<Long<Section>>>() <= 96);
static_assert!(size_of::<Counted<Entry<Judged>>>() <= 64);

impl<T: Value> Entry<T> {
    /// Makes an entry, to be given to a tree.
    pub(crate) fn new(value: T, flags: Flags) -> Result<EntryRef<T>> {
        const { assert!(align_of::<Long<T>>() == align_of::<Self>()) };

        let (head, tail) = value.split();
        // INVARIANT: By the requirement of the trait there is a tail if the head has one.
        let entry = Self { head };
        let Some(tail) = tail else {
            return Ok(Counted::new(entry, flags)?);
        };
        let long = ARef::into_raw(Counted::new(Long { entry, tail }, flags)?);

        // SAFETY: This is the reference that was made just now. A `Counted<Long<T>>` is a
        // `Counted<Entry<T>>`, too: an entry is its first field, and has its alignment.
        Ok(unsafe { ARef::from_raw(long.cast()) })
    }

    /// The value.
    #[inline]
    pub(crate) fn value(&self) -> T {
        let long = core::ptr::from_ref(self).cast::<Long<T>>();
        // SAFETY: By the type invariants this is the first field of a `Long` then. References to
        // entries are made from the pointer to all that was allocated, and nobody writes there. The
        // tail is beyond the reference, which Tree Borrows allows, and Stacked Borrows would not.
        let tail = T::has_tail(self.head).then(|| unsafe { (*long).tail });

        T::join(self.head, tail)
    }
}
