// SPDX-License-Identifier: GPL-2.0

//! The ELF header: "ELF Header" of the specification.

use super::{
    super::{
        reader::field,
        Error,
        Reader, //
    },
    absence::Absence,
    segment::ProgramHeader, //
};

/// Limit of a file's program headers: real files have at most 15.
///
/// `PN_XNUM`, which stands for numbers that do not fit, is too many.
pub(super) const MAX_HEADERS: u16 = 128;

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
    #[allow(dead_code, reason = "other kernels run other files")]
    pub(crate) const AMD64: Self = Self {
        machine: 62,
        page_size: 4096,
    };

    /// `EM_AARCH64`, with pages of `page_size` bytes.
    #[allow(dead_code, reason = "other kernels run other files")]
    pub(crate) const fn aarch64(page_size: u64) -> Self {
        Self {
            machine: 183,
            page_size,
        }
    }
}

/// A decoded ELF header: where the program headers are, and nothing else.
///
/// # Invariants
///
/// - `len` is that of 1 to [`MAX_HEADERS`] program headers, and `place + len` is below 2^64.
pub(crate) struct Headers {
    /// File offset of the program headers, in bytes.
    pub(crate) place: u64,
    /// Length of all program headers, in bytes.
    pub(crate) len: u64,
}

impl Headers {
    /// Bytes of the ELF header.
    const SIZE: usize = 64;

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

    /// Reads the ELF header, which is at byte 0 of what `reader` reads; `len` bytes of the file are
    /// mapped from there on.
    ///
    /// # Errors
    ///
    /// Those of `reader`, and [`Error::Absent`] with the first field that is wrong.
    pub(crate) fn read<R: Reader>(reader: &R, len: u64, target: &Target) -> Result<Self, Error> {
        if len < Self::SIZE as u64 {
            return Err(Absence::NotElf.into());
        }
        let bytes: [u8; Self::SIZE] = reader.read_array(0)?;
        let u16_at = |at| u16::from_le_bytes(field(&bytes, at));
        let [a, b, c, d, class, order, version, ..] = bytes;

        if [a, b, c, d] != Self::MAGIC {
            return Err(Absence::NotElf.into());
        }
        if class != Self::CLASS {
            return Err(Absence::Class.into());
        }
        if order != Self::LITTLE_ENDIAN {
            return Err(Absence::ByteOrder.into());
        }
        // `e_version` repeats the version.
        if version != Self::VERSION || field(&bytes, 20) != u32::from(version).to_le_bytes() {
            return Err(Absence::Version.into());
        }
        // `e_type`.
        if ![Self::EXECUTABLE, Self::SHARED].contains(&u16_at(16)) {
            return Err(Absence::Kind.into());
        }
        // `e_machine`.
        if u16_at(18) != target.machine {
            return Err(Absence::Machine.into());
        }

        // `e_phoff`, `e_phentsize` and `e_phnum`.
        let (place, size, count) = (
            u64::from_le_bytes(field(&bytes, 32)),
            u16_at(54),
            u16_at(56),
        );
        // Does not wrap: this is below 2^32.
        let len = u64::from(count).wrapping_mul(size.into());
        let ends = place.checked_add(len).is_some();
        if usize::from(size) != ProgramHeader::SIZE || !(1..=MAX_HEADERS).contains(&count) || !ends
        {
            return Err(Absence::Headers.into());
        }
        // INVARIANT: All of it is checked.
        Ok(Self { place, len })
    }

    /// Returns the file offset of the end of the program headers, in bytes.
    #[allow(dead_code, reason = "tests and tools use it")]
    pub(crate) fn end(&self) -> u64 {
        // Does not wrap, by the type invariants.
        self.place.wrapping_add(self.len)
    }
}
