// SPDX-License-Identifier: GPL-2.0

//! The `.eh_frame` of a file by its index: found as the kernel finds it, read with the kernel's
//! reader.

use std::borrow::Cow;

use crate::arch::Arch;
use crate::discovery::{self, Absence, Mapping};
use crate::elf::Elf;
use crate::parse::eh_frame::{Header, Records};
use crate::parse::elf::{self, Segment};
use crate::parse::{Array, Element, Error, Reader, Rule};
use crate::search;
use crate::table::{self, Bytes, Priced};

/// Where the index is, or why the kernel finds none.
pub enum Found {
    Index(Segment),
    /// Neither a program header nor a section.
    None,
    /// No program header that names an index, but a section.
    NoIndex,
    /// A program header, but the kernel does not find what it names.
    Missing(Absence),
}

/// Finds the index of a file.
pub fn find<A: Arch>(elf: &Elf<'_>) -> Found {
    let mut absence = None;

    for (_, found) in discovery::discover::<A>(elf) {
        match found {
            Ok(object) => match object.eh_frame {
                Some(segment) => return Found::Index(segment),
                // There is an SFrame table, and so the reader does not say why.
                None => {
                    absence.get_or_insert(Absence::Elf(elf::Absence::TableRange));
                }
            },
            Err(error) => {
                absence.get_or_insert(error);
            }
        }
    }
    match (elf.eh_frame_hdr, absence) {
        (Some(_), Some(absence)) => Found::Missing(absence),
        (Some(_), None) => Found::Missing(Absence::Elf(elf::Absence::NoText)),
        (None, _) => match elf.section(".eh_frame") {
            // A library without functions has but a terminator.
            Some(section) if section.size > 4 => Found::NoIndex,
            _ => Found::None,
        },
    }
}

/// What is mapped around an index, and where its records are if that is in another segment: the
/// place of each in the table, and its bytes.
struct Parts<'a>(Vec<(u64, Cow<'a, [u8]>)>);

impl Reader for Parts<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let read = |(place, bytes): &(u64, Cow<'_, [u8]>)| {
            let at = offset.checked_sub(*place)?;
            Bytes(bytes).read(at, buf).ok()
        };

        self.0.iter().find_map(read).ok_or(Error::Fault)
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        search::bisect(&|place, to| self.read(place, to).is_ok(), array, key)
    }
}

/// A table whose header is good.
pub struct EhTable<'a, A> {
    pub header: Header<A>,
    bytes: Parts<'a>,
    /// Address of its first byte.
    pub base: u64,
    /// How many bytes it may use: all that is mapped, and what is between.
    pub len: u32,
    /// Where the header is, in bytes from the start of the table.
    place: u64,
}

/// An entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, in bytes from the start of the table.
    pub place: u64,
    /// Address of the function's first byte.
    pub start: u64,
    /// Address of the FDE; none if a linker has filled the entry, without a function.
    pub fde: Option<u64>,
}

impl<'a, A: Arch> EhTable<'a, A> {
    /// Reads the header of the index in `segment`.
    pub fn read(elf: &Elf<'a>, segment: &Segment) -> Result<Result<Self, Error>, Absence> {
        let index = discovery::around(elf, segment).ok_or(Absence::NotMapped)?;
        let records = Self::records(elf, segment, &index)?;

        // Both, with what is between them, if that is not too much.
        let base = |mapping: &Mapping<'_>| mapping.base;
        let end = |mapping: &Mapping<'_>| mapping.base + u64::from(mapping.len);
        let hull = records.as_ref().and_then(|records| {
            let first = base(&index).min(base(records));
            let len = end(&index).max(end(records)) - first;
            Some((first, u32::try_from(len).ok()?))
        });
        let (first, len) = hull.unwrap_or((index.base, index.len));
        let records = records.filter(|_| hull.is_some());
        let parts = [Some(index), records].into_iter().flatten();
        let bytes = Parts(parts.map(|part| (part.base - first, part.bytes)).collect());
        let place = segment.address - first;
        let at = u32::try_from(place).map_err(|_| Absence::NotMapped)?;

        Ok(Header::read(&bytes, at, len).map(|header| Self {
            header,
            bytes,
            base: first,
            len,
            place,
        }))
    }

    /// What is mapped where the records are, if they are not around their index.
    fn records(
        elf: &Elf<'a>,
        segment: &Segment,
        index: &Mapping<'a>,
    ) -> Result<Option<Mapping<'a>>, Absence> {
        let place = segment.address - index.base;
        let Ok(header) = Bytes(&index.bytes).read_array(place) else {
            return Ok(None);
        };

        match Records::new::<A>(header, segment.address) {
            Records::None => Err(Absence::NoIndex),
            Records::At(address) if address.wrapping_sub(index.base) >= index.len.into() => {
                Ok(discovery::mapping(elf, address))
            }
            Records::At(_) | Records::Unsaid => Ok(None),
        }
    }

    /// What the kernel finds for an address, by its own search; and what it pays for that.
    pub fn lookup(&self, pc: u64) -> (Result<Rule, Error>, u32) {
        let reader = Priced::new(&self.bytes, table::BUDGET);
        let rule = self.header.rule(&reader, self.base, pc, A::FP);

        (rule, reader.spent())
    }

    /// All entries of the index. It ends with the first that is not there.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry, Error>> {
        let [_, pointer, _, entry] = self.bytes.read_array(self.place).unwrap_or_default();
        // The kernel has accepted them.
        let pointer_len = match pointer & 0x0f {
            _ if pointer == 0xff => 0,
            0x3 | 0xb => 4,
            _ => 8,
        };
        let wide = entry == 0x3c;
        let index = self.place + 4 + pointer_len + 4;
        let mut there = true;

        (0..self.header.count).map_while(move |nth| {
            let place = index + u64::from(nth) * if wide { 16 } else { 8 };
            let entry = there.then(|| self.entry(place, wide));
            there = matches!(entry, Some(Ok(_)));
            entry
        })
    }

    fn entry(&self, place: u64, wide: bool) -> Result<Entry, Error> {
        let [start, fde] = if wide {
            [
                u64::from_le_bytes(self.bytes.read_array(place)?),
                u64::from_le_bytes(self.bytes.read_array(place + 8)?),
            ]
        } else {
            let number =
                |at| Ok::<_, Error>(u32::from_le_bytes(self.bytes.read_array(at)?) as i32 as u64);
            [number(place)?, number(place + 4)?]
        };
        let header = self.base.wrapping_add(self.place);

        Ok(Entry {
            place,
            start: header.wrapping_add(start),
            fde: (fde != 0).then(|| header.wrapping_add(fde)),
        })
    }
}
