// SPDX-License-Identifier: GPL-2.0

//! One lookup in any bytes.

use crate::check;
use crate::input::{Input, Target};
use crate::memory::Memory;
use crate::parse::sframe::Abi;

struct Lookup;

impl Target for Lookup {
    fn run<A: Abi>(&self, input: &Input<'_>) {
        let look = || {
            let memory = Memory::new(input);
            check::lookup::<A>(&memory, input.len, input.base, input.pc, input.units)
        };

        assert_eq!(look(), look(), "the same lookup twice");
    }
}

/// Looks an address up in any bytes.
pub fn lookup(data: &[u8]) {
    if let Some(input) = Input::new(data) {
        input.run(&Lookup);
    }
}
