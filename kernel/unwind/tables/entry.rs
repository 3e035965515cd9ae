// SPDX-License-Identifier: GPL-2.0

//! What a registry's tree holds.
//!
//! The slot of a section is a pointer to a [`Shared`], which is all there is of a section that
//! nobody has used, or, marked by its lowest bit, to a [`Checked`], which adds what this address
//! space has found out. Neither is changed once it is in a tree. A fork gives the child the
//! [`Shared`]s, and no memory is needed for that; what was found out stays behind, for the bytes of
//! private tables may differ from then on.
//!
//! Both are plain data without a destructor, and freed by `kvfree_call_rcu()`.

use core::ffi::c_void;

use kernel::{
    alloc::Flags,
    bindings,
    prelude::*,
    sync::Refcount,
    types::Opaque, //
};

use crate::section::{
    Section,
    Verdict, //
};

/// A section. Address spaces that are copies of each other share it.
#[repr(C)]
pub(crate) struct Shared {
    rcu: Opaque<bindings::kvfree_rcu_head>,
    /// How many trees have it, directly or through a [`Checked`].
    trees: Refcount,
    section: Section,
}

/// A section, and what an address space has found out about its table.
///
/// # Invariants
///
/// The tree that it is in is counted in `shared`.
#[repr(C)]
struct Checked {
    rcu: Opaque<bindings::kvfree_rcu_head>,
    shared: *mut Shared,
    verdict: Verdict,
}

// Beside the tree's nodes, this is all that a section costs.
const _: () = assert!(size_of::<Shared>() <= 64 && size_of::<Checked>() <= 64);
const _: () = assert!(!core::mem::needs_drop::<Shared>());
const _: () = assert!(!core::mem::needs_drop::<Checked>());

/// A slot of a tree that is not empty.
///
/// # Invariants
///
/// It points to a [`Shared`], or, less [`Slot::CHECKED`], to a [`Checked`]. Both were made by
/// [`KBox`].
#[derive(Clone, Copy)]
pub(crate) struct Slot(*mut c_void);

impl Slot {
    /// The lowest bit of a pointer to a [`Checked`].
    const CHECKED: usize = 1;

    /// Makes the slot of a section, for one tree.
    pub(crate) fn new(section: Section) -> Result<Self> {
        let shared = KBox::new(
            Shared {
                rcu: Opaque::uninit(),
                trees: Refcount::new(1),
                section,
            },
            GFP_KERNEL_ACCOUNT,
        )?;

        // INVARIANT: It points to a `Shared`.
        Ok(Self(KBox::into_raw(shared).cast()))
    }

    /// What a tree holds for it.
    pub(crate) fn as_ptr(self) -> *mut c_void {
        self.0
    }

    /// The slot that a tree holds `ptr` for, if it is not empty.
    ///
    /// # Safety
    ///
    /// `ptr` must be null or from [`Slot::as_ptr`].
    pub(crate) unsafe fn from_ptr(ptr: *mut c_void) -> Option<Self> {
        // INVARIANT: By the requirement of this function.
        (!ptr.is_null()).then_some(Self(ptr))
    }

    fn checked(self) -> Option<*mut Checked> {
        (self.0 as usize & Self::CHECKED != 0)
            .then(|| self.0.wrapping_byte_sub(Self::CHECKED).cast())
    }

    /// # Safety
    ///
    /// As for [`Slot::section`].
    unsafe fn shared(self) -> *mut Shared {
        match self.checked() {
            // SAFETY: By the type invariants, and it lives by the requirement of this function.
            Some(checked) => unsafe { (*checked).shared },
            None => self.0.cast(),
        }
    }

    /// The section.
    ///
    /// # Safety
    ///
    /// The slot must have been in a tree since this RCU read-side critical section began, or the
    /// tree's lock is held, or nobody else has seen it.
    pub(crate) unsafe fn section(self) -> Section {
        // SAFETY: It lives, by the requirement of this function, and is never changed.
        unsafe { (*self.shared()).section }
    }

    /// What was found out about the section's table, if it was looked at.
    ///
    /// # Safety
    ///
    /// As for [`Slot::section`].
    pub(crate) unsafe fn verdict(self) -> Option<Verdict> {
        // SAFETY: It lives, by the requirement of this function, and is never changed.
        self.checked().map(|checked| unsafe { (*checked).verdict })
    }

    /// A slot of the same section with a verdict, which is to take this one's place in its tree.
    ///
    /// Then this one's verdict is to be freed; or the new one's, if it does not take its place.
    ///
    /// # Safety
    ///
    /// The lock of the tree that this slot is in must be held.
    pub(crate) unsafe fn with_verdict(self, verdict: Verdict, flags: Flags) -> Result<Self> {
        let checked = KBox::new(
            Checked {
                rcu: Opaque::uninit(),
                // SAFETY: The lock is held.
                shared: unsafe { self.shared() },
                verdict,
            },
            flags,
        )?;
        let slot = KBox::into_raw(checked).cast::<c_void>();

        // INVARIANT: It points to a `Checked`, and says so.
        Ok(Self(slot.wrapping_byte_add(Self::CHECKED)))
    }

    /// Frees the verdict, if the slot has one, when all readers are gone.
    ///
    /// # Safety
    ///
    /// The slot must be in no tree, and not be used any more.
    pub(crate) unsafe fn free_verdict(self) {
        if let Some(checked) = self.checked() {
            // SAFETY: It was made by `KBox`, and no reader can find it from now on.
            unsafe { bindings::kvfree_call_rcu((*checked).rcu.get(), checked.cast()) };
        }
    }

    /// Frees the slot of a tree when all readers are gone; the section, if no other tree has it.
    ///
    /// # Safety
    ///
    /// The slot must be in no tree, and not be used any more.
    pub(crate) unsafe fn release(self) {
        // SAFETY: This tree is still counted, so it lives.
        let shared = unsafe { self.shared() };

        // SAFETY: By the requirement of this function.
        unsafe { self.free_verdict() };
        // SAFETY: As above.
        if unsafe { (*shared).trees.dec_and_test() } {
            // SAFETY: It was made by `KBox`, and no tree has it any more.
            unsafe { bindings::kvfree_call_rcu((*shared).rcu.get(), shared.cast()) };
        }
    }

    /// The slot of the same section for one more tree, without a verdict.
    ///
    /// # Safety
    ///
    /// The lock of a tree that the slot is in must be held.
    pub(crate) unsafe fn share(self) -> Self {
        // SAFETY: The lock is held.
        let shared = unsafe { self.shared() };

        // SAFETY: It is in a tree, and that is counted.
        unsafe { (*shared).trees.inc() };
        // INVARIANT: It points to a `Shared`.
        Self(shared.cast())
    }
}
