// SPDX-License-Identifier: GPL-2.0

//! Whole tables: searches and the listing agree.

use super::input::{ENOUGH, Input, Target};
use crate::check;
use crate::listing::{self, Function};
use crate::memory::Memory;
use crate::parse::sframe::Header;
use crate::parse::{Arch, Error, Rule};

/// The cost of a listing. A table whose listing costs more is not compared.
const UNITS: u32 = 20_000;
/// The number of functions before the last one at the same start that a search looks at.
const EQUALS: usize = 8;

/// Reads a function and all its rows, and checks them.
fn listed<A: Arch>(
    header: &Header<A>,
    memory: &Memory<'_>,
    base: u64,
    nth: u32,
) -> Option<Function> {
    let function = listing::function(header, memory, base, nth).ok()?;
    let rows = &function.rows;
    let limit = function.block.map_or(function.size, u32::from);

    assert!(function.start.checked_add(function.size.into()).is_some());
    assert!(rows.is_sorted_by_key(|row| row.start));
    assert!(rows.iter().all(|row| row.start <= limit));
    Some(function)
}

impl Function {
    /// The rule at byte `offset` of the function.
    fn rule(&self, offset: u64) -> Result<Rule, Error> {
        let wanted = self.block.map_or(offset, |block| offset % u64::from(block));
        let below = self.rows.iter().rfind(|row| u64::from(row.start) <= wanted);

        if offset >= self.size.into() {
            Err(Error::NotFound)
        } else if self.rows.is_empty() && self.signal {
            Ok(Rule::signal_frame())
        } else {
            below.map(|row| row.rule).ok_or(Error::NotFound)
        }
    }

    /// The offsets where the rule may change, and those before, in the first and the last block.
    fn places(&self) -> impl Iterator<Item = u64> {
        let size = u64::from(self.size);
        let end = size.saturating_sub(1);
        let last = self.block.map_or(0, |block| end - end % u64::from(block));
        let starts = self.rows.iter().map(|row| u64::from(row.start));

        starts
            .flat_map(move |start| [start, last + start])
            .chain([0, last, size])
            .flat_map(|place| [place, place.saturating_sub(1)])
    }
}

/// Lists a table, unless a part of it is malformed or it is not sorted.
fn list<A: Arch>(header: &Header<A>, memory: &Memory<'_>, base: u64) -> Option<Vec<Function>> {
    memory.allow(UNITS);
    let listed: Option<Vec<_>> =
        (0..header.functions).map(|nth| listed(header, memory, base, nth)).collect();

    listed.filter(|all| all.is_sorted_by_key(|function| function.start))
}

/// The start of the next function, if a search finds the first of `functions`.
///
/// If functions share a start, a search finds the last one that is not empty, unless more than
/// `EQUALS` follow it.
fn visible(functions: &[Function]) -> Option<u64> {
    let (first, rest) = functions.split_first()?;
    let start = first.start;
    let equals = rest.partition_point(|next| next.start == start);
    let hidden = rest[..equals].iter().any(|next| next.size != 0);
    let next = rest.get(equals).map_or(u64::MAX, |next| next.start);

    (first.size != 0 && !hidden && equals <= EQUALS).then_some(next)
}

struct Mutate;

impl Mutate {
    /// A lookup with a budget that is enough.
    fn rule<A: Arch>(input: &Input<'_>, pc: u64) -> Result<Rule, Error> {
        check::sframe::<A>(&input.memory(&[]), input.base, pc, ENOUGH).result
    }

    /// Compares the rules of each function that a search finds with the listed ones.
    fn compare<A: Arch>(input: &Input<'_>, all: &[Function]) {
        for nth in 0..all.len() {
            let Some(next) = visible(&all[nth..]) else {
                continue;
            };
            let listed = &all[nth];
            for offset in listed.places() {
                let pc = listed.start.saturating_add(offset);
                if pc < next {
                    let found = Self::rule::<A>(input, pc);
                    // A search reads larger pieces than a listing, so it may touch the unreadable
                    // part.
                    if found != Err(Error::Fault) || !input.has_hole() {
                        assert_eq!(found, listed.rule(offset), "at {pc:#x}, function {nth}");
                    }
                }
            }
        }
        if let Some(before) = all.first().and_then(|all| all.start.checked_sub(1)) {
            assert_eq!(Self::rule::<A>(input, before), Err(Error::NotFound));
        }
    }
}

impl Target for Mutate {
    fn run<A: Arch>(&self, input: &Input<'_>) {
        let memory = input.memory(&[]);
        let Ok(header) = Header::<A>::read(&memory, input.len) else {
            return;
        };
        let _ = Self::rule::<A>(input, input.pc);

        // Other functions of the table may be malformed.
        let distance = input.pc.wrapping_sub(input.base) & 0xff;
        memory.allow(UNITS);
        for nth in (0..header.functions).take(16) {
            let Ok(function) = listing::function(&header, &memory, input.base, nth) else {
                break;
            };
            for pc in [function.start, function.start.wrapping_add(distance)] {
                let _ = Self::rule::<A>(input, pc);
            }
        }
        if let Some(all) = list(&header, &input.memory(&[]), input.base) {
            Self::compare::<A>(input, &all);
        }
    }
}

/// Lists a table, and looks each listed function up.
pub(crate) fn mutate(data: &[u8]) {
    if let Some(input) = Input::new(data) {
        input.run(&Mutate);
    }
}
