// SPDX-License-Identifier: GPL-2.0

//! Writing to maple trees that are read under RCU.

use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::{
        RangeBounds,
        RangeInclusive, //
    },
    ptr, //
};

use crate::{
    alloc::{
        AllocError,
        Flags, //
    },
    bindings,
    error::to_result,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        rcu::ForeignOwnableRcu, //
    },
    types::{
        ForeignOwnable,
        Opaque, //
    },
};

use super::{
    super::{
        ma_state_init,
        to_maple_range,
        InsertError,
        InsertErrorKind, //
    },
    raw_iter,
    RcuMapleTree, //
};

/// The right to write to a [`RcuMapleTree`].
///
/// # Invariants
///
/// Nobody else writes to `tree` before `'a` ends.
pub struct RcuMapleWriter<'a, T: ForeignOwnableRcu> {
    pub(super) tree: &'a RcuMapleTree<T>,
}

impl<T: ForeignOwnableRcu> RcuMapleWriter<'_, T> {
    /// Iterates over the values whose ranges have an index in `range`, in order, with their ranges.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::{aref::ARef, rcu::Counted}};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<ARef<Counted<u32>>>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// writer.insert_range(100..200, Counted::new(10, GFP_KERNEL)?, GFP_KERNEL)?;
    /// writer.insert_range(500..=600, Counted::new(20, GFP_KERNEL)?, GFP_KERNEL)?;
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
    ) -> impl Iterator<Item = (RangeInclusive<usize>, T::Borrowed<'_>)> {
        // SAFETY: By the type invariants of the tree this is a maple tree, and it is borrowed.
        // Nobody writes to it: `self` is borrowed, too.
        let found = unsafe { raw_iter(self.tree.tree.get(), range) };

        found.map(|(range, value)| {
            // SAFETY: By the type invariants the tree owns an instance of `T`, and it keeps it as
            // long as nobody writes.
            (range, unsafe { T::borrow(value) })
        })
    }

    /// Inserts a value at the indexes of a range, which must have none.
    ///
    /// # Errors
    ///
    /// [`InsertErrorKind::Occupied`] if an index of the range has a value;
    /// [`InsertErrorKind::AllocError`]; [`InsertErrorKind::InvalidRequest`] if the range is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{
    ///     maple_tree::{InsertErrorKind, RcuMapleTree},
    ///     sync::{aref::ARef, rcu::Counted}, //
    /// };
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<ARef<Counted<u32>>>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    /// let value = Counted::new(10, GFP_KERNEL)?;
    ///
    /// writer.insert_range(100..500, value.clone(), GFP_KERNEL)?;
    /// writer.insert_range(500..=1000, value.clone(), GFP_KERNEL)?;
    ///
    /// assert_eq!(
    ///     writer.insert_range(1000..1200, value.clone(), GFP_KERNEL).unwrap_err().cause,
    ///     InsertErrorKind::Occupied,
    /// );
    /// assert_eq!(
    ///     writer.insert_range(72..72, value, GFP_KERNEL).unwrap_err().cause,
    ///     InsertErrorKind::InvalidRequest,
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn insert_range(
        &mut self,
        range: impl RangeBounds<usize>,
        value: T,
        gfp: Flags,
    ) -> Result<(), InsertError<T>> {
        self.replace_range::<0>(range, value, |_, _| false, gfp)
            .map(|_| ())
    }

    /// Stores a value at the indexes of a range, in the place of at most `N` values, and returns
    /// these.
    ///
    /// Readers see each old value until they see the new one.
    ///
    /// # Errors
    ///
    /// [`InsertErrorKind::Occupied`] if there are more, or the range of one reaches beyond `range`,
    /// or `may_replace` returns false for one; [`InsertErrorKind::AllocError`];
    /// [`InsertErrorKind::InvalidRequest`] if the range is empty. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{
    ///     maple_tree::{InsertErrorKind, RcuMapleTree},
    ///     sync::{aref::ARef, rcu::{self, Counted}}, //
    /// };
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<ARef<Counted<u32>>>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// writer.insert_range(10..20, Counted::new(1, GFP_KERNEL)?, GFP_KERNEL)?;
    /// writer.insert_range(20..30, Counted::new(2, GFP_KERNEL)?, GFP_KERNEL)?;
    ///
    /// let three = Counted::new(3, GFP_KERNEL)?;
    /// let result = writer.replace_range::<1>(10..30, three.clone(), |_, _| true, GFP_KERNEL);
    /// assert!(result.is_err_and(|error| error.cause == InsertErrorKind::Occupied));
    ///
    /// let result = writer.replace_range::<2>(15..30, three.clone(), |_, _| true, GFP_KERNEL);
    /// assert!(result.is_err_and(|error| error.cause == InsertErrorKind::Occupied));
    ///
    /// let small = |_, old: &Counted<u32>| **old < 2;
    /// let result = writer.replace_range::<2>(10..30, three.clone(), small, GFP_KERNEL);
    /// assert!(result.is_err_and(|error| error.cause == InsertErrorKind::Occupied));
    ///
    /// let old = writer.replace_range::<3>(5..30, three, |_, _| true, GFP_KERNEL)?;
    /// assert_eq!(old.map(|value| value.map(|value| **value)), [Some(1), Some(2), None]);
    /// assert_eq!(tree.load_range(7, &rcu::read_lock()), (5..=29, Some(&3)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn replace_range<const N: usize>(
        &mut self,
        range: impl RangeBounds<usize>,
        value: T,
        mut may_replace: impl FnMut(RangeInclusive<usize>, T::Borrowed<'_>) -> bool,
        gfp: Flags,
    ) -> Result<[Option<T>; N], InsertError<T>> {
        let Some((first, last)) = to_maple_range(range) else {
            return Err(InsertError {
                value,
                cause: InsertErrorKind::InvalidRequest,
            });
        };
        let mut old = [ptr::null_mut(); N];
        let mut places = old.iter_mut();

        // SAFETY: The tree is borrowed, and nobody else writes to it, by the type invariants.
        for (range, found) in unsafe { raw_iter(self.tree.tree.get(), first..=last) } {
            let is_inside = first <= *range.start() && *range.end() <= last;

            match places.next() {
                // SAFETY: By the type invariants of the tree it owns an instance of `T`, and it
                // keeps it as nobody else writes to it.
                Some(place) if is_inside && may_replace(range, unsafe { T::borrow(found) }) => {
                    *place = found;
                }
                _ => {
                    return Err(InsertError {
                        value,
                        cause: InsertErrorKind::Occupied,
                    })
                }
            }
        }
        self.store(first, last, value, gfp)?;

        // SAFETY: Those that are not null were instances that the tree owned, and it has given them
        // up.
        Ok(old.map(|old| unsafe { T::try_from_foreign(old) }))
    }

    /// Stores a value over what is at `first..=last`.
    ///
    /// The nodes are allocated in a step of its own: `mas_store_gfp()` warns of flags that do not
    /// wait for memory.
    fn store(
        &mut self,
        first: usize,
        last: usize,
        value: T,
        gfp: Flags,
    ) -> Result<(), InsertError<T>> {
        const {
            assert!(
                T::FOREIGN_ALIGN >= 4,
                "a maple tree uses the two lowest bits"
            )
        };

        let mut state = ma_state_init(self.tree.tree.get(), first, last);
        let new = T::into_foreign(value);

        // SAFETY: `state` is of a valid tree, and nobody else writes to that, by the type
        // invariants.
        let result = unsafe { bindings::mas_preallocate(&mut state, new, gfp.as_raw()) };

        if to_result(result).is_err() {
            return Err(InsertError {
                // SAFETY: The tree did not take it.
                value: unsafe { T::from_foreign(new) },
                cause: InsertErrorKind::AllocError(AllocError),
            });
        }
        // INVARIANT: The tree owns the value from now on.
        // SAFETY: `state` has the nodes for this store, and nobody has written since.
        unsafe { bindings::mas_store_prealloc(&mut state, new) };
        Ok(())
    }

    /// Removes the value at an index, from all indexes of its range, and returns it.
    ///
    /// This cannot fail: it waits for the memory that it needs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::{aref::ARef, rcu::Counted}};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<ARef<Counted<u32>>>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// writer.insert_range(100..500, Counted::new(10, GFP_KERNEL)?, GFP_KERNEL)?;
    ///
    /// assert_eq!(writer.erase(275).map(|value| **value), Some(10));
    /// assert!(writer.erase(127).is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn erase(&mut self, index: usize) -> Option<T> {
        let mut state = ma_state_init(self.tree.tree.get(), index, index);
        // SAFETY: `state` is of a valid tree, and nobody else writes to that, by the type
        // invariants.
        let value = unsafe { bindings::mas_erase(&mut state) };

        // SAFETY: If it is not null, it was an instance that the tree owned, and it has given it
        // up.
        unsafe { T::try_from_foreign(value) }
    }
}

impl<T: AlwaysRefCounted> RcuMapleWriter<'_, ARef<T>>
where
    ARef<T>: ForeignOwnableRcu,
{
    /// Creates a tree with the same ranges and values, of which each gets another reference.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{maple_tree::RcuMapleTree, sync::{aref::ARef, rcu::{self, Counted}}};
    ///
    /// let mut tree = KBox::pin_init(RcuMapleTree::<ARef<Counted<u32>>>::new(), GFP_KERNEL)?;
    /// let mut writer = tree.as_mut().writer_mut();
    ///
    /// for index in 0..100 {
    ///     writer.insert_range(index..=index, Counted::new(1, GFP_KERNEL)?, GFP_KERNEL)?;
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
    pub fn dup(&self, gfp: Flags) -> impl PinInit<RcuMapleTree<ARef<T>>, Error> + '_ {
        try_pin_init!(RcuMapleTree {
            // INVARIANT: It has the flags of the old tree, and a reference to each value.
            tree <- Opaque::try_ffi_init(move |tree| {
                // SAFETY: `tree` is valid for writing, and does not move from now on.
                unsafe { RcuMapleTree::<ARef<T>>::init(tree) };
                // SAFETY: Both are maple trees. Nobody writes to the old one, by the type
                // invariants and because `self` is borrowed; nobody else sees the new one. If this
                // fails, that is still empty.
                to_result(unsafe {
                    bindings::__mt_dup(self.tree.tree.get(), tree, gfp.as_raw())
                })?;

                // SAFETY: Nobody else sees the new tree.
                for (_, value) in unsafe { raw_iter(tree, ..) } {
                    // SAFETY: It is a value of the old tree as well, whose reference is not dropped
                    // here.
                    let value = ManuallyDrop::new(unsafe { ARef::<T>::from_foreign(value) });
                    // The new tree owns this one.
                    let _ = ARef::into_raw((*value).clone());
                }
                Ok::<(), Error>(())
            }),
            _p: PhantomData,
        }? Error)
    }
}
