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

/// A value that one tree points to, or several that are copies of each other.
///
/// It is not changed any more, and readers copy the value out under RCU. So it is freed a grace
/// period after the last tree has given it up; and no destructor runs, for it is plain data.
#[repr(C)]
pub(crate) struct Entry<T: Copy> {
    rcu: Opaque<bindings::kvfree_rcu_head>,
    /// How many trees point to it.
    references: Refcount,
    value: T,
}

// Beside the trees' nodes, this is all that a section costs, and a table that is used.
const _: () = assert!(size_of::<Entry<Section>>() <= 96 && size_of::<Entry<Judged>>() <= 64);

// SAFETY: It is freed, after a grace period, by whoever takes the last reference away.
unsafe impl<T: Copy> AlwaysRefCounted for Entry<T> {
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

impl<T: Copy> Entry<T> {
    /// Makes an entry, to be given to a tree.
    pub(crate) fn new(value: T, flags: Flags) -> Result<ARef<Self>> {
        let entry = KBox::new(
            Self {
                rcu: Opaque::uninit(),
                references: Refcount::new(1),
                value,
            },
            flags,
        )?;

        // SAFETY: The count is 1 for this reference.
        Ok(unsafe { ARef::from_raw(NonNull::from(KBox::leak(entry))) })
    }

    /// The value.
    pub(crate) fn value(&self) -> T {
        self.value
    }
}
