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
    error::to_result,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed, //
        },
        lock::mutex::MutexGuard,
        rcu,
        Mutex, //
    },
    types::Opaque, //
};

use crate::{
    parse::{
        Budget,
        Error,
        Rule, //
    },
    section::{
        Header,
        Section,
        State, //
    },
    user_memory::UserMemory, //
};

/// How a walk allocates: it can do without, and nobody should be killed for it.
fn walk_flags() -> Flags {
    GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY
}

/// A section as the tree holds it. Never changed once it is there; replaced whole.
///
/// It has no destructor, so that `kfree_rcu()` can free it.
#[repr(C)]
struct Entry {
    rcu: Opaque<bindings::kvfree_rcu_head>,
    section: Section,
}

const _: () = assert!(size_of::<Entry>() <= 128);
const _: () = assert!(!core::mem::needs_drop::<Entry>());

impl Entry {
    fn new(section: Section, flags: Flags) -> Result<KBox<Self>> {
        Ok(KBox::new(
            Self {
                rcu: Opaque::uninit(),
                section,
            },
            flags,
        )?)
    }
}

/// The sections of an address space.
///
/// Lookups take no lock. They cannot hold one while they read user memory, which may sleep for as
/// long as another process pleases, so they copy a section out under RCU and go on with the copy.
/// If it is removed meanwhile, they get a fault or one stale answer, as if they had been faster.
///
/// # Invariants
///
/// - `tree` is a maple tree in RCU mode whose external lock is `lock`: readers are safe from
///   writers that hold it. Its entries are [`Entry`]s from [`KBox`], owned by the tree, each stored
///   at its section's text.
/// - `lock` is an initialised mutex.
#[pin_data(PinnedDrop)]
pub(crate) struct Registry {
    #[pin]
    tree: Opaque<bindings::maple_tree>,
    /// An external lock, for the tree's own is a spinlock that its functions drop to allocate.
    #[pin]
    lock: Opaque<bindings::mutex>,
    next_id: Atomic<u64>,
}

// SAFETY: A maple tree and a mutex may be used and destroyed by any thread.
unsafe impl Send for Registry {}
// SAFETY: The tree is read under RCU and written under `lock`, by the type invariants.
unsafe impl Sync for Registry {}

impl Registry {
    /// Makes an empty registry.
    pub(crate) fn new() -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(
            try_pin_init!(Self {
                lock <- Opaque::ffi_init(|lock| {
                    // SAFETY: `lock` is to be initialised, and will not move.
                    unsafe {
                        bindings::__mutex_init(
                            lock,
                            c"unwind_tables".as_char_ptr(),
                            kernel::static_lock_class!().as_ptr(),
                        )
                    }
                }),
                tree <- Opaque::ffi_init(|tree| {
                    // SAFETY: `tree` is to be initialised, and will not move.
                    unsafe {
                        bindings::mt_init_flags(
                            tree,
                            bindings::MT_FLAGS_USE_RCU | bindings::MT_FLAGS_LOCK_EXTERN,
                        )
                    }
                }),
                next_id: Atomic::new(1),
                _: {
                    // INVARIANT: From here on, `lock` is the tree's lock.
                    // SAFETY: Both were just initialised, and live equally long.
                    unsafe { bindings::mt_set_external_lock(tree.get(), lock.get()) };
                },
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
    unsafe fn get<'a>(slot: *mut *mut bindings::unwind_tables) -> Option<&'a Self> {
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

    /// Registers a section in the address space `mm`.
    ///
    /// # Errors
    ///
    /// `EEXIST` if part of its text is registered, `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `mm` must have users until this returns.
    pub(crate) unsafe fn register(mm: *mut bindings::mm_struct, section: Section) -> Result {
        // SAFETY: By the requirement of this function.
        let registry = unsafe { Self::get_or_new(slot(mm)) }?;

        registry.insert(section)
    }

    /// Gives the new address space `mm` the sections that `old` has.
    ///
    /// What was found out about them is not passed on: private tables may differ from now on. A
    /// copy that fails leaves `mm` without sections: tables are not worth a failed fork.
    ///
    /// # Safety
    ///
    /// `old` must have users until this returns. `mm` must be new: nobody else uses it, and
    /// nothing is registered.
    pub(crate) unsafe fn duplicate(mm: *mut bindings::mm_struct, old: *mut bindings::mm_struct) {
        // SAFETY: By the requirement of this function.
        let Some(old) = (unsafe { Self::get(slot(old)) }) else {
            return;
        };

        if let Ok(new) = old.copy() {
            // SAFETY: The registry is not moved: it only changes hands as a pointer.
            let new = KBox::into_raw(unsafe { Pin::into_inner_unchecked(new) });
            // SAFETY: `mm` is valid, and only this thread uses it.
            unsafe { slot(mm).write(new.cast()) };
        }
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
    /// Reads user memory.
    pub(crate) fn rule(&self, pc: usize, budget: &mut Budget) -> Result<Rule, Error> {
        let section = self.find(pc).ok_or(Error::NotFound)?;
        let rule = self.rule_of(&section, pc, budget);

        if let (Err(Error::Malformed(malformed)), State::Unchecked | State::Good(_)) =
            (rule, section.state)
        {
            // If this fails, the next lookup tries again.
            let _ = self.publish(section, State::Disabled(malformed));
        }
        rule
    }

    /// The rule that holds at address `pc`, from the table of `section`.
    fn rule_of(&self, section: &Section, pc: usize, budget: &mut Budget) -> Result<Rule, Error> {
        let memory = UserMemory::new(section.table);
        let header = match section.state {
            State::Good(header) => header,
            State::Disabled(malformed) => return Err(Error::Malformed(malformed)),
            State::Unchecked => {
                let header = Header::read(&memory, section.table_len.into())?;
                // If this fails, the next lookup reads the header again.
                let _ = self.publish(*section, State::Good(header));
                header
            }
        };

        header.rule(&memory, section.table as u64, pc as u64, budget)
    }

    /// A copy of the section whose text holds address `pc`.
    pub(crate) fn find(&self, pc: usize) -> Option<Section> {
        let _rcu = rcu::read_lock();
        // SAFETY: By the type invariants the tree is initialised and in RCU mode.
        let entry = unsafe { bindings::mtree_load(self.tree.get(), pc) }.cast::<Entry>();

        // SAFETY: Entries are never changed, and are freed a grace period after they were removed.
        unsafe { entry.as_ref() }.map(|entry| entry.section)
    }

    /// A copy of the first section whose text reaches beyond address `from`.
    fn find_from(&self, mut from: usize) -> Option<Section> {
        let _rcu = rcu::read_lock();
        // SAFETY: As in `find()`.
        let entry = unsafe { bindings::mt_find(self.tree.get(), &mut from, usize::MAX) };

        // SAFETY: As in `find()`.
        unsafe { entry.cast::<Entry>().as_ref() }.map(|entry| entry.section)
    }

    /// Takes the lock that all writers hold.
    fn lock(&self) -> Locked<'_> {
        // SAFETY: By the type invariants `lock` is an initialised mutex.
        let guard = unsafe { Mutex::from_raw(self.lock.get()) }.lock();

        // INVARIANT: The guard is of this registry's lock.
        Locked {
            registry: self,
            _guard: guard,
        }
    }

    /// Adds a section under an id of its own.
    pub(crate) fn insert(&self, mut section: Section) -> Result {
        section.id = self.next_id.fetch_add(1, Relaxed);
        let entry = Entry::new(section, GFP_KERNEL_ACCOUNT)?;
        let mut locked = self.lock();

        if locked.first(section.text_start, section.text_end).is_some() {
            return Err(EEXIST);
        }
        locked.store(entry, GFP_KERNEL_ACCOUNT)
    }

    /// Replaces what is known about a section, if it is still registered.
    ///
    /// What is known to be malformed stays so, whoever read something else before or after.
    pub(crate) fn publish(&self, section: Section, state: State) -> Result {
        let entry = Entry::new(Section { state, ..section }, walk_flags())?;
        let mut locked = self.lock();
        let Some(old) = locked.first(section.text_start, section.text_end) else {
            return Ok(());
        };

        // SAFETY: It is in the tree, and cannot be removed while the lock is held.
        let now = unsafe { &(*old).section };

        // Not the addresses: another section may have them by now.
        if now.id != section.id || matches!(now.state, State::Disabled(_)) {
            return Ok(());
        }
        locked.store(entry, walk_flags())?;
        // SAFETY: It was made by `KBox`, and the tree has just given it up.
        unsafe { bindings::kvfree_call_rcu((*old).rcu.get(), old.cast()) };
        Ok(())
    }

    /// A registry with the same sections, of which nothing is known.
    ///
    /// It has all sections that are registered throughout, and no two that overlap.
    pub(crate) fn copy(&self) -> Result<Pin<KBox<Self>>> {
        let new = Self::new()?;
        let mut from = 0;

        while let Some(section) = self.find_from(from) {
            from = section.text_end;
            let clean = Section {
                state: State::Unchecked,
                ..section
            };
            match new.insert(clean) {
                // It has come since the last one was looked at, where that has gone.
                Err(EEXIST) => {}
                result => result?,
            }
        }
        Ok(new)
    }
}

#[pinned_drop]
impl PinnedDrop for Registry {
    fn drop(self: Pin<&mut Self>) {
        let mut locked = self.lock();
        let mut from = 0;

        while let Some(entry) = locked.first(from, usize::MAX) {
            // SAFETY: The tree owns its entries, and nobody else sees it any more.
            let entry = unsafe { KBox::from_raw(entry) };

            from = entry.section.text_end;
        }
        // SAFETY: The lock is held. The tree's entries are gone, but it is not looked at again.
        unsafe { bindings::__mt_destroy(self.tree.get()) };
    }
}

/// A registry whose lock is held.
///
/// # Invariants
///
/// `_guard` is of the lock of `registry`.
struct Locked<'a> {
    registry: &'a Registry,
    _guard: MutexGuard<'a, ()>,
}

impl Locked<'_> {
    /// A cursor over the tree at addresses `first..=last`.
    fn cursor(&mut self, first: usize, last: usize) -> bindings::ma_state {
        let mut cursor = bindings::ma_state::default();

        // SAFETY: The tree is initialised, and outlives the cursor, which this module keeps no
        // longer than the lock.
        unsafe { bindings::mas_init(&mut cursor, self.registry.tree.get(), first) };
        cursor.last = last;
        cursor
    }

    /// The first entry whose text overlaps `start..end`.
    fn first(&mut self, start: usize, end: usize) -> Option<*mut Entry> {
        let last = end.checked_sub(1).filter(|last| start <= *last)?;
        let mut cursor = self.cursor(start, start);
        // SAFETY: The lock is held, by the type invariants.
        let entry = unsafe { bindings::mas_find(&mut cursor, last) }.cast::<Entry>();

        (!entry.is_null()).then_some(entry)
    }

    /// Stores an entry at its section's text, over what is there.
    fn store(&mut self, entry: KBox<Entry>, flags: Flags) -> Result {
        let mut cursor = self.cursor(entry.section.text_start, entry.section.text_last());
        let entry = KBox::into_raw(entry);

        // SAFETY: The lock is held, by the type invariants, and the tree takes over the entry.
        to_result(unsafe { bindings::mas_store_gfp(&mut cursor, entry.cast(), flags.as_raw()) })
            // SAFETY: The tree did not take it.
            .inspect_err(|_| drop(unsafe { KBox::from_raw(entry) }))
    }
}

/// Where an address space keeps its registry.
fn slot(mm: *mut bindings::mm_struct) -> *mut *mut bindings::unwind_tables {
    // SAFETY: The place is only computed here, not used.
    unsafe { &raw mut (*mm).__bindgen_anon_1.unwind_tables }
}
