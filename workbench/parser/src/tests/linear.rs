// SPDX-License-Identifier: GPL-2.0

//! A simple second reader of tables, for a comparison with the parser.
//!
//! It was written from the specification, in another way than the parser: it decodes the whole
//! table at once, checks all of it, and searches all functions in their order.

use crate::listing::{Function, Row, Table};
use crate::parse::{Key, Register, Rule, Value};
use crate::vectors::Arch;

/// Flags of the header: functions are sorted; a start is relative to its own field.
const SORTED: u64 = 1;
const PC_RELATIVE: u64 = 4;

/// Bytes, in which numbers have their least significant byte first.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// The unsigned number of `width` bytes at `at`.
    fn number(self, at: u64, width: u64) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let bytes = self.0.get(at..)?.get(..width as usize)?.iter();

        Some(bytes.rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn part(self, start: u64, end: u64) -> Option<Self> {
        let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
        self.0.get(range).map(Self)
    }
}

/// A data word.
#[derive(Clone, Copy)]
struct Word {
    value: u64,
    /// The number of its bytes.
    width: u64,
}

impl Word {
    fn signed(self) -> i64 {
        let unused = 64 - 8 * self.width;

        ((self.value << unused) as i64) >> unused
    }

    fn offset(self) -> Option<i32> {
        i32::try_from(self.signed()).ok()
    }
}

/// The number of bytes that a code means.
fn width(code: u64) -> Option<u64> {
    [1, 2, 4].get(usize::try_from(code).ok()?).copied()
}

/// The register of a DWARF number.
fn register(arch: Arch, number: u64) -> Option<Register> {
    Some(match (arch, number) {
        (Arch::Amd64, 7) | (Arch::AArch64, 31) => Register::Sp,
        (Arch::Amd64, 6) | (Arch::AArch64, 29) => Register::Fp,
        (Arch::Amd64, 0..16) | (Arch::AArch64, 0..32) => Register::Other(number as u8),
        _ => return None,
    })
}

/// The place of the RA if the words do not say it.
fn default_ra(arch: Arch) -> Value {
    match arch {
        Arch::Amd64 => Value::AtCfa(-8),
        _ => Value::Unchanged,
    }
}

/// The rule of a row of a default function.
fn default_rule(arch: Arch, base: Register, words: &[Word]) -> Option<Rule> {
    let saved = |word: &Word| word.offset().map(Value::AtCfa);
    let (cfa, ra, fp) = match (arch, words) {
        (_, [cfa]) => (cfa, default_ra(arch), Value::Unchanged),
        (Arch::Amd64, [cfa, fp]) => (cfa, default_ra(arch), saved(fp)?),
        (Arch::AArch64, [cfa, ra]) => (cfa, saved(ra)?, Value::Unchanged),
        (Arch::AArch64, [cfa, ra, fp]) => (cfa, saved(ra)?, saved(fp)?),
        _ => return None,
    };

    Rule::frame(Value::Register(base, cfa.offset()?), ra, fp)
}

/// The meaning of a control word and an offset.
fn pair(arch: Arch, control: Word, offset: i32) -> Option<Value> {
    let number = control.value >> 3;

    match control.value & 7 {
        1 => Some(Value::Register(register(arch, number)?, offset)),
        3 => Some(Value::AtRegister(register(arch, number)?, offset)),
        2 if number == 0 => Some(Value::AtCfa(offset)),
        _ => None,
    }
}

/// The rule of a row of a flexible function.
fn flexible_rule(arch: Arch, words: &[Word]) -> Option<Rule> {
    let [control, offset, tracked @ ..] = words else {
        return None;
    };
    let cfa = pair(arch, *control, offset.offset()?)?;
    let say = |control: &Word, offset: &Word| pair(arch, *control, offset.offset()?);
    let (ra, fp) = match tracked {
        [] => (default_ra(arch), Value::Unchanged),
        [ra, ra_offset] => (say(ra, ra_offset)?, Value::Unchanged),
        [Word { value: 0, .. }, fp, fp_offset] => (default_ra(arch), say(fp, fp_offset)?),
        [ra, ra_offset, fp, fp_offset] => (say(ra, ra_offset)?, say(fp, fp_offset)?),
        _ => return None,
    };

    // `Rule::frame()` refuses a CFA that is relative to the CFA.
    Rule::frame(cfa, ra, fp)
}

/// Decodes the table `bytes` at address `base`. Returns nothing if a part of it is malformed,
/// or not supported.
pub(super) fn decode(arch: Arch, bytes: &[u8], base: u64) -> Option<Table> {
    let len = bytes.len() as u64;
    let bytes = Bytes(bytes);
    let number = |at, width| bytes.number(at, width);
    let (id, fixed_ra) = match arch {
        Arch::AArch64 => (2, 0),
        Arch::Amd64 => (3, 0xf8),
    };
    if number(0, 2)? != 0xdee2 || number(2, 1)? != 3 {
        return None;
    }
    let flags = number(3, 1)?;
    if flags & SORTED == 0 || flags & !(SORTED | PC_RELATIVE) != 0 {
        return None;
    }
    if number(4, 1)? != id || number(5, 1)? != 0 || number(6, 1)? != fixed_ra {
        return None;
    }
    let end_of_header = 28 + number(7, 1)?;
    let count = number(0x08, 4)?;
    let rows_len = number(0x10, 4)?;
    let index = end_of_header + number(0x14, 4)?;
    let rows_start = end_of_header + number(0x18, 4)?;
    let index_end = index + 16 * count;
    let rows_end = rows_start + rows_len;
    let apart = index_end <= rows_start || rows_end <= index;
    if index_end > len || rows_end > len || !apart {
        return None;
    }
    let rows = bytes.part(rows_start, rows_end)?;

    let mut functions = Vec::new();
    for entry in (index..index_end).step_by(16) {
        let offset = number(entry, 8)? as i64;
        let from = if flags & PC_RELATIVE == 0 {
            i128::from(base)
        } else {
            i128::from(base) + i128::from(entry)
        };
        // The start may wrap, but not the end.
        let start = (from + i128::from(offset)) as u64;
        let size = number(entry + 8, 4)? as u32;
        start.checked_add(size.into())?;
        functions.push(function(arch, rows, number(entry + 12, 4)?, start, size)?);
    }
    Some(Table(functions)).filter(Table::is_sorted)
}

/// Decodes the function whose attribute is at byte `at` of `rows`.
fn function(arch: Arch, rows: Bytes<'_>, at: u64, start: u64, size: u32) -> Option<Function> {
    let count = rows.number(at, 2)?;
    let info = rows.number(at + 2, 1)?;
    let kind = rows.number(at + 3, 1)?;
    let block = rows.number(at + 4, 1)? as u8;
    let start_width = width(info & 0xf)?;
    let key = match (arch, info & 0x20) {
        (_, 0) => Key::A,
        (Arch::AArch64, _) => Key::B,
        _ => return None,
    };
    // An unused bit, and unknown kinds.
    if info & 0x40 != 0 || kind > 1 {
        return None;
    }
    let block = match (info & 0x10, block) {
        (0, 0) => None,
        (0, _) | (_, 0) => return None,
        (_, block) => Some(block),
    };
    let mut function = Function {
        start,
        size,
        block,
        flexible: kind == 1,
        signal: info & 0x80 != 0,
        key,
        rows: Vec::new(),
    };
    // A row at the end applies to no address.
    let limit = block.map_or(size, u32::from);

    let mut at = at + 5;
    for _ in 0..count {
        let start = rows.number(at, start_width)? as u32;
        let (rule, len) = rule(&function, arch, rows, at + start_width)?;
        let descends = function.rows.last().is_some_and(|row| row.start > start);
        if descends || start > limit {
            return None;
        }
        function.rows.push(Row { start, rule });
        at += start_width + len;
    }
    Some(function)
}

/// Decodes the row whose information byte is at byte `at` of `rows`. Also returns the length of
/// the row without its start.
fn rule(function: &Function, arch: Arch, rows: Bytes<'_>, at: u64) -> Option<(Rule, u64)> {
    let info = rows.number(at, 1)?;
    let count = info >> 1 & 0xf;
    let width = width(info >> 5 & 3)?;
    let words: Vec<Word> = (0..count)
        .map(|nth| {
            let value = rows.number(at + 1 + nth * width, width)?;
            Some(Word { value, width })
        })
        .collect::<Option<_>>()?;
    let signed = info & 0x80 != 0;

    if signed && arch != Arch::AArch64 {
        return None;
    }
    let rule = match (words.is_empty(), function.flexible) {
        (true, _) if info == 0 => Rule::outermost(),
        (true, _) => return None,
        (false, true) if info & 1 != 0 => return None,
        (false, true) => flexible_rule(arch, &words)?,
        (false, false) => {
            let base = if info & 1 != 0 { Register::Sp } else { Register::Fp };
            default_rule(arch, base, &words)?
        }
    };
    let rule = rule.with_signal(function.signal).with_signed_ra(signed.then_some(function.key));
    Some((rule, 1 + count * width))
}
