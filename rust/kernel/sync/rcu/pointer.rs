// SPDX-License-Identifier: GPL-2.0

//! Pointers that are read under RCU.

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ptr::NonNull, //
};

use crate::{
    alloc::{
        AllocError,
        Flags, //
    },
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
    types::ForeignOwnable,
    workqueue::{
        self,
        impl_has_rcu_work,
        new_rcu_work,
        RcuWork,
        WorkItem, //
    },
};

use super::Guard;

/// An owned pointer that is read under RCU, and can be replaced meanwhile.
///
/// What it pointed to before is still there for those who read: it is dropped after a grace period.
///
/// # Invariants
///
/// - `ptr` was returned by [`ForeignOwnable::into_foreign`] of `P`, and this owns it.
/// - What `ptr` was before is dropped only when all RCU read-side critical sections have ended that
///   had begun when it was replaced.
///
/// # Examples
///
/// ```
/// use kernel::sync::{
///     rcu::{
///         self,
///         DropRoom,
///         Pointer, //
///     },
///     Arc, //
/// };
///
/// let pointer = Pointer::new(Arc::new(1, GFP_KERNEL)?);
/// let two = Arc::new(2, GFP_KERNEL)?;
///
/// // What takes memory comes first, so that nothing fails when the pointer is replaced.
/// let room = DropRoom::new(GFP_KERNEL)?;
///
/// let guard = rcu::read_lock();
/// let old = pointer.load(&guard);
///
/// pointer.replace(two, room);
/// assert_eq!(*pointer.load(&guard), 2);
/// // It is dropped after this critical section.
/// assert_eq!(*old, 1);
/// # Ok::<(), Error>(())
/// ```
pub struct Pointer<P: ForeignOwnable> {
    ptr: Atomic<*mut c_void>,
    // Invariant in `P`: `replace()` takes one through a shared reference.
    _p: PhantomData<UnsafeCell<P>>,
}

// SAFETY: This owns a `P`.
unsafe impl<P: ForeignOwnable + Send> Send for Pointer<P> {}
// SAFETY: Readers share what it points to, so `P` must be `Sync`, and whoever replaces the pointer
// may take a `P` to another thread. Loads and replacements are atomic.
unsafe impl<P: ForeignOwnable + Send + Sync> Sync for Pointer<P> {}

impl<P: ForeignOwnable> Pointer<P> {
    /// Creates a pointer.
    #[inline]
    pub fn new(value: P) -> Self {
        // INVARIANT: It is from `into_foreign()`, and was nothing else before.
        Self {
            ptr: Atomic::new(value.into_foreign()),
            _p: PhantomData,
        }
    }

    /// Borrows what it points to now, in an RCU read-side critical section.
    #[inline]
    pub fn load<'a>(&'a self, _guard: &'a Guard) -> P::Borrowed<'a> {
        // What it points to was initialised before it was stored: `Acquire`.
        // SAFETY: It is from `into_foreign()`. If it is replaced, nobody takes it back before this
        // critical section has ended, by the type invariants; and it is not dropped with this
        // `Pointer`, which is borrowed.
        unsafe { P::borrow(self.ptr.load(Acquire)) }
    }

    /// Borrows what it points to, for one who keeps others from replacing it.
    ///
    /// # Safety
    ///
    /// Nobody may replace the pointer before `'a` ends.
    #[inline]
    pub unsafe fn load_locked<'a>(&'a self) -> P::Borrowed<'a> {
        // What keeps others from replacing it has ordered this behind the last replacement.
        // SAFETY: It is from `into_foreign()`, and stays where it is: nobody replaces it, by the
        // requirement of this function, and it is not dropped with this `Pointer`, which is
        // borrowed.
        unsafe { P::borrow(self.ptr.load(Relaxed)) }
    }

    /// Replaces the pointer, and drops what it was after an RCU grace period, in a work queue.
    ///
    /// This neither sleeps nor fails.
    #[inline]
    pub fn replace(&self, value: P, mut room: DropRoom<P>)
    where
        P: Send + 'static,
    {
        // INVARIANT: The new one is from `into_foreign()`; the old one is dropped in time below.
        // Whoever loads the new one must see what it points to: `Release`.
        let old = self.ptr.xchg(value.into_foreign(), Release);

        // INVARIANT: It was this pointer's, and is nobody's now.
        *room.0.as_mut().project().old = NonNull::new(old);
        workqueue::system_dfl().enqueue_rcu(room.0);
    }
}

impl<P: ForeignOwnable> Drop for Pointer<P> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: It is from `into_foreign()`, and not used any more. Each reader has borrowed this
        // `Pointer`, so there are none.
        drop(unsafe { P::from_foreign(*self.ptr.get_mut()) });
    }
}

/// The memory that [`Pointer::replace`] needs.
///
/// # Examples
///
/// ```
/// use kernel::sync::{
///     rcu::DropRoom,
///     Arc, //
/// };
///
/// // It need not be used.
/// drop(DropRoom::<Arc<u32>>::new(GFP_KERNEL)?);
/// # Ok::<(), Error>(())
/// ```
pub struct DropRoom<P: ForeignOwnable + Send + 'static>(Pin<KBox<DropWork<P>>>);

impl<P: ForeignOwnable + Send + 'static> DropRoom<P> {
    /// Allocates it.
    pub fn new(flags: Flags) -> Result<Self, AllocError> {
        let work = pin_init!(DropWork {
            work <- new_rcu_work!("rcu::DropRoom"),
            old: None,
            _p: PhantomData,
        });

        Ok(Self(KBox::pin_init(work, flags).map_err(|_| AllocError)?))
    }
}

/// A work item that drops what a [`Pointer`] was.
///
/// It is enqueued by [`Pointer::replace`] alone, to run after an RCU grace period.
///
/// # Invariants
///
/// `old` was returned by [`ForeignOwnable::into_foreign`] of `P`, this owns it, and readers who
/// come from now on cannot find it.
#[pin_data]
struct DropWork<P: ForeignOwnable + Send + 'static> {
    #[pin]
    work: RcuWork<DropWork<P>>,
    old: Option<NonNull<c_void>>,
    _p: PhantomData<P>,
}

// SAFETY: This owns a `P`, which any thread may drop.
unsafe impl<P: ForeignOwnable + Send + 'static> Send for DropWork<P> {}

impl_has_rcu_work! {
    impl{P: ForeignOwnable + Send + 'static} HasRcuWork<Self> for DropWork<P> { self.work }
}

impl<P: ForeignOwnable + Send + 'static> WorkItem for DropWork<P> {
    type Pointer = Pin<KBox<Self>>;

    fn run(mut this: Pin<KBox<Self>>) {
        if let Some(old) = this.as_mut().project().old.take() {
            // SAFETY: It is from `into_foreign()`, by the type invariants. This was enqueued after
            // the pointer was replaced, by `enqueue_rcu()`: so a grace period has passed since, and
            // those who had found it have ended.
            drop(unsafe { P::from_foreign(old.as_ptr()) });
        }
    }
}
