// SPDX-License-Identifier: GPL-2.0

//! Arbitrary well-formed SFrame tables. What they mean, the linear reader says.
//!
//! proptest generates a plan, and shrinks it when a test fails. Each plan is good.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{ARCHES, decode};
use crate::listing::Table;
use crate::vectors::Arch;

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(super) arch: Arch,
    pub(super) base: u64,
    pub(super) bytes: Vec<u8>,
    /// The meaning of the bytes.
    pub(super) table: Table,
    /// The number of bytes of each function's attribute and rows.
    pub(super) rows_len: Vec<usize>,
}

/// The parts of a table.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) arch: Arch,
    pub(super) pc_relative: bool,
    /// The number of rows that the header has.
    pub(super) count: usize,
    pub(super) aux: Vec<u8>,
    /// Unused bytes before, between and after the index and the rows.
    pub(super) gaps: [Vec<u8>; 3],
    pub(super) rows_first: bool,
    /// The address of each function relative to the table, its size, and where its rows are.
    pub(super) functions: Vec<(i64, u32, u32)>,
    pub(super) rows: Vec<u8>,
}

/// The first `width` bytes of a number.
pub(super) fn to_bytes(number: i64, width: u8) -> Vec<u8> {
    number.to_le_bytes()[..usize::from(width)].to_vec()
}

/// A header. The numbers are those of functions, of rows, of the rows' bytes, and the places of the
/// index and of the rows.
pub(super) fn header(arch: Arch, pc_relative: bool, aux: &[u8], numbers: [usize; 5]) -> Vec<u8> {
    let (id, fixed_ra) = match arch {
        Arch::Amd64 => (3, 0xf8),
        Arch::AArch64 => (2, 0),
    };
    let flags = 1 | u8::from(pc_relative) << 2;
    let mut bytes = vec![0xe2, 0xde, 3, flags, id, 0, fixed_ra, aux.len() as u8];

    bytes.extend(numbers.iter().flat_map(|number| to_bytes(*number as i64, 4)));
    bytes.extend(aux);
    bytes
}

impl Parts {
    /// Usual parts, with these functions and rows.
    pub(super) fn new(arch: Arch, functions: Vec<(i64, u32, u32)>, rows: Vec<u8>) -> Self {
        let gaps = [vec![], vec![], vec![]];

        Self {
            arch,
            pc_relative: false,
            count: 0,
            aux: vec![],
            gaps,
            rows_first: false,
            functions,
            rows,
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let Self { functions, rows, gaps: [before, between, after], .. } = self;
        let index_len = 16 * functions.len();
        let first = before.len();
        let (index_at, rows_at) = if self.rows_first {
            (first + rows.len() + between.len(), first)
        } else {
            (first, first + index_len + between.len())
        };
        let numbers = [functions.len(), self.count, rows.len(), index_at, rows_at];
        let mut bytes = header(self.arch, self.pc_relative, &self.aux, numbers);
        let mut index = Vec::new();

        for (start, size, place) in functions {
            let field = bytes.len() + index_at + index.len();
            let from = if self.pc_relative { field as i64 } else { 0 };
            index.extend(to_bytes(start.wrapping_sub(from), 8));
            index.extend(to_bytes((*size).into(), 4));
            index.extend(to_bytes((*place).into(), 4));
        }
        bytes.extend(before);
        let parts = [&index, between, rows];
        let order = if self.rows_first { [2, 1, 0] } else { [0, 1, 2] };
        bytes.extend(order.into_iter().flat_map(|nth| parts[nth]));
        bytes.extend(after);
        bytes
    }
}

/// A function.
#[derive(Clone, Debug)]
struct Planned {
    /// How many bytes it is behind all functions before it. Otherwise it starts with the last one.
    gap: Option<u32>,
    size: u32,
    /// The size of the block that it repeats, or 0.
    block: u8,
    flexible: bool,
    signal: bool,
    key_b: bool,
    /// The code of the number of bytes of a row's start.
    width: u8,
    /// The number of unused bytes before the attribute.
    slack: u8,
    /// The rank of the rows among those of all functions.
    order: u16,
    rows: Vec<Row>,
}

/// A row. What a function cannot express is left out.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Taken modulo the largest possible start.
    start: u32,
    /// The code of the number of bytes of a word.
    width: u8,
    signed: bool,
    outermost: bool,
    /// The places of the CFA, the RA and the FP.
    places: [Option<Place>; 3],
}

/// A number that selects a base, whether the value is in memory there, and an offset.
type Place = (u8, bool, i32);

fn row() -> impl Strategy<Value = Row> {
    let start = prop_oneof![4 => 0..64_u32, 1 => 0..0x1_0000_u32, 1 => any::<u32>()];
    let offset = prop_oneof![3 => -0x80..0x80, 1 => any::<i32>()];
    let places = [(); 3]
        .map(|()| proptest::option::weighted(0.6, (any::<u8>(), any::<bool>(), offset.clone())));

    (start, 0..3_u8, any::<bool>(), prop::bool::weighted(0.1), places).prop_map(
        |(start, width, signed, outermost, places)| Row { start, width, signed, outermost, places },
    )
}

fn function() -> impl Strategy<Value = Planned> {
    let gap = prop_oneof![
        1 => Just(None),
        4 => Just(Some(0)),
        4 => (1..64_u32).prop_map(Some),
        1 => any::<u32>().prop_map(Some),
    ];
    let size = prop_oneof![
        1 => Just(0),
        6 => 1..64_u32,
        4 => 64..0x400_u32,
        1 => 0xfff0..0x1_0010_u32,
        1 => any::<u32>(),
    ];
    let rows = prop_oneof![
        2 => Just(Vec::new()),
        20 => vec(row(), 1..6),
        4 => vec(row(), 6..40),
        1 => vec(row(), 40..300),
    ];
    let block = prop_oneof![4 => Just(0), 1 => any::<u8>()];
    let slack = prop_oneof![9 => Just(0), 1 => 0..8_u8];
    let bits = (prop::bool::weighted(0.4), prop::bool::weighted(0.2), any::<bool>());

    (gap, size, block, bits, 0..3_u8, slack, any::<u16>(), prop::bool::weighted(0.9), rows)
        .prop_map(
            |(
                gap,
                size,
                block,
                (flexible, signal, key_b),
                width,
                slack,
                order,
                from_start,
                mut rows,
            )| {
                if let Some(first) = rows.first_mut().filter(|_| from_start) {
                    first.start = 0;
                }
                Planned { gap, size, block, flexible, signal, key_b, width, slack, order, rows }
            },
        )
}

/// The DWARF number of one of an architecture's registers.
fn register(arch: Arch, pick: u8) -> u8 {
    match arch {
        // The stack pointer and the frame pointer are frequent.
        Arch::Amd64 => [7, 6].get(usize::from(pick / 64)).copied().unwrap_or(pick % 16),
        Arch::AArch64 => [31, 29].get(usize::from(pick / 64)).copied().unwrap_or(pick % 32),
    }
}

impl Row {
    /// The data words.
    fn words(&self, arch: Arch, flexible: bool) -> Vec<i64> {
        let [cfa, ra, fp] = self.places;
        let cfa = cfa.unwrap_or((0, false, 8));
        let control = |(pick, at, _): Place, of_cfa: bool| {
            let base = if pick > 224 && !of_cfa { 0 } else { register(arch, pick) << 3 | 1 };
            i64::from(base | u8::from(at || base == 0) << 1)
        };
        let offset = |place: Place| i64::from(place.2);
        let pair = |place| [control(place, false), offset(place)];

        match (arch, flexible) {
            _ if self.outermost => vec![],
            // A word that says nothing stands only before others.
            (_, true) => {
                let ra = ra.map_or(Vec::from_iter(fp.map(|_| 0)), |ra| pair(ra).to_vec());
                let fp = fp.into_iter().flat_map(pair);
                [control(cfa, true), offset(cfa)].into_iter().chain(ra).chain(fp).collect()
            }
            // The header has the place of the RA.
            (Arch::Amd64, _) => [Some(cfa), fp].into_iter().flatten().map(offset).collect(),
            // A row has the place of the FP only if it has that of the RA.
            (Arch::AArch64, _) => {
                [Some(cfa), ra, ra.and(fp)].into_iter().flatten().map(offset).collect()
            }
        }
    }

    /// The bytes behind the start. A word that has too few bytes means another number.
    fn bytes(&self, arch: Arch, flexible: bool) -> Vec<u8> {
        let words = self.words(arch, flexible);
        if words.is_empty() {
            return vec![0];
        }
        let from_sp = !flexible && self.places[0].is_some_and(|(pick, ..)| pick < 128);
        let signed = u8::from(self.signed && arch == Arch::AArch64) << 7;
        let info = u8::from(from_sp) | (words.len() as u8) << 1 | self.width << 5 | signed;

        [info]
            .into_iter()
            .chain(words.iter().flat_map(|word| to_bytes(*word, 1 << self.width)))
            .collect()
    }
}

impl Planned {
    /// The attribute, and the rows in the order of their starts: some may share one, or start at
    /// the end.
    fn bytes(&self, arch: Arch) -> Vec<u8> {
        let limit = if self.block == 0 { self.size } else { self.block.into() };
        let most = u64::from(limit.min(u32::MAX >> (32 - (8 << self.width)))) + 1;
        let start = |row: &Row| (u64::from(row.start) % most) as i64;
        let mut rows: Vec<_> = self.rows.iter().map(|row| (start(row), row)).collect();
        let bits =
            [(self.signal, 7), (self.key_b && arch == Arch::AArch64, 5), (self.block != 0, 4)];
        let info = bits.iter().fold(self.width, |info, (bit, at)| info | u8::from(*bit) << at);
        let mut bytes = to_bytes(rows.len() as i64, 2);

        rows.sort_by_key(|(start, _)| *start);
        bytes.extend([info, self.flexible.into(), self.block]);
        for (start, row) in rows {
            bytes.extend(to_bytes(start, 1 << self.width));
            bytes.extend(row.bytes(arch, self.flexible));
        }
        bytes
    }
}

/// The starts of functions from the first one on, and the end of the last one.
fn starts(functions: &[Planned]) -> (Vec<u64>, u64) {
    let (mut starts, mut end) = (Vec::new(), 0);

    for planned in functions {
        let start = match (planned.gap, starts.last()) {
            (None, Some(last)) => *last,
            (gap, _) => end + u64::from(gap.unwrap_or(0)),
        };
        starts.push(start);
        end = end.max(start + u64::from(planned.size));
    }
    (starts, end)
}

/// All rows, and the place of each function's. If `shared` is set, equal ones are there once.
fn rows(functions: &[Planned], bodies: &[Vec<u8>], shared: bool) -> (Vec<u8>, Vec<u32>) {
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    let (mut places, mut known, mut bytes) = (vec![0; bodies.len()], HashMap::new(), Vec::new());

    order.sort_by_key(|nth| functions[*nth].order);
    for nth in order {
        let place = known.get(&bodies[nth]).copied().filter(|_| shared);
        places[nth] = place.unwrap_or_else(|| {
            bytes.extend(vec![0xa5; functions[nth].slack.into()]);
            let place = bytes.len() as u32;
            bytes.extend(&bodies[nth]);
            known.insert(&bodies[nth], place);
            place
        });
    }
    (bytes, places)
}

/// Arbitrary tables of at most `most` functions, of all architectures.
pub(super) fn tables(most: usize) -> impl Strategy<Value = Built> {
    let functions = prop_oneof![
        3 => vec(function(), 0..=most.min(8)),
        2 => vec(function(), 0..=most.min(40)),
        1 => vec(function(), 0..=most),
    ];
    // If there is no address, the last function ends at the end of the address space.
    let text = prop_oneof![
        8 => (0..1_u64 << 47).prop_map(Some),
        1 => Just(Some(0)),
        1 => Just(None),
    ];
    let bytes = || prop_oneof![2 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..20)];
    let aux = prop_oneof![4 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..=255)];
    let bits = (any::<bool>(), any::<usize>(), prop::bool::weighted(0.2), any::<bool>());

    (
        (select(ARCHES.to_vec()), 0..1_u64 << 47, text),
        (aux, [bytes(), bytes(), bytes()], bits),
        functions,
    )
        .prop_map(|((arch, base, text), (aux, gaps, bits), functions)| {
            let (pc_relative, count, rows_first, shared) = bits;
            let (starts, end) = starts(&functions);
            // The offset of a start is signed, so a start is at most 2^63 from the table.
            let (base, text) = match text {
                Some(text) => (base, text),
                None => (base | 1 << 63, u64::MAX - end),
            };
            let bodies: Vec<_> = functions.iter().map(|planned| planned.bytes(arch)).collect();
            let (rows, places) = rows(&functions, &bodies, shared);
            let entries = starts.iter().zip(&functions).zip(places);
            let entry = |((start, planned), place): ((&u64, &Planned), u32)| {
                ((text + start).wrapping_sub(base) as i64, planned.size, place)
            };
            let parts = Parts {
                arch,
                pc_relative,
                count,
                aux,
                gaps,
                rows_first,
                functions: entries.map(entry).collect(),
                rows,
            };
            let bytes = parts.bytes();
            let table = decode(arch, &bytes, base).expect("the table is good");

            assert!(table.0.iter().map(|function| function.start - text).eq(starts));
            Built { arch, base, bytes, table, rows_len: bodies.iter().map(Vec::len).collect() }
        })
}
