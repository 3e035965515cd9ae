// SPDX-License-Identifier: GPL-2.0

//! Pointers that are read under RCU.

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    mem::ManuallyDrop,
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

use super::{
    synchronize_rcu,
    Guard, //
};

/// An owned pointer that is read under RCU, and can be replaced meanwhile.
///
/// What it pointed to before is still there for those who read: see [`Retired`].
///
/// # Invariants
///
/// - `ptr` was returned by [`ForeignOwnable::into_foreign`] of `P`, and this owns it.
/// - What `ptr` was before is taken back only when all RCU read-side critical sections have ended
///   that had begun when it was replaced.
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
/// pointer.replace(two).drop_later(room);
/// assert_eq!(*pointer.load(&guard), 2);
/// // It is dropped after this critical section.
/// assert_eq!(*old, 1);
/// drop(guard);
///
/// // One who may sleep can wait for the readers instead.
/// drop(pointer.replace(Arc::new(3, GFP_KERNEL)?));
/// assert_eq!(*pointer.load(&rcu::read_lock()), 3);
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
        // SAFETY: It is from `into_foreign()`, and stays where it is: nobody replaces it, by the
        // requirement of this function, and it is not dropped with this `Pointer`, which is
        // borrowed.
        unsafe { P::borrow(self.ptr.load(Acquire)) }
    }

    /// Replaces the pointer, and returns what it was.
    #[inline]
    pub fn replace(&self, value: P) -> Retired<P> {
        // INVARIANT: The new one is from `into_foreign()`; the old one is `Retired` from now on,
        // which is taken back in time.
        // Whoever loads the new one must see what it points to: `Release`.
        let ptr = self.ptr.xchg(value.into_foreign(), Release);

        // INVARIANT: It was this pointer's.
        Retired {
            // SAFETY: It is from `into_foreign()`, which returns no null.
            ptr: unsafe { NonNull::new_unchecked(ptr) },
            _p: PhantomData,
        }
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

/// What a [`Pointer`] was before it was replaced. Those who read it may still have it borrowed.
///
/// When this is dropped, it waits for an RCU grace period first, and so may sleep. Those who cannot
/// sleep, or do not want to, use [`Retired::drop_later`]. It must not be dropped in an RCU
/// read-side critical section.
///
/// # Invariants
///
/// `ptr` was returned by [`ForeignOwnable::into_foreign`] of `P`, this owns it, and readers who
/// come from now on cannot find it.
#[must_use = "if unused, it waits for an RCU grace period immediately"]
pub struct Retired<P: ForeignOwnable> {
    ptr: NonNull<c_void>,
    _p: PhantomData<P>,
}

// SAFETY: This owns a `P`.
unsafe impl<P: ForeignOwnable + Send> Send for Retired<P> {}

impl<P: ForeignOwnable> Retired<P> {
    /// Drops the pointer after an RCU grace period, in a work queue. This neither sleeps nor fails.
    #[inline]
    pub fn drop_later(self, mut room: DropRoom<P>)
    where
        P: Send + 'static,
    {
        *room.0.as_mut().project().retired = Some(ManuallyDrop::new(self));
        workqueue::system_dfl().enqueue_rcu(room.0);
    }

    /// Takes the pointer back.
    ///
    /// # Safety
    ///
    /// An RCU grace period must have passed since this was made, and this must not be used again.
    #[inline]
    unsafe fn take(&self) -> P {
        // SAFETY: By the type invariants it is from `into_foreign()`, and readers from before have
        // ended. This owns it, and is not used again.
        unsafe { P::from_foreign(self.ptr.as_ptr()) }
    }
}

impl<P: ForeignOwnable> Drop for Retired<P> {
    fn drop(&mut self) {
        synchronize_rcu();
        // SAFETY: The grace period that has ended began after the pointer was retired, and this is
        // being dropped.
        drop(unsafe { self.take() });
    }
}

/// The memory that [`Retired::drop_later`] needs.
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
            retired: None,
        });

        Ok(Self(KBox::pin_init(work, flags).map_err(|_| AllocError)?))
    }
}

/// A work item that drops a pointer.
///
/// It is enqueued by [`Retired::drop_later`] alone, to run after an RCU grace period.
#[pin_data]
struct DropWork<P: ForeignOwnable + Send + 'static> {
    #[pin]
    work: RcuWork<DropWork<P>>,
    retired: Option<ManuallyDrop<Retired<P>>>,
}

impl_has_rcu_work! {
    impl{P: ForeignOwnable + Send + 'static} HasRcuWork<Self> for DropWork<P> { self.work }
}

impl<P: ForeignOwnable + Send + 'static> WorkItem for DropWork<P> {
    type Pointer = Pin<KBox<Self>>;

    fn run(mut this: Pin<KBox<Self>>) {
        if let Some(retired) = this.as_mut().project().retired.take() {
            // SAFETY: This was enqueued after the pointer was retired, by `enqueue_rcu()`, so a
            // grace period has passed since. `retired` is not used again.
            drop(unsafe { retired.take() });
        }
    }
}
