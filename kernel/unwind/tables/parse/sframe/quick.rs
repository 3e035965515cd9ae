// SPDX-License-Identifier: GPL-2.0

//! The usual case of a lookup: rows of the default kind.
//!
//! A lookup is made for each frame of a stack, and nearly all end here. What is unusual in any way,
//! or wrong, is left to a [`Walk`](super::row::Walk), which has an answer for everything.

use super::{
    super::{
        Budget,
        Error,
        Reader,
        Rule, //
    },
    abi::Abi,
    function::Function,
    header::Header,
    row::{
        Attribute,
        Lengths,
        Width, //
    },
    words::default_rule, //
};

/// Bytes of rows that are read at once.
const READ: usize = 120;
/// Bytes of a small function's attribute and rows that are read: most have less.
const FIRST: usize = 40;
/// Bytes of text that a small function has at most: a byte says where its rows start.
const SMALL: u32 = 256;
/// Bytes that can be looked at without knowing how many there are.
const PEEK: usize = 8;
/// In place of a row: there is none.
const NONE: usize = usize::MAX;

/// The rows of a function of the default kind, read through a window that moves forward.
struct Rows<'a, A, R> {
    header: &'a Header<A>,
    reader: &'a R,
    function: &'a Function,
    /// Where the window starts, in bytes from the start of the table's rows.
    start: u32,
    /// How many bytes it has.
    filled: usize,
    /// With some more, so that a few can be taken at once wherever the last one is.
    bytes: [u8; READ + PEEK],
}

/// The rule of the row for `wanted`, counted from the start of `function`, which holds it.
///
/// `None` only means that a [`Walk`](super::row::Walk) has to decide.
///
/// # Errors
///
/// [`Error::Fault`] if rows cannot be read, [`Error::Budget`] if there are too many.
#[inline(always)]
pub(super) fn rule<A: Abi, R: Reader>(
    header: &Header<A>,
    reader: &R,
    function: &Function,
    wanted: u32,
    budget: &mut Budget,
) -> Result<Option<Rule>, Error> {
    let mut rows = Rows {
        header,
        reader,
        function,
        start: 0,
        filled: 0,
        bytes: [0; READ + PEEK],
    };
    let most = if function.size > SMALL { READ } else { FIRST };

    rows.read(function.rows, most)?;
    // A loop for each width: most of the work of a long function is in it.
    match Attribute::usual::<A>(&rows.bytes) {
        Some((count, Width::One)) => rows.find(wanted, count, Width::One, budget),
        Some((count, Width::Two)) => rows.find(wanted, count, Width::Two, budget),
        Some((count, Width::Four)) => rows.find(wanted, count, Width::Four, budget),
        None => Ok(None),
    }
}

impl<A: Abi, R: Reader> Rows<'_, A, R> {
    /// Moves the window to byte `start` of the table's rows. It has `most` bytes, or as many as
    /// there are.
    #[inline(always)]
    fn read(&mut self, start: u32, most: usize) -> Result<(), Error> {
        self.start = start;
        self.filled = (self.header.rows_len.saturating_sub(start) as usize).min(most);

        if let Some(bytes) = self
            .bytes
            .get_mut(..self.filled)
            .filter(|bytes| !bytes.is_empty())
        {
            let at = self.header.rows.saturating_add(start.into());

            self.reader.read(at, bytes)?;
        }
        Ok(())
    }

    /// The rule of the last of `left` rows that starts at or below `wanted`, from the window at the
    /// function's attribute.
    #[inline(always)]
    fn find(
        &mut self,
        wanted: u32,
        mut left: u32,
        width: Width,
        budget: &mut Budget,
    ) -> Result<Option<Rule>, Error> {
        // Bytes of a row's start and its information byte.
        let head = (width as usize).wrapping_add(1);
        let mut at = Attribute::SIZE;
        let mut found = NONE;
        // Starts are compared as they count from here: those up to `wanted` wrap, and so are above
        // all others, but in order.
        let above = wanted.wrapping_add(1);
        // That of the last row that was passed, before the first one the one below 0.
        let mut passed = above.wrapping_add(1).wrapping_neg();

        loop {
            let before = left;
            let Some(last) = self.filled.min(READ).checked_sub(head) else {
                return Ok(None);
            };
            let is_found = loop {
                if left == 0 {
                    break at <= self.filled;
                }
                if at > last {
                    break false;
                }
                let Some((start, info)) = A::start_and_info(&self.bytes, at, width) else {
                    return Ok(None);
                };
                let from_above = start.wrapping_sub(above);
                let length = Lengths::<A>::of_default(info);
                if from_above <= passed {
                    let is_above = start >= above && start < self.function.size;
                    if !is_above || length == Lengths::<A>::NONE {
                        return Ok(None);
                    }
                    break true;
                }
                found = at;
                passed = from_above;
                // Of a row without a meaning, this ends beyond the window.
                at = at.wrapping_add(width as usize).wrapping_add(length);
                left = left.wrapping_sub(1);
            };

            budget.spend(before.wrapping_sub(left))?;
            if is_found {
                return Ok(self.rule_of(found, width));
            }
            // The last row that was passed is kept, with what is behind it.
            if found == NONE || found == 0 || at.wrapping_sub(found) > READ {
                return Ok(None);
            }
            budget.spend(Budget::READ)?;
            self.read(self.start.saturating_add(found as u32), READ)?;
            at = at.wrapping_sub(found);
            found = 0;
        }
    }

    /// The rule of the row at byte `at` of the window, all of which is there.
    #[inline(always)]
    fn rule_of(&self, at: usize, width: Width) -> Option<Rule> {
        let (_, info) = A::start_and_info(&self.bytes, at, width)?;
        let words = at.wrapping_add(width as usize).wrapping_add(1);

        default_rule::<A>(info, *self.bytes.get(words..)?.first_chunk()?)
    }
}
