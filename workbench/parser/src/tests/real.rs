// SPDX-License-Identifier: GPL-2.0

//! The search in real ELF files, whose sections the crate `object` reads.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use object::elf::{EM_X86_64, ET_DYN, ET_EXEC, FileHeader64, SHF_EXECINSTR};
use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian as LE, Object as _, ObjectSection, ObjectSegment, SectionFlags};

use super::elf;
use crate::parse::Error;
use crate::parse::elf::{Absence, Segment, Target};

const DIRECTORIES: [&str; 6] =
    ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/aarch64-linux-gnu"];

/// The number of bytes to read of a file. Headers never reach so far.
const MOST: u64 = 0x1_0000;

/// The numbers of compared files and places.
#[derive(Debug, Default)]
struct Compared {
    /// Files that the kernel cannot run.
    refused: usize,
    files: usize,
    /// Those with an SFrame table, and with `.eh_frame_hdr`.
    tables: [usize; 2],
    places: usize,
}

type Parsed<'a> = ElfFile64<'a, LE, &'a ReadCache<File>>;

/// Says whether there is a table. It must be that of the section of this name, and may be longer,
/// because the linker reserves room. A file may have no sections.
fn is_table(file: &Parsed<'_>, table: Option<Segment>, name: &str) -> bool {
    let section = file.section_by_name(name).filter(|section| section.size() > 0);

    if let Some(section) = section {
        let (offset, len) = section.file_range().expect("it has bytes");
        let table = table.expect(name);
        assert_eq!((offset, section.address()), (table.offset, table.address));
        assert!(len <= table.len);
    }
    table.is_some()
}

/// Compares what is found in a file with its sections. The model knows the edges of segments.
fn compare(path: &Path, compared: &mut Compared) {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("it can be read");
    file.take(MOST).read_to_end(&mut bytes).expect("it can be read");
    let header = FileHeader64::<LE>::parse(&*bytes).ok().filter(|header| {
        let is_run = [ET_EXEC, ET_DYN].contains(&header.e_type(LE));
        header.endian().is_ok() && is_run && header.e_machine(LE) == EM_X86_64
    });
    if header.is_none() {
        let found = elf::object(&bytes, 0, &Target::AMD64);
        assert!(matches!(found, Err(Error::Absent(_))), "{}: {found:?}", path.display());
        compared.refused += 1;
        return;
    }

    let cache = ReadCache::new(File::open(path).expect("it can be read"));
    let file = Parsed::parse(&cache).expect("object understands it");
    let mut tables = [false; 2];
    // Memory has zeros behind the end of the file.
    let first =
        file.segments().map(|segment| segment.file_range()).find(|(offset, _)| *offset == 0);
    let mapped = first.map_or(0, |(_, len)| len.next_multiple_of(4096).min(MOST));
    bytes.resize(mapped as usize, 0);
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { unreachable!() };
        let range = section.file_range().filter(|_| sh_flags & u64::from(SHF_EXECINSTR) != 0);
        let Some((offset, len @ 1..)) = range else { continue };

        for place in [offset, offset + len / 2, offset + len - 1] {
            let found = elf::object(&bytes, place, &Target::AMD64);
            let (sframe, eh_frame) = match found {
                Ok(found) => (found.sframe, found.eh_frame),
                Err(error) => {
                    assert_eq!(error, Absence::NoTable.into(), "{}", path.display());
                    (None, None)
                }
            };
            if let Ok(found) = found {
                let Segment { offset: start, address, len } = found.text;
                assert!((start..start + len).contains(&place));
                assert_eq!(section.address() - address, offset - start);
            }
            tables =
                [is_table(&file, sframe, ".sframe"), is_table(&file, eh_frame, ".eh_frame_hdr")];
            compared.places += 1;
        }
    }
    compared.files += 1;
    for (count, table) in compared.tables.iter_mut().zip(tables) {
        *count += usize::from(table);
    }
}

/// Compares all files below a directory.
fn compare_below(directory: &Path, compared: &mut Compared) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => compare_below(&entry.path(), compared),
            Ok(kind) if kind.is_file() => compare(&entry.path(), compared),
            _ => {}
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

    for directory in DIRECTORIES {
        compare_below(Path::new(directory), &mut compared);
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
    let [source, path] = ["program.c", "program"].map(|name| directory.join(name));
    let mut compared = Compared::default();
    let options = [
        "-shared -fPIC",
        "-pie -fPIE",
        "-no-pie -fno-pie",
        "-static",
        "-static-pie -fPIE",
        "-no-pie -fno-pie -Wl,-z,noseparate-code",
        "-pie -fPIE -Wl,-z,noseparate-code",
        "-pie -fPIE -Wl,-z,max-page-size=65536",
    ];

    fs::create_dir_all(&directory).expect("there is room for files");
    fs::write(&source, PROGRAM).expect("there is room for files");
    for options in options {
        let mut command = Command::new("gcc");
        command.args(["-O2", "-Wa,--gsframe-3", "-o"]).args([&path, &source]);
        let built = command.args(options.split(' ')).status();
        assert!(built.is_ok_and(|status| status.success()), "{options}");
        compare(&path, &mut compared);
    }
    fs::remove_dir_all(&directory).expect("these files are ours");
    report("linked files", &compared);
    assert_eq!((compared.files, compared.tables[0]), (options.len(), options.len()));
}
