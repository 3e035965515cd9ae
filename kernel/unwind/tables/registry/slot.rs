// SPDX-License-Identifier: GPL-2.0

//! Where an address space keeps its registry.
//!
//! Registries are found through a pointer in `struct mm_struct`, which is null until something is
//! registered, then never changes until the last user of the address space is gone.
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
        Full, //
    },
    types::ForeignOwnable, //
};

use super::Registry;

use crate::{
    entry::EntryRef,
    section::Section, //
};

static_assert!(offset_of!(Registry, generation) == 0);
static_assert!(offset_of!(bindings::unwind_tables, generation) == 0);
static_assert!(offset_of!(Registry, cache) == offset_of!(bindings::unwind_tables, cache));

impl Registry {
    /// The registry that `slot`, of an address space, points to.
    ///
    /// # Safety
    ///
    /// `slot` must point to the `unwind_tables` of a `struct mm_struct` that keeps its users while
    /// the result is used.
    pub(crate) unsafe fn get<'a>(slot: *mut *mut bindings::unwind_tables) -> Option<&'a Self> {
        // SAFETY: The slot is of an address space that has users, and all that store to it do so
        // atomically.
        let registry = unsafe { Atomic::from_ptr(slot) }
            .load(Acquire)
            .cast::<Self>();

        // SAFETY: What a slot points to was published by `get_or_new()` and is freed after the
        // last user is gone.
        unsafe { registry.as_ref() }
    }

    /// The registry of an address space, made if there is none yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// As for [`Registry::get`].
    pub(crate) unsafe fn get_or_new<'a>(
        slot: *mut *mut bindings::unwind_tables,
        flags: Flags,
    ) -> Result<&'a Self> {
        // SAFETY: As this function requires.
        if let Some(registry) = unsafe { Self::get(slot) } {
            return Ok(registry);
        }

        let new = Self::new(flags)?.into_foreign().cast();
        // SAFETY: As in `get()`. Whoever sees the new pointer must see what it points to: `Full`.
        if unsafe { Atomic::from_ptr(slot) }
            .cmpxchg(core::ptr::null_mut(), new, Full)
            .is_err()
        {
            // SAFETY: Another was faster; nobody has seen this one.
            unsafe { Self::free(new) };
        }
        // SAFETY: As this function requires. What is published stays.
        unsafe { Self::get(slot) }.ok_or(ENOMEM)
    }

    /// Does what takes memory, before any lock is taken, to register a section in the address space
    /// `mm` or to replace one.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `mm` must have users until this returns.
    pub(crate) unsafe fn prepare(
        mm: *mut bindings::mm_struct,
        section: Section,
        update: bool,
    ) -> Result<EntryRef<Section>> {
        // SAFETY: `mm` keeps its users, by the requirement of this function.
        let registry = unsafe { Self::get_or_new(slot(mm), GFP_KERNEL_ACCOUNT) }?;
        let (start, end) = (section.text_start, section.text_end);
        // A change that will be refused is no reason to copy a set.
        let refused = if update {
            registry.find_in(start, end).is_none()
        } else {
            registry.is_taken(&section)
        };

        if registry.is_shared() && !refused {
            registry.unshare(GFP_KERNEL_ACCOUNT)?;
        }
        registry.entry(section, GFP_KERNEL_ACCOUNT)
    }

    /// Gives the new address space `mm` the sections that `old` has.
    ///
    /// What was found out about them is not passed on: private tables may differ from now on.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then `mm` has no sections.
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
        let Some(old) = (unsafe { Self::get(slot(old)) }) else {
            return Ok(());
        };

        let new = old.copy()?.into_foreign().cast();
        // SAFETY: `mm` is valid, and only this thread uses it.
        unsafe { slot(mm).write(new) };
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

/// The place for the pointer in an address space.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct`.
pub(crate) unsafe fn slot(mm: *mut bindings::mm_struct) -> *mut *mut bindings::unwind_tables {
    // SAFETY: `mm` points to a `struct mm_struct`, so the place is inside an object.
    unsafe { &raw mut (*mm).__bindgen_anon_1.unwind_tables }
}
