// SPDX-License-Identifier: GPL-2.0

//! Maple trees that are read under RCU.

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    mem::needs_drop,
    ops::{
        RangeBounds,
        RangeInclusive, //
    }, //
};

use crate::{
    bindings,
    prelude::*,
    sync::rcu::{
        ForeignOwnableRcu,
        Guard, //
    },
    types::Opaque, //
};

use super::{
    ma_state_init,
    to_maple_range, //
};

mod writer;

pub use writer::RcuMapleWriter;

/// A maple tree in RCU mode, with an external lock.
///
/// Readers take no lock: they hold an [`rcu::Guard`](Guard). So a value that was removed must stay
/// valid for a grace period, which is what [`ForeignOwnableRcu`] stands for.
///
/// Writers need a [`RcuMapleWriter`], of which there may be one at a time: the user of the tree has
/// a lock for that. [`MapleTree`](super::MapleTree) has a spinlock of its own, which its functions
/// drop to allocate memory. A tree with an external lock may be written to under a mutex, with
/// memory that is allocated as the caller wishes, and can be duplicated.
///
/// Lockdep is not told which lock that is: it need not be the same at all times.
///
/// # Invariants
///
/// - `tree` is a maple tree in RCU mode and with an external lock.
/// - Each range in it owns an instance of `T`.
///
/// # Examples
///
/// ```
/// use kernel::{
///     maple_tree::RcuMapleTree,
///     new_mutex,
///     sync::{
///         aref::ARef,
///         rcu::{
///             self,
///             Counted, //
///         },
///         Mutex, //
///     }, //
/// };
///
/// /// # Invariants
/// ///
/// /// Those who write to `tree` hold `lock`.
/// #[pin_data]
/// struct Numbers {
///     #[pin]
///     tree: RcuMapleTree<ARef<Counted<u32>>>,
///     #[pin]
///     lock: Mutex<()>,
/// }
///
/// impl Numbers {
///     fn new() -> impl PinInit<Self> {
///         pin_init!(Self {
///             tree <- RcuMapleTree::new(),
///             lock <- new_mutex!(()),
///         })
///     }
///
///     fn add(&self, first: usize, last: usize, number: u32) -> Result {
///         let number = Counted::new(number, GFP_KERNEL)?;
///         let _guard = self.lock.lock();
///         // SAFETY: The lock is held while there is a writer, by the type invariants.
///         let mut writer = unsafe { self.tree.writer() };
///
///         Ok(writer.insert_range(first..=last, number, GFP_KERNEL)?)
///     }
///
///     fn get(&self, index: usize) -> Option<u32> {
///         self.tree.load(index, &rcu::read_lock()).copied()
///     }
/// }
///
/// let numbers = KBox::pin_init(Numbers::new(), GFP_KERNEL)?;
///
/// numbers.add(100, 199, 1)?;
/// numbers.add(200, 200, 2)?;
/// assert_eq!(numbers.add(150, 250, 3), Err(EEXIST));
///
/// assert_eq!(numbers.get(199), Some(1));
/// assert_eq!(numbers.get(200), Some(2));
/// assert_eq!(numbers.get(201), None);
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
#[repr(transparent)]
pub struct RcuMapleTree<T: ForeignOwnableRcu> {
    #[pin]
    tree: Opaque<bindings::maple_tree>,
    // Invariant in `T`: a writer, which has a shared reference, takes values.
    _p: PhantomData<UnsafeCell<T>>,
}

// SAFETY: A maple tree may be used and destroyed by any thread, if its values may.
unsafe impl<T: ForeignOwnableRcu + Send> Send for RcuMapleTree<T> {}
// SAFETY: The tree is in RCU mode, so readers are safe from the writer, and there is one writer at
// most. Readers share the values, and a writer on any thread may take them.
unsafe impl<T: ForeignOwnableRcu + Send + Sync> Sync for RcuMapleTree<T> {}

impl<T: ForeignOwnableRcu> RcuMapleTree<T> {
    /// Creates an empty tree.
    #[inline]
    pub fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: This is what the flags say, and the tree has no ranges.
            tree <- Opaque::ffi_init(|tree| {
                // SAFETY: `tree` is valid for writing, and does not move from now on.
                unsafe { Self::init(tree) }
            }),
            _p: PhantomData,
        })
    }

    /// Initialises an empty tree.
    ///
    /// # Safety
    ///
    /// `tree` must be valid for writing, and pinned.
    #[inline]
    pub(super) unsafe fn init(tree: *mut bindings::maple_tree) {
        // With lockdep, a tree knows its external lock; zeroes are none.
        // SAFETY: `tree` is valid for writing, by the requirement of this function.
        unsafe {
            tree.write_bytes(0, 1);
            bindings::mt_init_flags(
                tree,
                bindings::MT_FLAGS_USE_RCU | bindings::MT_FLAGS_LOCK_EXTERN,
            );
        }
    }

    /// Loads the value at an index.
    #[inline]
    pub fn load<'a>(&'a self, index: usize, _guard: &'a Guard) -> Option<T::RcuBorrowed<'a>> {
        // SAFETY: By the type invariants `tree` is a maple tree in RCU mode.
        let value = unsafe { bindings::mtree_load(self.tree.get(), index) };

        // SAFETY: If it is not null, it is from the tree, and so meets the requirement.
        (!value.is_null()).then(|| unsafe { Self::borrow(value) })
    }

    /// Loads the value at an index, and the range that has it; or no value, and the range around
    /// the index that has none.
    ///
    /// A writer at the same time may leave a part of the range at which the value is or was.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::{aref::ARef, rcu::{self, Counted}}};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<ARef<Counted<u32>>>::new(), GFP_KERNEL)?;
    ///
    /// let ten = Counted::new(10, GFP_KERNEL)?;
    /// tree.as_mut().writer_mut().insert_range(100..200, ten, GFP_KERNEL)?;
    ///
    /// let guard = rcu::read_lock();
    /// assert_eq!(tree.load_range(150, &guard), (100..=199, Some(&10)));
    /// assert_eq!(tree.load_range(50, &guard), (0..=99, None));
    /// assert_eq!(tree.load_range(200, &guard), (200..=usize::MAX, None));
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn load_range<'a>(
        &'a self,
        index: usize,
        _guard: &'a Guard,
    ) -> (RangeInclusive<usize>, Option<T::RcuBorrowed<'a>>) {
        let mut state = ma_state_init(self.tree.get(), index, index);

        // SAFETY: By the type invariants `tree` is a maple tree in RCU mode, so no node that the
        // walk comes to is freed before the end of this RCU read-side critical section.
        let value = unsafe { bindings::mas_walk(&mut state) };

        (
            state.index..=state.last,
            // SAFETY: If it is not null, it is from the tree, and so meets the requirement.
            (!value.is_null()).then(|| unsafe { Self::borrow(value) }),
        )
    }

    /// Borrows a value for a reader.
    ///
    /// # Safety
    ///
    /// `value` must be from the tree, found in an RCU read-side critical section that does not end
    /// before `'a` does.
    #[inline]
    unsafe fn borrow<'a>(value: *mut c_void) -> T::RcuBorrowed<'a>
    where
        T: 'a,
    {
        // SAFETY: By the type invariants the tree owns an instance of `T`, so this is from
        // `into_foreign()`. The instance was in the tree after the critical section began, so
        // whoever has taken it from there did so later.
        unsafe { T::rcu_borrow(value) }
    }

    /// Returns what is needed to write to the tree.
    ///
    /// # Safety
    ///
    /// Until `'a` ends there must be no other writer. Most often that means: the caller must hold
    /// the lock that protects the tree.
    #[inline]
    pub unsafe fn writer<'a>(&'a self) -> RcuMapleWriter<'a, T> {
        // INVARIANT: By the requirement of this function.
        RcuMapleWriter { tree: self }
    }

    /// Returns what is needed to write to a tree that nobody else uses.
    #[inline]
    pub fn writer_mut(self: Pin<&mut Self>) -> RcuMapleWriter<'_, T> {
        // INVARIANT: The tree is mutably borrowed.
        RcuMapleWriter {
            tree: self.into_ref().get_ref(),
        }
    }
}

/// The pointers in a tree whose ranges have an index in `range`, in order, with their ranges.
///
/// # Safety
///
/// `tree` must be a maple tree while the result is used, and nobody may write to it until then.
#[inline]
unsafe fn raw_iter(
    tree: *mut bindings::maple_tree,
    range: impl RangeBounds<usize>,
) -> impl Iterator<Item = (RangeInclusive<usize>, *mut c_void)> {
    let (first, last) = to_maple_range(range).unzip();
    let mut state = first.map(|first| ma_state_init(tree, first, first));

    core::iter::from_fn(move || {
        let state = state.as_mut()?;
        // SAFETY: `tree` is a maple tree. Nobody writes to it, so the node that `state` is in
        // stays.
        let value = unsafe { bindings::mas_find(state, last?) };

        (!value.is_null()).then_some((state.index..=state.last, value))
    })
}

#[pinned_drop]
impl<T: ForeignOwnableRcu> PinnedDrop for RcuMapleTree<T> {
    fn drop(self: Pin<&mut Self>) {
        if needs_drop::<T>() {
            // SAFETY: The tree is mutably borrowed.
            for (_, value) in unsafe { raw_iter(self.tree.get(), ..) } {
                // SAFETY: By the type invariants the tree owns an instance of `T`. It is not looked
                // at again: the tree is destroyed below.
                drop(unsafe { T::from_foreign(value) });
            }
        }
        // There is no reader: each has borrowed the tree. So no node has to wait for any.
        // SAFETY: The tree is mutably borrowed.
        unsafe { bindings::mt_clear_in_rcu(self.tree.get()) };
        // SAFETY: The tree is mutably borrowed, and not used any more.
        unsafe { bindings::__mt_destroy(self.tree.get()) };
    }
}
