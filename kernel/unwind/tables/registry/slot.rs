// SPDX-License-Identifier: GPL-2.0

//! Where an address space keeps its registry.
//!
//! Registries are found through a pointer in `struct mm_struct`, which is null until something is
//! registered or a walk looks for a table, then never changes until the last user of the address
//! space is gone.
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

use crate::{
    section::Section,
    tree::EntryRef, //
};

static_assert!(offset_of!(Registry, generation) == 0);
static_assert!(offset_of!(bindings::unwind_tables, generation) == 0);
static_assert!(offset_of!(Registry, cache) == offset_of!(bindings::unwind_tables, cache));

impl Registry {
    /// The registry of an address space.
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
        let registry = unsafe { Self::get_or_new(mm, GFP_KERNEL_ACCOUNT) }?;
        let (start, end) = (section.text_start, section.text_end);
        // A change that will be refused is no reason to copy a set.
        let refused = if update {
            registry
                .find_in(start, end)
                .is_none_or(|found| !found.section.is_explicit())
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
        let Some(old) = (unsafe { Self::get(old) }) else {
            return Ok(());
        };

        let new = old.copy()?.into_foreign().cast();
        // SAFETY: Only this thread uses `mm`, so it stays.
        unsafe { slot(mm) }.store(new, Relaxed);
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
/// `mm` must point to a `struct mm_struct` that stays while the result is used.
unsafe fn slot<'a>(mm: *mut bindings::mm_struct) -> &'a Atomic<*mut bindings::unwind_tables> {
    // SAFETY: The place is in an object that stays, by the requirement of this function. Rust and C
    // use it atomically as long as there may be another user.
    unsafe { Atomic::from_ptr(&raw mut (*mm).__bindgen_anon_1.unwind_tables) }
}
