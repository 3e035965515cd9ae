// SPDX-License-Identifier: GPL-2.0

//! One lookup in bytes that change while they are read.

use super::input::{Input, Target};
use crate::check;
use crate::parse::{eh_frame, sframe};

/// What happens at each read: see `Behaviour::Script`.
struct Changing<'a>(&'a [u8]);

impl Target for Changing<'_> {
    fn run<A: sframe::Abi + eh_frame::Abi>(&self, input: &Input<'_>) {
        // Anything may be found.
        let memory = input.memory(self.0);
        check::sframe::<A>(&memory, input.base, input.pc, input.units);
    }
}

/// Looks an address up in bytes that change while they are read.
///
/// The length of the script, of two bytes, and the script stand before the table's bytes.
pub(crate) fn changing(data: &[u8]) {
    if let Some(input) = Input::new(data)
        && let Some((script, input)) = input.script()
    {
        input.run(&Changing(script));
    }
}
