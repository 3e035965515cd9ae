// SPDX-License-Identifier: GPL-2.0

//! ELF files.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use object::{Object, ObjectSection, SectionFlags, elf};

/// The address and the bytes of a section.
#[derive(Clone)]
pub struct Section {
    pub address: u64,
    pub bytes: Vec<u8>,
}

impl Section {
    pub fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes.len() as u64
    }
}

/// The needed parts of an ELF file.
pub struct File {
    pub path: PathBuf,
    pub sframe: Section,
    /// The addresses of each section with instructions.
    pub code: Vec<Range<u64>>,
    data: Vec<u8>,
}

impl File {
    pub fn read(path: &Path) -> Result<Self> {
        let data = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
        let (sframe, code) = Self::parse(&data).with_context(|| format!("{}", path.display()))?;

        Ok(Self { path: path.to_path_buf(), sframe, code, data })
    }

    /// A section that the file must have.
    pub fn section(&self, name: &str) -> Result<Section> {
        section(&object::File::parse(&*self.data)?, name)
            .with_context(|| format!("{}", self.path.display()))
    }

    fn parse(data: &[u8]) -> Result<(Section, Vec<Range<u64>>)> {
        let file = object::File::parse(data).context("not an ELF file")?;
        let code = file
            .sections()
            .filter(|section| match section.flags() {
                SectionFlags::Elf { sh_flags } => sh_flags & u64::from(elf::SHF_EXECINSTR) != 0,
                _ => false,
            })
            .map(|section| section.address()..section.address() + section.size())
            .collect();

        Ok((section(&file, ".sframe")?, code))
    }
}

fn section(file: &object::File<'_>, name: &str) -> Result<Section> {
    let section = file.section_by_name(name).with_context(|| format!("no section {name}"))?;

    Ok(Section { address: section.address(), bytes: section.data()?.to_vec() })
}
