// SPDX-License-Identifier: GPL-2.0

//! One lookup in `.eh_frame`, which may change between reads.

use super::input::{Input, Target};
use crate::check;
use crate::memory::Memory;
use crate::parse::{Arch, Error, Rule};

/// The most units. A lookup in a table that repeats its bytes takes all of any number.
const MOST: u32 = 27 * 1024;

/// The script of the reads, and the place of the index.
struct Lookup<'a> {
    script: &'a [u8],
    place: u16,
}

impl Target for Lookup<'_> {
    fn run<A: Arch>(&self, input: &Input<'_>) {
        let look = || self.look::<A>(input);

        assert_eq!(look(), look(), "the same lookup twice");
    }
}

impl Lookup<'_> {
    fn look<A: Arch>(&self, input: &Input<'_>) -> Result<Rule, Error> {
        let &Input { base, pc, units, .. } = input;
        let memory = Memory::scripted(input.table, input.len, input.repeats, self.script);
        // The frame pointer, or another register in its place.
        let tracked = [A::FP, 3, 12][(pc % 3) as usize];
        check::eh_frame::<A>(&memory, self.place.into(), base, pc, tracked, units).result
    }
}

/// Looks an address up in a table that changes between reads.
///
/// The length of the script and the place of the index (two bytes each) and the script precede the
/// table's bytes.
pub(crate) fn eh_frame(data: &[u8]) {
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
