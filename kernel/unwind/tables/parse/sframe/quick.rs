// SPDX-License-Identifier: GPL-2.0

//! The usual case of a lookup: few rows, of the default kind, that start within 256 bytes.
//!
//! A lookup is made for each frame of a stack, and nearly all end here. What is unusual in any way,
//! or wrong, is left to a [`Walk`](super::row::Walk), which has an answer for everything.

use super::{
    super::Rule,
    abi::Abi,
    row::{
        Attribute,
        Lengths,
        Width, //
    },
    search::{
        Place,
        FIRST,
        PEEK, //
    },
    words::default_rule, //
};

/// The rule of the row for `wanted`, counted from the start of a function of `size` bytes at
/// `place`. None says nothing.
///
/// These few rows are paid for with the search.
#[inline(always)]
pub(super) fn rule<A: Abi>(place: &Place, size: u32, wanted: u32) -> Option<Rule> {
    let bytes = &place.bytes;
    // Where a row may start, so that its information byte is there.
    let last = (place.filled as usize).checked_sub(2)?.min(FIRST - 2);
    let mut left = Attribute::rows_of_usual::<A>(*bytes.first_chunk()?)?;
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
        let (start, info) = A::start_and_info(peek(bytes, at)?, Width::One);
        left = left.wrapping_sub(1);
        if start > wanted {
            if start >= size {
                return None;
            }
            break;
        }
        let length = usize::from(*Lengths::<A>::DEFAULT.get(usize::from(info))?);
        // A start of one byte is no negative number.
        if start as i32 <= before || length == 0 {
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
    let (_, info) = A::start_and_info(peek(bytes, found)?, Width::One);

    default_rule::<A>(info, peek(bytes, found.wrapping_add(2))?)
}

#[inline(always)]
fn peek(bytes: &[u8; FIRST + PEEK], at: usize) -> Option<[u8; PEEK]> {
    bytes.get(at..)?.first_chunk().copied()
}
