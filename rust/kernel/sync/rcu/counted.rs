// SPDX-License-Identifier: GPL-2.0

//! Reference counted values that are freed a grace period after their last reference.

use core::{
    mem::{
        needs_drop,
        offset_of, //
    },
    ops::Deref,
    ptr::NonNull, //
};

use crate::{
    alloc::{
        AllocError,
        Flags, //
    },
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

/// A reference counted value that is freed with `kfree_rcu()`.
///
/// Those who find it in an RCU read-side critical section may borrow the value until that ends, but
/// cannot take a reference, as there may be none any more.
///
/// No destructor runs: a type that needs one is refused at compile time.
///
/// # Invariants
///
/// - The value was allocated by [`KBox`], and is not moved.
/// - `count` is the number of references. When it is zero, the value is freed after a grace period.
/// - `rcu` is the first field, whatever the value is: `kfree_rcu()` wants it in the first page.
///
/// # Examples
///
/// ```
/// use kernel::sync::rcu::Counted;
///
/// let one = Counted::new(42, GFP_KERNEL)?;
/// let other = one.clone();
///
/// drop(one);
/// assert_eq!(**other, 42);
/// # Ok::<(), Error>(())
/// ```
#[repr(C)]
pub struct Counted<T> {
    rcu: Opaque<bindings::kvfree_rcu_head>,
    count: Refcount,
    value: T,
}

// Fields that are left to the compiler are ordered by size: a large value would come first.
static_assert!(offset_of!(Counted<[u64; 512]>, rcu) == 0);

// SAFETY: `rcu` is used only by whoever drops the last reference, and the count is atomic. So what
// may be sent is what the value says. `T` must be `Sync` because other references may exist.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: As above; a reference to this is a reference to the value.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Counted<T> {
    /// Allocates a value, and returns the only reference to it.
    #[inline]
    pub fn new(value: T, flags: Flags) -> Result<ARef<Self>, AllocError> {
        const { assert!(!needs_drop::<T>(), "kfree_rcu() runs no destructor") };

        // INVARIANT: It is allocated by `KBox`, is leaked below and so not moved, and there will be
        // one reference.
        let counted = KBox::new(
            Self {
                rcu: Opaque::uninit(),
                count: Refcount::new(1),
                value,
            },
            flags,
        )?;

        // SAFETY: The count is 1 for this reference.
        Ok(unsafe { ARef::from_raw(NonNull::from(KBox::leak(counted))) })
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

// SAFETY: All instances are made by `new()`, and counted. By the type invariants an instance is
// freed only when there is no reference.
unsafe impl<T> AlwaysRefCounted for Counted<T> {
    #[inline]
    fn inc_ref(&self) {
        self.count.inc();
    }

    #[inline]
    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller's reference is still counted, so the object is valid.
        if unsafe { obj.as_ref() }.count.dec_and_test() {
            let obj = obj.as_ptr();

            // SAFETY: By the type invariants the object was allocated by `KBox`, so `kvfree()` can
            // free it, and `rcu` is in its first page. There is no reference any more, so nobody
            // else uses `rcu`, and the object is valid until the grace period ends.
            unsafe { bindings::kvfree_call_rcu((*obj).rcu.get(), obj.cast()) };
        }
    }
}
