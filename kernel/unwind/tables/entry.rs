// SPDX-License-Identifier: GPL-2.0

//! What trees point to.

use core::ptr::NonNull;

use kernel::{
    alloc::Flags,
    bindings,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        Refcount, //
    },
    types::Opaque, //
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
pub(crate) unsafe trait Value: Copy {
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
/// It is not changed any more, and readers copy the value out under RCU. So it is freed a grace
/// period after the last tree has given it up; and no destructor runs, for it is plain data.
///
/// # Invariants
///
/// If the head has a tail, this is the first field of a [`Long`].
#[repr(C)]
pub(crate) struct Entry<T: Value> {
    rcu: Opaque<bindings::kvfree_rcu_head>,
    /// How many trees point to it.
    references: Refcount,
    head: T::Head,
}

/// An entry, and the tail of its value.
#[repr(C)]
struct Long<T: Value> {
    entry: Entry<T>,
    tail: T::Tail,
}

// Beside the trees' nodes, this is all that a section costs, with one table or two, and a table
// that is used.
const _: () = assert!(size_of::<Entry<Section>>() <= 64 && size_of::<Long<Section>>() <= 96);
const _: () = assert!(size_of::<Entry<Judged>>() <= 64);

// SAFETY: It is freed, after a grace period, by whoever takes the last reference away.
unsafe impl<T: Value> AlwaysRefCounted for Entry<T> {
    fn inc_ref(&self) {
        self.references.inc();
    }

    unsafe fn dec_ref(entry: NonNull<Self>) {
        // SAFETY: This reference is still counted, so it lives.
        if unsafe { entry.as_ref() }.references.dec_and_test() {
            let entry = entry.as_ptr();

            // SAFETY: It was made by `KBox`, and no reader can find it from now on.
            unsafe { bindings::kvfree_call_rcu((*entry).rcu.get(), entry.cast()) };
        }
    }
}

impl<T: Value> Entry<T> {
    /// Makes an entry, to be given to a tree.
    pub(crate) fn new(value: T, flags: Flags) -> Result<ARef<Self>> {
        let (head, tail) = value.split();
        let entry = Self {
            rcu: Opaque::uninit(),
            references: Refcount::new(1),
            head,
        };
        // INVARIANT: By the requirement of the trait there is a tail if the head has one.
        let entry = match tail {
            None => NonNull::from(KBox::leak(KBox::new(entry, flags)?)),
            Some(tail) => NonNull::from(KBox::leak(KBox::new(Long { entry, tail }, flags)?)).cast(),
        };

        // SAFETY: The count is 1 for this reference.
        Ok(unsafe { ARef::from_raw(entry) })
    }

    /// The value.
    #[inline]
    pub(crate) fn value(&self) -> T {
        let long = core::ptr::from_ref(self).cast::<Long<T>>();
        // SAFETY: By the type invariants this is the first field of a `Long` then, and all
        // references to entries are made from a pointer to what was allocated.
        let tail = T::has_tail(self.head).then(|| unsafe { (*long).tail });

        T::join(self.head, tail)
    }
}
