// SPDX-License-Identifier: GPL-2.0

//! One lookup in arbitrary bytes.

use super::input::{Input, Target};
use crate::check;
use crate::parse::Arch;

struct Lookup;

impl Target for Lookup {
    fn run<A: Arch>(&self, input: &Input<'_>) {
        let look =
            || check::sframe::<A>(&input.memory(&[]), input.base, input.pc, input.units).result;

        assert_eq!(look(), look(), "the same lookup twice");
    }
}

pub(crate) fn lookup(data: &[u8]) {
    if let Some(input) = Input::new(data) {
        input.run(&Lookup);
    }
}
