// SPDX-License-Identifier: GPL-2.0

//! Discovery: finds the tables of a mapped file, when a walk comes to text that is in no registry,
//! and when exec maps a program.
//!
//! The mapping of the text leads to the mapping with the ELF header of its file, and the program
//! headers there lead to the tables. No file is opened: only memory of the process is read. That
//! memory and the mappings may change, for no lock is held meanwhile. So the mappings are checked
//! again when the text is stored, and it is not stored if anything was unmapped since.
//!
//! A text without a table is stored, too, but only where the mappings or a completed read prove it.
//! Otherwise the next stack tries again.

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

/// Limit of texts with a table, and of texts without one, that discovery stores in a registry.
const MOST_FOUND: usize = 4096;

/// Number of tries in a row while other threads map and unmap.
const TRIES: usize = 3;

/// The files that this kernel runs.
#[cfg(CONFIG_X86_64)]
const TARGET: elf::Target = elf::Target::AMD64;

static_assert!(TARGET.page_size == PAGE_SIZE as u64);

/// The state that the tries to find the tables of a text share.
#[derive(Default)]
struct Attempt {
    /// The mappings that the last try has found.
    object: bindings::unwind_tables_object,
}

/// A text before it is in a registry, and the mappings that it needs.
struct Discovered {
    text: Text,
    /// The parts of the file that must be mapped where the tables are.
    parts: Parts,
    /// The part with the records of an `.eh_frame`, if that is another one; else empty.
    records: bindings::unwind_tables_part,
}

/// The part of a file with the table of each format; empty if there is no table.
type Parts = [bindings::unwind_tables_part; Format::COUNT];

impl Registry {
    /// Finds the tables of the text that holds address `pc`, stores the text, and makes it the last
    /// text of the walk.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if `pc` is not in text, discovery is off, the budget is used up, or the
    /// text has no table; [`Error::Fault`] if the tables cannot be found now.
    #[cold]
    pub(super) fn discover(&self, pc: usize, walk: &mut Walk<'_>) -> Result<(), Error> {
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
            if let Some(opened) = self.look(pc, |text| walk.open(text)) {
                return opened;
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
                walk.set_skipped(object.start, object.end, error);
            }
            _ => {}
        }
        walk.open(&found?)
    }

    /// Tries to find the tables once. Returns `Ok(None)` if something has changed meanwhile.
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

    /// Reads the headers of the file that is mapped at address `pc`, and stores the text. Returns
    /// `Ok(None)` if something has changed meanwhile.
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

    /// Stores a text without a table.
    ///
    /// # Errors
    ///
    /// Those of [`store`](Self::store).
    #[inline(never)]
    fn store_absence(
        &self,
        object: &bindings::unwind_tables_object,
        absence: Absence,
        unmaps: u64,
    ) -> Result<Text> {
        let text = Text::absent(object.start, object.end, absence)?;
        let store = |text| self.store(&Discovered::absent(text), unmaps);

        // The neighbours may not be executable any more.
        store(self.joined(text)).or_else(|_| store(text))
    }

    /// Joins a text without a table with its neighbours that have none for the same reason.
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

    /// Stores a text, if its mappings are still there and nothing was unmapped since `unmaps`.
    ///
    /// # Errors
    ///
    /// `EAGAIN` or `EEXIST` if something has changed; `EACCES`, `EINTR`, `ENOMEM` or `ENOSPC` if
    /// the text cannot be stored now.
    #[inline(never)]
    fn store(&self, discovered: &Discovered, unmaps: u64) -> Result<Text> {
        let _mapped = discovered.lock()?;

        self.insert_found(discovered.text, MOST_FOUND, unmaps)?;
        Ok(discovered.text)
    }
}

/// Registers the tables of a program or an interpreter that exec has mapped, if it has an SFrame
/// table. The tables of other files are left to discovery by a walk.
///
/// `headers` are the program headers, `bias` is what the loader has added to their addresses. This
/// finds what a walk would find, but does not read the index of `.eh_frame`: it takes the records
/// to be around the index, as linkers put them.
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

    /// Takes the mmap lock until the result is dropped, if the text and the parts are still mapped.
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

/// Says whether an error of [`Registry::store`] means that memory was unmapped, or that another
/// thread was faster.
fn has_changed(error: kernel::error::Error) -> bool {
    error == EAGAIN || error == EEXIST
}

/// Describes the text at address `pc` by the headers of its file.
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

/// A table with all its records, and the part with the records if that is another one.
type WithRecords = (Table, bindings::unwind_tables_part);

/// Finds the text at address `pc`, and its tables, if they are mapped where the headers of its file
/// say. `with_records` adds the records to a table of `.eh_frame`.
///
/// # Errors
///
/// [`Error::Fault`] if the mappings cannot be looked at now, and those of `with_records`.
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
/// Not inlined: its buffers are off the kernel's stack when the tables are looked for.
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

/// Finds the address of the program headers of a file.
///
/// Most files have them behind the ELF header. Tools that add a program header to a finished file
/// may put all of them into a segment of their own.
///
/// # Errors
///
/// [`elf::Error::Absent`] if they are not mapped in one piece, [`elf::Error::Fault`] if the
/// mappings cannot be looked at now.
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

/// Finds the table in a segment or, for `.eh_frame`, around it. Returns `Ok(None)` if it is not
/// mapped where the file says.
///
/// # Errors
///
/// [`Error::Fault`] if the mappings cannot be looked at now.
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

/// Adds the records to a table of `.eh_frame`, if they are not around the index: GNU ld puts all
/// records into a writable segment if those of one input file are writable. Returns `Ok(None)` if
/// there are no records.
///
/// # Errors
///
/// [`Error::Fault`] if the header or the mappings cannot be looked at now, [`Error::Budget`].
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
