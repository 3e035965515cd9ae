// SPDX-License-Identifier: GPL-2.0

//! The sections of an address space, and of others that are copies of it.

use core::ptr::NonNull;

use kernel::{
    alloc::Flags,
    prelude::*,
    sync::{
        aref::{
            ARef,
            AlwaysRefCounted, //
        },
        atomic::{
            Acquire,
            Atomic,
            Relaxed, //
        },
        rcu,
        Refcount, //
    },
};

use crate::{
    section::Section,
    tree::{
        EntryRef,
        Tree,
        Writer, //
    },
};

/// Sections by their text.
///
/// Registries that are copies of each other share one. It is changed only as long as a single
/// registry has it: see [`Owned`]. So this is no `Arc`, which cannot tell.
///
/// # Invariants
///
/// Each section in `tree` is at its text.
#[pin_data]
pub(crate) struct Set {
    #[pin]
    tree: Tree<Section>,
    references: Refcount,
    /// How many sections with a table there are.
    len: Atomic<usize>,
    /// How many sections without one there are.
    absent: Atomic<usize>,
    /// Every table starts at or above this address. It never rises.
    tables_start: Atomic<usize>,
    /// Every table ends at or below this address. It never falls.
    tables_end: Atomic<usize>,
    /// No table reaches further beyond its text than this, in bytes. It never falls.
    tables_reach: Atomic<usize>,
}

// SAFETY: It is freed by whoever drops the last reference.
unsafe impl AlwaysRefCounted for Set {
    fn inc_ref(&self) {
        self.references.inc();
    }

    unsafe fn dec_ref(set: NonNull<Self>) {
        // SAFETY: This reference is still counted, so it lives.
        if unsafe { set.as_ref() }.references.dec_and_test() {
            // SAFETY: It was made by `KBox`, not moved since, and nobody has it any more.
            drop(unsafe { Pin::new_unchecked(KBox::from_raw(set.as_ptr())) });
        }
    }
}

impl Set {
    /// Makes an empty set.
    pub(crate) fn new(flags: Flags) -> Result<ARef<Self>> {
        let set = pin_init!(Self {
            tree <- Tree::new(),
            references: Refcount::new(1),
            len: Atomic::new(0),
            absent: Atomic::new(0),
            tables_start: Atomic::new(usize::MAX),
            tables_end: Atomic::new(0),
            tables_reach: Atomic::new(0),
        });

        Ok(Self::with_reference(KBox::pin_init(set, flags)?))
    }

    /// The only reference to a new set.
    fn with_reference(set: Pin<KBox<Self>>) -> ARef<Self> {
        // SAFETY: The set is not moved: it only changes hands as a pointer.
        let set = NonNull::from(KBox::leak(unsafe { Pin::into_inner_unchecked(set) }));

        // SAFETY: The count is 1 for this reference.
        unsafe { ARef::from_raw(set) }
    }

    /// Makes a set with the same sections, which are shared, but not the tree that they are in.
    ///
    /// # Safety
    ///
    /// Nobody may write to this set meanwhile.
    pub(crate) unsafe fn copy(&self, flags: Flags) -> Result<ARef<Self>> {
        let copy_of = |number: &Atomic<usize>| Atomic::new(number.load(Relaxed));
        let set = try_pin_init!(Self {
            // SAFETY: As this function requires.
            tree <- unsafe { self.tree.copy(flags) },
            references: Refcount::new(1),
            len: copy_of(&self.len),
            absent: copy_of(&self.absent),
            tables_start: copy_of(&self.tables_start),
            tables_end: copy_of(&self.tables_end),
            tables_reach: copy_of(&self.tables_reach),
        }? Error);

        Ok(Self::with_reference(KBox::try_pin_init(set, flags)?))
    }

    /// How many references there are.
    pub(crate) fn references(&self) -> i32 {
        // What others did with the set, before they dropped theirs, is over: `Acquire`.
        self.references.as_atomic().load(Acquire)
    }

    /// Whether there is another reference.
    ///
    /// If not, it stays so as long as whoever has the only one does not make another.
    pub(crate) fn is_shared(&self) -> bool {
        self.references() != 1
    }

    /// How many sections with a table there are.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// How many sections without a table there are.
    pub(crate) fn absent(&self) -> usize {
        self.absent.load(Relaxed)
    }

    /// The section whose text holds address `pc`.
    pub(crate) fn at(&self, pc: usize, rcu: &rcu::Guard) -> Option<Section> {
        self.tree.at(pc, rcu)
    }

    /// The first section whose text has a byte in `start..end`, and that meets a condition.
    pub(crate) fn first_in(
        &self,
        start: usize,
        end: usize,
        condition: impl Fn(&Section) -> bool,
        rcu: &rcu::Guard,
    ) -> Option<Section> {
        self.tree.find(start, end, condition, rcu)
    }

    /// The range around address `pc` that is no section's text, from its first address to its last;
    /// none if there is a section.
    pub(crate) fn gap(&self, pc: usize, rcu: &rcu::Guard) -> Option<(usize, usize)> {
        self.tree.gap(pc, rcu)
    }

    /// Whether a table may have a byte in `start..end`.
    ///
    /// Sections are found by their text, and most memory is far from any table. So most often only
    /// the sections whose text is in a range need to be looked at.
    pub(crate) fn may_have_table_in(&self, start: usize, end: usize) -> bool {
        end > self.tables_start.load(Relaxed) && start < self.tables_end.load(Relaxed)
    }

    /// The first section whose text reaches beyond `from`, and whose text or table has a byte in
    /// `start..end`.
    ///
    /// # Safety
    ///
    /// Nobody may write to this set meanwhile.
    pub(crate) unsafe fn touched(&self, from: usize, start: usize, end: usize) -> Option<Section> {
        // Most tables are near their text.
        let reach = self.tables_reach.load(Relaxed);

        // SAFETY: Nobody writes to the tree, by the requirement of this function.
        unsafe {
            self.tree.find_unchanged(
                start.saturating_sub(reach).max(from),
                end.saturating_add(reach),
                |section| section.is_in(start, end),
            )
        }
    }
}

/// A set that one registry alone has.
///
/// # Invariants
///
/// The set is not shared, and the lock of the registry that has it is held.
pub(crate) struct Owned<'a>(&'a Set);

impl<'a> Owned<'a> {
    /// Takes a set to be written to.
    ///
    /// # Safety
    ///
    /// As long as the result exists, the type's invariants must hold.
    pub(crate) unsafe fn new(set: &'a Set) -> Self {
        // INVARIANT: By the requirement of this function.
        Self(set)
    }

    /// Adds a section.
    ///
    /// # Errors
    ///
    /// `EEXIST` if a byte of its text has one already; `ENOMEM`.
    pub(crate) fn add(&mut self, entry: EntryRef<Section>, flags: Flags) -> Result {
        let section = **entry;
        let (first, last) = (section.text_start, section.text_last());

        self.tree().add(first, last, entry, flags)?;
        self.count(&section).add(1, Relaxed);
        self.widen(&section);
        Ok(())
    }

    /// Adds a section without a table, in the place of such sections beside each other.
    ///
    /// # Errors
    ///
    /// `EEXIST` if a byte of its text is that of another section; `ENOMEM`.
    pub(crate) fn join(&mut self, entry: EntryRef<Section>, flags: Flags) -> Result {
        let section = **entry;
        let (first, last) = (section.text_start, section.text_last());

        let gone = self
            .tree()
            .join(first, last, entry, Section::is_absent, flags)?;
        // This wraps if more than one has gone, as atomic numbers may.
        self.count(&section).add(1usize.wrapping_sub(gone), Relaxed);
        Ok(())
    }

    /// Puts a section into the place of the one that has the same text.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn replace(&mut self, entry: EntryRef<Section>, flags: Flags) -> Result {
        let section = **entry;
        let (first, last) = (section.text_start, section.text_last());

        self.tree().put(first, last, entry, flags)?;
        self.widen(&section);
        Ok(())
    }

    /// Removes a section, if it is there. It cannot fail.
    pub(crate) fn remove(&mut self, section: &Section) {
        if self.tree().erase(section.text_start) {
            self.count(section).add(1usize.wrapping_neg(), Relaxed);
        }
    }

    /// Where sections like `section` are counted.
    fn count(&self, section: &Section) -> &Atomic<usize> {
        if section.is_absent() {
            &self.0.absent
        } else {
            &self.0.len
        }
    }

    /// The tree, to be written to.
    fn tree(&mut self) -> Writer<'_, Section> {
        // SAFETY: By the type invariants, and `self` is borrowed.
        unsafe { self.0.tree.writer() }
    }

    /// Remembers where tables are.
    fn widen(&mut self, section: &Section) {
        let set = self.0;
        let reach = set.tables_reach.load(Relaxed).max(section.reach());

        for table in section.tables() {
            let start = set.tables_start.load(Relaxed).min(table.start());
            let end = set.tables_end.load(Relaxed).max(table.end());

            set.tables_start.store(start, Relaxed);
            set.tables_end.store(end, Relaxed);
        }
        set.tables_reach.store(reach, Relaxed);
    }
}
