// SPDX-License-Identifier: GPL-2.0

//! The usual case of a lookup: rows of the default kind.
//!
//! Nearly all lookups end here. What is unusual in any way, or wrong, is left to a
//! [`Walk`](super::row::Walk), which has an answer for everything.

use super::{
    super::{
        Block,
        Budget,
        Error,
        Packed,
        Reader, //
    },
    abi::Abi,
    function::Function,
    row::{
        Attribute,
        Lengths,
        Width, //
    },
    window::{
        Bytes,
        Window, //
    },
    words::{
        has_usual_rules,
        usual_rule, //
    },
};

/// Bytes of text that a small function has at most: a byte says where its rows start.
const SMALL: u32 = 256;
/// Bytes of a window that are behind the rows: a few can be taken at once wherever the last one is.
const MORE: usize = Block::MORE;

/// The rule for address `pc` in the function that `block` was found for, if that is small, on a
/// machine that has usual rules. What it costs is part of [`Budget::FIND`].
///
/// `None` only means that somebody else has to decide: the function may not hold `pc`.
#[inline(always)]
pub(super) fn short<A: Abi>(block: &Block, pc: u64) -> Option<Packed> {
    let Block { element, at, bytes } = block;
    let [size, _] = Function::size_and_rows::<A>(element);
    let wanted = pc.wrapping_sub(element.start);

    if wanted >= size.into() || size > SMALL || element.start.checked_add(size.into()).is_none() {
        return None;
    }
    let at = usize::try_from(*at).ok()?;
    let (count, Width::One) = Attribute::usual::<A>(bytes, at)? else {
        return None;
    };
    // What is wanted is below the size.
    let mut rows = Rows::new(at, count, wanted as u32, size);

    match rows.pass::<A, _>(bytes, Width::One) {
        End::Found => rows.rule::<A, _>(bytes, Width::One),
        _ => None,
    }
}

/// The rule for a place in a function, which holds it.
///
/// `None` only means that a [`Walk`](super::row::Walk) has to decide.
///
/// # Errors
///
/// [`Error::Fault`] if rows cannot be read, [`Error::Budget`] if there are too many.
#[inline(always)]
pub(super) fn long<A: Abi, R: Reader>(
    window: &mut Window<'_, A, R>,
    function: &Function,
    wanted: u32,
    budget: &mut Budget,
) -> Result<Option<Packed>, Error> {
    let mut start = u64::from(function.rows);
    if !has_usual_rules::<A>() || !window.has(start, Attribute::SIZE) {
        return Ok(None);
    }
    let (mut bytes, mut len) = window.bytes_at(start)?;
    let Some((count, width)) = Attribute::usual::<A>(bytes, 0) else {
        return Ok(None);
    };
    let mut rows = Rows::new(0, count, wanted, function.size);

    loop {
        let before = rows.left;
        let end = rows.pass_many::<A>(bytes, width);

        budget.spend(before.wrapping_sub(rows.left))?;
        // The last row that was passed may be the wanted one: it is passed again, in the new copy.
        let last = match (end, rows.last()) {
            // Behind `len` are no rows: what was made of those bytes is not used.
            (End::Found, _) if rows.looked_at(width) <= len => {
                return Ok(rows.rule::<A, _>(bytes, width));
            }
            (End::Window, Some(last)) if last != 0 && last < len => last,
            _ => return Ok(None),
        };
        start = start.wrapping_add(last as u64);
        rows.begin_again();
        budget.spend(Budget::READ)?;
        (bytes, len) = window.bytes_at(start)?;
    }
}

/// Why no more rows of a window are passed.
enum End {
    /// The last one that was passed is the wanted one.
    Found,
    /// The next one is not all there.
    Window,
    /// Something is unusual.
    Unusual,
}

/// How far the rows of a function of the default kind have been passed.
#[derive(Clone, Copy)]
struct Rows {
    /// Where the next one is in the window.
    at: usize,
    /// How many are left.
    left: u32,
    /// Bytes of the last one that was passed; 0 if there is none.
    length: usize,
    /// Where that starts to hold, as starts are compared: see [`Rows::pass`].
    passed: u32,
    /// What is wanted.
    wanted: u32,
    /// The size of the function.
    size: u32,
}

impl Rows {
    #[inline(always)]
    fn new(attribute: usize, count: u32, wanted: u32, size: u32) -> Self {
        Self {
            at: attribute.wrapping_add(Attribute::SIZE),
            left: count,
            length: 0,
            // That of the first row may be `!wanted`, so the one before it is below.
            passed: (!wanted).wrapping_sub(1),
            wanted,
            size,
        }
    }

    /// Steps back to the start of the last row that was passed, which is now that of the window.
    #[inline(always)]
    fn begin_again(&mut self) {
        self.at = 0;
        self.length = 0;
        self.left = self.left.wrapping_add(1);
        self.passed = self.passed.wrapping_sub(1);
    }

    /// Passes rows up to the first one that starts above the wanted place.
    ///
    /// One comparison says whether a row is above it, or out of order. For that, `!wanted` is added
    /// to a start, modulo 2^32: then the wanted place is the highest number of all, the ones below
    /// it are in order below that, and those above it are the lowest numbers. A row that is not
    /// higher than the last one is above the wanted place, has the start of the last one, or is out
    /// of order. The first case is decided here, the others by a [`Walk`](super::row::Walk).
    #[inline(always)]
    fn pass<A: Abi, const N: usize>(&mut self, window: &[u8; N], width: Width) -> End {
        let len = const { N - MORE };
        // Where a row's start and its information byte are in the window.
        let last = len.wrapping_sub(width as usize).wrapping_sub(1);
        let not_wanted = !self.wanted;

        loop {
            if self.left == 0 {
                return if self.at <= len {
                    End::Found
                } else {
                    End::Window
                };
            }
            if self.at > last {
                return End::Window;
            }
            let Some((start, info)) = A::start_and_info(window, self.at, width) else {
                return End::Unusual;
            };
            let compared = start.wrapping_add(not_wanted);
            if compared <= self.passed {
                let is_above = start > self.wanted && start <= self.size;
                let length = Lengths::<A>::of_default(info, width);

                return if is_above && length != Lengths::<A>::NONE {
                    End::Found
                } else {
                    End::Unusual
                };
            }
            self.passed = compared;
            // Of a row without a meaning, this ends beyond the window.
            self.length = Lengths::<A>::of_default(info, width);
            self.at = self.at.wrapping_add(self.length);
            self.left = self.left.wrapping_sub(1);
        }
    }

    /// The same in a large window. A function of its own has registers for all that changes.
    #[inline(never)]
    fn pass_many<A: Abi>(&mut self, window: &Bytes, width: Width) -> End {
        let mut rows = *self;
        let end = match width {
            Width::One => rows.pass::<A, _>(window, Width::One),
            Width::Two => rows.pass::<A, _>(window, Width::Two),
            Width::Four => rows.pass::<A, _>(window, Width::Four),
        };

        *self = rows;
        end
    }

    /// How far bytes of the window were looked at: to the end of the last row that was passed, or,
    /// if there is another one, of that one's information byte.
    #[inline(always)]
    fn looked_at(&self, width: Width) -> usize {
        match self.left {
            0 => self.at,
            _ => self.at.wrapping_add(width as usize).wrapping_add(1),
        }
    }

    /// Where the last row that was passed is in the window, if there is one.
    #[inline(always)]
    fn last(&self) -> Option<usize> {
        (self.length != 0).then(|| self.at.wrapping_sub(self.length))
    }

    /// The rule of that row.
    #[inline(always)]
    fn rule<A: Abi, const N: usize>(&self, window: &[u8; N], width: Width) -> Option<Packed> {
        let last = self.last()?;
        let (_, info) = A::start_and_info(window, last, width)?;
        let words = last.wrapping_add(width as usize).wrapping_add(1);

        usual_rule::<A>(info, *window.get(words..)?.first_chunk()?)
    }
}
