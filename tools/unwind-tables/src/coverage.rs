// SPDX-License-Identifier: GPL-2.0

//! How much of the code each side is about.

use crate::arch::Arch;
use crate::cfi::Fde;
use crate::elf::Elf;
use crate::parse::sframe::Function;
use crate::ranges::{Range, Ranges};
use crate::report::{Amounts, Code, Coverage, KEPT, Text, Uncovered};

fn range(function: &Function) -> Range {
    let end = function.start.saturating_add(function.size.into());

    (function.start, end)
}

/// Which functions the table of a file and its `.eh_frame` are about.
pub fn coverage(functions: &[Function], fdes: &[Fde]) -> Coverage {
    let sframe = Ranges::new(functions.iter().map(range).collect());
    let eh_frame = Ranges::new(fdes.iter().map(|fde| (fde.start, fde.end)).collect());
    let alone = |range: &Range, others: &Ranges| others.count_in(*range) == 0;

    Coverage {
        functions_without_fde: functions
            .iter()
            .map(range)
            .filter(|range| range.0 != range.1 && alone(range, &eh_frame))
            .count() as u64,
        fdes: fdes.len() as u64,
        fdes_without_function: fdes
            .iter()
            .filter(|fde| alone(&(fde.start, fde.end), &sframe))
            .count() as u64,
        ..Coverage::default()
    }
}

/// Addresses by what the kernel finds for them in one table.
#[derive(Default)]
pub struct Spans {
    rule: Vec<Range>,
    unsupported: Vec<Range>,
    malformed: Vec<Range>,
}

impl Spans {
    pub fn add_rule(&mut self, range: Range) {
        add(&mut self.rule, range);
    }

    pub fn add_unsupported(&mut self, range: Range) {
        add(&mut self.unsupported, range);
    }

    pub fn add_malformed(&mut self, range: Range) {
        add(&mut self.malformed, range);
    }

    /// What the table says anything about.
    fn all(&self) -> Vec<Range> {
        [&self.rule[..], &self.unsupported, &self.malformed].concat()
    }
}

/// Whether a range is filled to its end: it is never run.
fn is_filled<A: Arch>(elf: &Elf<'_>, (start, end): Range) -> bool {
    let Some((bytes, _)) = elf.loaded_at(start) else {
        return false;
    };
    let len = usize::try_from(end - start).unwrap_or(usize::MAX);
    let Some(mut bytes) = bytes.get(..len) else {
        return false;
    };
    while !bytes.is_empty() {
        match bytes.get(A::filler(bytes)..) {
            Some(rest) if rest.len() < bytes.len() => bytes = rest,
            _ => return false,
        }
    }
    true
}

/// How many bytes of a range are filled, in gaps that are filled to their end.
fn padding<A: Arch>(elf: &Elf<'_>, known: &Ranges, range: Range) -> u64 {
    // All that no table is about would be one gap.
    let gaps = known.gaps_in(range).filter(|gap| *gap != range);
    gaps.filter(|gap| is_filled::<A>(elf, *gap))
        .map(|(start, end)| end - start)
        .sum()
}

/// The code of a part that no table is about, piece by piece; of what stands there only to fill a
/// gap, nothing.
fn uncovered<A: Arch>(elf: &Elf<'_>, known: &Ranges, part: &Code) -> Vec<Uncovered> {
    let range = (part.address, part.address.saturating_add(part.bytes));

    known
        .gaps_in(range)
        .flat_map(|gap| elf.named_parts(gap))
        .filter(|(_, piece)| piece.0 < piece.1 && !is_filled::<A>(elf, *piece))
        .map(|(name, (start, end))| Uncovered {
            name: name.unwrap_or_else(|| part.name.clone()),
            address: start,
            bytes: end - start,
        })
        .collect()
}

/// Adds a range, to the last one if it follows that.
fn add(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.1 == range.0 => last.1 = range.1.max(last.1),
        _ => ranges.push(range),
    }
}

/// The code of a file by what the kernel finds for it.
pub struct Covered {
    pub text: Text,
    pub sframe: Amounts,
    pub eh_frame: Amounts,
    pub parts: Vec<Code>,
    /// The largest pieces without a table, and how many there are.
    pub uncovered: Vec<Uncovered>,
    pub uncovered_pieces: u64,
}

/// One table, to be counted.
struct Side {
    rule: Ranges,
    unsupported: Ranges,
    malformed: Ranges,
}

impl Side {
    fn new(spans: Spans) -> Self {
        Self {
            rule: Ranges::new(spans.rule),
            unsupported: Ranges::new(spans.unsupported),
            malformed: Ranges::new(spans.malformed),
        }
    }

    /// Adds what it is about of a part of the code to `sum`.
    fn count(&self, range: Range, sum: &mut Amounts) {
        let [rule, unsupported, malformed] =
            [&self.rule, &self.unsupported, &self.malformed].map(|ranges| ranges.count_in(range));
        let rest = (range.1 - range.0).saturating_sub(rule);
        // A damaged table may say several things of an address.
        let unsupported = unsupported.min(rest);
        let malformed = malformed.min(rest - unsupported);

        for (sum, bytes) in [
            (&mut sum.rule, rule),
            (&mut sum.unsupported, unsupported),
            (&mut sum.malformed, malformed),
            (&mut sum.nothing, rest - unsupported - malformed),
        ] {
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// Counts how much of the code the kernel finds a rule for: in the SFrame table, and where there is
/// none in `.eh_frame`.
pub fn code<A: Arch>(elf: &Elf<'_>, sframe: Spans, eh_frame: Spans) -> Covered {
    let known = Ranges::new([sframe.all(), eh_frame.all()].concat());
    let both = [&sframe.rule[..], &eh_frame.rule].concat();
    let both = Ranges::new(both);
    let (sframe, eh_frame) = (Side::new(sframe), Side::new(eh_frame));
    let mut covered = Covered {
        text: Text::default(),
        sframe: Amounts::default(),
        eh_frame: Amounts::default(),
        parts: Vec::new(),
        uncovered: Vec::new(),
        uncovered_pieces: 0,
    };

    for (name, range) in elf.code() {
        let part = Code {
            name,
            address: range.0,
            bytes: range.1 - range.0,
            sframe: sframe.rule.count_in(range),
            eh_frame: eh_frame.rule.count_in(range),
            unwound: both.count_in(range),
        };
        let text = &mut covered.text;

        for (sum, bytes) in [
            (&mut text.bytes, part.bytes),
            (&mut text.unwound, part.unwound),
            (&mut text.by_sframe, part.sframe),
            (&mut text.by_eh_frame, part.unwound - part.sframe),
            (&mut text.padding, padding::<A>(elf, &known, range)),
        ] {
            *sum = sum.saturating_add(bytes);
        }
        sframe.count(range, &mut covered.sframe);
        eh_frame.count(range, &mut covered.eh_frame);
        covered.uncovered.extend(uncovered::<A>(elf, &known, &part));
        covered.parts.push(part);
    }
    covered
        .uncovered
        .sort_by_key(|piece| (u64::MAX - piece.bytes, piece.address));
    covered.uncovered_pieces = covered.uncovered.len() as u64;
    covered.uncovered.truncate(KEPT);
    covered
}
