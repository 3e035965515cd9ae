// SPDX-License-Identifier: GPL-2.0

//! The usual case of a lookup: few rows, of the default kind, that start within 256 bytes.
//!
//! A lookup is made for each frame of a stack, and nearly all end here. What is unusual in any way,
//! or wrong, is left to a [`Walk`](super::row::Walk), which has an answer for everything.

use super::{
    super::{
        Reader,
        Rule, //
    },
    abi::Abi,
    row::{
        Attribute,
        Lengths,
        Width, //
    },
    window::{
        Window,
        FIRST, //
    },
    words::default_rule, //
};

/// The rule of the row for `wanted`, counted from the start of a function of `size` bytes whose
/// attribute and rows `window` was opened at.
///
/// `None` only means that a [`Walk`](super::row::Walk) has to decide.
///
/// These few rows are paid for with the search.
#[inline(always)]
pub(super) fn rule<A: Abi, R: Reader>(
    window: &Window<'_, A, R>,
    size: u32,
    wanted: u32,
) -> Option<Rule> {
    // Where a row may start, so that its information byte is there.
    let last = window.filled().checked_sub(2)?.min(FIRST - 2);
    let mut left = Attribute::rows_of_usual::<A>(window.at(0)?)?;
    let mut at = Attribute::SIZE;
    let mut before = -1;
    let mut found = 0;

    if left == 0 {
        return None;
    }
    loop {
        if at > last {
            return None;
        }
        let (start, info) = A::start_and_info(window.at(at)?, Width::One);
        left = left.wrapping_sub(1);
        let length = usize::from(*Lengths::<A>::DEFAULT.get(usize::from(info))?);
        if length == 0 {
            return None;
        }
        if start > wanted {
            if start >= size {
                return None;
            }
            break;
        }
        // A start of one byte is no negative number.
        if start as i32 <= before {
            return None;
        }
        before = start as i32;
        found = at;
        at = at.wrapping_add(length).wrapping_add(1);
        if left == 0 {
            // All rows are at or below `wanted`.
            if at > last.wrapping_add(2) {
                return None;
            }
            break;
        }
    }
    // Now there are all words of the last row at or below `wanted`, if there is one.
    if found == 0 {
        return None;
    }
    let (_, info) = A::start_and_info(window.at(found)?, Width::One);

    default_rule::<A>(info, window.at(found.wrapping_add(2))?)
}
