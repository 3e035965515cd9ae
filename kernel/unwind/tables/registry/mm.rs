// SPDX-License-Identifier: GPL-2.0

//! The pointer from an address space to its registry.
//!
//! It is in `struct mm_struct`, and null until something is registered or a walk looks for a table.
//! Then it does not change until the last user of the address space is gone.
//!
//! C header: [`include/linux/unwind_tables.h`](srctree/include/linux/unwind_tables.h)

use core::mem::offset_of;

use kernel::{
    alloc::Flags,
    bindings,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed, //
    },
    types::ForeignOwnable, //
};

use super::Registry;

static_assert!(offset_of!(Registry, generation) == 0);
static_assert!(offset_of!(bindings::unwind_tables, generation) == 0);
static_assert!(offset_of!(Registry, cache) == offset_of!(bindings::unwind_tables, cache));
static_assert!(
    offset_of!(Registry, warm_up_after) == offset_of!(bindings::unwind_tables, warm_up_after)
);
static_assert!(offset_of!(Registry, idle) == offset_of!(bindings::unwind_tables, idle));

impl Registry {
    /// Finds the registry of an address space.
    ///
    /// # Safety
    ///
    /// `mm` must point to a `struct mm_struct` that keeps its users while the result is used.
    pub(crate) unsafe fn get<'a>(mm: *mut bindings::mm_struct) -> Option<&'a Self> {
        // SAFETY: As this function requires.
        let registry = unsafe { slot(mm) }.load(Acquire).cast::<Self>();

        // SAFETY: What a slot points to is freed after the last user is gone. `get_or_new()` has
        // published it, or `duplicate()` has stored it before the address space got its users.
        unsafe { registry.as_ref() }
    }

    /// Finds the registry of an address space, or makes one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// As for [`Registry::get`].
    pub(crate) unsafe fn get_or_new<'a>(
        mm: *mut bindings::mm_struct,
        flags: Flags,
    ) -> Result<&'a Self> {
        // SAFETY: As this function requires.
        if let Some(registry) = unsafe { Self::get(mm) } {
            return Ok(registry);
        }

        let new = Self::new(flags)?.into_foreign().cast();
        // Whoever sees the new pointer must see what it points to: `Full`.
        // SAFETY: As this function requires.
        if unsafe { slot(mm) }
            .cmpxchg(core::ptr::null_mut(), new, Full)
            .is_err()
        {
            // SAFETY: Another was faster; nobody has seen this one.
            unsafe { Self::free(new) };
        }
        // SAFETY: As this function requires. What is published stays.
        unsafe { Self::get(mm) }.ok_or(ENOMEM)
    }

    /// Gives the new address space `mm` the texts of `old` that have a table.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then `mm` has no texts.
    ///
    /// # Safety
    ///
    /// `old` must have users until this returns. `mm` must be new: nobody else uses it, and
    /// nothing is registered.
    pub(crate) unsafe fn duplicate(
        mm: *mut bindings::mm_struct,
        old: *mut bindings::mm_struct,
    ) -> Result {
        // SAFETY: `old` keeps its users.
        let old = unsafe { Self::get(old) };

        if let Some(new) = old.map_or(Ok(None), Self::copy)? {
            // SAFETY: Only this thread uses `mm`, so it stays.
            unsafe { slot(mm) }.store(new.into_foreign().cast(), Relaxed);
        }
        Ok(())
    }

    /// Frees a registry that a slot pointed to.
    ///
    /// # Safety
    ///
    /// Nobody may use the registry any more.
    pub(crate) unsafe fn free(registry: *mut bindings::unwind_tables) {
        // SAFETY: It is from `into_foreign()`, and not used any more.
        drop(unsafe { Pin::<KBox<Self>>::from_foreign(registry.cast()) });
    }
}

/// Returns the pointer in an address space.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that stays while the result is used.
unsafe fn slot<'a>(mm: *mut bindings::mm_struct) -> &'a Atomic<*mut bindings::unwind_tables> {
    // SAFETY: The place is in an object that stays, by the requirement of this function. Rust and C
    // use it atomically as long as there may be another user.
    unsafe { Atomic::from_ptr(&raw mut (*mm).__bindgen_anon_1.unwind_tables) }
}
