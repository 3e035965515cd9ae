// SPDX-License-Identifier: GPL-2.0

//! Which text belongs to which table: one registry per address space.
//!
//! Registries are found through a pointer in `struct mm_struct`, which is null until something is
//! registered, then never changes until the last user of the address space is gone.
//!
//! C header: [`include/linux/unwind_tables.h`](srctree/include/linux/unwind_tables.h)

use kernel::{
    alloc::{
        flags::{
            __GFP_NORETRY,
            __GFP_NOWARN, //
        },
        Flags, //
    },
    bindings,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed, //
    },
};

use crate::{
    parse::{
        Budget,
        Error,
        Malformed,
        Rule, //
    },
    recent::Recent,
    section::{
        Header,
        Section,
        Verdict, //
    },
    tree::{
        Found,
        Tree, //
    },
    user_memory::UserMemory, //
};

/// How a walk allocates: it can do without, and nobody should be killed for it.
fn walk_flags() -> Flags {
    GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY
}

/// The sections of an address space.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    tree: Tree,
    /// The id of the next section.
    next_id: Atomic<u64>,
    /// How many sections there are. Written under the tree's lock.
    sections: Atomic<usize>,
    /// Tables are nowhere below this address,
    tables_start: Atomic<usize>,
    /// nor at or above this one,
    tables_end: Atomic<usize>,
    /// nor further from their text than this. All three are written under the tree's lock, and
    /// never narrowed.
    tables_reach: Atomic<usize>,
}

impl Registry {
    /// Makes an empty registry.
    pub(crate) fn new() -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            pin_init!(Self {
                tree <- Tree::new(),
                next_id: Atomic::new(1),
                sections: Atomic::new(0),
                tables_start: Atomic::new(usize::MAX),
                tables_end: Atomic::new(0),
                tables_reach: Atomic::new(0),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The registry that `slot`, of an address space, points to.
    ///
    /// # Safety
    ///
    /// `slot` must point to the `unwind_tables` of a `struct mm_struct` that keeps its users while
    /// the result is used.
    pub(crate) unsafe fn get<'a>(slot: *mut *mut bindings::unwind_tables) -> Option<&'a Self> {
        // SAFETY: By the requirements of this function the slot is valid; all that store to it do
        // so atomically.
        let registry = unsafe { Atomic::from_ptr(slot) }
            .load(Acquire)
            .cast::<Self>();

        // SAFETY: What a slot points to was published by `get_or_new()` and is freed after the
        // last user is gone.
        unsafe { registry.as_ref() }
    }

    /// The registry of an address space, made if there is none yet.
    ///
    /// # Safety
    ///
    /// As for [`Registry::get`].
    unsafe fn get_or_new<'a>(slot: *mut *mut bindings::unwind_tables) -> Result<&'a Self> {
        // SAFETY: As this function requires.
        if let Some(registry) = unsafe { Self::get(slot) } {
            return Ok(registry);
        }

        let new = KBox::into_raw(
            // SAFETY: The registry is not moved: it only changes hands as a pointer.
            unsafe { Pin::into_inner_unchecked(Self::new()?) },
        );
        // SAFETY: As in `get()`. Whoever sees the new pointer must see what it points to: `Full`.
        let slot = unsafe { Atomic::from_ptr(slot) };
        match slot.cmpxchg(core::ptr::null_mut(), new.cast(), Full) {
            // SAFETY: Published just now; freed after the last user is gone.
            Ok(_) => Ok(unsafe { &*new }),
            Err(first) => {
                // SAFETY: Another was faster; nobody has seen this one.
                drop(unsafe { Pin::new_unchecked(KBox::from_raw(new)) });
                // SAFETY: As in `get()`.
                Ok(unsafe { &*first.cast() })
            }
        }
    }

    /// Registers a section in the address space `mm`, which may have `most`.
    ///
    /// # Errors
    ///
    /// `EEXIST` if part of its text is registered, `ENOSPC` if there are too many, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `mm` must have users until this returns.
    pub(crate) unsafe fn register(
        mm: *mut bindings::mm_struct,
        section: Section,
        most: usize,
    ) -> Result {
        // SAFETY: By the requirement of this function.
        let registry = unsafe { Self::get_or_new(slot(mm)) }?;

        registry.insert(section, most)
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
        // SAFETY: By the requirement of this function.
        let Some(old) = (unsafe { Self::get(slot(old)) }) else {
            return Ok(());
        };

        // SAFETY: The registry is not moved: it only changes hands as a pointer.
        let new = KBox::into_raw(unsafe { Pin::into_inner_unchecked(old.copy()?) });
        // SAFETY: `mm` is valid, and only this thread uses it.
        unsafe { slot(mm).write(new.cast()) };
        Ok(())
    }

    /// Frees a registry that a slot pointed to.
    ///
    /// # Safety
    ///
    /// Nobody may use the registry any more.
    pub(crate) unsafe fn free(registry: *mut bindings::unwind_tables) {
        // SAFETY: It was made by `new()` and not moved since.
        drop(unsafe { Pin::new_unchecked(KBox::from_raw(registry.cast::<Self>())) });
    }

    /// The rule that holds at address `pc`, from the table that the current process registered.
    ///
    /// Looks at `recent` first, and leaves there what it found. Reads user memory.
    pub(crate) fn rule(
        &self,
        pc: usize,
        recent: &mut Recent,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        if recent.at(pc).is_none() {
            self.open(pc, recent)?;
        }
        let (section, header) = recent.at(pc).ok_or(Error::NotFound)?;
        let memory = UserMemory::new(section.table);
        let rule = header.rule(&memory, section.table as u64, pc as u64, budget);

        if let Err(Error::Malformed(malformed)) = rule {
            self.disable(section, malformed);
            recent.clear();
        }
        rule
    }

    /// Finds the section whose text holds address `pc`, and its table's header.
    #[inline(never)]
    fn open(&self, pc: usize, recent: &mut Recent) -> Result<(), Error> {
        let Found { section, verdict } = self.find(pc).ok_or(Error::NotFound)?;
        let header = self.header(&section, verdict)?;

        recent.set(section, header);
        Ok(())
    }

    /// The header of the table of `section`, read if it was not yet.
    fn header(&self, section: &Section, verdict: Option<Verdict>) -> Result<Header, Error> {
        match verdict {
            Some(Verdict::Good(header)) => Ok(header),
            Some(Verdict::Disabled(malformed)) => Err(Error::Malformed(malformed)),
            None => {
                let memory = UserMemory::new(section.table);
                let header =
                    Header::read(&memory, section.table_len.into()).inspect_err(|error| {
                        if let Error::Malformed(malformed) = error {
                            self.disable(section, *malformed);
                        }
                    })?;
                // If this fails, the next lookup reads the header again.
                let _ = self.judge(section, Verdict::Good(header));
                Ok(header)
            }
        }
    }

    /// Lets nobody use the table of `section` any more.
    #[cold]
    fn disable(&self, section: &Section, malformed: Malformed) {
        // If this fails, the next lookup tries again.
        if let Ok(true) = self.judge(section, Verdict::Disabled(malformed)) {
            let found = Found {
                section: *section,
                verdict: Some(Verdict::Disabled(malformed)),
            };
            // SAFETY: It only looks at what it is given.
            unsafe { bindings::unwind_tables_disabled(&found.info()) };
        }
    }

    /// The section whose text holds address `pc`.
    pub(crate) fn find(&self, pc: usize) -> Option<Found> {
        self.tree.find(pc)
    }

    /// The first section whose text has a byte in `start..end`.
    pub(crate) fn find_in(&self, start: usize, end: usize) -> Option<Found> {
        self.tree.find_in(start, end)
    }

    /// How many sections there are.
    pub(crate) fn len(&self) -> usize {
        self.sections.load(Relaxed)
    }

    /// Adds a section under an id of its own, if there are less than `most`.
    pub(crate) fn insert(&self, section: Section, most: usize) -> Result {
        let section = self.named(section);
        let mut tree = self.tree.lock();

        let sections = self.len();
        if sections >= most {
            return Err(ENOSPC);
        }
        tree.add(section)?;
        self.sections.store(sections.wrapping_add(1), Relaxed);
        self.widen(&section);
        Ok(())
    }

    /// Replaces the section that has the same text, and what was found out about it.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none; `ENOMEM`.
    pub(crate) fn replace(&self, section: Section) -> Result {
        let section = self.named(section);
        let mut tree = self.tree.lock();

        tree.replace(section)?;
        self.widen(&section);
        Ok(())
    }

    /// Removes the section that has exactly the text `start..end`.
    pub(crate) fn remove(&self, start: usize, end: usize) -> Option<Found> {
        let mut tree = self.tree.lock();
        let found = tree.remove(start, end)?;

        self.sections.store(self.len().wrapping_sub(1), Relaxed);
        Some(found)
    }

    /// Removes the sections whose text or table have a byte in `start..end`, which is being
    /// unmapped. It cannot fail.
    ///
    /// Registration holds the mmap lock from when it looks at the mappings until the section is in
    /// the tree, and unmapping holds it for writing: so either this sees the section, or that does
    /// not see the mapping.
    pub(crate) fn unmap(&self, start: usize, end: usize) {
        // Sections are found by their text. Most memory is far from any table, and most tables are
        // near their text, so only few have to be looked at.
        let reach =
            if end <= self.tables_start.load(Relaxed) || start >= self.tables_end.load(Relaxed) {
                0
            } else {
                self.tables_reach.load(Relaxed)
            };
        let mut from = start.saturating_sub(reach);
        let to = end.saturating_add(reach);

        while let Some(found) = self
            .tree
            .find_where(from, to, |section| section.is_in(start, end))
        {
            from = found.section.text_end;
            self.drop_section(&found.section);
        }
    }

    /// Removes a section, if it was not unregistered meanwhile.
    fn drop_section(&self, section: &Section) {
        if let Some(found) = self.remove(section.text_start, section.text_end) {
            // SAFETY: It only looks at what it is given.
            unsafe { bindings::unwind_tables_dropped(&found.info()) };
        }
    }

    /// Adds a verdict to a section, if it is still registered. Says whether it did.
    ///
    /// What is known to be malformed stays so, whoever read something else before or after.
    pub(crate) fn judge(&self, section: &Section, verdict: Verdict) -> Result<bool> {
        self.tree.lock().judge(section, verdict, walk_flags())
    }

    /// A registry with the same sections, of which nothing is known.
    pub(crate) fn copy(&self) -> Result<Pin<KBox<Self>>> {
        let new = Self::new()?;

        new.sections.store(new.tree.copy_from(&self.tree)?, Relaxed);
        new.next_id.store(self.next_id.load(Relaxed), Relaxed);
        new.tables_start
            .store(self.tables_start.load(Relaxed), Relaxed);
        new.tables_end.store(self.tables_end.load(Relaxed), Relaxed);
        new.tables_reach
            .store(self.tables_reach.load(Relaxed), Relaxed);
        Ok(new)
    }

    /// The section under an id of its own.
    fn named(&self, section: Section) -> Section {
        Section {
            id: self.next_id.fetch_add(1, Relaxed),
            ..section
        }
    }

    /// Remembers where tables are. The tree's lock must be held.
    fn widen(&self, section: &Section) {
        let start = self.tables_start.load(Relaxed).min(section.table);
        let end = self.tables_end.load(Relaxed).max(section.table_end());
        let reach = self.tables_reach.load(Relaxed).max(section.reach());

        self.tables_start.store(start, Relaxed);
        self.tables_end.store(end, Relaxed);
        self.tables_reach.store(reach, Relaxed);
    }
}

/// Where an address space keeps its registry.
pub(crate) fn slot(mm: *mut bindings::mm_struct) -> *mut *mut bindings::unwind_tables {
    // SAFETY: The place is only computed here, not used.
    unsafe { &raw mut (*mm).__bindgen_anon_1.unwind_tables }
}
