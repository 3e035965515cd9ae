// SPDX-License-Identifier: GPL-2.0

//! The code of a file that its `.eh_frame` is about.

use std::path::Path;

use anyhow::Result;
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use object::{Object as _, ObjectSection, ObjectSegment};

#[derive(Default)]
pub struct Object {
    /// Segments: the offset in the file, how many bytes, and the address.
    segments: Vec<(u64, u64, u64)>,
    /// The functions: address and end, sorted.
    functions: Vec<(u64, u64)>,
}

impl Object {
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let bytes = std::fs::read(path)?;
        let file = object::File::parse(&*bytes)?;
        let mut found = Self::default();

        for segment in file.segments() {
            let (offset, len) = segment.file_range();
            found.segments.push((offset, len, segment.address()));
        }
        let Some(section) = file.section_by_name(".eh_frame") else {
            return Ok(found);
        };
        let eh_frame = EhFrame::new(section.data()?, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(section.address());
        let mut entries = eh_frame.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let fde = partial.parse(EhFrame::<EndianSlice<'_, LittleEndian>>::cie_from_offset)?;
            found.functions.push((fde.initial_address(), fde.end_address()));
        }
        found.functions.sort_unstable();
        Ok(found)
    }

    /// Whether a function is about the byte of the file at `offset`.
    pub fn covers(&self, offset: u64) -> bool {
        let Some((start, _, address)) =
            self.segments.iter().find(|(start, len, _)| offset.wrapping_sub(*start) < *len)
        else {
            return false;
        };
        let at = offset - start + address;
        let first = self.functions.partition_point(|(start, _)| *start <= at);

        first.checked_sub(1).is_some_and(|last| at < self.functions[last].1)
    }

    /// Whether there is a function at all.
    pub fn has_table(&self) -> bool {
        !self.functions.is_empty()
    }
}
