// SPDX-License-Identifier: GPL-2.0

//! The usual case of a lookup: rows of the default kind.
//!
//! Nearly all lookups end here. What is unusual in any way, or wrong, is left to a
//! [`Walk`](super::row::Walk), which has an answer for everything.

use super::{
    super::{
        Block,
        BlockHead,
        Budget,
        Error,
        Packed,
        Progress,
        Reader,
        BLOCK,
        MORE, //
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
pub(super) const SMALL: u32 = 1 << 8;
/// Bytes of text that any other function has at most for which there are quick lookups.
const LARGE: u32 = 1 << 16;
/// The highest address for which there are. A function that holds it ends below 2^64.
pub(super) const HIGHEST: u64 = u64::MAX - LARGE as u64;

/// The rule for address `pc`, at most [`HIGHEST`], in the function that `block` was found for, on a
/// machine that has usual rules. What it costs is part of [`Budget::FIND`].
///
/// `None` only means that somebody else has to decide: the function may not hold `pc`. Then `block`
/// says where to go on.
#[inline(always)]
pub(crate) fn block_rule<A: Abi, const N: usize>(block: &mut Block<N>, pc: u64) -> Option<Packed> {
    match rule_in_block::<A, N>(block, pc) {
        Ok(rule) => Some(rule),
        Err(progress) => {
            block.head.progress = progress;
            None
        }
    }
}

/// The same, or where to go on.
#[inline(always)]
fn rule_in_block<A: Abi, const N: usize>(block: &Block<N>, pc: u64) -> Result<Packed, Progress> {
    let Block { head, bytes } = block;
    let [size, _] = Function::size_and_rows::<A>(&head.element);
    let wanted = pc.wrapping_sub(head.element.start);

    if wanted >= size.into() || size > LARGE {
        return Err(Progress::NONE);
    }
    let at = usize::try_from(head.at).map_err(|_| Progress::NONE)?;
    let (count, width) = Attribute::usual::<A>(bytes, at).ok_or(Progress::NONE)?;
    // What is wanted is below the size.
    let rows = Rows::new(at, count, wanted as u32, size);

    if width == Width::One {
        rows.in_block::<A, N>(block, Width::One)
    } else if width == Width::Two && N > BLOCK + MORE {
        // Such a function has a large block, unless that is near the end of the table.
        rows.in_block::<A, N>(block, Width::Two)
    } else {
        Err(Progress::NONE)
    }
}

/// The rule for a place in a function, which holds it. `progress` says how far another lookup has
/// come.
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
    progress: Progress,
    wanted: u32,
    budget: &mut Budget,
) -> Result<Option<Packed>, Error> {
    let mut start = u64::from(function.rows).wrapping_add(progress.place.into());
    if !has_usual_rules::<A>() || !window.has(start, Attribute::SIZE) {
        return Ok(None);
    }
    let (mut bytes, mut len) = window.bytes_at(start)?;
    let (mut rows, width) = match Width::from_number(progress.kind) {
        Some(width) => {
            let left = u32::from(progress.left);

            (Rows::again(left, wanted, function.size), width)
        }
        None => {
            let Some((count, width)) = Attribute::usual::<A>(bytes, 0) else {
                return Ok(None);
            };

            (Rows::new(0, count, wanted, function.size), width)
        }
    };

    loop {
        let before = rows.left;
        let end = rows.pass_many::<A>(bytes, len, width);

        budget.spend(before.wrapping_sub(rows.left))?;
        // The last row that was passed may be the wanted one: it is passed again, in the new copy.
        let last = match (end, rows.last()) {
            (End::Found, _) => return Ok(rows.rule::<A>(bytes, width)),
            (End::Window, Some(last)) if last != 0 => last,
            _ => return Ok(None),
        };
        start = start.wrapping_add(last as u64);
        rows.begin_again();
        budget.spend(Budget::READ)?;
        (bytes, len) = window.bytes_at(start)?;
    }
}

/// Where to go on behind a block, in which the last row that was passed is at `last`: there. Behind
/// it, `left` rows are left.
#[inline(never)]
fn progress(head: &BlockHead, last: Option<usize>, left: u32, width: Width) -> Progress {
    let place = |last: usize| (last as u64).checked_sub(head.at)?.try_into().ok();

    match last.and_then(place) {
        Some(place) => Progress {
            place,
            // There are at most 65,535, and one was passed.
            left: left.wrapping_add(1) as u16,
            kind: width as u32,
        },
        None => Progress::NONE,
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
    /// What is wanted, negated.
    not_wanted: u32,
    /// The end of the function, as starts are compared.
    end: u32,
}

impl Rows {
    /// The rows behind the attribute that is at `attribute`.
    #[inline(always)]
    fn new(attribute: usize, left: u32, wanted: u32, size: u32) -> Self {
        let not_wanted = !wanted;

        Self {
            at: attribute.wrapping_add(Attribute::SIZE),
            left,
            length: 0,
            // That of the first row may be `!wanted`, so the one before it is below.
            passed: not_wanted.wrapping_sub(1),
            not_wanted,
            end: size.wrapping_add(not_wanted),
        }
    }

    /// The rows that are left, from one on that was passed before.
    #[inline(always)]
    fn again(left: u32, wanted: u32, size: u32) -> Self {
        Self {
            at: 0,
            ..Self::new(0, left, wanted, size)
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

    /// Passes rows of the first `len` bytes of `window`, up to the first row that starts above the
    /// wanted place.
    ///
    /// One comparison says whether a row is above it, or out of order. For that, `!wanted` is added
    /// to a start, modulo 2^32: then the wanted place is the highest number of all, the ones below
    /// it are in order below that, and those above it are the lowest numbers. A row that is not
    /// higher than the last one is above the wanted place, has the start of the last one, or is out
    /// of order. The first case is decided here, the others by a [`Walk`](super::row::Walk).
    #[inline(always)]
    fn pass<A: Abi, const N: usize>(&mut self, window: &[u8; N], len: usize, width: Width) -> End {
        let len = len.min(const { N - MORE });
        // Where a row's start and its information byte are in the window.
        let last = len.saturating_sub(width as usize).saturating_sub(1);

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
            let compared = start.wrapping_add(self.not_wanted);
            if compared <= self.passed {
                // Those that are not above the wanted place are above its end, too.
                let is_above = compared <= self.end;

                return if is_above && Lengths::<A>::of_default(info, width) != Lengths::<A>::NONE {
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
    fn pass_many<A: Abi>(&mut self, window: &Bytes, len: usize, width: Width) -> End {
        let mut rows = *self;
        let end = match width {
            Width::One => rows.pass::<A, _>(window, len, Width::One),
            Width::Two => rows.pass::<A, _>(window, len, Width::Two),
            Width::Four => rows.pass::<A, _>(window, len, Width::Four),
        };

        *self = rows;
        end
    }

    /// Passes those of a block: the rule of the last one, or where to go on.
    #[inline(always)]
    fn in_block<A: Abi, const N: usize>(
        mut self,
        block: &Block<N>,
        width: Width,
    ) -> Result<Packed, Progress> {
        match self.pass::<A, N>(&block.bytes, const { N - MORE }, width) {
            End::Found => self.rule::<A>(&block.bytes, width).ok_or(Progress::NONE),
            End::Window => Err(progress(&block.head, self.last(), self.left, width)),
            End::Unusual => Err(Progress::NONE),
        }
    }

    /// Where the last row that was passed is in the window, if there is one.
    #[inline(always)]
    fn last(&self) -> Option<usize> {
        (self.length != 0).then(|| self.at.wrapping_sub(self.length))
    }

    /// The rule of that row.
    #[inline(always)]
    fn rule<A: Abi>(&self, window: &[u8], width: Width) -> Option<Packed> {
        let row = window.get(self.last()?..)?;
        // The words have at most 8 bytes.
        let (info, words) = match width {
            Width::One => {
                let [_, info, words @ ..] = *row.first_chunk::<10>()?;
                (info, words)
            }
            Width::Two => {
                let [_, _, info, words @ ..] = *row.first_chunk::<11>()?;
                (info, words)
            }
            Width::Four => {
                let [_, _, _, _, info, words @ ..] = *row.first_chunk::<13>()?;
                (info, words)
            }
        };

        usual_rule::<A>(info, words)
    }
}
