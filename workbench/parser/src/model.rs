// SPDX-License-Identifier: GPL-2.0

//! A second search in ELF headers. It sees all headers at once, and its numbers do not wrap. It
//! gets the bytes of all reads, so it knows the answer even if the bytes change between reads.

use crate::memory::Read;
use crate::parse::elf::{Absence, Object, Segment, Target};

/// The sizes of an ELF header and of a program header.
const SIZES: [usize; 2] = [64, 56];

/// The number of `len` bytes at `at`.
fn number(bytes: &[u8], at: usize, len: usize) -> u128 {
    let digits = bytes[at..at + len].iter().rev();

    digits.fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// A program header.
#[derive(Clone, Copy)]
struct Entry {
    kind: u128,
    flags: u128,
    offset: u128,
    address: u128,
    file_size: u128,
    memory_size: u128,
    align: u128,
}

impl Entry {
    fn new(bytes: &[u8]) -> Self {
        Self {
            kind: number(bytes, 0, 4),
            flags: number(bytes, 4, 4),
            offset: number(bytes, 8, 8),
            address: number(bytes, 16, 8),
            file_size: number(bytes, 32, 8),
            memory_size: number(bytes, 40, 8),
            align: number(bytes, 48, 8),
        }
    }

    fn end(&self) -> u128 {
        self.offset + self.file_size
    }

    fn is_text(&self, page: u128) -> bool {
        self.kind == 1
            && self.flags % 2 == 1
            && self.file_size >= 1
            && self.file_size <= self.memory_size
            && self.end() < 1 << 63
            && self.address + self.memory_size < 1 << 63
            && self.offset % page == self.address % page
    }

    fn is_good_table(&self) -> bool {
        self.file_size < 1 << 32 && self.has_bytes()
    }

    fn has_bytes(&self) -> bool {
        self.file_size > 0 && self.end() < 1 << 63 && self.address + self.file_size < 1 << 63
    }

    fn segment(&self) -> Segment {
        let number = |number: u128| u64::try_from(number).expect("it has eight bytes");

        Segment {
            offset: number(self.offset),
            address: number(self.address),
            len: number(self.file_size),
        }
    }
}

/// The reason why the search refuses an ELF header, if it does.
fn refusal(header: &[u8], len: u64, target: &Target) -> Option<Absence> {
    let [header_size, entry_size] = SIZES;
    let count = number(header, 56, 2);
    let end = number(header, 32, 8) + count * entry_size as u128;
    let machine = number(header, 18, 2) != u128::from(target.machine);
    let version = number(header, 6, 1) != 1 || number(header, 20, 4) != 1;
    let headers = number(header, 54, 2) != entry_size as u128
        || count == 0
        || count > 128
        || end > u128::from(len);

    assert_eq!(header.len(), header_size);
    [
        (header[..4] != *b"\x7fELF", Absence::NotElf),
        (number(header, 4, 1) != 2, Absence::Class),
        (number(header, 5, 1) != 1, Absence::ByteOrder),
        (version, Absence::Version),
        (![2, 3].contains(&number(header, 16, 2)), Absence::Kind),
        (machine, Absence::Machine),
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
    let [header_size, entry_size] = SIZES;
    let Some(((place, header), rest)) = reads.split_first() else {
        assert!(len < header_size as u64, "nothing was read");
        return Err(Absence::NotElf);
    };
    assert!(len >= header_size as u64, "{len} bytes were read");
    assert_eq!(*place, 0);
    if let Some(absence) = refusal(header, len, target) {
        assert!(rest.is_empty(), "{rest:?} was read of no program headers");
        return Err(absence);
    }

    // The search reads all program headers in their order, and each byte once.
    let mut next = number(header, 32, 8);
    let mut entries = Vec::new();
    for (place, bytes) in rest {
        assert_eq!(u128::from(*place), next);
        assert_eq!(bytes.len(), entry_size);
        next += entry_size as u128;
        entries.push(Entry::new(bytes));
    }
    assert_eq!(entries.len() as u128, number(header, 56, 2));

    let (page, offset) = (u128::from(target.page_size), u128::from(offset));
    let texts: Vec<&Entry> = entries.iter().filter(|entry| entry.is_text(page)).collect();
    let exact = |entry: &&&Entry| (entry.offset..entry.end()).contains(&offset);
    let in_pages = |entry: &&&Entry| {
        let first = entry.offset / page * page;
        (first..entry.end().next_multiple_of(page)).contains(&offset)
    };
    let text = texts.iter().find(exact).or(texts.iter().find(in_pages));

    let text = text.ok_or(Absence::NoText)?.segment();

    // `PT_GNU_SFRAME` and `PT_GNU_EH_FRAME`.
    let kinds = [0x6474_e554, 0x6474_e550];
    let [sframe, eh_frame] = kinds.map(|kind| {
        let mut tables = entries.iter().filter(|entry| entry.kind == kind);
        tables.find(|entry| entry.is_good_table()).map(Entry::segment)
    });
    // `PT_NOTE`, aligned to four bytes.
    let mut notes = entries.iter().filter(|entry| entry.kind == 4 && entry.align == 4);
    let notes = notes.find(|entry| entry.has_bytes()).map(Entry::segment);
    match sframe.or(eh_frame) {
        Some(_) => Ok(Object { text, sframe, eh_frame, notes }),
        None if entries.iter().any(|entry| kinds.contains(&entry.kind)) => Err(Absence::TableRange),
        None => Err(Absence::NoTable),
    }
}
