// SPDX-License-Identifier: GPL-2.0

//! The one pass over a file's headers.

use super::{
    super::Reader,
    absence::Absence,
    header::{
        Headers,
        Target,
        MAX_HEADERS, //
    },
    segment::{
        Header as ProgramHeader,
        Segment, //
    },
    Error, //
};

/// Number of program headers that are read at once: the kernel's stack is small.
const BLOCK: u16 = 4;
/// Bytes of so many.
const BLOCK_SIZE: usize = BLOCK as usize * ProgramHeader::SIZE;

/// A part of a file that is executed, and the tables about it: one of them at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// The executable segment. Its pages have the place that was asked for, itself maybe not: there
    /// may be padding before it and behind.
    pub(crate) text: Segment,
    /// The SFrame table: `PT_GNU_SFRAME`. It has less than 4 GiB.
    pub(crate) sframe: Option<Segment>,
    /// The index of the `.eh_frame` table: `PT_GNU_EH_FRAME`. It has less than 4 GiB. The table is
    /// around it, in what is mapped with it.
    pub(crate) eh_frame: Option<Segment>,
}

/// Finds the executable segment of a file that holds byte `offset` of it, and the file's tables.
///
/// Byte 0 of what `reader` reads is the first one of the ELF header; `len` bytes of the file are
/// mapped from there on, and no others are read. It is [`Headers::read`] and [`Headers::object`],
/// for a file that has its program headers in the same part.
///
/// # Errors
///
/// Those of the two, and [`Absence::Headers`] if the program headers are elsewhere.
pub(crate) fn object<R: Reader>(
    reader: &R,
    len: u64,
    offset: u64,
    target: &Target,
) -> Result<Object, Error> {
    let headers = Headers::read(reader, len, target)?;

    if headers.end() > len {
        return Err(Absence::Headers.into());
    }
    headers.object(reader, headers.place(), offset, target)
}

/// Iterates over the executable segments of a file's program headers. There are none if the file
/// has more than [`MAX_HEADERS`] program headers.
pub(crate) fn texts<'a>(
    headers: &'a [u8],
    target: &'a Target,
) -> impl Iterator<Item = Segment> + 'a {
    let most = usize::from(MAX_HEADERS).wrapping_mul(ProgramHeader::SIZE);
    let mut headers = if headers.len() <= most { headers } else { &[] };

    core::iter::from_fn(move || ProgramHeader::take(&mut headers))
        .filter(ProgramHeader::is_text)
        .filter_map(|header| header.text(target.page_size))
}

/// Finds what [`Headers::object`] finds, in a copy of all program headers.
///
/// # Errors
///
/// Why there is no such segment or no such table.
pub(crate) fn object_of(
    mut headers: &[u8],
    offset: u64,
    target: &Target,
) -> Result<Object, Absence> {
    let mut search = Search::new(offset, target.page_size);

    while let Some(header) = ProgramHeader::take(&mut headers) {
        search.see(&header);
    }
    search.object()
}

impl Headers {
    /// Reads the ELF header, which is at byte 0 of what `reader` reads; `len` bytes of the file are
    /// mapped from there on.
    ///
    /// # Errors
    ///
    /// Those of `reader`, and [`Error::Absent`] if there is none, or not one of `target`.
    pub(crate) fn read<R: Reader>(reader: &R, len: u64, target: &Target) -> Result<Self, Error> {
        let mut bytes = [0; Self::SIZE];

        if len < Self::SIZE as u64 {
            return Err(Absence::NotElf.into());
        }
        reader.read(0, &mut bytes)?;
        Ok(Self::parse(&bytes, target)?)
    }

    /// Finds the executable segment of the file that holds byte `offset` of it, and the file's
    /// tables. The program headers start at byte `at` of what `reader` reads.
    ///
    /// Nothing is read twice, but where a file lets its program headers overlap the ELF header:
    /// then what was read first says nothing about them.
    ///
    /// Several segments may claim the byte. The first one that has it in the file counts; if there
    /// is none, the first one that has another byte of the same page. One that no loader can map as
    /// it says is passed over. So are tables, as long as a good one of the kind follows.
    ///
    /// # Errors
    ///
    /// Those of `reader`, and [`Error::Absent`] if what was read has no such segment or no such
    /// table.
    pub(crate) fn object<R: Reader>(
        &self,
        reader: &R,
        at: u64,
        offset: u64,
        target: &Target,
    ) -> Result<Object, Error> {
        let mut bytes = [0; BLOCK_SIZE];
        let mut search = Search::new(offset, target.page_size);
        let mut at = at;
        let mut left = self.count;

        while left > 0 {
            let count = left.min(BLOCK);
            // Does not wrap: the block has so many.
            let size = usize::from(count).wrapping_mul(ProgramHeader::SIZE);
            let bytes = bytes.get_mut(..size).ok_or(Absence::Headers)?;
            reader.read(at, bytes)?;

            let mut bytes = &*bytes;
            while let Some(header) = ProgramHeader::take(&mut bytes) {
                search.see(&header);
            }
            // Neither wraps: the headers end below 2^64, and so does what is read.
            at = at.wrapping_add(size as u64);
            left = left.wrapping_sub(count);
        }
        Ok(search.object()?)
    }
}

/// The segments among the program headers so far.
struct Search {
    /// A place in the file.
    offset: u64,
    page_size: u64,
    /// The first executable segment that has this place.
    text: Option<Segment>,
    /// The first one that has another byte of its page.
    near: Option<Segment>,
    /// The first SFrame table that can be used.
    sframe: Option<Segment>,
    /// The first index of an `.eh_frame` table that can be used.
    eh_frame: Option<Segment>,
    /// Why there is no table, if there is none: those that were seen cannot be used, if any were.
    no_table: Absence,
}

impl Search {
    fn new(offset: u64, page_size: u64) -> Self {
        Self {
            offset,
            page_size,
            text: None,
            near: None,
            sframe: None,
            eh_frame: None,
            no_table: Absence::NoTable,
        }
    }

    /// Looks at the next program header.
    fn see(&mut self, header: &ProgramHeader) {
        let table = if header.is_text() {
            return self.see_text(header);
        } else if header.is_sframe() {
            &mut self.sframe
        } else if header.is_eh_frame() {
            &mut self.eh_frame
        } else {
            return;
        };

        *table = table.or_else(|| header.table());
        if table.is_none() {
            self.no_table = Absence::TableRange;
        }
    }

    fn see_text(&mut self, header: &ProgramHeader) {
        let Some(text) = header.text(self.page_size) else {
            return;
        };

        if self.text.is_none() && text.holds(self.offset) {
            self.text = Some(text);
        }
        if self.near.is_none() && text.is_in_page(self.offset, self.page_size) {
            self.near = Some(text);
        }
    }

    /// Returns the segments, after the last program header.
    fn object(&self) -> Result<Object, Absence> {
        let text = self.text.or(self.near).ok_or(Absence::NoText)?;

        if self.sframe.is_none() && self.eh_frame.is_none() {
            return Err(self.no_table);
        }
        Ok(Object {
            text,
            sframe: self.sframe,
            eh_frame: self.eh_frame,
        })
    }
}
