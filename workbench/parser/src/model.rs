// SPDX-License-Identifier: GPL-2.0

//! A second search in ELF headers. It sees all headers at once, and its numbers do not wrap. It
//! gets the bytes of all reads, so it knows the answer even if the bytes change between reads.

use object::elf::{self, FileHeader64, ProgramHeader64};
use object::{LittleEndian as LE, pod};

use crate::memory::Read;
use crate::parse::elf::{Absence, Object, Segment, Target};

/// The sizes of an ELF header and of a program header.
const SIZES: [u64; 2] = [64, 56];
/// Everything ends below this.
const END: u128 = 1 << 63;

/// A program header.
#[derive(Clone, Copy)]
struct Entry {
    kind: u32,
    flags: u32,
    offset: u128,
    address: u128,
    file_size: u128,
    memory_size: u128,
    align: u64,
}

impl Entry {
    fn new(bytes: &[u8]) -> Self {
        let (header, _) = pod::from_bytes::<ProgramHeader64<LE>>(bytes).expect("it has 56 bytes");

        Self {
            kind: header.p_type.get(LE),
            flags: header.p_flags.get(LE),
            offset: header.p_offset.get(LE).into(),
            address: header.p_vaddr.get(LE).into(),
            file_size: header.p_filesz.get(LE).into(),
            memory_size: header.p_memsz.get(LE).into(),
            align: header.p_align.get(LE),
        }
    }

    fn end(&self) -> u128 {
        self.offset + self.file_size
    }

    fn is_text(&self, page: u128) -> bool {
        self.kind == elf::PT_LOAD
            && self.flags & elf::PF_X != 0
            && self.file_size <= self.memory_size
            && self.has_bytes()
            && self.address + self.memory_size < END
            && self.offset % page == self.address % page
    }

    fn has_bytes(&self) -> bool {
        self.file_size > 0 && self.end() < END && self.address + self.file_size < END
    }

    fn segment(&self) -> Segment {
        let [offset, address, len] =
            [self.offset, self.address, self.file_size].map(|number| number as u64);

        Segment { offset, address, len }
    }
}

/// The reason why the search refuses an ELF header, if it does.
fn refusal(header: &FileHeader64<LE>, len: u64, target: &Target) -> Option<Absence> {
    let ident = &header.e_ident;
    let count = header.e_phnum.get(LE);
    let end = u128::from(header.e_phoff.get(LE)) + u128::from(SIZES[1]) * u128::from(count);
    let headers = u64::from(header.e_phentsize.get(LE)) != SIZES[1]
        || !(1..=128).contains(&count)
        || end > len.into();

    [
        (ident.magic != elf::ELFMAG, Absence::NotElf),
        (ident.class != elf::ELFCLASS64, Absence::Class),
        (ident.data != elf::ELFDATA2LSB, Absence::ByteOrder),
        (ident.version != 1 || header.e_version.get(LE) != 1, Absence::Version),
        (![elf::ET_EXEC, elf::ET_DYN].contains(&header.e_type.get(LE)), Absence::Kind),
        (header.e_machine.get(LE) != target.machine, Absence::Machine),
        (headers, Absence::Headers),
    ]
    .into_iter()
    .find_map(|(is_wrong, absence)| is_wrong.then_some(absence))
}

/// The answer for byte `offset` of a file of which `len` bytes are mapped. `reads` are all reads of
/// the search. Panics if some of them were unnecessary.
pub(crate) fn object(
    reads: &[Read],
    len: u64,
    offset: u64,
    target: &Target,
) -> Result<Object, Absence> {
    let Some(((place, header), rest)) = reads.split_first() else {
        assert!(len < SIZES[0], "nothing was read");
        return Err(Absence::NotElf);
    };
    let (header, _) = pod::from_bytes::<FileHeader64<LE>>(header).expect("it has 64 bytes");
    assert!(len >= SIZES[0], "{len} bytes were read");
    assert_eq!(*place, 0);
    if let Some(absence) = refusal(header, len, target) {
        assert!(rest.is_empty(), "{rest:?} was read of no program headers");
        return Err(absence);
    }

    // The search reads all program headers in their order, and each byte once.
    let first = header.e_phoff.get(LE);
    for ((place, bytes), nth) in rest.iter().zip(0..) {
        assert_eq!((*place, bytes.len() as u64), (first + SIZES[1] * nth, SIZES[1]));
    }
    let entries: Vec<Entry> = rest.iter().map(|(_, bytes)| Entry::new(bytes)).collect();
    assert_eq!(entries.len(), usize::from(header.e_phnum.get(LE)));

    let (page, offset) = (u128::from(target.page_size), u128::from(offset));
    let texts: Vec<&Entry> = entries.iter().filter(|entry| entry.is_text(page)).collect();
    let exact = |entry: &&&Entry| (entry.offset..entry.end()).contains(&offset);
    let in_pages = |entry: &&&Entry| {
        let first = entry.offset / page * page;
        (first..entry.end().next_multiple_of(page)).contains(&offset)
    };
    let text = texts.iter().find(exact).or(texts.iter().find(in_pages));
    let text = text.ok_or(Absence::NoText)?.segment();

    let first = |is: &dyn Fn(&Entry) -> bool| {
        entries.iter().find(|entry| entry.has_bytes() && is(entry)).map(Entry::segment)
    };
    let kinds = [elf::PT_GNU_SFRAME, elf::PT_GNU_EH_FRAME];
    let [sframe, eh_frame] =
        kinds.map(|kind| first(&|entry| entry.kind == kind && entry.file_size < 1 << 32));
    let notes = first(&|entry| entry.kind == elf::PT_NOTE && entry.align == 4);
    match sframe.or(eh_frame) {
        Some(_) => Ok(Object { text, sframe, eh_frame, notes }),
        None if entries.iter().any(|entry| kinds.contains(&entry.kind)) => Err(Absence::TableRange),
        None => Err(Absence::NoTable),
    }
}
