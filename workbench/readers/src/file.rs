// SPDX-License-Identifier: GPL-2.0

//! ELF files.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionFlags, elf};

/// The needed parts of an ELF file.
pub struct File {
    /// The SFrame table, and its address.
    pub table: Vec<u8>,
    pub base: u64,
    /// The addresses of each section with instructions.
    pub code: Vec<Range<u64>>,
}

impl File {
    pub fn read(path: &Path) -> Result<Self> {
        let data = std::fs::read(path)?;
        let file = object::File::parse(&*data).context("not an ELF file")?;
        let table = file.section_by_name(".sframe").context("no section .sframe")?;
        let code = file
            .sections()
            .filter(|section| match section.flags() {
                SectionFlags::Elf { sh_flags } => sh_flags & u64::from(elf::SHF_EXECINSTR) != 0,
                _ => false,
            })
            .map(|section| section.address()..section.address() + section.size())
            .collect();

        Ok(Self { table: table.data()?.to_vec(), base: table.address(), code })
    }
}
