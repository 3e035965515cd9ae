// SPDX-License-Identifier: GPL-2.0 OR MIT

//! The index of an `.eh_frame`, compared with a linker's, and read with the kernel's reader.

use std::ops::Range;

use kernel_reader::Answer;
use proptest::prelude::*;
use unwind_jit::{eh_frame_index, Error};

/// Memory whose end is followed by none: to read behind it is a fault.
struct Fenced {
    at: *mut u8,
    mapped: usize,
    len: usize,
}

const PAGE: usize = 4096;

impl Fenced {
    fn new(bytes: &[u8]) -> Self {
        let mapped = bytes.len().next_multiple_of(PAGE) + PAGE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: New memory, of which the last page is not used.
        let memory = unsafe {
            let memory = libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            let last = memory.byte_add(mapped - PAGE);
            assert_eq!(libc::mprotect(last, PAGE, libc::PROT_NONE), 0);
            memory.cast::<u8>()
        };
        let mut fenced = Self {
            // SAFETY: In that memory.
            at: unsafe { memory.add(mapped - PAGE - bytes.len()) },
            mapped,
            len: bytes.len(),
        };

        fenced.bytes().copy_from_slice(bytes);
        fenced
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: So much memory is there.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }

    fn address(&self) -> usize {
        self.at as usize
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        let start = self.address() + self.len + PAGE - self.mapped;

        // SAFETY: It was mapped there, and is not used any more.
        unsafe { libc::munmap(start as *mut _, self.mapped) };
    }
}

/// How the starts of functions are written.
#[derive(Clone, Copy, Debug)]
struct Encoding {
    byte: u8,
    bytes: usize,
    relative: bool,
}

const ENCODINGS: [Encoding; 6] = [
    Encoding {
        byte: 0x00,
        bytes: 8,
        relative: false,
    },
    Encoding {
        byte: 0x04,
        bytes: 8,
        relative: false,
    },
    Encoding {
        byte: 0x0c,
        bytes: 8,
        relative: false,
    },
    Encoding {
        byte: 0x10,
        bytes: 8,
        relative: true,
    },
    Encoding {
        byte: 0x1b,
        bytes: 4,
        relative: true,
    },
    Encoding {
        byte: 0x1c,
        bytes: 8,
        relative: true,
    },
];

/// A record: its length, where its CIE is or 0, and the rest.
fn record(id: u32, rest: &[u8]) -> Vec<u8> {
    let padded = rest.len().next_multiple_of(4);
    let mut bytes = (padded as u32 + 4).to_le_bytes().to_vec();

    bytes.extend(id.to_le_bytes());
    bytes.extend(rest);
    bytes.resize(8 + padded, 0);
    bytes
}

/// A CIE with these letters and their data: the CFA is SP + 8 at first.
fn cie(version: u8, letters: &str, data: &[u8]) -> Vec<u8> {
    let mut rest = vec![version];

    rest.extend(letters.bytes());
    rest.extend([0, 1, 0x78, 16]);
    if !letters.is_empty() {
        rest.push(data.len() as u8);
        rest.extend(data);
    }
    rest.extend([0x0c, 7, 8, 0x90, 1]);
    record(0, &rest)
}

/// Writes records for functions, which are in no order, to fenced memory with room for an index
/// before them. Yields it, and where the records begin.
fn write(encoding: Encoding, functions: &[Range<usize>]) -> (Fenced, usize) {
    // A personality of 4 bytes, and nothing in the FDEs.
    let cie = cie(1, "zPR", &[0x1b, 1, 2, 3, 4, encoding.byte]);
    let room = 16 + 16 * functions.len();
    let fde_len = (8 + 2 * encoding.bytes + 1 + 3).next_multiple_of(4);
    let len = room + cie.len() + functions.len() * fde_len + 4;
    let mut memory = Fenced::new(&vec![0; len]);
    let base = memory.address();
    let mut at = room + cie.len();

    memory.bytes()[room..at].copy_from_slice(&cie);
    for function in functions {
        let from = if encoding.relative { base + at + 8 } else { 0 };
        let start = function.start.wrapping_sub(from).to_le_bytes();
        let mut rest = start[..encoding.bytes].to_vec();
        rest.extend(&function.len().to_le_bytes()[..encoding.bytes]);
        // No more data; from byte 4 on the CFA is SP + 16.
        rest.extend([0, 0x44, 0x0e, 16]);
        let fde = record((at + 4 - room) as u32, &rest);
        memory.bytes()[at..at + fde.len()].copy_from_slice(&fde);
        at += fde.len();
    }
    assert_eq!(at + 4, len);
    (memory, room)
}

fn check(encoding: Encoding, functions: &[Range<usize>]) {
    let (mut memory, room) = write(encoding, functions);
    let base = memory.address();
    let (index, records) = memory.bytes().split_at_mut(room);

    assert_eq!(eh_frame_index(&mut [], records), Ok(room));
    assert_eq!(eh_frame_index(&mut index[..room - 1], records), Ok(room));
    assert_eq!(eh_frame_index(index, records), Ok(room));
    for function in functions {
        let places = [
            (function.start, Answer::Sp(8, None)),
            (function.start + 3, Answer::Sp(8, None)),
            (function.start + 4, Answer::Sp(16, None)),
            (function.end - 1, Answer::Sp(16, None)),
            (function.end, Answer::Nothing),
        ];
        for (pc, answer) in places {
            let found = kernel_reader::eh_frame(memory.bytes(), base, 0, pc);
            assert_eq!(found, Ok(answer), "{encoding:?} at {pc:#x}");
        }
    }
}

/// Functions that are near the records, in no order.
fn functions(nr: usize) -> Vec<Range<usize>> {
    // The kernel maps memory together.
    let near = Fenced::new(&[0]).address() - (1 << 24);

    (0..nr)
        .map(|nth| near + 64 * (nth * 7919 % nr.max(1)))
        .map(|start| start..start + 16 + start % 32)
        .collect()
}

#[test]
fn every_encoding() {
    for encoding in ENCODINGS {
        for nr in [0, 1, 2, 3, 100] {
            check(encoding, &functions(nr));
        }
    }
}

#[test]
fn starts_of_four_bytes() {
    let low = [0x40_0000..0x40_0020, 0x30_0000..0x30_0010];

    for byte in [0x03, 0x0b] {
        let encoding = Encoding {
            byte,
            bytes: 4,
            relative: false,
        };
        check(encoding, &low);
    }
    let high = std::iter::once(0xffff_0000..0xffff_0010).collect::<Vec<_>>();
    let unsigned = Encoding {
        byte: 0x03,
        bytes: 4,
        relative: false,
    };
    check(unsigned, &high);
}

/// The index of this program that its linker made, and its records.
fn linked() -> (Vec<(usize, usize)>, &'static [u8]) {
    extern "C" fn find(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        found: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: The C library says so of its arguments; the first object is the program.
        unsafe {
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let header = headers
                .iter()
                .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)
                .unwrap();
            let address = info.dlpi_addr + header.p_vaddr;
            let segment = headers
                .iter()
                .find(|load| {
                    load.p_type == libc::PT_LOAD
                        && (load.p_vaddr..load.p_vaddr + load.p_filesz).contains(&header.p_vaddr)
                })
                .unwrap();
            let end = info.dlpi_addr + segment.p_vaddr + segment.p_filesz;
            *found.cast::<[usize; 2]>() = [address as usize, end as usize];
        }
        1
    }
    let mut found = [0; 2];
    // SAFETY: It is called with what it expects.
    unsafe { libc::dl_iterate_phdr(Some(find), (&raw mut found).cast()) };
    let [address, end] = found;
    // SAFETY: All this is mapped as long as the program runs.
    let bytes =
        |start: usize| unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
    let header = bytes(address);
    let number = |at: usize| i32::from_le_bytes(header[at..at + 4].try_into().unwrap());

    assert_eq!(header[..4], [1, 0x1b, 3, 0x3b]);
    let entries = (0..number(8) as usize).map(|nth| {
        let from_header = |at| address.wrapping_add_signed(number(at) as isize);
        (from_header(12 + 8 * nth), from_header(16 + 8 * nth))
    });
    let start = (address + 4).wrapping_add_signed(number(4) as isize);
    (entries.collect(), bytes(start))
}

#[test]
fn the_same_as_the_linker() {
    let (expected, records) = linked();
    let mut index = vec![0; eh_frame_index(&mut [], records).unwrap()];
    let at = index.as_ptr() as usize;

    assert!(expected.len() > 500, "{}", expected.len());
    assert_eq!(eh_frame_index(&mut index, records), Ok(index.len()));
    assert_eq!(index[..4], [1, 0x1c, 3, 0x3c]);
    let number = |place: usize| {
        let bytes = index[place..place + 8].try_into().unwrap();
        usize::from_le_bytes(bytes)
    };
    assert_eq!((at + 4).wrapping_add(number(4)), records.as_ptr() as usize);
    assert_eq!(number(8) >> 32, expected.len());
    let found: Vec<(usize, usize)> = (16..index.len())
        .step_by(16)
        .map(|place| {
            (
                at.wrapping_add(number(place)),
                at.wrapping_add(number(place + 8)),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_function_is_left_out() {
    let encoding = ENCODINGS[3];
    let mut functions = functions(3);
    functions[1] = functions[1].start..functions[1].start;
    let (mut memory, room) = write(encoding, &functions);
    let mut index = vec![0; room];

    assert_eq!(
        eh_frame_index(&mut index, &memory.bytes()[room..]),
        Ok(16 + 32)
    );
    // What a linker has thrown away starts at 0.
    let fde = memory.len - 4 - 28;
    memory.bytes()[fde + 8..fde + 16].fill(0);
    assert_eq!(
        eh_frame_index(&mut index, &memory.bytes()[room..]),
        Ok(16 + 16)
    );
    // Nothing at all, and nothing but the end.
    assert_eq!(eh_frame_index(&mut index, &[]), Ok(16));
    assert_eq!(eh_frame_index(&mut index, &[0; 4]), Ok(16));
    // Behind the end there may be anything.
    assert_eq!(eh_frame_index(&mut index, &[0, 0, 0, 0, 1, 2, 3]), Ok(16));
}

#[test]
fn malformed_records_are_refused() {
    let refused = |records: &[u8]| {
        let mut memory = Fenced::new(records);
        let mut index = [0; 256];
        let result = eh_frame_index(&mut index, memory.bytes());
        assert_eq!(
            result.map_err(Error::errno),
            Err(libc::EINVAL),
            "{records:x?}"
        );
    };
    let with = |cie: Vec<u8>| {
        let id = cie.len() as u32 + 4;
        [cie, record(id, &[1; 17])].concat()
    };
    let good = with(cie(1, "zR", &[0]));
    assert_eq!(eh_frame_index(&mut [], &good), Ok(32));
    for letters in ["", "zLR", "zSR", "zPLR"] {
        let data: &[u8] = match letters {
            "zPLR" => &[0x9b, 0, 0, 0, 0, 0x1b, 0x1b],
            "zLR" => &[0x1b, 0],
            _ => &[0],
        };
        assert_eq!(
            eh_frame_index(&mut [], &with(cie(1, letters, data))),
            Ok(32)
        );
    }
    assert_eq!(eh_frame_index(&mut [], &with(cie(3, "zR", &[0]))), Ok(32));

    for len in 1..good.len() {
        if len != cie(1, "zR", &[0]).len() {
            refused(&good[..len]);
        }
    }
    // Of 64 bits, with itself as its CIE, with one before the start, of an FDE.
    refused(&[0xff; 12]);
    refused(&record(4, &[0; 20]));
    refused(&record(5, &[0; 20]));
    let fdes = [good.clone(), record(28 + 4, &[1; 17])].concat();
    refused(&fdes);
    refused(&with(cie(2, "zR", &[0])));
    refused(&with(cie(4, "zR", &[0])));
    for letters in ["eh", "R", "zQR", "zCR"] {
        refused(&with(cie(1, letters, &[0])));
    }
    // Encodings that the kernel does not read: of variable length, of 2 bytes, relative to
    // something else, aligned, indirect, none; and those of a personality that cannot be passed.
    for encoding in [
        0x01, 0x02, 0x09, 0x0a, 0x08, 0x20, 0x3b, 0x40, 0x50, 0x80, 0xff,
    ] {
        refused(&with(cie(1, "zR", &[encoding])));
    }
    for encoding in [0x05, 0x0f, 0x50] {
        refused(&with(cie(1, "zPR", &[encoding, 0, 0, 0, 0, 0, 0, 0, 0, 0])));
    }
}

proptest! {
    /// Nothing is read behind the end, whatever the records are, and what is in the index is there.
    #[test]
    fn any_bytes(
        nth in 0..ENCODINGS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut memory, room) = write(ENCODINGS[nth], &functions(4));
        let mut records = memory.bytes()[room..].to_vec();
        for (place, byte) in changes {
            let place = place.index(records.len());
            records[place] = byte;
        }
        records.truncate(cut.index(records.len() * 2).max(1));
        let mut fenced = Fenced::new(&records);
        let (start, len) = (fenced.address(), fenced.len);
        let mut index = [0; 200];
        if let Ok(needed) = eh_frame_index(&mut index, fenced.bytes()) {
            prop_assert!(needed % 16 == 0 && needed <= 16 + 16 * len / 16);
            for place in (16..needed).step_by(16) {
                let bytes = index[place + 8..place + 16].try_into().unwrap();
                let fde = (index.as_ptr() as usize).wrapping_add(usize::from_le_bytes(bytes));
                prop_assert!(fde >= start && fde + 12 <= start + len);
            }
        }
    }
}
