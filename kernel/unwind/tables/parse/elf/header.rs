// SPDX-License-Identifier: GPL-2.0

//! The ELF header: "ELF Header" of the specification.

use super::{
    super::reader::take,
    absence::Absence,
    segment::Header as ProgramHeader, //
};

/// Limit of a file's program headers: real files have at most 15.
///
/// `PN_XNUM`, which stands for numbers that do not fit, is too many.
pub(crate) const MAX_HEADERS: u16 = 128;

/// The files that a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The machine: one of the `EM_` numbers.
    pub(crate) machine: u16,
    /// Bytes of a page, in which files are mapped: a power of two.
    pub(crate) page_size: u64,
}

impl Target {
    /// `EM_X86_64`.
    pub(crate) const AMD64: Self = Self {
        machine: 62,
        page_size: 4096,
    };
}

/// A decoded ELF header: where the program headers are, and nothing else.
///
/// # Invariants
///
/// - The program headers, `count` of [`ProgramHeader::SIZE`] bytes from byte `place`, end below
///   2^64.
/// - `count` is at least 1 and at most [`MAX_HEADERS`].
pub(crate) struct Headers {
    /// File offset of the program headers, in bytes.
    pub(super) place: u64,
    /// Number of program headers.
    pub(super) count: u16,
}

impl Headers {
    /// Bytes of the ELF header.
    pub(super) const SIZE: usize = 64;

    const MAGIC: [u8; 4] = *b"\x7fELF";
    /// `ELFCLASS64`.
    const CLASS: u8 = 2;
    /// `ELFDATA2LSB`.
    const LITTLE_ENDIAN: u8 = 1;
    /// `EV_CURRENT`.
    const VERSION: u8 = 1;
    /// `ET_EXEC`: a program at addresses of its own.
    const EXECUTABLE: u16 = 2;
    /// `ET_DYN`: a library, or a program, at any addresses.
    const SHARED: u16 = 3;

    /// Returns the file offset of the program headers, in bytes.
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// Returns the number of bytes of the program headers.
    pub(crate) fn len(&self) -> u64 {
        // Does not wrap: this is below 2^13.
        u64::from(self.count).wrapping_mul(ProgramHeader::SIZE as u64)
    }

    /// Returns the file offset of the end of the program headers, in bytes.
    pub(crate) fn end(&self) -> u64 {
        // Does not wrap, by the type invariants.
        self.place.wrapping_add(self.len())
    }

    /// Decodes the ELF header of a file.
    ///
    /// # Errors
    ///
    /// The first field that is wrong.
    pub(super) fn parse(mut bytes: &[u8], target: &Target) -> Result<Self, Absence> {
        let bytes = &mut bytes;
        let short = Absence::NotElf;

        if take(bytes) != Some(Self::MAGIC) {
            return Err(Absence::NotElf);
        }
        let [class, order, ident_version] = take(bytes).ok_or(short)?;
        if class != Self::CLASS {
            return Err(Absence::Class);
        }
        if order != Self::LITTLE_ENDIAN {
            return Err(Absence::ByteOrder);
        }
        // The rest of `e_ident`.
        let _: [u8; 9] = take(bytes).ok_or(short)?;
        let kind = u16::from_le_bytes(take(bytes).ok_or(short)?);
        let machine = u16::from_le_bytes(take(bytes).ok_or(short)?);
        let version = u32::from_le_bytes(take(bytes).ok_or(short)?);
        if ident_version != Self::VERSION || version != u32::from(Self::VERSION) {
            return Err(Absence::Version);
        }
        if kind != Self::EXECUTABLE && kind != Self::SHARED {
            return Err(Absence::Kind);
        }
        if machine != target.machine {
            return Err(Absence::Machine);
        }

        // `e_entry`.
        let _: [u8; 8] = take(bytes).ok_or(short)?;
        let place = u64::from_le_bytes(take(bytes).ok_or(short)?);
        // `e_shoff`, `e_flags` and `e_ehsize`.
        let _: [u8; 14] = take(bytes).ok_or(short)?;
        let size = u16::from_le_bytes(take(bytes).ok_or(short)?);
        let count = u16::from_le_bytes(take(bytes).ok_or(short)?);
        if usize::from(size) != ProgramHeader::SIZE || !(1..=MAX_HEADERS).contains(&count) {
            return Err(Absence::Headers);
        }
        // Does not wrap: this is below 2^13.
        let headers_len = u64::from(count).wrapping_mul(ProgramHeader::SIZE as u64);
        // INVARIANT: All of it is checked.
        match place.checked_add(headers_len) {
            Some(_) => Ok(Self { place, count }),
            None => Err(Absence::Headers),
        }
    }
}
