// SPDX-License-Identifier: GPL-2.0

//! Where the kernel finds the tables of a file that nobody has registered: by its own reader of ELF
//! headers, which it asks about each text that a stack comes to.

use std::borrow::Cow;
use std::ops::Range;

use crate::arch::Arch;
use crate::elf::{Elf, Segment};
use crate::parse::Error;
use crate::parse::elf::{self, Headers, Object, Target};
use crate::table::Bytes;

/// Files are mapped in pages. Larger ones are mapped alike: linkers align segments to the largest.
pub const PAGE: u64 = 4096;

/// Why the kernel finds no table for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The start of the file, with its header, is in no segment.
    NoHeader,
    /// The table is not mapped where its program header says.
    NotMapped,
    /// The index has no entries.
    NoIndex,
    /// The headers say so.
    Elf(elf::Absence),
}

impl Absence {
    pub fn text(self) -> &'static str {
        match self {
            Self::NoHeader => "the ELF header is in no segment",
            Self::NotMapped => "the table is in no segment that has it where its header says",
            Self::NoIndex => "the index has no entries",
            Self::Elf(absence) => absence.text(),
        }
    }
}

/// What the kernel finds for each executable segment of a file.
pub fn discover<A: Arch>(elf: &Elf<'_>) -> Vec<(Segment, Result<Object, Absence>)> {
    let header = elf
        .loads
        .iter()
        .find(|load| load.readable && load.file_offset < PAGE && load.file_size != 0);
    let len = header.map(|load| load.file_offset.saturating_add(load.file_size));
    // What is mapped ends with a page, but not what the file has.
    let len = len.map(|len| len.saturating_add(PAGE - 1) & !(PAGE - 1));

    elf.executable_segments()
        .filter(|text| text.file_size != 0)
        .map(|text| {
            let found = match len {
                Some(len) => object::<A>(elf, len, text.file_offset),
                None => Err(Absence::NoHeader),
            };
            (*text, found)
        })
        .collect()
}

/// Asks the kernel's reader about byte `offset` of a file of which `len` bytes are mapped with the
/// ELF header. The program headers may be in another segment.
fn object<A: Arch>(elf: &Elf<'_>, len: u64, offset: u64) -> Result<Object, Absence> {
    let target = Target {
        machine: A::MACHINE,
        page_size: PAGE,
    };
    let reader = Bytes(elf.data);

    Headers::read(&reader, len, &target)
        .and_then(|headers| {
            if headers.end() > len && !is_mapped(elf, headers.place..headers.end()) {
                return Err(elf::Absence::Headers.into());
            }
            headers.object(&reader, headers.place, offset, &target)
        })
        .map_err(|error| match error {
            Error::Absent(absence) => Absence::Elf(absence),
            // The file is shorter than it says. Reading it has no limit here.
            _ => Absence::Elf(elf::Absence::Headers),
        })
}

/// Whether a range of a file is in the pages of a segment that can be read.
fn is_mapped(elf: &Elf<'_>, range: Range<u64>) -> bool {
    elf.loads.iter().any(|load| {
        let start = load.file_offset & !(PAGE - 1);
        let end = load.file_offset.saturating_add(load.file_size);
        let end = end.saturating_add(PAGE - 1) & !(PAGE - 1);

        load.readable && load.file_size != 0 && start <= range.start && range.end <= end
    })
}

/// What is mapped together with a part of a file.
pub struct Mapping<'a> {
    /// What of it can be read.
    pub bytes: Cow<'a, [u8]>,
    /// Address of its first byte.
    pub base: u64,
    /// Where that is in the file.
    offset: u64,
    /// How many bytes are mapped: maybe more than the file has.
    pub len: u32,
}

/// What is mapped around a table, whole pages, if the table is mapped where its header says.
pub fn around<'a>(elf: &Elf<'a>, table: &elf::Segment) -> Option<Mapping<'a>> {
    let mapping = mapping(elf, table.address)?;
    let place = table.address - mapping.base;

    (mapping.offset.checked_add(place)? == table.offset
        && place.checked_add(table.len)? <= mapping.len.into())
    .then_some(mapping)
}

/// What is mapped of the readable segment that an address is in, whole pages.
pub fn mapping<'a>(elf: &Elf<'a>, address: u64) -> Option<Mapping<'a>> {
    let load = elf.load_at(address).filter(|load| load.readable)?;
    let before = load.address % PAGE;
    let offset = load.file_offset.checked_sub(before)?;
    let len = load.file_size.checked_add(before)?;
    let len = len.checked_add(PAGE - 1)? & !(PAGE - 1);
    let len = u32::try_from(len).unwrap_or(u32::MAX);

    if offset % PAGE != 0 {
        return None;
    }
    Some(Mapping {
        bytes: part(elf.data, offset..offset.checked_add(len.into())?)?,
        base: load.address - before,
        offset,
        len,
    })
}

/// What can be read of a range of a file's bytes: in the page that has its last byte, zeros follow.
fn part(data: &[u8], range: Range<u64>) -> Option<Cow<'_, [u8]>> {
    let start = usize::try_from(range.start).ok()?;
    let end = usize::try_from(range.end).unwrap_or(usize::MAX);

    if let Some(bytes) = data.get(start..end) {
        return Some(bytes.into());
    }
    let mut bytes = data.get(start..)?.to_vec();
    let last = data.len().next_multiple_of(PAGE as usize).min(end);
    bytes.resize(last - start, 0);
    Some(bytes.into())
}
