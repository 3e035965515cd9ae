// SPDX-License-Identifier: GPL-2.0

//! Programs made by hand: tables, the ELF files around them, and their `.eh_frame`.

#![allow(dead_code, reason = "each test uses some of it")]

/// Where the text is, in memory and, less [`LOAD`], in the file.
pub const TEXT: u64 = LOAD + 0x1000;
const TEXT_LEN: usize = 0x200;
/// Where the table is.
pub const TABLE: u64 = LOAD + 0x3000;
/// Where the index of `.eh_frame` is: an entry of 8 bytes for each FDE behind [`INDEX`] bytes.
pub const EH_FRAME_HDR: u64 = LOAD + 0x2000;
pub const INDEX: u64 = 12;
pub const EH_FRAME: u64 = EH_FRAME_HDR + 0x200;
pub const LOAD: u64 = 0x40_0000;

/// An architecture, as far as files depend on it.
#[derive(Clone, Copy)]
pub struct Arch {
    pub name: &'static str,
    machine: u16,
    abi: u8,
    fixed_ra: i8,
    /// DWARF numbers of the return address's column and the stack pointer.
    ra: u8,
    sp: u8,
    /// Offset of the CFA from SP at a function's entry.
    cfa: u8,
}

pub const X86_64: Arch = Arch {
    name: "x86-64",
    machine: 62,
    abi: 3,
    fixed_ra: -8,
    ra: 16,
    sp: 7,
    cfa: 8,
};
pub const AARCH64: Arch = Arch {
    name: "aarch64",
    machine: 183,
    abi: 2,
    fixed_ra: 0,
    ra: 30,
    sp: 31,
    cfa: 0,
};
impl Arch {
    fn number<const N: usize>(&self, value: u64) -> [u8; N] {
        let mut bytes = [0; N];

        bytes.copy_from_slice(&value.to_le_bytes()[..N]);
        bytes
    }

    pub fn u16(&self, value: u16) -> [u8; 2] {
        self.number(value.into())
    }

    pub fn u32(&self, value: u32) -> [u8; 4] {
        self.number(value.into())
    }

    pub fn u64(&self, value: u64) -> [u8; 8] {
        self.number(value)
    }
}

/// A function of a table: attribute without the number of rows, and the bytes of the rows.
pub struct Function<'a> {
    /// From [`TEXT`].
    pub at: u64,
    pub size: u32,
    pub count: u16,
    pub info: [u8; 3],
    pub rows: &'a [u8],
}

/// A table of functions in the order given.
pub fn table(arch: Arch, functions: &[Function<'_>]) -> Vec<u8> {
    let mut index = Vec::new();
    let mut rows = Vec::new();

    for function in functions {
        let entry = TABLE + 28 + index.len() as u64;

        index.extend(arch.u64((TEXT + function.at).wrapping_sub(entry)));
        index.extend(arch.u32(function.size));
        index.extend(arch.u32(rows.len() as u32));
        rows.extend(arch.u16(function.count));
        rows.extend(function.info);
        rows.extend(function.rows);
    }
    let count: u32 = functions
        .iter()
        .map(|function| u32::from(function.count))
        .sum();
    let mut table = arch.u16(0xdee2).to_vec();
    table.extend([3, 5, arch.abi, 0, arch.fixed_ra as u8, 0]);
    table.extend(arch.u32(functions.len() as u32));
    table.extend(arch.u32(count));
    table.extend(arch.u32(rows.len() as u32));
    table.extend(arch.u32(0));
    table.extend(arch.u32(index.len() as u32));
    table.extend(index);
    table.extend(rows);
    table
}

/// `.eh_frame` with one FDE: what the CIE starts with is CFA = SP + the usual offset, and on x86-64
/// that the return address is at CFA-8.
pub fn eh_frame(arch: Arch, at: u64, size: u32, instructions: &[u8]) -> Vec<u8> {
    eh_frame_of(arch, &[(at, size, instructions)])
}

/// The same with several FDEs: for each where its function starts from [`TEXT`], the function's
/// size and its instructions.
pub fn eh_frame_of(arch: Arch, functions: &[(u64, u32, &[u8])]) -> Vec<u8> {
    // Version, "zR", alignments 1 and -8, return address, augmentation: pc-relative, 4 bytes.
    let mut cie = vec![1, b'z', b'R', 0, 1, 0x78, arch.ra, 1, 0x1b];
    cie.extend([0x0c, arch.sp]);
    cie.extend(if arch.cfa < 0x80 {
        vec![arch.cfa]
    } else {
        vec![arch.cfa, 1]
    });
    if arch.fixed_ra != 0 {
        cie.extend([0x80 | arch.ra, 1]);
    }
    let padding = |body: &mut Vec<u8>| body.resize(body.len().next_multiple_of(4), 0);
    padding(&mut cie);

    let mut bytes = arch.u32(cie.len() as u32 + 4).to_vec();
    bytes.extend(arch.u32(0));
    bytes.extend(cie);
    for (at, size, instructions) in functions {
        let fde = bytes.len() as u32;
        let start_at = EH_FRAME + u64::from(fde) + 8;
        let mut body = arch.u32(fde + 4).to_vec();
        body.extend(arch.u32((TEXT + at).wrapping_sub(start_at) as u32));
        body.extend(arch.u32(*size));
        body.push(0);
        body.extend(*instructions);
        padding(&mut body);
        bytes.extend(arch.u32(body.len() as u32));
        bytes.extend(body);
    }
    bytes.extend([0; 4]);
    bytes
}

/// The index of an `.eh_frame`, with an entry for each FDE in the order that they have there.
pub fn index(arch: Arch, eh_frame: &[u8]) -> Vec<u8> {
    let number = |at: usize| {
        let bytes: [u8; 4] = eh_frame[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let mut entries = Vec::new();
    let mut count = 0;
    let mut at = 0;

    while at + 16 <= eh_frame.len() && number(at) != 0 {
        if number(at + 4) != 0 {
            let place = EH_FRAME + at as u64 + 8;
            let start = place.wrapping_add(number(at + 8) as i32 as u64);
            entries.extend(arch.u32(start.wrapping_sub(EH_FRAME_HDR) as u32));
            entries.extend(arch.u32((EH_FRAME - EH_FRAME_HDR) as u32 + at as u32));
            count += 1;
        }
        at += 4 + number(at) as usize;
    }
    // Version; pointer (pc-relative), number and entries (from the header), of 4 bytes each.
    let mut index = vec![1, 0x1b, 0x03, 0x3b];
    index.extend(arch.u32((EH_FRAME - EH_FRAME_HDR - 4) as u32));
    index.extend(arch.u32(count));
    index.extend(entries);
    index
}

/// Where what stands at `address` is in the file.
pub fn place(address: u64) -> usize {
    (address - LOAD) as usize
}

/// A program header.
#[derive(Clone, Copy)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub address: u64,
    pub size: u64,
}

/// An ELF file without section headers. What is empty has no program header.
pub fn elf(arch: Arch, table: &[u8], eh_frame: &[u8]) -> Vec<u8> {
    elf_of(arch, &segments(arch, table, eh_frame), table, eh_frame)
}

/// The program headers of such a file.
pub fn segments(arch: Arch, table: &[u8], eh_frame: &[u8]) -> Vec<Segment> {
    let table_len = table.len() as u64;
    let mut segments = vec![
        (1, 4, LOAD, 0x1000),
        (1, 5, TEXT, TEXT_LEN as u64),
        (1, 4, EH_FRAME_HDR, 0x1000 + table_len),
    ];
    if !table.is_empty() {
        segments.push((0x6474_e554, 4, TABLE, table_len));
    }
    if !eh_frame.is_empty() {
        let len = index(arch, eh_frame).len() as u64;
        segments.push((0x6474_e550, 4, EH_FRAME_HDR, len));
    }
    let segments = segments
        .into_iter()
        .map(|(kind, flags, address, size)| Segment {
            kind,
            flags,
            address,
            size,
        });
    segments.collect()
}

/// An ELF file with the program headers given.
pub fn elf_of(arch: Arch, segments: &[Segment], table: &[u8], eh_frame: &[u8]) -> Vec<u8> {
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1];

    file.resize(16, 0);
    file.extend(arch.u16(2));
    file.extend(arch.u16(arch.machine));
    file.extend(arch.u32(1));
    file.extend(arch.u64(TEXT));
    file.extend(arch.u64(64));
    file.extend(arch.u64(0));
    file.extend(arch.u32(0));
    for number in [64, 56, segments.len() as u16, 64, 0, 0] {
        file.extend(arch.u16(number));
    }
    for segment in segments {
        file.extend(arch.u32(segment.kind));
        file.extend(arch.u32(segment.flags));
        for number in [
            segment.address.wrapping_sub(LOAD),
            segment.address,
            segment.address,
            segment.size,
            segment.size,
            8,
        ] {
            file.extend(arch.u64(number));
        }
    }
    let at = |file: &mut Vec<u8>, address: u64, bytes: &[u8]| {
        file.resize((address - LOAD) as usize, 0);
        file.extend(bytes);
    };
    at(&mut file, TEXT, &[0x90; TEXT_LEN]);
    at(&mut file, EH_FRAME_HDR, &index(arch, eh_frame));
    at(&mut file, EH_FRAME, eh_frame);
    if !table.is_empty() {
        at(&mut file, TABLE, table);
    }
    file
}

/// A function whose stack grows by 8 bytes after one byte of code, and shrinks after five, and the
/// same as instructions of `.eh_frame`.
pub const PUSH_AND_POP: Function<'static> = Function {
    at: 0x10,
    size: 6,
    count: 3,
    info: [0, 0, 0],
    rows: &[0, 3, 8, 1, 3, 16, 5, 3, 8],
};
pub const PUSH_AND_POP_CFI: &[u8] = &[0x41, 0x0e, 16, 0x44, 0x0e, 8];

/// A good program without an SFrame table.
pub fn good_eh_frame() -> Vec<u8> {
    let eh_frame = eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI);

    elf(X86_64, &[], &eh_frame)
}

/// A good program.
pub fn good() -> Vec<u8> {
    elf(
        X86_64,
        &table(X86_64, &[PUSH_AND_POP]),
        &eh_frame(X86_64, 0x10, 6, PUSH_AND_POP_CFI),
    )
}
