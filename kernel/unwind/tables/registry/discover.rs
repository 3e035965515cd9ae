// SPDX-License-Identifier: GPL-2.0

//! Looking for the table of a text that nobody has registered, in what the process has mapped.
//!
//! The mapping of the text leads to that with the ELF header of its file, the program headers there
//! to the table. Nothing is opened or read but the process's own memory. What is read may change,
//! and what is mapped, too, for no lock is held meanwhile. So the mappings are looked at again
//! when the section is stored, and if anything was unmapped since, it is not.
//!
//! That there is no table is remembered as well, but only where a completed read has shown it.
//! Otherwise the next stack tries again.

use kernel::{
    bindings,
    error::to_result,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::Relaxed,
        rcu, //
    },
    types::ScopeGuard, //
};

use super::{
    lookup::{
        locked_walk_flags,
        walk_flags, //
    },
    Registry, //
};

use crate::{
    entry::Entry,
    parse::{
        elf,
        Budget,
        Error, //
    },
    section::{
        Absence,
        Format,
        Found,
        Origin,
        Section, //
    },
    user_memory::UserMemory,
    walk::Walk, //
};

/// How many texts without a table are remembered in an address space.
const MOST_ABSENT: usize = 4096;

/// How often a walk tries in a row while other threads map and unmap.
const TRIES: usize = 3;

/// What this kernel runs.
#[cfg(CONFIG_X86_64)]
const TARGET: elf::Target = elf::Target::AMD64;

static_assert!(TARGET.page_size == PAGE_SIZE as u64);

/// What was found about a text, before it is a section of a registry.
struct Discovered {
    section: Section,
    /// Where in the file the table is, in bytes.
    table_offset: u64,
}

impl Registry {
    /// Looks for the table of the text that holds address `pc`, and makes a section of what it has
    /// found.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if `pc` is not in text, or discovery is off; [`Error::Fault`] if nothing
    /// could be found out now; [`Error::Budget`].
    #[cold]
    pub(super) fn discover(
        &self,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Found, Error> {
        for _ in 0..TRIES {
            if let Some(found) = self.try_discover(pc, walk, budget)? {
                return Ok(found);
            }
            // Another thread may have been faster.
            if let Some(found) = self.find(pc) {
                return Ok(found);
            }
        }
        Err(Error::Fault)
    }

    /// The same, once; none if something has changed meanwhile.
    fn try_discover(
        &self,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Found>, Error> {
        // Before the mappings are looked at.
        let unmaps = self.unmaps();
        let mut object = bindings::unwind_tables_object::default();

        // SAFETY: It fills in `object`, and nothing else.
        match unsafe { bindings::unwind_tables_find_object(pc, &mut object) } {
            0 => {}
            errno if errno == ENOENT.to_errno() => return Err(Error::NotFound),
            _ => return Err(Error::Fault),
        }
        walk.begin_discovery()?;
        let Some((first, last)) = self.gap(pc) else {
            return Ok(None);
        };

        // Only what nobody has said anything about.
        object.start = object.start.max(first);
        object.end = object.end.min(last.saturating_add(1));
        self.examine(pc, &object, unmaps, walk, budget)
            .inspect_err(|error| walk.nothing.set_failed(object.start, object.end, *error))
    }

    /// Reads the headers of the file that address `pc` is of, and stores what they say; none if
    /// something has changed meanwhile.
    #[inline(never)]
    fn examine(
        &self,
        pc: usize,
        object: &bindings::unwind_tables_object,
        unmaps: u64,
        walk: &Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Found>, Error> {
        let stored = match describe(pc, object, walk, budget)? {
            Ok(discovered) => self.store(&discovered, object.most as usize, unmaps),
            Err(absence) => return self.store_absence(object, absence, unmaps),
        };

        match stored {
            Ok(found) => Ok(Some(found)),
            Err(error) if error == ENODATA => {
                self.store_absence(object, Absence::NotMapped, unmaps)
            }
            Err(error) if has_changed(error) => Ok(None),
            Err(_) => Err(Error::Fault),
        }
    }

    /// The range around address `pc` that is no section's text.
    ///
    /// As [`find`](Self::find), it is not inlined.
    #[inline(never)]
    pub(crate) fn gap(&self, pc: usize) -> Option<(usize, usize)> {
        let rcu = rcu::read_lock();

        self.set(&rcu).gap(pc, &rcu)
    }

    /// Stores that a text has no table.
    ///
    /// Whether or not there is room to remember it, it is so, unless something has changed.
    #[inline(never)]
    fn store_absence(
        &self,
        object: &bindings::unwind_tables_object,
        absence: Absence,
        unmaps: u64,
    ) -> Result<Option<Found>, Error> {
        let section =
            Section::absent(object.start, object.end, absence).map_err(|_| Error::NotFound)?;
        let store = |section| {
            let discovered = Discovered {
                section,
                table_offset: 0,
            };

            self.store(&discovered, MOST_ABSENT, unmaps)
        };

        // Those beside it may be no text any more.
        match store(self.joined(section)).or_else(|_| store(section)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if has_changed(error) => Ok(None),
            Err(_) => Err(Error::NotFound),
        }
    }

    /// A section without a table, and those beside it that have none for the same reason: all of
    /// them as one.
    fn joined(&self, section: Section) -> Section {
        let rcu = rcu::read_lock();
        let set = self.set(&rcu);
        let beside = |pc| {
            set.at(pc, &rcu)
                .filter(|other| other.content == section.content)
        };
        let below = section.text_start.checked_sub(1).and_then(beside);
        let above = beside(section.text_end);

        // INVARIANT: The text only grows.
        Section {
            text_start: below.map_or(section.text_start, |below| below.text_start),
            text_end: above.map_or(section.text_end, |above| above.text_end),
            ..section
        }
    }

    /// Stores a section, if the mappings are as they were at `unmaps` and there are less than
    /// `most` of its kind.
    ///
    /// # Errors
    ///
    /// `ENODATA` if the table is not mapped where the file says; others, if that cannot be said
    /// now: `EAGAIN`, `EACCES`, `EEXIST`, `EINTR`, `ENOMEM`, `ENOSPC`.
    #[inline(never)]
    fn store(&self, discovered: &Discovered, most: usize, unmaps: u64) -> Result<Found> {
        let section = discovered.section;
        let entry = self.entry(section, walk_flags())?;
        let section = entry.value();

        self.unshare(walk_flags())?;
        {
            let _mapped = lock_mappings(discovered)?;

            self.insert_found(entry, most, unmaps)?;
        }
        let found = Found {
            section,
            verdict: None,
        };

        // SAFETY: It only looks at what it is given.
        unsafe { bindings::unwind_tables_discovered(&found.info()) };
        Ok(found)
    }

    /// Stores a section that a walk has found, if nothing was unmapped since `unmaps` and there are
    /// less than `most` of its kind.
    ///
    /// The caller holds the mmap lock, and its mappings are as the section says.
    ///
    /// # Errors
    ///
    /// `EAGAIN`, `EEXIST`, `ENOMEM` or `ENOSPC`.
    pub(crate) fn insert_found(
        &self,
        entry: ARef<Entry<Section>>,
        most: usize,
        unmaps: u64,
    ) -> Result {
        let flags = locked_walk_flags();
        let absent = entry.value().is_absent();
        let mut locked = self.lock();
        let count = if absent { self.absent() } else { self.len() };

        if self.unmaps() != unmaps {
            return Err(EAGAIN);
        }
        if count >= most {
            return Err(ENOSPC);
        }
        let mut set = locked.own_set(flags)?;
        if absent {
            set.join(entry, flags)
        } else {
            set.add(entry, flags)
        }
    }

    /// How often something was unmapped, as long as that is counted.
    pub(crate) fn unmaps(&self) -> u64 {
        self.unmaps.load(Relaxed)
    }
}

/// Whether an error of [`Registry::store`] says that something was unmapped, or that another thread
/// was faster.
fn has_changed(error: kernel::error::Error) -> bool {
    error == EAGAIN || error == EEXIST
}

/// Takes the mmap lock, until the result is dropped, if text and table are mapped as is said.
fn lock_mappings(discovered: &Discovered) -> Result<impl Drop> {
    let section = &discovered.section;
    let info = Found {
        section: *section,
        verdict: None,
    }
    .info();

    // SAFETY: It only looks at what it is given.
    to_result(unsafe { bindings::unwind_tables_lock_mapped(&info, discovered.table_offset) })?;
    // SAFETY: It has taken the lock.
    Ok(ScopeGuard::new(|| unsafe {
        bindings::unwind_tables_unlock_mapped()
    }))
}

/// What the headers of a file say about the text at address `pc`.
///
/// It is not inlined: what it reads may come from a file system, which needs the kernel's stack.
#[inline(never)]
fn describe(
    pc: usize,
    object: &bindings::unwind_tables_object,
    walk: &Walk<'_>,
    budget: &mut Budget,
) -> Result<Result<Discovered, Absence>, Error> {
    if !object.is_file {
        return Ok(Err(Absence::NoFile));
    }
    if object.header_len == 0 {
        return Ok(Err(Absence::NoHeader));
    }
    let memory = UserMemory::new(object.header, walk.waits);
    let elf::Object { text, table } = match elf::object(
        &memory,
        object.header_len as u64,
        object.offset,
        &TARGET,
        budget,
    ) {
        Ok(found) => found,
        Err(elf::Error::Absent(absence)) => return Ok(Err(Absence::Elf(absence))),
        Err(elf::Error::Fault) => return Err(Error::Fault),
        Err(elf::Error::Budget) => return Err(Error::Budget),
    };

    // What the loader has added to the file's addresses. All this wraps: what comes out is checked
    // against the mappings.
    let bias = (pc as u64)
        .wrapping_sub(object.offset)
        .wrapping_add(text.offset)
        .wrapping_sub(text.address);
    let page = TARGET.page_size.wrapping_sub(1);
    let text_start = bias.wrapping_add(text.address) & !page;
    let text_end = bias
        .wrapping_add(text.address)
        .wrapping_add(text.len)
        .wrapping_add(page)
        & !page;
    let table_start = bias.wrapping_add(table.address);
    let section = Section::new(
        table_start as usize,
        table_start.wrapping_add(table.len) as usize,
        object.start.max(text_start as usize),
        object.end.min(text_end as usize),
        Format::SFrame,
        Origin::Discovery,
    );

    Ok(section
        .map_err(|_| Absence::NotMapped)
        .map(|section| Discovered {
            section,
            table_offset: table.offset,
        }))
}
