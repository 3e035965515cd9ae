// SPDX-License-Identifier: GPL-2.0

//! Program headers: "Program Header Table" of the specification.

use super::super::reader::field;

/// A part of a file, and where it is mapped.
///
/// Addresses are those of the file: the loader adds one number to all.
///
/// # Invariants
///
/// - There is a byte in it, and it ends below 2^63, in the file and in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where it starts, in bytes from the start of the file: `p_offset`.
    pub(crate) offset: u64,
    /// Where it starts in memory: `p_vaddr`.
    pub(crate) address: u64,
    /// How many bytes it has in the file: `p_filesz`.
    pub(crate) len: u64,
}

impl Segment {
    /// Says whether the segment has the byte of the file at `offset`.
    pub(super) fn holds(&self, offset: u64) -> bool {
        // Below its start this wraps, and is more than any length.
        offset.wrapping_sub(self.offset) < self.len
    }

    /// Says whether the segment has a byte of the page that holds the byte of the file at `offset`.
    ///
    /// The pages with the ends of a segment are mapped whole.
    pub(super) fn is_in_page(&self, offset: u64, page_size: u64) -> bool {
        let page = |offset| offset & !page_size.wrapping_sub(1);
        // Neither wraps: there is a byte in it, and it ends below 2^63.
        let last = self.offset.wrapping_add(self.len).wrapping_sub(1);

        (page(self.offset)..=page(last)).contains(&page(offset))
    }
}

/// A decoded program header.
pub(super) struct ProgramHeader {
    pub(super) kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

impl ProgramHeader {
    /// Bytes of a program header.
    pub(super) const SIZE: usize = 56;

    /// `PT_LOAD`: what the loader maps.
    const LOAD: u32 = 1;
    /// `PT_NOTE`: notes about the file, in what is mapped.
    pub(super) const NOTE: u32 = 4;
    /// `PT_GNU_SFRAME`: an SFrame table, in what is mapped.
    pub(super) const SFRAME: u32 = 0x6474_e554;
    /// `PT_GNU_EH_FRAME`: the index of an `.eh_frame` table, beside that.
    pub(super) const EH_FRAME: u32 = 0x6474_e550;
    /// `PF_X`.
    const EXECUTABLE: u32 = 0x1;
    /// Below this all segments end.
    const END: u64 = 1 << 63;
    /// Below this all tables' lengths are.
    const TABLE_LEN: u64 = 1 << 32;

    /// Decodes a program header.
    pub(super) fn new(bytes: &[u8; Self::SIZE]) -> Self {
        let u32_at = |at| u32::from_le_bytes(field(bytes, at));
        let u64_at = |at| u64::from_le_bytes(field(bytes, at));

        Self {
            kind: u32_at(0),
            flags: u32_at(4),
            offset: u64_at(8),
            address: u64_at(16),
            file_size: u64_at(32),
            memory_size: u64_at(40),
            align: u64_at(48),
        }
    }

    /// Returns the segment, if it is executable and can be mapped in pages of `page_size` bytes.
    pub(super) fn text(&self, page_size: u64) -> Option<Segment> {
        let is_text = self.kind == Self::LOAD && self.flags & Self::EXECUTABLE != 0;
        let is_aligned = (self.offset ^ self.address) & page_size.wrapping_sub(1) == 0;
        // What is not in the file is zeros.
        let memory_end = self.address.checked_add(self.memory_size)?;
        let fits = self.file_size <= self.memory_size && memory_end < Self::END;

        self.segment().filter(|_| is_text && is_aligned && fits)
    }

    /// Returns the segment, if it can be a table.
    pub(super) fn table(&self) -> Option<Segment> {
        self.segment()
            .filter(|segment| segment.len < Self::TABLE_LEN)
    }

    /// Returns the segment, if its notes are aligned to four bytes. Those that are aligned to eight
    /// say what a processor must have.
    pub(super) fn notes(&self) -> Option<Segment> {
        self.segment().filter(|_| self.align == 4)
    }

    /// Returns the segment, if it is not empty and in the address space.
    fn segment(&self) -> Option<Segment> {
        let ends = |start: u64| {
            let end = start.checked_add(self.file_size);
            end.is_some_and(|end| end < Self::END)
        };

        // INVARIANT: Just checked.
        (self.file_size > 0 && ends(self.offset) && ends(self.address)).then_some(Segment {
            offset: self.offset,
            address: self.address,
            len: self.file_size,
        })
    }
}
