// SPDX-License-Identifier: GPL-2.0

//! The one pass over a file's program headers.

use super::{
    super::{
        Error,
        Reader, //
    },
    absence::Absence,
    header::{
        Headers,
        Target,
        MAX_HEADERS, //
    },
    segment::{
        ProgramHeader,
        Segment, //
    }, //
};

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
    /// The first notes that are aligned to four bytes: `PT_NOTE`. That of Go is among them.
    pub(crate) notes: Option<Segment>,
}

/// Iterates over the executable segments of a file's program headers. There are none if the file
/// has more than [`MAX_HEADERS`] program headers.
pub(crate) fn texts<'a>(
    headers: &'a [u8],
    target: &'a Target,
) -> impl Iterator<Item = Segment> + 'a {
    let most = usize::from(MAX_HEADERS).wrapping_mul(ProgramHeader::SIZE);
    let headers = if headers.len() <= most { headers } else { &[] };

    all(headers).filter_map(|header| header.text(target.page_size))
}

/// Finds what [`Headers::object`] finds, in a copy of all program headers.
///
/// # Errors
///
/// [`Error::Absent`].
pub(crate) fn object_of(headers: &[u8], offset: u64, target: &Target) -> Result<Object, Error> {
    object(all(headers).map(Ok), offset, target)
}

/// Decodes a copy of program headers.
fn all(mut headers: &[u8]) -> impl Iterator<Item = ProgramHeader> + '_ {
    core::iter::from_fn(move || {
        let (first, rest) = headers.split_first_chunk()?;

        headers = rest;
        Some(ProgramHeader::new(first))
    })
}

impl Headers {
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
        let headers = (0..self.len).step_by(ProgramHeader::SIZE).map(|place| {
            // Does not wrap: the headers end below 2^64, and so does what is read.
            let bytes = reader.read_array(at.wrapping_add(place))?;

            Ok(ProgramHeader::new(&bytes))
        });

        object(headers, offset, target)
    }
}

/// Finds the segments: see [`Headers::object`].
fn object(
    headers: impl Iterator<Item = Result<ProgramHeader, Error>>,
    offset: u64,
    target: &Target,
) -> Result<Object, Error> {
    // The first executable segment that has the byte, and the first that has one of its page.
    let (mut text, mut near) = (None, None);
    let (mut sframe, mut eh_frame, mut notes) = (None, None, None);
    let mut no_table = Absence::NoTable;

    for header in headers {
        let header = header?;
        let table = match header.kind {
            ProgramHeader::SFRAME => &mut sframe,
            ProgramHeader::EH_FRAME => &mut eh_frame,
            ProgramHeader::NOTE => {
                notes = notes.or_else(|| header.notes());
                continue;
            }
            _ => {
                let segment = header.text(target.page_size);
                let near_one = |it: &Segment| it.is_in_page(offset, target.page_size);

                text = text.or(segment.filter(|segment| segment.holds(offset)));
                near = near.or(segment.filter(near_one));
                continue;
            }
        };

        *table = table.or_else(|| header.table());
        if table.is_none() {
            no_table = Absence::TableRange;
        }
    }
    let text = text.or(near).ok_or(Absence::NoText)?;

    if sframe.is_none() && eh_frame.is_none() {
        return Err(no_table.into());
    }
    Ok(Object {
        text,
        sframe,
        eh_frame,
        notes,
    })
}
