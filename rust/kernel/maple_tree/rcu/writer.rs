// SPDX-License-Identifier: GPL-2.0

//! Writing to maple trees that are read under RCU.

use core::{
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
    sync::rcu::ForeignOwnableRcu, //
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
/// Nobody else writes to `tree`, or is in [`RcuMapleTree::iter_locked`], before `'a` ends.
pub struct RcuMapleWriter<'a, T: ForeignOwnableRcu> {
    pub(super) tree: &'a RcuMapleTree<T>,
}

impl<T: ForeignOwnableRcu> RcuMapleWriter<'_, T> {
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
