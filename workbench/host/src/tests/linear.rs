// SPDX-License-Identifier: GPL-2.0

//! A second reader of tables, as plain as can be, to compare the parser with.
//!
//! It was written from the specification and takes the other way at each turn: the whole table is
//! decoded at once, checked as a whole, and searched from its first function to its last.

use std::num::NonZeroI32;

use crate::parse::{Base, Frame, Rule};

/// Flags of the header: sorted, and starts that count from their own place.
const SORTED: u8 = 1;
const PC_RELATIVE: u8 = 4;

/// A table, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// In the order of the index.
    pub(super) functions: Vec<Function>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) start: u64,
    pub(super) size: u32,
    /// Size of the block that it repeats, if it does.
    pub(super) block: Option<u8>,
    /// None if they are of the flexible kind, which is not understood.
    pub(super) rows: Option<Vec<Row>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) start: u32,
    pub(super) rule: Rule,
}

/// `N` bytes at `at`.
fn bytes_at<const N: usize>(bytes: &[u8], at: u64) -> Option<[u8; N]> {
    bytes
        .get(usize::try_from(at).ok()?..)?
        .first_chunk()
        .copied()
}

fn u8_at(bytes: &[u8], at: u64) -> Option<u8> {
    bytes_at(bytes, at).map(u8::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

/// An unsigned number of `width` bytes.
fn unsigned_at(bytes: &[u8], at: u64, width: u64) -> Option<u32> {
    match width {
        1 => u8_at(bytes, at).map(u32::from),
        2 => bytes_at(bytes, at).map(u16::from_le_bytes).map(u32::from),
        _ => u32_at(bytes, at),
    }
}

/// A signed number of `width` bytes.
fn signed_at(bytes: &[u8], at: u64, width: u64) -> Option<i32> {
    let unused = 32 - 8 * u32::try_from(width).ok()?;

    unsigned_at(bytes, at, width).map(|value| ((value << unused) as i32) >> unused)
}

/// The number of bytes that a code of two or more bits stands for.
fn width(code: u8) -> Option<u64> {
    [1, 2, 4].get(usize::from(code)).copied()
}

impl Table {
    /// Decodes the table `bytes` that stands at `base`; none if any part of it is malformed.
    pub(super) fn decode(bytes: &[u8], base: u64) -> Option<Self> {
        if bytes_at(bytes, 0)? != [0xe2, 0xde, 3] {
            return None;
        }
        let flags = u8_at(bytes, 3)?;
        if flags & SORTED == 0 || flags & !(SORTED | PC_RELATIVE) != 0 {
            return None;
        }
        // AMD64, the frame pointer anywhere, the return address at CFA - 8.
        if bytes_at(bytes, 4)? != [3, 0, 0xf8] {
            return None;
        }
        let end_of_header = 28 + u64::from(u8_at(bytes, 7)?);
        let count = u64::from(u32_at(bytes, 0x08)?);
        let rows_len = u64::from(u32_at(bytes, 0x10)?);
        let index = end_of_header + u64::from(u32_at(bytes, 0x14)?);
        let rows_start = end_of_header + u64::from(u32_at(bytes, 0x18)?);
        let index_end = index + 16 * count;
        let rows_end = rows_start + rows_len;
        let len = bytes.len() as u64;
        let apart = index_end <= rows_start || rows_end <= index;
        if index_end > len || rows_end > len || !apart {
            return None;
        }
        let rows = bytes.get(usize::try_from(rows_start).ok()?..usize::try_from(rows_end).ok()?)?;

        let mut functions = Vec::new();
        for entry in (index..index_end).step_by(16) {
            let offset = i64::from_le_bytes(bytes_at(bytes, entry)?);
            let from = if flags & PC_RELATIVE == 0 {
                i128::from(base)
            } else {
                i128::from(base) + i128::from(entry)
            };
            let start = from + i128::from(offset);
            let size = u32_at(bytes, entry + 8)?;
            let in_space = |address: i128| u64::try_from(address).ok();
            in_space(from)?;
            in_space(start + i128::from(size))?;
            functions.push(Function::decode(
                rows,
                u64::from(u32_at(bytes, entry + 12)?),
                in_space(start)?,
                size,
            )?);
        }
        functions
            .is_sorted_by_key(|function| function.start)
            .then_some(Self { functions })
    }

    /// The rule for `pc`, if the table has one.
    ///
    /// The last function that starts at or below it is the one that counts, but an empty one
    /// hides none that starts where it does.
    pub(super) fn rule(&self, pc: u64) -> Option<Rule> {
        let below = self
            .functions
            .iter()
            .filter(|function| function.start <= pc);
        let start = below.map(|function| function.start).max()?;
        // The order of the index decides among the rest.
        let function = self
            .functions
            .iter()
            .rfind(|function| function.start == start && function.size != 0)?;

        let offset = u32::try_from(pc - start)
            .ok()
            .filter(|offset| *offset < function.size)?;
        let wanted = function
            .block
            .map_or(offset, |block| offset % u32::from(block));
        let mut rows = function.rows.as_ref()?.iter();
        rows.rfind(|row| row.start <= wanted).map(|row| row.rule)
    }

    /// Whether more empty functions share a start than the parser is willing to look at.
    pub(super) fn is_crowded(&self) -> bool {
        self.functions.windows(9).any(|functions| {
            functions
                .iter()
                .all(|function| function.size == 0 && function.start == functions[0].start)
        })
    }

    /// All addresses at which the answer may change, and those before, without a pair twice.
    pub(super) fn boundaries(&self) -> Vec<u64> {
        let mut addresses = vec![0, u64::MAX];

        for function in &self.functions {
            let mut add = |offset: u64| {
                let address = function.start.saturating_add(offset);
                addresses.extend([address.saturating_sub(1), address]);
            };
            let size = u64::from(function.size);
            add(0);
            add(size);
            let blocks = match function.block.map(u64::from) {
                None => vec![0],
                Some(block) => vec![0, block, size / block * block, size.saturating_sub(block)],
            };
            for block in blocks {
                add(block);
                for row in function.rows.iter().flatten() {
                    add(block + u64::from(row.start));
                }
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}

impl Function {
    /// Decodes the function whose attribute is at byte `at` of `rows`.
    fn decode(rows: &[u8], at: u64, start: u64, size: u32) -> Option<Self> {
        let count = bytes_at(rows, at).map(u16::from_le_bytes)?;
        let info = u8_at(rows, at + 2)?;
        let kind = u8_at(rows, at + 3)?;
        let block = u8_at(rows, at + 4)?;
        let start_width = width(info & 0xf)?;
        // Of another architecture, or unused.
        if info & 0x60 != 0 || kind > 1 {
            return None;
        }
        let block = (info & 0x10 != 0).then_some(block);
        if block == Some(0) {
            return None;
        }
        let limit = block.map_or(size, u32::from);

        let mut at = at + 5;
        let mut decoded: Vec<Row> = Vec::new();
        for _ in 0..count {
            let row_start = unsigned_at(rows, at, start_width)?;
            let (rule, row_len) = if kind == 0 {
                Row::decode(rows, at + start_width)?
            } else {
                // Only its length is of interest.
                let info = u8_at(rows, at + start_width)?;
                let row_len = 1 + u64::from(info >> 1 & 0xf) * width(info >> 5 & 3)?;
                (Rule::Outermost, row_len)
            };
            let ascends = decoded.last().is_none_or(|row| row.start < row_start);
            // An empty function has rows all the same, which hold nowhere.
            if !ascends || (row_start >= limit && size != 0) {
                return None;
            }
            decoded.push(Row {
                start: row_start,
                rule,
            });
            at += start_width + row_len;
        }
        (at <= rows.len() as u64).then_some(Self {
            start,
            size,
            block,
            rows: (kind == 0).then_some(decoded),
        })
    }
}

impl Row {
    /// Decodes the row whose information byte is at byte `at` of `rows`; also says its length
    /// without its start.
    fn decode(rows: &[u8], at: u64) -> Option<(Rule, u64)> {
        let info = u8_at(rows, at)?;
        let words = u64::from(info >> 1 & 0xf);
        let width = width(info >> 5 & 3)?;
        let word = |nth: u64| signed_at(rows, at + 1 + nth * width, width);
        let frame = |fp| {
            Some(Rule::Frame(Frame {
                base: if info & 1 == 1 { Base::Sp } else { Base::Fp },
                cfa: word(0)?,
                ra: -8,
                fp,
            }))
        };

        if info & 0x80 != 0 {
            return None;
        }
        let rule = match words {
            0 if info == 0 => Rule::Outermost,
            1 => frame(None)?,
            // What is at the CFA itself is the caller's.
            2 => frame(Some(NonZeroI32::new(word(1)?)?))?,
            _ => return None,
        };
        Some((rule, 1 + words * width))
    }
}
