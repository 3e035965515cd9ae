// SPDX-License-Identifier: GPL-2.0

//! What is needed of an ELF file. Nothing in it is trusted.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, FileKind};

use crate::ranges::{Range, Ranges};
use crate::text::printable;

/// `PT_GNU_SFRAME`, which names the table.
const PT_GNU_SFRAME: u32 = 0x6474_e554;

/// Reads a file: a regular one, for others need not end.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    ensure!(std::fs::metadata(path)?.is_file(), "not a regular file");

    Ok(std::fs::read(path)?)
}

/// The architectures whose tables are read: those that SFrame V3 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    X86_64,
    AArch64,
}

/// A program header, without what is of no interest here.
#[derive(Clone, Copy)]
pub struct Segment {
    pub address: u64,
    pub file_offset: u64,
    pub file_size: u64,
    pub memory_size: u64,
    pub readable: bool,
    executable: bool,
}

impl Segment {
    pub fn range(&self) -> Range {
        (self.address, self.address.saturating_add(self.memory_size))
    }
}

/// A section that is in memory when the program runs.
pub struct Section<'a> {
    pub name: String,
    pub address: u64,
    pub size: u64,
    pub executable: bool,
    /// What the file has of it.
    pub bytes: &'a [u8],
}

impl Section<'_> {
    pub fn range(&self) -> Range {
        (self.address, self.address.saturating_add(self.size))
    }
}

/// The parts of an ELF file.
pub struct Elf<'a> {
    /// All of the file.
    pub data: &'a [u8],
    pub machine: Machine,
    pub loads: Vec<Segment>,
    /// The program headers that name a table; the kernel takes the first.
    pub tables: Vec<Segment>,
    /// The first one that names an index of `.eh_frame`.
    pub eh_frame_hdr: Option<Segment>,
    /// Empty if the file has no section headers.
    pub sections: Vec<Section<'a>>,
    /// Why there are none although there should be.
    pub sections_error: Option<String>,
    /// Functions by address, those with a size first.
    symbols: Vec<(u64, u64, &'a [u8])>,
    /// Functions and labels, with their size or 0, by address: assembly may say of none that it
    /// is a function.
    labels: Vec<(u64, u64, &'a [u8])>,
    executable: Ranges,
}

impl<'a> Elf<'a> {
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        match FileKind::parse(data) {
            Ok(FileKind::Elf64) => {}
            Ok(FileKind::Elf32) => bail!("32-bit ELF file: the kernel uses tables for 64-bit code"),
            _ => bail!("not an ELF file"),
        }
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let machine = machine(header, endian)?;

        match u32::from(header.e_type(endian).0) {
            2 | 3 => {}
            1 => bail!("relocatable object: its tables are sorted and relocated only when linked"),
            4 => bail!("core file"),
            other => bail!("neither a program nor a shared library (ELF type {other})"),
        }

        let mut elf = Self {
            data,
            machine,
            loads: Vec::new(),
            tables: Vec::new(),
            eh_frame_hdr: None,
            sections: Vec::new(),
            sections_error: None,
            symbols: Vec::new(),
            labels: Vec::new(),
            executable: Ranges::default(),
        };
        for segment in header.program_headers(endian, data)? {
            elf.add_segment(segment, endian);
        }
        elf.executable = Ranges::new(elf.executable_segments().map(Segment::range).collect());
        if let Err(error) = elf.add_sections(header, endian) {
            elf.sections.clear();
            elf.sections_error = Some(error.to_string());
        }
        Ok(elf)
    }

    fn add_segment(&mut self, header: &elf::ProgramHeader64<Endianness>, endian: Endianness) {
        let segment = Segment {
            address: header.p_vaddr(endian),
            file_offset: header.p_offset(endian),
            file_size: header.p_filesz(endian),
            memory_size: header.p_memsz(endian),
            readable: header.p_flags(endian).0 & elf::PF_R.0 != 0,
            executable: header.p_flags(endian).0 & elf::PF_X.0 != 0,
        };

        match header.p_type(endian) {
            elf::PT_LOAD => self.loads.push(segment),
            elf::PT_GNU_EH_FRAME => {
                self.eh_frame_hdr.get_or_insert(segment);
            }
            other if other.0 == PT_GNU_SFRAME => self.tables.push(segment),
            _ => {}
        }
    }

    fn add_sections(
        &mut self,
        header: &FileHeader64<Endianness>,
        endian: Endianness,
    ) -> Result<()> {
        let sections = header.sections(endian, self.data)?;

        for section in sections.iter() {
            let flags = section.sh_flags(endian).0;
            if flags & elf::SHF_ALLOC.0 == 0 {
                continue;
            }
            let name = sections.section_name(endian, section)?;
            self.sections.push(Section {
                name: printable(name),
                address: section.sh_addr(endian),
                size: section.sh_size(endian),
                executable: flags & elf::SHF_EXECINSTR.0 != 0,
                bytes: section.data(endian, self.data).unwrap_or_default(),
            });
        }
        self.add_symbols(&sections, endian)
    }

    fn add_symbols(
        &mut self,
        sections: &SectionTable<'a, FileHeader64<Endianness>>,
        endian: Endianness,
    ) -> Result<()> {
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let symbols = sections.symbols(endian, self.data, kind)?;
            for symbol in symbols.iter() {
                let function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
                let label = function || symbol.st_type() == elf::STT_NOTYPE;
                if !label || symbol.is_undefined(endian) {
                    continue;
                }
                let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
                // On AArch64, `$x` and `$d` say where code and data begin.
                if !name.is_empty() && !name.starts_with(b"$") {
                    self.labels
                        .push((symbol.st_value(endian), symbol.st_size(endian), name));
                }
                if !function {
                    continue;
                }
                self.symbols
                    .push((symbol.st_value(endian), symbol.st_size(endian), name));
            }
        }
        self.symbols
            .sort_by_key(|(address, size, _)| (*address, *size == 0));
        // The functions of an address come first, and its first name counts.
        let functions = &self.symbols;
        self.labels.sort_by_key(|(address, ..)| {
            let known = functions.binary_search_by_key(address, |symbol| symbol.0);
            (*address, known.is_err())
        });
        self.labels.dedup_by_key(|(address, ..)| *address);
        Ok(())
    }

    pub fn executable_segments(&self) -> impl Iterator<Item = &Segment> {
        self.loads.iter().filter(|load| load.executable)
    }

    /// Whether all of a range is code.
    pub fn is_code(&self, range: Range) -> bool {
        self.executable.holds(range)
    }

    /// Where the code ends that an address is in; none if it is in none.
    pub fn code_end(&self, address: u64) -> Option<u64> {
        self.executable.end_at(address)
    }

    /// The parts of the file that are code, with their names: sections, or else segments.
    pub fn code(&self) -> Vec<(String, Range)> {
        let sections: Vec<_> = self
            .sections
            .iter()
            .filter(|section| section.executable && section.size != 0)
            .map(|section| (section.name.clone(), section.range()))
            .collect();

        if !sections.is_empty() {
            return sections;
        }
        self.executable_segments()
            .map(|load| (format!("segment at {:#x}", load.address), load.range()))
            .collect()
    }

    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The segment that has `address` in the file.
    pub fn load_at(&self, address: u64) -> Option<&Segment> {
        self.loads
            .iter()
            .find(|load| load.address <= address && address - load.address < load.file_size)
    }

    /// The bytes of the file that stand at `address` when the program runs, to the end of their
    /// segment; and the offset of the first in the file.
    pub fn loaded_at(&self, address: u64) -> Option<(&'a [u8], u64)> {
        let load = self.load_at(address)?;
        let skip = address - load.address;
        let offset = load.file_offset.checked_add(skip)?;
        let start = usize::try_from(offset).ok()?;
        let len = usize::try_from(load.file_size - skip).unwrap_or(usize::MAX);
        let bytes = self.data.get(start..)?;

        Some((&bytes[..len.min(bytes.len())], offset))
    }

    /// Splits a range where a function or another label starts: each part with the name that it
    /// starts with, or the last one before it, even if that is of a function that has ended.
    pub fn named_parts(&self, (start, end): Range) -> Vec<(Option<String>, Range)> {
        let first = self
            .labels
            .partition_point(|(address, ..)| *address <= start);
        let mut name = first.checked_sub(1).map(|last| {
            let (address, size, name) = self.labels[last];
            let is_behind = size != 0 && start - address >= size;

            format!(
                "{}{}",
                if is_behind { "behind " } else { "" },
                printable(name)
            )
        });
        let mut parts = Vec::new();
        let mut from = start;

        for &(address, _, next) in self.labels[first..]
            .iter()
            .take_while(|(address, ..)| *address < end)
        {
            parts.push((name, (from, address)));
            (from, name) = (address, Some(printable(next)));
        }
        parts.push((name, (from, end)));
        parts
    }

    /// The name of the function that starts at `address`.
    pub fn name(&self, address: u64) -> Option<String> {
        let at = self.symbols.partition_point(|symbol| symbol.0 < address);
        let (start, _, name) = self.symbols.get(at)?;

        (*start == address && !name.is_empty()).then(|| printable(name))
    }
}

fn machine(header: &FileHeader64<Endianness>, endian: Endianness) -> Result<Machine> {
    let big = endian == Endianness::Big;

    match (header.e_machine(endian), big) {
        (elf::EM_X86_64, false) => Ok(Machine::X86_64),
        (elf::EM_AARCH64, false) => Ok(Machine::AArch64),
        (elf::EM_AARCH64, true) => bail!("big-endian AArch64 is not supported"),
        (machine, _) => bail!(
            "for a machine whose tables are not read (ELF machine {})",
            machine.0
        ),
    }
}
