// SPDX-License-Identifier: GPL-2.0

//! Reasons why a file has no table.

use super::super::error::codes;

codes! {
    /// Why a file has no table for a byte of it.
    ///
    /// User space sees the names: a name never gets another meaning. No format has a reason with
    /// one of these names.
    pub(crate) enum Absence;

    /// The file is shorter than an ELF header, or does not start with the four bytes of one.
    NotElf = c"not-elf": "not an ELF file",
    /// A class other than `ELFCLASS64`.
    Class = c"elf-class": "not of 64 bits",
    /// A byte order other than `ELFDATA2LSB`.
    ByteOrder = c"elf-byte-order": "not little-endian",
    /// A version other than `EV_CURRENT`, in one of the two places that say it.
    Version = c"elf-version": "not version 1 of ELF",
    /// A type other than `ET_EXEC` and `ET_DYN`.
    Kind = c"elf-type": "neither a program nor a library",
    /// A machine that is not the target's.
    Machine = c"elf-machine": "built for another machine",
    /// Program headers that are none, too many, not all mapped, or of another size.
    Headers = c"program-headers": "wrong size, number or place of program headers",
    /// No executable segment holds the place, or it cannot be mapped.
    NoText = c"no-text": "no executable segment at this place",
    /// No segment has a table.
    NoTable = c"no-table": "no unwind table",
    /// A table that is empty, has 4 GiB or more, or reaches beyond the address space.
    TableRange = c"table-range": "table empty, too long or beyond the address space",
}
