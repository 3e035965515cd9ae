// SPDX-License-Identifier: GPL-2.0

//! Maple trees that are read under RCU.

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{
        RangeBounds,
        RangeInclusive, //
    },
    ptr, //
};

use crate::{
    alloc::Flags,
    bindings,
    error::to_result,
    prelude::*,
    sync::{
        aref::ARef,
        rcu::{
            Counted,
            Guard, //
        },
    },
    types::{
        ForeignOwnable,
        Opaque, //
    }, //
};

use super::{
    ma_state_init,
    to_maple_range, //
};

/// A maple tree of counted values, in RCU mode and with an external lock.
///
/// Readers take no lock: they hold an [`rcu::Guard`](Guard). A value that was removed stays valid
/// for a grace period, as [`Counted`] values do.
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
/// - Each range in it owns a reference to a value.
///
/// # Examples
///
/// ```
/// use kernel::{
///     maple_tree::RcuMapleTree,
///     new_mutex,
///     sync::{
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
///     tree: RcuMapleTree<u32>,
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
///         writer.store_range::<0>(first..=last, number, GFP_KERNEL)?;
///         Ok(())
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
pub struct RcuMapleTree<T> {
    #[pin]
    tree: Opaque<bindings::maple_tree>,
    // Invariant in `T`: a writer, which has a shared reference, takes values.
    _p: PhantomData<UnsafeCell<ARef<Counted<T>>>>,
}

// The tree uses the two lowest bits of a pointer.
static_assert!(align_of::<Counted<()>>() >= 4);

// SAFETY: A maple tree may be used and destroyed by any thread, if its values may.
unsafe impl<T: Send + Sync> Send for RcuMapleTree<T> {}
// SAFETY: The tree is in RCU mode, so readers are safe from the writer, and there is one writer at
// most. Readers share the values, and a writer on any thread may take them.
unsafe impl<T: Send + Sync> Sync for RcuMapleTree<T> {}

impl<T> RcuMapleTree<T> {
    /// Creates an empty tree.
    #[inline]
    pub fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: This is what the flags say, and the tree has no ranges.
            tree <- Opaque::ffi_init(|tree| {
                // SAFETY: `tree` is valid for writing, and does not move from now on.
                unsafe { init(tree) }
            }),
            _p: PhantomData,
        })
    }

    /// Loads the value at an index.
    #[inline]
    pub fn load<'a>(&'a self, index: usize, _guard: &'a Guard) -> Option<&'a T> {
        // SAFETY: By the type invariants `tree` is a maple tree in RCU mode.
        let value = unsafe { bindings::mtree_load(self.tree.get(), index) };

        // SAFETY: It is null or from the tree, and `_guard` is held while it is borrowed.
        unsafe { Self::borrow(value) }
    }

    /// Loads the value at an index, and the range that has it; or no value, and the range around
    /// the index that has none.
    ///
    /// A writer at the same time may leave a part of the range at which the value is or was.
    #[inline]
    pub fn load_range<'a>(
        &'a self,
        index: usize,
        _guard: &'a Guard,
    ) -> (RangeInclusive<usize>, Option<&'a T>) {
        let mut state = ma_state_init(self.tree.get(), index, index);

        // SAFETY: By the type invariants `tree` is a maple tree in RCU mode, so no node that the
        // walk comes to is freed before the end of this RCU read-side critical section.
        let value = unsafe { bindings::mas_walk(&mut state) };

        // SAFETY: It is null or from the tree, and `_guard` is held while it is borrowed.
        (state.index..=state.last, unsafe { Self::borrow(value) })
    }

    /// Borrows a value for a reader.
    ///
    /// # Safety
    ///
    /// `value` must be null, or from the tree, found in an RCU read-side critical section that does
    /// not end before `'a` does.
    #[inline]
    unsafe fn borrow<'a>(value: *mut c_void) -> Option<&'a T>
    where
        T: 'a,
    {
        // SAFETY: By the type invariants the tree owned a reference after the critical section
        // began, so what it refers to is freed after that ends.
        unsafe { value.cast::<Counted<T>>().as_ref() }.map(|counted| &**counted)
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

/// Initialises an empty tree.
///
/// # Safety
///
/// `tree` must be valid for writing, and pinned.
#[inline]
unsafe fn init(tree: *mut bindings::maple_tree) {
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

/// Iterates over the pointers in a tree whose ranges have an index in `range`, with these ranges.
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
impl<T> PinnedDrop for RcuMapleTree<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: The tree is mutably borrowed.
        for (_, value) in unsafe { raw_iter(self.tree.get(), ..) } {
            // SAFETY: By the type invariants the tree owns a reference. The pointer is not looked
            // at again: the tree is destroyed below.
            drop(unsafe { ARef::<Counted<T>>::from_foreign(value) });
        }
        // There is no reader: each has borrowed the tree. So no node has to wait for any.
        // SAFETY: The tree is mutably borrowed.
        unsafe { bindings::mt_clear_in_rcu(self.tree.get()) };
        // SAFETY: The tree is mutably borrowed, and not used any more.
        unsafe { bindings::__mt_destroy(self.tree.get()) };
    }
}

/// The right to write to a [`RcuMapleTree`].
///
/// # Invariants
///
/// Nobody else writes to `tree` before `'a` ends.
pub struct RcuMapleWriter<'a, T> {
    tree: &'a RcuMapleTree<T>,
}

impl<T> RcuMapleWriter<'_, T> {
    /// Iterates over the values whose ranges have an index in `range`, in order, with their ranges.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::rcu::Counted};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<u32>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// writer.store_range::<0>(100..200, Counted::new(10, GFP_KERNEL)?, GFP_KERNEL)?;
    /// writer.store_range::<0>(500..=600, Counted::new(20, GFP_KERNEL)?, GFP_KERNEL)?;
    ///
    /// let mut values = writer.iter(150..501).map(|(range, value)| (range, **value));
    /// assert_eq!(values.next(), Some((100..=199, 10)));
    /// assert_eq!(values.next(), Some((500..=600, 20)));
    /// assert_eq!(values.next(), None);
    /// drop(values);
    ///
    /// assert!(writer.iter(200..500).next().is_none());
    /// assert!(writer.iter(150..150).next().is_none());
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn iter(
        &self,
        range: impl RangeBounds<usize>,
    ) -> impl Iterator<Item = (RangeInclusive<usize>, &Counted<T>)> {
        // SAFETY: By the type invariants of the tree this is a maple tree, and it is borrowed.
        // Nobody writes to it: `self` is borrowed, too.
        let found = unsafe { raw_iter(self.tree.tree.get(), range) };

        found.map(|(range, value)| {
            // SAFETY: By the type invariants the tree owns a reference, and it keeps that as long
            // as nobody writes.
            (range, unsafe { ARef::<Counted<T>>::borrow(value) })
        })
    }

    /// Stores a value at the indexes of a range, in the place of at most `N` values whose ranges
    /// lie in it, and returns these.
    ///
    /// Readers see each old value until they see the new one.
    ///
    /// # Errors
    ///
    /// `EEXIST` if more values are there, or the range of one reaches beyond `range`; `ENOMEM`;
    /// `EINVAL` if the range is empty. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::rcu::{self, Counted}};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<u32>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// writer.store_range::<0>(10..20, Counted::new(1, GFP_KERNEL)?, GFP_KERNEL)?;
    /// writer.store_range::<0>(20..=29, Counted::new(2, GFP_KERNEL)?, GFP_KERNEL)?;
    ///
    /// let three = Counted::new(3, GFP_KERNEL)?;
    /// let result = writer.store_range::<1>(10..30, three.clone(), GFP_KERNEL);
    /// assert_eq!(result.err(), Some(EEXIST));
    /// let result = writer.store_range::<2>(15..30, three.clone(), GFP_KERNEL);
    /// assert_eq!(result.err(), Some(EEXIST));
    /// let result = writer.store_range::<2>(72..72, three.clone(), GFP_KERNEL);
    /// assert_eq!(result.err(), Some(EINVAL));
    ///
    /// let old = writer.store_range::<3>(5..30, three, GFP_KERNEL)?;
    /// assert_eq!(old.map(|value| value.map(|value| **value)), [Some(1), Some(2), None]);
    ///
    /// let guard = rcu::read_lock();
    /// assert_eq!(tree.load_range(7, &guard), (5..=29, Some(&3)));
    /// assert_eq!(tree.load_range(4, &guard), (0..=4, None));
    /// assert_eq!(tree.load_range(30, &guard), (30..=usize::MAX, None));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn store_range<const N: usize>(
        &mut self,
        range: impl RangeBounds<usize>,
        value: ARef<Counted<T>>,
        gfp: Flags,
    ) -> Result<[Option<ARef<Counted<T>>>; N]> {
        let (first, last) = to_maple_range(range).ok_or(EINVAL)?;
        let mut state = ma_state_init(self.tree.tree.get(), first, last);
        let mut old = [ptr::null_mut(); N];
        let mut rest = old.iter_mut();

        // SAFETY: The tree is borrowed, and nobody else writes to it, by the type invariants.
        for (range, found) in unsafe { raw_iter(self.tree.tree.get(), first..=last) } {
            if *range.start() < first || last < *range.end() {
                return Err(EEXIST);
            }
            *rest.next().ok_or(EEXIST)? = found;
        }

        let new = ptr::from_ref(&*value).cast_mut().cast();
        // `mas_store_gfp()` would warn of flags that do not wait for memory.
        // SAFETY: `state` is of a valid tree, and nobody else writes to that, by the type
        // invariants.
        to_result(unsafe { bindings::mas_preallocate(&mut state, new, gfp.as_raw()) })?;
        // INVARIANT: The tree owns the reference from now on.
        // SAFETY: `state` has the nodes for this store, and nobody has written since.
        unsafe { bindings::mas_store_prealloc(&mut state, value.into_foreign()) };

        // SAFETY: Those that are not null were references that the tree owned, and it has given
        // them up.
        Ok(old.map(|old| unsafe { ARef::try_from_foreign(old) }))
    }

    /// Removes the value at an index, from all indexes of its range, and returns it.
    ///
    /// This cannot fail: it waits for the memory that it needs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::rcu::Counted};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<u32>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// writer.store_range::<0>(100..500, Counted::new(10, GFP_KERNEL)?, GFP_KERNEL)?;
    ///
    /// assert_eq!(writer.erase(275).map(|value| **value), Some(10));
    /// assert!(writer.erase(127).is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn erase(&mut self, index: usize) -> Option<ARef<Counted<T>>> {
        let mut state = ma_state_init(self.tree.tree.get(), index, index);
        // SAFETY: `state` is of a valid tree, and nobody else writes to that, by the type
        // invariants.
        let value = unsafe { bindings::mas_erase(&mut state) };

        // SAFETY: If it is not null, it was a reference that the tree owned, and it has given it
        // up.
        unsafe { ARef::try_from_foreign(value) }
    }

    /// Creates a tree with the same ranges and values, of which each gets another reference.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::rcu::{self, Counted}};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<u32>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// for index in 0..100 {
    ///     writer.store_range::<0>(index..=index, Counted::new(1, GFP_KERNEL)?, GFP_KERNEL)?;
    /// }
    ///
    /// let mut copy = KBox::try_pin_init(writer.dup(GFP_KERNEL), GFP_KERNEL)?;
    /// assert!(copy.as_mut().writer_mut().erase(50).is_some());
    /// assert_eq!(tree.as_mut().writer_mut().iter(..).count(), 100);
    /// assert_eq!(copy.as_mut().writer_mut().iter(..).count(), 99);
    ///
    /// // The values are shared.
    /// drop(tree);
    /// assert_eq!(copy.load(49, &rcu::read_lock()), Some(&1));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dup(&self, gfp: Flags) -> impl PinInit<RcuMapleTree<T>, Error> + '_ {
        try_pin_init!(RcuMapleTree {
            // INVARIANT: It has the flags of the old tree, and a reference to each value.
            tree <- Opaque::try_ffi_init(move |tree| {
                // SAFETY: `tree` is valid for writing, and does not move from now on.
                unsafe { init(tree) };
                // SAFETY: Both are maple trees. Nobody writes to the old one, by the type
                // invariants and because `self` is borrowed; nobody else sees the new one. If this
                // fails, that is still empty.
                to_result(unsafe {
                    bindings::__mt_dup(self.tree.tree.get(), tree, gfp.as_raw())
                })?;

                for (_, value) in self.iter(..) {
                    // The new tree owns this one.
                    let _ = ARef::from(value).into_foreign();
                }
                Ok::<(), Error>(())
            }),
            _p: PhantomData,
        }? Error)
    }
}
