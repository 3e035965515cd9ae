// SPDX-License-Identifier: GPL-2.0

//! Looking for the tables of a text in what the process has mapped: when a walk comes to text that
//! nobody has registered, and when exec maps a program.
//!
//! The mapping of the text leads to that with the ELF header of its file, the program headers there
//! to the tables. Nothing is opened or read but the process's own memory. What is read may change,
//! and what is mapped, too, for no lock is held meanwhile. So the mappings are looked at again
//! when the text is stored, and if anything was unmapped since, it is not.
//!
//! That there is no table is remembered as well, but only where the mappings or a completed read
//! show it. Otherwise the next stack tries again.

use kernel::{
    bindings,
    error::to_result,
    page::PAGE_SIZE,
    prelude::*,
    sync::rcu,
    types::ScopeGuard, //
};

use super::Registry;

use crate::{
    parse::{
        eh_frame::Records,
        elf,
        Error,
        Reader, //
    },
    table::{
        Format,
        Machine,
        Table, //
    },
    text::{
        Absence,
        Origin,
        Text, //
    },
    walk::Walk, //
};

/// How many texts of each kind, with a table and without, walks may find in an address space.
const MOST_FOUND: usize = 4096;

/// How often a walk tries in a row while other threads map and unmap.
const TRIES: usize = 3;

/// What this kernel runs.
#[cfg(CONFIG_X86_64)]
const TARGET: elf::Target = elf::Target::AMD64;

static_assert!(TARGET.page_size == PAGE_SIZE as u64);

/// What the tries to find the tables of a text have in common.
#[derive(Default)]
struct Attempt {
    /// The mappings that were found last.
    object: bindings::unwind_tables_object,
}

/// What was found about a text, before it is in a registry.
struct Discovered {
    text: Text,
    /// What of the file has to be mapped where the tables are.
    parts: Parts,
    /// And where the records of an `.eh_frame` are, if that is somewhere else.
    records: bindings::unwind_tables_part,
}

/// What of a file is mapped where the table of each format is; empty if there is none.
type Parts = [bindings::unwind_tables_part; Format::COUNT];

impl Registry {
    /// Looks for the tables of the text that holds address `pc`, and stores what it has found.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if `pc` is not in text, discovery is off, or the text has no table and
    /// there is no room to remember that; [`Error::Fault`] if nothing could be found out now.
    #[cold]
    pub(super) fn discover(&self, pc: usize, walk: &mut Walk<'_>) -> Result<Text, Error> {
        // SAFETY: It looks at a number.
        if !unsafe { bindings::unwind_tables_may_discover() } {
            return Err(Error::NotFound);
        }
        let mut attempt = Attempt::default();
        let mut found = Ok(None);

        for _ in 0..TRIES {
            found = self.try_discover(pc, &mut attempt, walk);
            if !matches!(found, Ok(None)) {
                break;
            }
            // Another thread may have been faster.
            if let Some(text) = self.find(pc) {
                return Ok(text);
            }
        }
        let found = found.and_then(|text| text.ok_or(Error::Fault));
        // The walk goes on by the frame pointer.
        let found = found.map_err(|error| match error {
            Error::Budget => Error::NotFound,
            error => error,
        });
        let Attempt { object, .. } = attempt;

        match found {
            // Also if all tries came too late: each further frame of this text would try as often.
            Err(error) if object.start < object.end => {
                walk.set_nothing(object.start, object.end, error);
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
    ) -> Result<Option<Text>, Error> {
        // Before the mappings are looked at.
        let unmaps = self.unmaps();
        let object = &mut attempt.object;

        *object = Default::default();
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
        self.examine(pc, attempt, unmaps, walk)
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
    ) -> Result<Option<Text>, Error> {
        let described = describe(pc, attempt, walk)?;
        let absent = described.is_err();
        let object = &attempt.object;
        let stored = match described {
            Ok(discovered) => self.store(&discovered, unmaps),
            Err(absence) => self.store_absence(object, absence, unmaps),
        };

        match stored {
            Ok(text) => Ok(Some(text)),
            Err(error) if has_changed(error) => Ok(None),
            Err(_) if absent => Err(Error::NotFound),
            Err(_) => Err(Error::Fault),
        }
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
    ) -> Result<Text> {
        let text = Text::absent(object.start, object.end, absence)?;
        let store = |text| self.store(&Discovered::absent(text), unmaps);

        // Those beside it may be no text any more.
        store(self.joined(text)).or_else(|_| store(text))
    }

    /// Joins a text without a table with those beside it that have none for the same reason.
    fn joined(&self, text: Text) -> Text {
        let rcu = rcu::read_lock();
        let beside = |pc| {
            self.texts
                .load(pc, &rcu)
                .filter(|other| other.absence == text.absence)
        };
        let below = text.start.checked_sub(1).and_then(beside);
        let above = beside(text.end);

        // INVARIANT: The text only grows.
        Text {
            start: below.map_or(text.start, |below| below.start),
            end: above.map_or(text.end, |above| above.end),
            ..text
        }
    }

    /// Stores a text, if the mappings are as they were at `unmaps` and there is room for it.
    ///
    /// # Errors
    ///
    /// `EAGAIN` or `EEXIST` if something has changed; others, if that cannot be said now: `EACCES`,
    /// `EINTR`, `ENOMEM`, `ENOSPC`.
    #[inline(never)]
    fn store(&self, discovered: &Discovered, unmaps: u64) -> Result<Text> {
        let _mapped = discovered.lock()?;

        self.insert_found(discovered.text, MOST_FOUND, unmaps)?;
        Ok(discovered.text)
    }
}

/// Registers the tables of a program or an interpreter that exec has mapped, if it has an SFrame
/// table: what has none waits until a walk wants to know.
///
/// `headers` are its program headers, `bias` is what was added to their addresses. What is found is
/// what a walk would find, but that the index of `.eh_frame` is not read: its records are taken to
/// be around it, as linkers put them.
///
/// # Safety
///
/// `mm` must be what `current->mm` points to.
pub(crate) unsafe fn register_at_exec(
    mm: *mut bindings::mm_struct,
    bias: usize,
    headers: &[u8],
) -> Result {
    let around = |table| Ok(Some((table, Default::default())));

    for segment in elf::texts(headers, &TARGET) {
        let pc = bias.wrapping_add(segment.address as usize);
        let mut object = Default::default();

        // SAFETY: It fills in `object`, and nothing else.
        to_result(unsafe { bindings::unwind_tables_find_object(pc, &mut object) })?;
        let Some(elf) = elf::object_of(headers, object.offset, &TARGET)
            .ok()
            .filter(|elf| elf.sframe.is_some())
        else {
            continue;
        };
        let Ok(discovered) = find_tables(pc, &object, &elf, Origin::Exec, around)? else {
            continue;
        };
        // SAFETY: The current task is a user of `mm`.
        let registry = unsafe { Registry::get_or_new(mm, GFP_KERNEL_ACCOUNT) }?;
        let _mapped = discovered.lock()?;

        // SAFETY: It looks at a number.
        registry.register(discovered.text, unsafe { bindings::unwind_tables_most() }
            as usize)?;
    }
    Ok(())
}

impl Discovered {
    /// Describes a text without a table.
    fn absent(text: Text) -> Self {
        Self {
            text,
            parts: Parts::default(),
            records: Default::default(),
        }
    }

    /// Takes the mmap lock, until the result is dropped, if text and tables are mapped as is said.
    fn lock(&self) -> Result<impl Drop> {
        let [sframe, eh_frame] = self.parts;
        let parts = [sframe, eh_frame, self.records];

        // SAFETY: It only looks at what it is given, which is so many parts.
        to_result(unsafe {
            bindings::unwind_tables_lock_mapped(
                self.text.start,
                self.text.end,
                parts.as_ptr(),
                parts.len() as c_uint,
            )
        })?;
        // SAFETY: It has taken the lock.
        Ok(ScopeGuard::new(|| unsafe {
            bindings::unwind_tables_unlock_mapped()
        }))
    }
}

/// Whether an error of [`Registry::store`] says that something was unmapped, or that another thread
/// was faster.
fn has_changed(error: kernel::error::Error) -> bool {
    error == EAGAIN || error == EEXIST
}

/// What the headers of a file say about the text at address `pc`.
fn describe(
    pc: usize,
    attempt: &mut Attempt,
    walk: &mut Walk<'_>,
) -> Result<Result<Discovered, Absence>, Error> {
    let object = &attempt.object;

    if !object.is_file {
        return Ok(Err(Absence::NoFile));
    }
    if object.header_len == 0 {
        return Ok(Err(Absence::NoHeader));
    }
    let elf = match read_headers(pc, attempt, walk) {
        Ok(elf) => elf,
        Err(elf::Error::Absent(absence)) => return Ok(Err(Absence::Elf(absence))),
        Err(elf::Error::Fault) => return Err(Error::Fault),
        Err(elf::Error::Budget) => return Err(Error::Budget),
    };

    find_tables(pc, &attempt.object, &elf, Origin::Discovery, |table| {
        find_records(pc, table, walk)
    })
}

/// A table with all its records, and where these are mapped if that is not around the index.
type WithRecords = (Table, bindings::unwind_tables_part);

/// Finds the text at address `pc`, and its tables, if they are mapped where the headers of its file
/// say. `with_records` completes a table of `.eh_frame`.
///
/// # Errors
///
/// [`Error::Fault`] if that cannot be said now, and those of `with_records`.
fn find_tables(
    pc: usize,
    object: &bindings::unwind_tables_object,
    elf: &elf::Object,
    origin: Origin,
    mut with_records: impl FnMut(Table) -> Result<Option<WithRecords>, Error>,
) -> Result<Result<Discovered, Absence>, Error> {
    let text = &elf.text;

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

    for (format, segment) in [
        (Format::SFrame, elf.sframe),
        (Format::EhFrame, elf.eh_frame),
    ] {
        let Some(segment) = segment.filter(|_| format.is_built_in()) else {
            continue;
        };
        let Some((mut table, part)) = find_table(pc, format, bias, &segment, origin)? else {
            absence = Absence::NotMapped;
            continue;
        };
        if format == Format::EhFrame {
            let Some(found) = with_records(table)? else {
                absence = Absence::NoIndex;
                continue;
            };
            (table, records) = found;
        }
        *format.of_mut(&mut tables) = Some(table);
        *format.of_mut(&mut parts) = part;
    }
    if tables.iter().all(Option::is_none) {
        return Ok(Err(absence));
    }
    let text = Text::new(
        object.start.max(text_start as usize),
        object.end.min(text_end as usize),
        tables,
    );

    Ok(text.map_err(|_| Absence::NotMapped).map(|text| Discovered {
        text,
        parts,
        records,
    }))
}

/// Reads the headers of a file.
///
/// It is not inlined: what it reads may come from a file system, which needs the kernel's stack.
#[inline(never)]
fn read_headers(
    pc: usize,
    attempt: &mut Attempt,
    walk: &mut Walk<'_>,
) -> Result<elf::Object, elf::Error> {
    let object = &attempt.object;
    let memory = walk.memory(object.header);
    let headers = elf::Headers::read(&memory, object.header_len as u64, &TARGET)?;

    // What has no program headers is known by one read, and may be in any number of mappings: the
    // memory of a JIT compiler, for example.
    if !walk.begin_discovery() {
        // This frame is followed by its frame pointer.
        return Err(elf::Error::Fault);
    }
    let start = find_headers(pc, object, &headers)?;

    headers.object(&walk.memory(start), 0, object.offset, &TARGET)
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
    origin: Origin,
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

    Ok(Table::new(part.start, part.end, start as usize, origin).map(|table| (table, part)))
}

/// Completes a table of `.eh_frame` with its records, if they are not around the index: a linker
/// puts all of them into what is writable if it has found some there. `None` if there are no
/// records.
///
/// # Errors
///
/// [`Error::Fault`] if that cannot be said now, [`Error::Budget`].
fn find_records(
    pc: usize,
    table: Table,
    walk: &mut Walk<'_>,
) -> Result<Option<WithRecords>, Error> {
    let header = table.header();
    let alone = Ok(Some((table, Default::default())));
    let mut bytes = [0; Records::LEN];

    // Its lookups will find out that it is too short.
    if table.end().wrapping_sub(header) < bytes.len() {
        return alone;
    }
    walk.memory(header).read(0, &mut bytes)?;
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

    match Table::new(start, end, header, table.origin) {
        Some(table) => Ok(Some((table, part))),
        None => alone,
    }
}
