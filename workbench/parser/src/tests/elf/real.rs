// SPDX-License-Identifier: GPL-2.0

//! Real files. The crate `object` reads their segments and sections.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::{
    ET_DYN, ET_EXEC, FileHeader64, PF_X, PT_GNU_EH_FRAME, PT_GNU_SFRAME, PT_NOTE, SHF_EXECINSTR,
};
use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    FileKind, LittleEndian, Object as _, ObjectSection, ObjectSegment, SectionFlags, SegmentFlags,
};

use super::{ENOUGH, Error, find};
use crate::memory::Memory;
use crate::parse::elf::{Absence, Object, Segment, Target};

const DIRECTORIES: [&str; 6] =
    ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/aarch64-linux-gnu"];

const PAGE: u64 = 4096;

/// The number of bytes to read of a file. Headers never reach so far.
const MOST: u64 = 0x1_0000;

type Parsed<'a> = ElfFile64<'a, LittleEndian, &'a ReadCache<File>>;

/// The numbers of compared files and places.
#[derive(Debug, Default)]
struct Compared {
    /// Files that the kernel cannot run.
    refused: usize,
    files: usize,
    /// The numbers of files with an SFrame table, and with `.eh_frame_hdr`.
    tables: [usize; 2],
    places: usize,
}

/// The contents of a file, according to `object`.
#[derive(Default)]
struct Known {
    /// The executable segments.
    texts: Vec<Segment>,
    /// The offset and the address of each section with instructions.
    sections: Vec<(u64, u64)>,
    /// The SFrame table, and `.eh_frame_hdr`.
    tables: [Option<Segment>; 2],
    /// The first notes that are aligned to four bytes.
    notes: Option<Segment>,
    /// The number of bytes that are mapped together with the first one.
    mapped: u64,
}

/// The segment of this kind. It must be that of the section with this name.
fn table(file: &Parsed<'_>, (kind, name): (u32, &str)) -> Option<Segment> {
    let mut headers = file.elf_program_headers().iter();
    let number = |number: &object::U64<LittleEndian>| number.get(LittleEndian);
    let header = headers.find(|header| header.p_type.get(LittleEndian) == kind)?;
    let section = file.section_by_name(name);
    let table = Segment {
        offset: number(&header.p_offset),
        address: number(&header.p_vaddr),
        len: number(&header.p_filesz),
    };

    if table.len == 0 {
        return None;
    }
    // The file may have no sections. The segment may be longer than the section, because the linker
    // reserves room.
    if let Some(section) = section {
        let (offset, len) = section.file_range().expect("it has bytes");
        assert_eq!((offset, section.address()), (table.offset, table.address));
        assert!(len <= table.len);
    }
    Some(table)
}

/// Finds the first notes that are aligned to four bytes.
fn notes(file: &Parsed<'_>) -> Option<Segment> {
    let number = |number: &object::U64<LittleEndian>| number.get(LittleEndian);
    let mut headers = file.elf_program_headers().iter();
    let header = headers.find(|header| {
        header.p_type.get(LittleEndian) == PT_NOTE
            && number(&header.p_align) == 4
            && number(&header.p_filesz) > 0
    })?;

    Some(Segment {
        offset: number(&header.p_offset),
        address: number(&header.p_vaddr),
        len: number(&header.p_filesz),
    })
}

impl Known {
    fn new(file: &Parsed<'_>) -> Self {
        let mut known = Self::default();

        for segment in file.segments() {
            let (offset, len) = segment.file_range();
            let SegmentFlags::Elf { p_flags } = segment.flags() else {
                panic!("it is an ELF file");
            };
            if offset == 0 {
                known.mapped = len.next_multiple_of(PAGE);
            }
            if p_flags & PF_X != 0 && len != 0 {
                known.texts.push(Segment { offset, address: segment.address(), len });
            }
        }
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else {
                panic!("it is an ELF file");
            };
            let Some((offset, len)) = section.file_range() else {
                continue;
            };
            let address = section.address();
            if sh_flags & u64::from(SHF_EXECINSTR) != 0 && len != 0 {
                known.sections.push((offset, address));
            }
        }
        let [sframe, eh_frame] = [(PT_GNU_SFRAME, ".sframe"), (PT_GNU_EH_FRAME, ".eh_frame_hdr")];
        known.notes = notes(file);
        known.tables = [table(file, sframe), table(file, eh_frame)];
        known
    }

    /// The text that holds this byte of the file, or another byte of its page.
    fn text(&self, offset: u64) -> Option<Segment> {
        let mut texts = self.texts.iter();
        let exact = |text: &&Segment| (text.offset..text.offset + text.len).contains(&offset);
        let near = |text: &&Segment| {
            let pages = text.offset / PAGE..(text.offset + text.len).div_ceil(PAGE);
            pages.contains(&(offset / PAGE))
        };

        texts.clone().find(exact).or(texts.find(near)).copied()
    }

    /// Places in the file where the answer may change, and places between them.
    fn places(&self) -> BTreeSet<u64> {
        let mut places = BTreeSet::from([0, u64::MAX]);

        for text in &self.texts {
            let end = text.offset + text.len;
            let pages = [text.offset / PAGE * PAGE, end.next_multiple_of(PAGE)];
            for edge in [text.offset, end].into_iter().chain(pages) {
                places.extend([edge.saturating_sub(1), edge, edge + 1]);
            }
            places.insert(text.offset + text.len / 2);
        }
        places.extend(self.sections.iter().map(|(offset, _)| offset));
        places
    }
}

/// Compares the parser's answers for a file with `known`.
fn compare_places(path: &Path, bytes: &[u8], known: &Known) -> usize {
    let places = known.places();
    let [sframe, eh_frame] = known.tables;
    let search = |offset| {
        let memory = Memory::new(bytes);
        find(&memory, memory.len(), offset, &Target::AMD64, ENOUGH).result
    };

    for &offset in &places {
        let expected = match (known.text(offset), sframe.or(eh_frame)) {
            (None, _) => Err(Error::Absent(Absence::NoText)),
            (_, None) => Err(Error::Absent(Absence::NoTable)),
            (Some(text), Some(_)) => Ok(Object { text, sframe, eh_frame, notes: known.notes }),
        };
        assert_eq!(search(offset), expected, "{}: {offset:#x}", path.display());
    }
    // The text must map each section to the address that the section header has.
    for &(offset, address) in &known.sections {
        if let Ok(Object { text, .. }) = search(offset) {
            assert_eq!(offset - text.offset, address - text.address, "{}", path.display());
        }
    }
    places.len()
}

/// The reason why the kernel cannot use a file, according to `object`.
fn refusal(kind: Option<FileKind>, cache: &ReadCache<File>) -> Option<Absence> {
    match kind {
        Some(FileKind::Elf32) => return Some(Absence::Class),
        Some(FileKind::Elf64) => {}
        _ => return Some(Absence::NotElf),
    }
    let header = FileHeader64::<object::Endianness>::parse(cache).expect("an ELF header");
    let endian = header.endian().expect("a byte order");

    if endian != object::Endianness::Little {
        Some(Absence::ByteOrder)
    } else if ![ET_EXEC, ET_DYN].contains(&header.e_type(endian)) {
        Some(Absence::Kind)
    } else if header.e_machine(endian) != object::elf::EM_X86_64 {
        Some(Absence::Machine)
    } else {
        None
    }
}

fn compare(path: &Path, compared: &mut Compared) {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("it can be read");
    let read = file.take(MOST).read_to_end(&mut bytes);
    let cache = ReadCache::new(File::open(path).expect("it can be read"));

    assert!(read.is_ok());
    if bytes.len() < 64 {
        return;
    }
    if let Some(absence) = refusal(FileKind::parse(&*bytes).ok(), &cache) {
        let found = super::object(&bytes, 0x1000, &Target::AMD64);
        assert_eq!(found, Err(Error::Absent(absence)), "{}", path.display());
        compared.refused += 1;
        return;
    }

    let parsed = Parsed::parse(&cache).expect("object understands it");
    let known = Known::new(&parsed);
    // Memory has zeros behind the end of the file.
    bytes.resize(known.mapped.min(MOST) as usize, 0);
    compared.places += compare_places(path, &bytes, &known);
    compared.files += 1;
    for (tables, table) in compared.tables.iter_mut().zip(known.tables) {
        *tables += usize::from(table.is_some());
    }
}

/// All files below a directory.
fn files_below(directory: &Path, files: &mut Vec<PathBuf>) {
    let mut waiting = vec![directory.to_path_buf()];

    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
}

/// Prints the numbers of compared files and places.
fn report(what: &str, compared: &Compared) {
    // The output of a macro is hidden if the test passes.
    writeln!(std::io::stderr(), "{what}: {compared:?}").expect("stderr is open");
}

#[test]
fn installed_files() {
    let mut compared = Compared::default();
    let mut files = Vec::new();

    for directory in DIRECTORIES {
        files_below(Path::new(directory), &mut files);
    }
    for path in files {
        compare(&path, &mut compared);
    }
    report("installed files", &compared);
    assert!(compared.refused > 100 && compared.files > 100);
    assert!(compared.tables[1] > 100);
    assert!(compared.places > 10 * compared.files);
}

/// Programs with SFrame tables, linked here.
#[test]
fn linked_files() {
    const PROGRAM: &str =
        "int f(int n) { return n * 3; } int main(int n, char **v) { return f(n); }";
    let directory = std::env::temp_dir().join(format!("unwind-elf-{}", std::process::id()));
    let mut compared = Compared::default();
    let options: [&[&str]; 8] = [
        &["-shared", "-fPIC"],
        &["-pie", "-fPIE"],
        &["-no-pie", "-fno-pie"],
        &["-static"],
        &["-static-pie", "-fPIE"],
        &["-no-pie", "-fno-pie", "-Wl,-z,noseparate-code"],
        &["-pie", "-fPIE", "-Wl,-z,noseparate-code"],
        &["-pie", "-fPIE", "-Wl,-z,max-page-size=65536"],
    ];

    fs::create_dir_all(&directory).expect("there is room for files");
    fs::write(directory.join("program.c"), PROGRAM).expect("there is room for files");
    for options in options {
        let path = directory.join("program");
        let built = Command::new("gcc")
            .args(["-O2", "-Wa,--gsframe-3", "-o"])
            .arg(&path)
            .arg(directory.join("program.c"))
            .args(options)
            .status();
        assert!(built.is_ok_and(|status| status.success()), "{options:?}");
        compare(&path, &mut compared);
    }
    fs::remove_dir_all(&directory).expect("these files are ours");
    report("linked files", &compared);
    assert_eq!((compared.files, compared.tables[0]), (options.len(), options.len()));
}
