// SPDX-License-Identifier: GPL-2.0

//! Arbitrary well-formed tables, and their meaning.
//!
//! proptest generates a plan, and shrinks it when a test fails. Each plan is good. [`Plan::build`]
//! makes the bytes and the meaning of a plan, independently of each other.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::ARCHES;
use super::linear::Table;
use super::words::{PlannedRule, planned_rule, to_bytes};
use crate::listing::{Function, Row};
use crate::parse::Key;
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

/// The plan of a table.
#[derive(Clone, Debug)]
struct Plan {
    arch: Arch,
    base: u64,
    text: Text,
    pc_relative: bool,
    /// Whether the header has the number of rows, or 0.
    counted: bool,
    aux: Vec<u8>,
    /// Unused bytes before, between and after the index and the rows.
    gaps: [Vec<u8>; 3],
    rows_first: bool,
    /// Whether functions with equal rows share them.
    shared: bool,
    functions: Vec<Planned>,
}

/// The place of the first function.
#[derive(Clone, Copy, Debug)]
enum Text {
    At(u64),
    /// As high as possible: the last function ends at the end of the address space.
    Top,
}

#[derive(Clone, Debug)]
struct Planned {
    place: Place,
    size: u32,
    block: Option<u8>,
    flexible: bool,
    signal: bool,
    /// Whether signed return addresses have key B.
    key_b: bool,
    /// The number of bytes of a row's start.
    width: u8,
    /// The number of unused bytes before the attribute.
    slack: u8,
    /// The rank of the rows among those of all functions.
    order: u16,
    rows: Vec<PlannedRow>,
}

/// The place of a function.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// This many bytes behind all functions before it.
    After(u32),
    /// At the start of the function before it.
    Same,
}

#[derive(Clone, Copy, Debug)]
struct PlannedRow {
    /// Taken modulo the largest possible start.
    start: u32,
    /// The number of bytes of a data word, unless the words need more.
    width: u8,
    rule: PlannedRule,
}

/// The largest number of empty functions at the start of another function.
const MOST_EMPTY: usize = 8;

fn width() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![1_u8, 2, 4])
}

fn row() -> impl Strategy<Value = PlannedRow> {
    let start = prop_oneof![4 => 0..64_u32, 1 => 0..0x1_0000_u32, 1 => any::<u32>()];

    (start, width(), planned_rule()).prop_map(|(start, width, rule)| PlannedRow {
        start,
        width,
        rule,
    })
}

fn function() -> impl Strategy<Value = Planned> {
    let place = prop_oneof![
        1 => Just(Place::Same),
        4 => Just(Place::After(0)),
        4 => (1..64_u32).prop_map(Place::After),
        1 => any::<u32>().prop_map(Place::After),
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
    let from_start = prop::bool::weighted(0.9);
    let slack = prop_oneof![9 => Just(0), 1 => 0..8_u8];

    (
        (place, size, proptest::option::weighted(0.2, 1..=u8::MAX)),
        (prop::bool::weighted(0.4), prop::bool::weighted(0.2), any::<bool>()),
        (width(), slack, any::<u16>()),
        (from_start, rows),
    )
        .prop_map(
            |(
                (place, size, block),
                (flexible, signal, key_b),
                (width, slack, order),
                (from_start, mut rows),
            )| {
                if let Some(first) = rows.first_mut().filter(|_| from_start) {
                    first.start = 0;
                }
                Planned { place, size, block, flexible, signal, key_b, width, slack, order, rows }
            },
        )
}

/// Arbitrary tables of at most `most` functions, of all architectures.
pub(super) fn tables(most: usize) -> impl Strategy<Value = Built> {
    let functions = prop_oneof![
        3 => vec(function(), 0..=most.min(8)),
        2 => vec(function(), 0..=most.min(40)),
        1 => vec(function(), 0..=most),
    ];
    let text = prop_oneof![
        8 => (0..1_u64 << 47).prop_map(Text::At),
        1 => Just(Text::At(0)),
        1 => Just(Text::Top),
    ];
    let bytes = || prop_oneof![2 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..20)];
    let aux = prop_oneof![4 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..=255)];

    let arch = prop::sample::select(ARCHES.to_vec());

    (
        (arch, 0..1_u64 << 47, text, any::<bool>(), any::<bool>()),
        (aux, [bytes(), bytes(), bytes()]),
        (prop::bool::weighted(0.2), any::<bool>()),
        functions,
    )
        .prop_map(
            |(
                (arch, base, text, pc_relative, counted),
                (aux, gaps),
                (rows_first, shared),
                functions,
            )| {
                let plan = Plan {
                    arch,
                    base,
                    text,
                    pc_relative,
                    counted,
                    aux,
                    gaps,
                    rows_first,
                    shared,
                    functions,
                };
                plan.build()
            },
        )
}

/// The first eight bytes of a table.
pub(super) fn preamble(arch: Arch, flags: u8, aux_len: u8) -> Vec<u8> {
    let (id, fixed_ra) = match arch {
        Arch::Amd64 => (3, 0xf8),
        Arch::AArch64 => (2, 0),
    };
    let mut bytes = to_bytes(0xdee2, 2);

    bytes.extend([3, flags, id, 0, fixed_ra, aux_len]);
    bytes
}

impl Planned {
    /// The rows in the order of their starts: some may share one, or start at the end.
    fn rows(&self) -> Vec<(u32, PlannedRow)> {
        let limit = self.block.map_or(self.size, u32::from);
        let limit = match self.width {
            1 => limit.min((1 << 8) - 1),
            2 => limit.min((1 << 16) - 1),
            _ => limit,
        };
        let start = |row: &PlannedRow| match limit.checked_add(1) {
            Some(starts) => row.start % starts,
            None => row.start,
        };
        let mut rows: Vec<_> = self.rows.iter().map(|row| (start(row), *row)).collect();

        rows.sort_by_key(|(start, _)| *start);
        rows
    }

    /// The bytes of the attribute and rows.
    fn write(&self, arch: Arch) -> Vec<u8> {
        let rows = self.rows();
        let signal = u8::from(self.signal) << 7;
        let key = u8::from(self.key_b && arch == Arch::AArch64) << 5;
        let repeats = u8::from(self.block.is_some()) << 4;
        let mut bytes = to_bytes(rows.len() as u64, 2);

        bytes.push((self.width / 2) | repeats | key | signal);
        bytes.push(self.flexible.into());
        bytes.push(self.block.unwrap_or(0));
        for (start, row) in rows {
            bytes.extend(to_bytes(start.into(), self.width));
            bytes.extend(row.rule.write(arch, self.flexible, row.width));
        }
        bytes
    }

    /// The meaning of the function at this start.
    fn function(&self, arch: Arch, start: u64) -> Function {
        let rule = |row: PlannedRow| {
            row.rule.meaning(arch, self.flexible, self.key_b).with_signal(self.signal)
        };

        Function {
            start,
            size: self.size,
            block: self.block,
            flexible: self.flexible,
            signal: self.signal,
            key: match arch {
                Arch::AArch64 if self.key_b => Key::B,
                _ => Key::A,
            },
            rows: self
                .rows()
                .into_iter()
                .map(|(start, row)| Row { start, rule: rule(row) })
                .collect(),
        }
    }
}

impl Plan {
    /// The starts of functions from the first one on, and the end of the last one.
    fn starts(&self) -> (Vec<u64>, u64) {
        let mut starts: Vec<u64> = Vec::new();
        let (mut end, mut empty) = (0, 0);

        for planned in &self.functions {
            let last = starts.last().copied();
            let mut start = match (planned.place, last) {
                (Place::Same, Some(last)) => last,
                (Place::After(gap), Some(_)) => end + u64::from(gap),
                (_, None) => 0,
            };
            if empty == MOST_EMPTY && last == Some(start) {
                start = end + 1;
            }
            empty = match (planned.size, last == Some(start)) {
                (0, true) => empty + 1,
                (0, false) => 1,
                _ => 0,
            };
            starts.push(start);
            end = end.max(start + u64::from(planned.size));
        }
        (starts, end)
    }

    /// The bytes of all rows, and the place of each function's rows.
    fn rows(&self, bodies: &[Vec<u8>]) -> (Vec<u8>, Vec<u32>) {
        let mut order: Vec<usize> = (0..bodies.len()).collect();
        let mut places = vec![0; bodies.len()];
        let mut known = HashMap::new();
        let mut bytes = Vec::new();

        order.sort_by_key(|nth| self.functions[*nth].order);
        for nth in order {
            let place = known.get(&bodies[nth]).copied().filter(|_| self.shared);
            places[nth] = place.unwrap_or_else(|| {
                bytes.extend(vec![0xa5; self.functions[nth].slack.into()]);
                let place = bytes.len() as u32;
                bytes.extend(&bodies[nth]);
                known.insert(&bodies[nth], place);
                place
            });
        }
        (bytes, places)
    }

    fn build(&self) -> Built {
        let (starts, end) = self.starts();
        // The offset of a start is signed, so a start is at most 2^63 from the table.
        let (base, text) = match self.text {
            Text::At(text) => (self.base, text),
            Text::Top => (self.base | 1 << 63, u64::MAX - end),
        };
        let bodies: Vec<_> =
            self.functions.iter().map(|planned| planned.write(self.arch)).collect();
        let (rows, places) = self.rows(&bodies);

        let header_len = 28 + self.aux.len();
        let index_len = 16 * starts.len();
        let [before, between, after] = &self.gaps;
        let first = header_len + before.len();
        let (index_at, rows_at) = if self.rows_first {
            (first + rows.len() + between.len(), first)
        } else {
            (first, first + index_len + between.len())
        };

        let mut index = Vec::new();
        for ((start, planned), place) in starts.iter().zip(&self.functions).zip(places) {
            let field = if self.pc_relative { index_at + index.len() } else { 0 };
            let offset = (text + start).wrapping_sub(base + field as u64);
            index.extend(to_bytes(offset, 8));
            index.extend(to_bytes(planned.size.into(), 4));
            index.extend(to_bytes(place.into(), 4));
        }

        let flags = 1 | u8::from(self.pc_relative) << 2;
        let mut bytes = preamble(self.arch, flags, self.aux.len() as u8);
        let count: usize = self.functions.iter().map(|planned| planned.rows().len()).sum();
        for number in [
            starts.len(),
            if self.counted { count } else { 0 },
            rows.len(),
            index_at - header_len,
            rows_at - header_len,
        ] {
            bytes.extend(to_bytes(number as u64, 4));
        }
        let parts =
            if self.rows_first { [&rows, between, &index] } else { [&index, between, &rows] };
        bytes.extend(&self.aux);
        bytes.extend(before);
        bytes.extend(parts.into_iter().flatten());
        bytes.extend(after);

        let functions = self.functions.iter().zip(&starts);
        Built {
            arch: self.arch,
            base,
            bytes,
            table: Table {
                functions: functions
                    .map(|(planned, start)| planned.function(self.arch, text + start))
                    .collect(),
            },
            rows_len: bodies.iter().map(Vec::len).collect(),
        }
    }
}
