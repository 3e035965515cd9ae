// SPDX-License-Identifier: GPL-2.0

//! How much of the code each side is about.

use crate::cfi::Fde;
use crate::elf::Elf;
use crate::parse::sframe::Function;
use crate::ranges::{Range, Ranges};
use crate::report::{Code, Coverage};

fn range(function: &Function) -> Range {
    let end = function.start.saturating_add(function.size.into());

    (function.start, end)
}

/// How much of the code of a file its table and its `.eh_frame` are about.
pub fn coverage(elf: &Elf<'_>, functions: &[Function], fdes: &[Fde]) -> Coverage {
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
        code: elf
            .code()
            .into_iter()
            .map(|(name, range)| Code {
                name,
                address: range.0,
                bytes: range.1 - range.0,
                sframe: sframe.count_in(range),
                eh_frame: eh_frame.count_in(range),
            })
            .collect(),
    }
}
