// SPDX-License-Identifier: GPL-2.0

//! One lookup in bytes that change while they are read.

use crate::check;
use crate::input::{Input, Target};
use crate::memory::Memory;
use crate::parse::sframe::Abi;

/// What happens at each read: see [`Memory::changing`].
struct Changing<'a>(&'a [u8]);

impl Target for Changing<'_> {
    fn run<A: Abi>(&self, input: &Input<'_>) {
        let memory = Memory::changing(input, self.0);

        // Anything may be found.
        let _ = check::lookup::<A>(&memory, input.len, input.base, input.pc, input.units);
    }
}

/// Looks an address up in bytes that change while they are read.
///
/// The length of the script, of two bytes, and the script stand before the table's bytes.
pub fn changing(data: &[u8]) {
    if let Some(input) = Input::new(data)
        && let Some((len, rest)) = input.table.split_first_chunk()
        && let Some((script, table)) = rest.split_at_checked(u16::from_le_bytes(*len).into())
    {
        input.with_table(table).run(&Changing(script));
    }
}
