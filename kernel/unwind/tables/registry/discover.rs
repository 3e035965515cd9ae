// SPDX-License-Identifier: GPL-2.0

//! Discovery: finds the tables of a mapped file, when a walk comes to text that is in no registry,
//! and when exec maps a program.
//!
//! The mapping of the text leads to the mapping with the ELF header of its file, and the program
//! headers there lead to the tables. No file is opened: only memory of the process is read. The
//! mmap lock is held from the look at the mappings until the text is stored. Page faults are
//! disabled, so what is read meanwhile makes nobody wait for the lock: a discovery that faults
//! ends, and is tried again when the memory is there.
//!
//! A text without a table is stored, too, but only where the mappings or a completed read prove it.
//! Otherwise the next stack tries again.

use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use super::{
    max_explicit,
    Registry, //
};

use crate::{
    mappings::{
        Mappings,
        Object, //
    },
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
const MAX_FOUND: usize = 4096;

/// The files that this kernel runs.
#[cfg(CONFIG_X86_64)]
const TARGET: elf::Target = elf::Target::AMD64;

/// The files that this kernel runs.
#[cfg(CONFIG_ARM64)]
const TARGET: elf::Target = elf::Target::aarch64(PAGE_SIZE as u64);

static_assert!(TARGET.page_size == PAGE_SIZE as u64);

impl Registry {
    /// Finds the tables of the text that holds address `pc`, stores the text, and makes it the last
    /// text of the walk.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if `pc` is not in text, discovery is off, the budget is used up, or the
    /// text has no table; [`Error::Fault`] if the tables cannot be found now.
    #[cold]
    #[inline(never)] // What it needs of the kernel's stack is free when a table is read.
    pub(super) fn discover(&self, pc: usize, walk: &mut Walk<'_>) -> Result<(), Error> {
        // SAFETY: The variable is never gone, and all access it atomically while programs run.
        let level = unsafe { Atomic::from_ptr(&raw mut bindings::unwind_tables_level) };

        if level.load(Relaxed) < bindings::UNWIND_TABLES_DISCOVERED {
            return Err(Error::NotFound);
        }
        if walk.is_immediate() {
            walk.leave_out_discovery();
            return Err(Error::Fault);
        }
        let mappings = Mappings::lock().map_err(|_| Error::Fault)?;
        let mut object = mappings.object(pc).ok_or(Error::NotFound)?;
        let Some((first, last)) = self.gap(pc) else {
            // Another thread was faster.
            return self
                .look(pc, |text| walk.open(text))
                .unwrap_or(Err(Error::Fault));
        };

        // Only what nobody has said anything about.
        object.start = object.start.max(first);
        object.end = object.end.min(last.saturating_add(1));
        match self.examine(pc, &mappings, &object, walk) {
            Ok(text) => {
                walk.set_learned();
                walk.open(&text)
            }
            Err(error) => {
                let error = match error {
                    // The walk goes on by the frame pointer.
                    Error::Budget => Error::NotFound,
                    error => error,
                };

                // Each further frame of this text would try as often.
                walk.set_skipped(object.start, object.end, error);
                Err(error)
            }
        }
    }

    /// Reads the headers of the file that is mapped at address `pc`, and stores the text.
    #[inline(never)]
    fn examine(
        &self,
        pc: usize,
        mappings: &Mappings,
        object: &Object,
        walk: &mut Walk<'_>,
    ) -> Result<Text, Error> {
        let (text, or_else) = match describe(pc, mappings, object, walk)? {
            Ok(text) => (text, Error::Fault),
            Err(absence) => (
                Text::absent(object.start, object.end, absence).map_err(|_| Error::NotFound)?,
                Error::NotFound,
            ),
        };

        self.insert_found(text, MAX_FOUND)
            // Another thread may have been faster.
            .or_else(|_| self.find(pc).ok_or(or_else))
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
    let mappings = Mappings::lock()?;

    for segment in elf::texts(headers, &TARGET) {
        let pc = bias.wrapping_add(segment.address as usize);
        let object = mappings.object(pc).ok_or(ENOENT)?;
        let Some(elf) = elf::object_of(headers, object.offset, &TARGET)
            .ok()
            .filter(|elf| elf.sframe.is_some())
        else {
            continue;
        };

        if let Ok(text) = find_tables(pc, &mappings, &object, &elf, Origin::Exec, |table| {
            Ok(Some(table))
        })? {
            // SAFETY: The current task is a user of `mm`.
            let registry = unsafe { Registry::get_or_new(mm, GFP_KERNEL_ACCOUNT) }?;

            registry.register(text, max_explicit())?;
        }
    }
    Ok(())
}

/// Describes the text at address `pc` by the headers of its file.
fn describe(
    pc: usize,
    mappings: &Mappings,
    object: &Object,
    walk: &mut Walk<'_>,
) -> Result<Result<Text, Absence>, Error> {
    if object.id.is_null() {
        return Ok(Err(Absence::NoFile));
    }
    if object.header_len == 0 {
        return Ok(Err(Absence::NoHeader));
    }
    let elf = match read_headers(mappings, object, walk) {
        Ok(elf) => elf,
        Err(Error::Absent(absence)) => return Ok(Err(Absence::Elf(absence))),
        Err(error) => return Err(error),
    };

    let mut found = find_tables(pc, mappings, object, &elf, Origin::Discovery, |table| {
        with_records(mappings, object, table, walk)
    })?;

    if let Ok(text) = &mut found {
        text.keeps_fp = is_go(pc, mappings, object, &elf, walk)?;
    }
    Ok(found)
}

/// Says whether the notes of a file are those of a Go program. One that uses C has tables, but not
/// for the code that Go's compiler has made.
#[inline(never)] // What it needs of the kernel's stack is free when the headers are read.
fn is_go(
    pc: usize,
    mappings: &Mappings,
    object: &Object,
    elf: &elf::Object,
    walk: &mut Walk<'_>,
) -> Result<bool, Error> {
    let Some(notes) = elf.notes else {
        return Ok(false);
    };
    let start = bias(pc, object, &elf.text).wrapping_add(notes.address) as usize;
    let range = start..start.wrapping_add(notes.len as usize);
    let Some(part) = mappings.part(object, notes.offset, false, range) else {
        return Ok(false);
    };

    elf::are_of_go(&walk.memory(part.start), notes.len)
}

/// Computes what the loader has added to the file's addresses. This wraps: what comes out is
/// checked against the mappings.
fn bias(pc: usize, object: &Object, text: &elf::Segment) -> u64 {
    (pc as u64)
        .wrapping_sub(object.offset)
        .wrapping_add(text.offset)
        .wrapping_sub(text.address)
}

/// Finds the text at address `pc`, and its tables, if they are mapped where the headers of its file
/// say. `with_records` adds the records to a table of `.eh_frame`.
///
/// # Errors
///
/// Those of `with_records`.
fn find_tables(
    pc: usize,
    mappings: &Mappings,
    object: &Object,
    elf: &elf::Object,
    origin: Origin,
    mut with_records: impl FnMut(Table) -> Result<Option<Table>, Error>,
) -> Result<Result<Text, Absence>, Error> {
    let text = &elf.text;

    let bias = bias(pc, object, text);
    let page = TARGET.page_size.wrapping_sub(1);
    let text_start = bias.wrapping_add(text.address) & !page;
    let text_end = bias
        .wrapping_add(text.address)
        .wrapping_add(text.len)
        .wrapping_add(page)
        & !page;
    let mut tables = [None; Format::COUNT];
    let mut absence = Absence::Elf(elf::Absence::NoTable);

    for (format, segment) in [
        (Format::SFrame, elf.sframe),
        (Format::EhFrame, elf.eh_frame),
    ] {
        let Some(segment) = segment.filter(|_| format.is_built_in()) else {
            continue;
        };
        let mut table = find_table(mappings, object, format, bias, &segment, origin);

        absence = Absence::NotMapped;
        if let (Format::EhFrame, Some(found)) = (format, table) {
            table = with_records(found)?;
            absence = Absence::NoIndex;
        }
        *format.of_mut(&mut tables) = table;
    }
    let text = Text::new(
        object.start.max(text_start as usize),
        object.end.min(text_end as usize),
        tables,
    );

    // It holds `pc`, so if this fails there is no table.
    Ok(text.map_err(|_| absence))
}

/// Reads the headers of a file.
///
/// Not inlined: its buffers are off the kernel's stack when the tables are looked for.
#[inline(never)]
fn read_headers(
    mappings: &Mappings,
    object: &Object,
    walk: &mut Walk<'_>,
) -> Result<elf::Object, Error> {
    let memory = walk.memory(object.header);
    let headers = elf::Headers::read(&memory, object.header_len as u64, &TARGET)?;

    // What has no program headers is known by one read, and may be in any number of mappings: the
    // memory of a JIT compiler, for example.
    if !walk.begin_discovery() {
        // This frame is followed by its frame pointer.
        return Err(Error::Fault);
    }
    let start = mappings
        .headers(object, headers.place, headers.len)
        .ok_or(elf::Absence::Headers)?;

    headers.object(&walk.memory(start), 0, object.offset, &TARGET)
}

/// Finds the table in a segment or, for `.eh_frame`, around it. Returns `None` if it is not mapped
/// where the file says.
fn find_table(
    mappings: &Mappings,
    object: &Object,
    format: Format,
    bias: u64,
    segment: &elf::Segment,
    origin: Origin,
) -> Option<Table> {
    let start = bias.wrapping_add(segment.address);
    let end = start.wrapping_add(segment.len);
    // The records are somewhere around their index: no header says how far they reach.
    let around = format == Format::EhFrame;
    let range = start as usize..end as usize;
    let part = mappings.part(object, segment.offset, around, range)?;
    // What is too long is used as far as a table can reach.
    let end = part.end.min(part.start.saturating_add(u32::MAX as usize));

    Table::new(part.start, end, start as usize, origin)
}

/// Adds the records to a table of `.eh_frame`, if they are not around the index: GNU ld puts all
/// records into a writable segment if those of one input file are writable. Returns `Ok(None)` if
/// there are no records.
///
/// # Errors
///
/// [`Error::Fault`] if the header cannot be read now, [`Error::Budget`].
fn with_records(
    mappings: &Mappings,
    object: &Object,
    table: Table,
    walk: &mut Walk<'_>,
) -> Result<Option<Table>, Error> {
    let header = table.header();
    let mut bytes = [0; Records::LEN];

    // Its lookups will find out that it is too short.
    if table.end().wrapping_sub(header) < bytes.len() {
        return Ok(Some(table));
    }
    walk.memory(header).read(0, &mut bytes)?;
    let record = match Records::new::<Machine>(bytes, header as u64) {
        Records::None => return Ok(None),
        Records::At(address) => address as usize,
        Records::Unsaid => return Ok(Some(table)),
    };
    if table.is_in(record, record.saturating_add(1)) {
        return Ok(Some(table));
    }

    let longer = mappings.records(object, header, record).and_then(|part| {
        let start = table.start().min(part.start);
        let end = table.end().max(part.end);

        Table::new(start, end, header, table.origin)
    });

    Ok(longer.or(Some(table)))
}
