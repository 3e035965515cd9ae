// SPDX-License-Identifier: GPL-2.0

//! Looking for the tables of a text that nobody has registered, in what the process has mapped.
//!
//! The mapping of the text leads to that with the ELF header of its file, the program headers there
//! to the tables. Nothing is opened or read but the process's own memory. What is read may change,
//! and what is mapped, too, for no lock is held meanwhile. So the mappings are looked at again
//! when the section is stored, and if anything was unmapped since, it is not.
//!
//! That there is no table is remembered as well, but only where the mappings or a completed read
//! show it. Otherwise the next stack tries again.

use kernel::{
    bindings,
    error::to_result,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::Relaxed,
        rcu, //
    },
    types::ScopeGuard, //
};

use super::{
    lookup::walk_flags,
    Registry, //
};

use crate::{
    parse::{
        eh_frame::Records,
        elf,
        Budget,
        Error,
        Reader, //
    },
    section::{
        Absence,
        Found,
        Origin,
        Section, //
    },
    table::{
        Format,
        Machine,
        Table, //
    },
    tree::EntryRef,
    user_memory::UserMemory,
    walk::Walk, //
};

/// How many texts without a table are remembered in an address space.
const MOST_ABSENT: usize = 4096;

/// How often a walk tries in a row while other threads map and unmap.
const TRIES: usize = 3;

/// Units that it costs to look for the mappings of a text: at some 30 of them, or few.
const MAPPINGS: u32 = 2 * Budget::FIND;

/// What this kernel runs.
#[cfg(CONFIG_X86_64)]
pub(crate) const TARGET: elf::Target = elf::Target::AMD64;

static_assert!(TARGET.page_size == PAGE_SIZE as u64);

/// What the tries to find the tables of a text have in common.
#[derive(Default)]
struct Attempt {
    /// The mappings that were found last.
    object: bindings::unwind_tables_object,
    /// Whether the text was taken off the discoveries that a stack may make.
    is_counted: bool,
}

/// What was found about a text, before it is a section of a registry.
struct Discovered {
    section: Section,
    /// What of the file has to be mapped where the tables are.
    parts: Parts,
    /// And where the records of an `.eh_frame` are, if that is somewhere else.
    records: bindings::unwind_tables_part,
}

/// What of a file is mapped where the table of each format is; empty if there is none.
type Parts = [bindings::unwind_tables_part; Format::COUNT];

impl Registry {
    /// Looks for the tables of the text that holds address `pc`, and makes a section of what it has
    /// found.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if `pc` is not in text, discovery is off, or the text has no table and
    /// there is no room to remember that; [`Error::Fault`] if nothing could be found out now;
    /// [`Error::Budget`].
    #[cold]
    pub(super) fn discover(
        &self,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Section, Error> {
        let mut attempt = Attempt::default();
        let mut found = Ok(None);

        for _ in 0..TRIES {
            found = self.try_discover(pc, &mut attempt, walk, budget);
            if !matches!(found, Ok(None)) {
                break;
            }
            // Another thread may have been faster.
            if let Some(section) = self.find(pc) {
                return Ok(section);
            }
        }
        let found = found.and_then(|section| section.ok_or(Error::Fault));
        let Attempt { object, .. } = attempt;

        match found {
            // Also if all tries came too late: each further frame of this text would try as often.
            Err(error) if object.start < object.end => {
                walk.nothing().set_failed(object.start, object.end, error);
            }
            _ => {}
        }
        found
    }

    /// Looks for the tables once. Returns none if something has changed meanwhile.
    fn try_discover(
        &self,
        pc: usize,
        attempt: &mut Attempt,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Section>, Error> {
        // Before the mappings are looked at.
        let unmaps = self.unmaps();
        let object = &mut attempt.object;

        *object = Default::default();
        budget.spend(MAPPINGS)?;
        // SAFETY: It fills in `object`, and nothing else.
        match unsafe { bindings::unwind_tables_find_object(pc, object) } {
            0 => {}
            errno if errno == ENOENT.to_errno() => return Err(Error::NotFound),
            _ => return Err(Error::Fault),
        }
        let Some((first, last)) = self.gap(pc) else {
            return Ok(None);
        };

        // Only what nobody has said anything about.
        object.start = object.start.max(first);
        object.end = object.end.min(last.saturating_add(1));
        self.examine(pc, attempt, unmaps, walk, budget)
    }

    /// Reads the headers of the file that address `pc` is of, and stores what they say; none if
    /// something has changed meanwhile.
    #[inline(never)]
    fn examine(
        &self,
        pc: usize,
        attempt: &mut Attempt,
        unmaps: u64,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Section>, Error> {
        let described = describe(pc, attempt, walk, budget)?;
        let absent = described.is_err();
        let object = &attempt.object;
        // Each try would copy as much of a shared set before there is no memory: one is enough.
        if walk.lacks_memory() {
            return Err(Error::Fault);
        }
        let stored = match described {
            Ok(discovered) => self.store(&discovered, object.most as usize, unmaps),
            Err(absence) => self.store_absence(object, absence, unmaps),
        };

        match stored {
            Ok(section) => Ok(Some(section)),
            Err(error) if has_changed(error) => Ok(None),
            Err(error) if error == ENOMEM => {
                walk.set_lacks_memory();
                Err(Error::Fault)
            }
            Err(_) if absent => Err(Error::NotFound),
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
    /// # Errors
    ///
    /// As [`store`](Self::store). It has no table all the same.
    #[inline(never)]
    fn store_absence(
        &self,
        object: &bindings::unwind_tables_object,
        absence: Absence,
        unmaps: u64,
    ) -> Result<Section> {
        let section = Section::absent(object.start, object.end, absence)?;
        let store = |section| {
            // A program may have any number of such texts: what is not stored costs no memory.
            if !self.has_room(&section, MOST_ABSENT) {
                return Err(ENOSPC);
            }
            let discovered = Discovered {
                section,
                parts: Parts::default(),
                records: Default::default(),
            };

            self.store(&discovered, MOST_ABSENT, unmaps)
        };

        // Those beside it may be no text any more.
        match store(self.joined(section)) {
            // Nor is there memory for the text alone.
            Err(error) if error == ENOMEM => Err(error),
            Err(_) => store(section),
            stored => stored,
        }
    }

    /// A section without a table, and those beside it that have none for the same reason: all of
    /// them as one.
    fn joined(&self, section: Section) -> Section {
        let rcu = rcu::read_lock();
        let set = self.set(&rcu);
        let beside = |pc| {
            set.at(pc, &rcu)
                .filter(|other| other.absence == section.absence)
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
    /// `EAGAIN` or `EEXIST` if something has changed; others, if that cannot be said now: `EACCES`,
    /// `EINTR`, `ENOMEM`, `ENOSPC`.
    #[inline(never)]
    fn store(&self, discovered: &Discovered, most: usize, unmaps: u64) -> Result<Section> {
        let section = discovered.section;
        let entry = self.entry(section, walk_flags())?;
        let section = **entry;

        self.unshare(walk_flags())?;
        {
            let _mapped = lock_mappings(discovered)?;

            self.insert_found(entry, most, unmaps)?;
        }
        for info in Found::new(section).infos() {
            // SAFETY: It only looks at what it is given.
            unsafe { bindings::unwind_tables_discovered(&info) };
        }
        Ok(section)
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
        entry: EntryRef<Section>,
        most: usize,
        unmaps: u64,
    ) -> Result {
        let flags = walk_flags();
        let mut locked = self.lock_in_walk()?;

        if self.unmaps() != unmaps {
            return Err(EAGAIN);
        }
        if !self.has_room(&entry, most) {
            return Err(ENOSPC);
        }
        let mut set = locked.own_set(flags)?;
        if entry.is_absent() {
            set.join(entry, flags)
        } else {
            set.add(entry, flags)
        }
    }

    /// Whether there is room for a section, if there may be `most` of its kind. One without a table
    /// that takes the place of another one needs none.
    fn has_room(&self, section: &Section, most: usize) -> bool {
        if !section.is_absent() {
            return self.len() < most;
        }
        self.absent() < most || {
            let rcu = rcu::read_lock();
            let (start, end) = (section.text_start, section.text_end);

            self.set(&rcu)
                .first_in(start, end, Section::is_absent, &rcu)
                .is_some()
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

/// Takes the mmap lock, until the result is dropped, if text and tables are mapped as is said.
fn lock_mappings(discovered: &Discovered) -> Result<impl Drop> {
    let Section {
        text_start,
        text_end,
        ..
    } = discovered.section;
    let [sframe, eh_frame] = discovered.parts;
    let parts = [sframe, eh_frame, discovered.records];

    // SAFETY: It only looks at what it is given, which is so many parts.
    to_result(unsafe {
        bindings::unwind_tables_lock_mapped(
            text_start,
            text_end,
            parts.as_ptr(),
            parts.len() as c_uint,
        )
    })?;
    // SAFETY: It has taken the lock.
    Ok(ScopeGuard::new(|| unsafe {
        bindings::unwind_tables_unlock_mapped()
    }))
}

/// What the headers of a file say about the text at address `pc`.
fn describe(
    pc: usize,
    attempt: &mut Attempt,
    walk: &mut Walk<'_>,
    budget: &mut Budget,
) -> Result<Result<Discovered, Absence>, Error> {
    let object = &attempt.object;

    if !object.is_file {
        return Ok(Err(Absence::NoFile));
    }
    if object.header_len == 0 {
        return Ok(Err(Absence::NoHeader));
    }
    let elf::Object {
        text,
        sframe,
        eh_frame,
    } = match read_headers(pc, attempt, walk, budget) {
        Ok(found) => found,
        Err(elf::Error::Absent(absence)) => return Ok(Err(Absence::Elf(absence))),
        Err(elf::Error::Fault) => return Err(Error::Fault),
        Err(elf::Error::Budget) => return Err(Error::Budget),
    };
    let object = &attempt.object;

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
    let mut tables = [None; Format::COUNT];
    let mut parts = Parts::default();
    let mut records = Default::default();
    let mut absence = Absence::Elf(elf::Absence::NoTable);

    for (format, segment) in [(Format::SFrame, sframe), (Format::EhFrame, eh_frame)] {
        let Some(segment) = segment.filter(|_| format.is_built_in()) else {
            continue;
        };
        let Some((mut table, part)) = find_table(pc, format, bias, &segment)? else {
            absence = Absence::NotMapped;
            continue;
        };
        if format == Format::EhFrame {
            let Some(found) = find_records(pc, table, walk, budget)? else {
                absence = Absence::NoIndex;
                continue;
            };
            (table, records) = found;
        }
        *format.of_mut(&mut tables) = Some(table);
        *format.of_mut(&mut parts) = part;
    }
    let section = Section::found(
        object.start.max(text_start as usize),
        object.end.min(text_end as usize),
        tables,
        Origin::Discovery,
    );

    Ok(match section {
        Ok(Some(section)) => Ok(Discovered {
            section,
            parts,
            records,
        }),
        Ok(None) => Err(absence),
        Err(_) => Err(Absence::NotMapped),
    })
}

/// Reads the headers of a file.
///
/// It is not inlined: what it reads may come from a file system, which needs the kernel's stack.
#[inline(never)]
fn read_headers(
    pc: usize,
    attempt: &mut Attempt,
    walk: &mut Walk<'_>,
    budget: &mut Budget,
) -> Result<elf::Object, elf::Error> {
    let object = &attempt.object;
    let memory = UserMemory::new(object.header, walk.waits());
    let headers = elf::Headers::read(&memory, object.header_len as u64, &TARGET, budget)?;

    // What has no program headers is known by one read, and may be in any number of mappings: the
    // memory of a JIT compiler, for example.
    if !attempt.is_counted && !walk.begin_discovery() {
        // This frame is followed by its frame pointer.
        return Err(elf::Error::Fault);
    }
    attempt.is_counted = true;
    let start = find_headers(pc, object, &headers)?;
    let memory = UserMemory::new(start, walk.waits());

    headers.object(&memory, 0, object.offset, &TARGET, budget)
}

/// The address of the program headers of a file.
///
/// Most files have them behind the ELF header. Whoever adds one to a finished file may have to put
/// all of them into a segment of their own.
///
/// # Errors
///
/// [`elf::Error::Absent`] if they are not mapped in one piece, [`elf::Error::Fault`] if that cannot
/// be said now.
fn find_headers(
    pc: usize,
    object: &bindings::unwind_tables_object,
    headers: &elf::Headers,
) -> Result<usize, elf::Error> {
    let (place, len) = (headers.place(), headers.len());

    if headers.end() <= object.header_len as u64 {
        // Does not wrap: they are in this mapping.
        return Ok(object.header.wrapping_add(place as usize));
    }
    let mut start = 0;
    // SAFETY: It looks at `object`, and fills in `start`.
    match unsafe { bindings::unwind_tables_find_headers(pc, object, place, len, &mut start) } {
        0 => Ok(start),
        errno if errno == ENODATA.to_errno() => Err(elf::Absence::Headers.into()),
        _ => Err(elf::Error::Fault),
    }
}

/// The table that a segment has, or that is around it; none if it is not mapped where the file
/// says.
///
/// # Errors
///
/// [`Error::Fault`] if that cannot be said now.
fn find_table(
    pc: usize,
    format: Format,
    bias: u64,
    segment: &elf::Segment,
) -> Result<Option<(Table, bindings::unwind_tables_part)>, Error> {
    let start = bias.wrapping_add(segment.address);
    let mut part = bindings::unwind_tables_part {
        start: start as usize,
        end: start.wrapping_add(segment.len) as usize,
        offset: segment.offset,
    };
    // The records are somewhere around their index: no header says how far they reach.
    let around = format == Format::EhFrame;

    // SAFETY: It changes `part`, and nothing else.
    match unsafe { bindings::unwind_tables_find_part(pc, around, &mut part) } {
        0 => {}
        errno if errno == ENODATA.to_errno() => return Ok(None),
        _ => return Err(Error::Fault),
    }
    // What is too long is used as far as a table can reach.
    part.end = part.end.min(part.start.saturating_add(u32::MAX as usize));

    Ok(Table::new(part.start, part.end, start as usize).map(|table| (table, part)))
}

/// The same table with all its records, and where these are mapped if that is not around the index:
/// a linker puts all of them into what is writable if it has found some there. None if there are
/// none.
///
/// # Errors
///
/// [`Error::Fault`] if that cannot be said now, [`Error::Budget`].
fn find_records(
    pc: usize,
    table: Table,
    walk: &mut Walk<'_>,
    budget: &mut Budget,
) -> Result<Option<(Table, bindings::unwind_tables_part)>, Error> {
    let header = table.header();
    let alone = Ok(Some((table, Default::default())));
    let mut bytes = [0; Records::LEN];

    // Its lookups will find out that it is too short.
    if table.end().wrapping_sub(header) < bytes.len() {
        return alone;
    }
    budget.spend(elf::READ)?;
    UserMemory::new(header, walk.waits()).read(0, &mut bytes)?;
    let records = match Records::new::<Machine>(bytes, header as u64) {
        Records::None => return Ok(None),
        Records::At(address) => address as usize,
        Records::Unsaid => return alone,
    };
    if table.is_in(records, records.saturating_add(1)) {
        return alone;
    }

    let mut part = bindings::unwind_tables_part::default();

    // SAFETY: It changes `part`, and nothing else.
    match unsafe { bindings::unwind_tables_find_records(pc, header, records, &mut part) } {
        0 => {}
        errno if errno == ENODATA.to_errno() => return alone,
        _ => return Err(Error::Fault),
    }
    let start = table.start().min(part.start);
    let end = table.end().max(part.end);

    match Table::new(start, end, header) {
        Some(table) => Ok(Some((table, part))),
        None => alone,
    }
}
