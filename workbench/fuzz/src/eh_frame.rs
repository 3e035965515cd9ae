// SPDX-License-Identifier: GPL-2.0

//! One lookup in `.eh_frame`, which may change while it is read.

use crate::check::{check_malformed, check_rule};
use crate::input::{Input, Target};
use crate::memory::Memory;
use crate::parse::eh_frame::{Abi, Header, Unsupported};
use crate::parse::{Budget, Error, Rule, sframe};

/// Units of a search, and of a block of 64 bytes.
const SEARCH: u32 = 32;
const BLOCK: u32 = 7;
/// What a lookup may cost: a table that repeats itself uses up any budget.
const MOST: u32 = 27 * 1024;

/// The bytes of a lookup's reads, where the index is, and the table that `input` has.
struct Lookup<'a> {
    script: &'a [u8],
    place: u16,
}

impl Target for Lookup<'_> {
    fn run<A: sframe::Abi + Abi>(&self, input: &Input<'_>) {
        let look = || self.look::<A>(input);

        assert_eq!(look(), look(), "the same lookup twice");
    }
}

impl Lookup<'_> {
    fn look<A: Abi>(&self, input: &Input<'_>) -> Result<Rule, Error> {
        let len = u32::try_from(input.len).unwrap_or(u32::MAX);
        let memory = Memory::changing(input, self.script);
        let mut budget = Budget::new(input.units);
        let header = Header::<A>::read(&memory, self.place.into(), len);
        let header_reads = memory.reads();
        // The frame pointer, or another register in its place.
        let tracked = [A::FP, 3, 12][(input.pc % 3) as usize];
        let result = match &header {
            Ok(header) => header.rule_of(tracked, &memory, input.base, input.pc, &mut budget),
            Err(error) => Err(*error),
        };

        assert!(header_reads <= 2, "a header in {header_reads} pieces");
        let spent = input.units - budget.left();
        let reads = memory.reads() - header_reads;
        assert!(
            reads <= SEARCH + spent.saturating_sub(SEARCH) / BLOCK,
            "{reads} reads for {spent} units"
        );
        assert_eq!(result == Err(Error::Fault), memory.faulted());
        match result {
            Ok(rule) => check_rule::<A>(rule, A::LINK_REGISTER),
            Err(Error::Malformed(malformed)) => check_malformed(malformed, len.into()),
            Err(Error::Unsupported(cause)) => assert!(Unsupported::ALL.contains(&cause)),
            Err(Error::Budget) => assert_eq!(budget.left(), 0, "a budget was not used up"),
            Err(Error::NotFound | Error::Fault) => {}
        }
        if let Ok(header) = header
            && !memory.faulted()
        {
            self.look_on(input, &memory, &header);
        }
        result
    }

    /// Looks other addresses up, with what the first has found in the CIE; it may have changed.
    fn look_on<A: Abi>(&self, input: &Input<'_>, memory: &Memory<'_>, header: &Header<A>) {
        let mut known = None;

        for offset in [0, 1, 16] {
            let mut budget = Budget::new(input.units);
            let pc = input.pc.wrapping_add(offset);

            if memory.faulted() {
                break;
            }
            if let Ok(rule) = header.rule_with(&mut known, memory, input.base, pc, &mut budget) {
                check_rule::<A>(rule, A::LINK_REGISTER);
            }
        }
    }
}

/// Looks an address up in a table that changes while it is read.
///
/// The length of the script and the place of the index, of two bytes each, and the script stand
/// before the table's bytes.
pub fn eh_frame(data: &[u8]) {
    if let Some(input) = Input::new(data)
        && let Some((len, rest)) = input.table.split_first_chunk()
        && let Some((place, rest)) = rest.split_first_chunk()
        && let Some((script, table)) = rest.split_at_checked(u16::from_le_bytes(*len).into())
    {
        let place = u16::from_le_bytes(*place);
        let units = input.units.min(MOST);
        let input = Input { units, ..input };

        input.with_table(table).run(&Lookup { script, place });
    }
}
