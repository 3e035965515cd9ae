// SPDX-License-Identifier: GPL-2.0

//! The usual case of a lookup: rows of the default kind.
//!
//! Nearly all lookups end here. What is unusual in any way, or wrong, is left to a
//! [`Walk`](super::row::Walk), which has an answer for everything.

use core::mem::MaybeUninit;

use super::{
    super::{
        Block,
        BlockHead,
        Budget,
        Error,
        Index,
        Packed,
        Progress,
        Reader,
        BLOCK,
        MORE, //
    },
    abi::Abi,
    function::Function,
    length::{
        Length,
        Lengths, //
    },
    row::{
        Attribute,
        Width, //
    },
    words::usual_rule, //
};

/// Bytes of text that a small function has at most: a byte says where its rows start.
pub(super) const SMALL: u32 = 1 << 8;
/// The highest address for which there are quick lookups. A function that holds it ends below 2^64.
pub(super) const HIGHEST: u64 = u64::MAX - u32::MAX as u64;

/// The rule for address `pc`, at most [`HIGHEST`], in the function that `block` was found for, on a
/// machine that has usual rules. What it costs is part of [`Budget::FIND`].
///
/// `None` only means that somebody else has to decide: the function may not hold `pc`. Then the
/// progress of `block` says where to go on, if that is of use.
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

    if wanted >= size.into() {
        return Err(Progress::NONE);
    }
    let at = usize::try_from(head.at).map_err(|_| Progress::NONE)?;
    // What is wanted is below the size.
    let wanted = wanted as u32;
    let (rows, code) = match head.progress.kind {
        // Only large blocks are further ones.
        kind @ 1.. if N > BLOCK + MORE => {
            let Progress { left, .. } = head.progress;

            (
                Rows::new(at, left, wanted, size),
                kind.wrapping_sub(1) as u8,
            )
        }
        _ => {
            let (left, code) = Attribute::usual::<A>(bytes, at).ok_or(Progress::NONE)?;

            (Rows::behind(at, left, wanted, size), code)
        }
    };

    match Width::from_code(code) {
        Some(Width::One) => rows.in_block::<A, N>(block, Width::One),
        // Such a function has a large block, unless the table is small.
        Some(Width::Two) if N > BLOCK + MORE => rows.in_block::<A, N>(block, Width::Two),
        Some(Width::Four) if N > BLOCK + MORE => rows.in_block::<A, N>(block, Width::Four),
        _ => Err(Progress::NONE),
    }
}

/// The same rule, from the blocks where `head` says that a lookup goes on.
///
/// `None` only means that a [`Walk`](super::row::Walk) has to decide.
///
/// # Errors
///
/// [`Error::Budget`] if there are too many rows.
#[inline(never)]
pub(super) fn rule_further_on<A: Abi, R: Reader>(
    reader: &R,
    base: u64,
    index: &Index,
    head: BlockHead,
    pc: u64,
    budget: &mut Budget,
) -> Result<Option<Packed>, Error> {
    let mut room = MaybeUninit::uninit();
    let mut head = head;

    loop {
        budget.spend(Budget::READ_ON)?;
        let Some(block) = reader.read_on(base, index, &head, &mut room) else {
            return Ok(None);
        };
        let rule = block_rule::<A, _>(block, pc);
        if rule.is_some() || block.head.progress.place == 0 {
            return Ok(rule);
        }
        head = block.head;
    }
}

/// Where to go on behind a block: at the last row that was passed, for that may be the wanted one.
/// It is at `last`, and `left` rows are behind it.
#[inline(never)]
fn progress(head: &BlockHead, last: usize, left: u32, width: Width) -> Progress {
    let passed = (last as u64)
        .checked_sub(head.at)
        .and_then(|passed| u32::try_from(passed).ok())
        .filter(|passed| *passed != 0);

    match passed {
        Some(passed) => Progress {
            // There are at most 65,535 rows of a few bytes.
            place: head.progress.place.wrapping_add(passed),
            left: left.wrapping_add(1) as u16,
            kind: u16::from(width.code()).wrapping_add(1),
        },
        None => Progress::NONE,
    }
}

/// Why no more rows of a block are passed.
enum End {
    /// The last one that was passed is the wanted one.
    Found,
    /// The next one is not all there.
    Block,
    /// Something is unusual.
    Unusual,
}

/// How far the rows of a function of the default kind have been passed.
#[derive(Clone, Copy)]
struct Rows {
    /// Where the next one is in the block.
    at: usize,
    /// Where the last one is that was passed; nowhere if there is none.
    last: usize,
    /// How many are left.
    left: u32,
    /// Where the last one starts to hold, as starts are compared: see [`Rows::step`].
    passed: u32,
    /// What is wanted, negated.
    not_wanted: u32,
    /// The end of the function, as starts are compared.
    end: u32,
}

impl Rows {
    /// Where no row is.
    const NOWHERE: usize = usize::MAX;
    /// How many rows are passed at once.
    const BATCH: u32 = 4;

    /// The rows from byte `at` on.
    #[inline(always)]
    fn new(at: usize, left: u16, wanted: u32, size: u32) -> Self {
        let not_wanted = !wanted;

        Self {
            at,
            last: Self::NOWHERE,
            left: left.into(),
            // That of the first row may be `!wanted`, so the one before it is below.
            passed: not_wanted.wrapping_sub(1),
            not_wanted,
            end: size.wrapping_add(not_wanted),
        }
    }

    /// The rows behind the attribute that is at `attribute`.
    #[inline(always)]
    fn behind(attribute: usize, left: u16, wanted: u32, size: u32) -> Self {
        Self::new(attribute.wrapping_add(Attribute::SIZE), left, wanted, size)
    }

    /// Passes the next row, unless it starts above the wanted place, or something is wrong. Says
    /// whether it did.
    ///
    /// One comparison says whether a row is above it, or out of order. For that, `!wanted` is added
    /// to a start, modulo 2^32: then the wanted place is the highest number of all, the ones below
    /// it are in order below that, and those above it are the lowest numbers. A row that is not
    /// higher than the last one is above the wanted place, has the start of the last one, or is out
    /// of order.
    ///
    /// Behind a row that is unusual, none is passed: that row is taken for the next one.
    #[inline(always)]
    fn step<A: Abi>(&mut self, bytes: &[u8], width: Width) -> bool {
        let Some((start, info)) = A::start_and_info(bytes, self.at, width) else {
            return false;
        };
        let compared = start.wrapping_add(self.not_wanted);

        if compared <= self.passed {
            return false;
        }
        self.passed = compared;
        self.last = self.at;
        self.at = self.at.wrapping_add(Lengths::<A>::of(info, width) as usize);
        true
    }

    /// Passes rows of a block, up to the first one that starts above the wanted place.
    #[inline(always)]
    fn pass<A: Abi, const N: usize>(&mut self, bytes: &[u8; N], width: Width) -> End {
        const { assert!(MORE > (Self::BATCH as usize - 1) * Length::MOST + 4) };
        let len = const { N - MORE };
        // Where a row's start and its information byte are in the block.
        let most = len.wrapping_sub(width as usize).wrapping_sub(1);

        // A row that is not all in the block is looked at with bytes behind it. So where a row is
        // decides whether it counts, and a batch that ends behind the block does not count.
        while self.left >= Self::BATCH && self.at <= most {
            let before = *self;

            for _ in 0..Self::BATCH {
                if !self.step::<A>(bytes, width) {
                    if self.at > most {
                        *self = before;
                        return End::Block;
                    }
                    return self.stopped_at::<A>(bytes, width);
                }
            }
            if self.at > len {
                *self = before;
                return End::Block;
            }
            self.left = self.left.wrapping_sub(Self::BATCH);
        }

        while self.left != 0 {
            let before = *self;

            if self.at > most {
                return End::Block;
            }
            if !self.step::<A>(bytes, width) {
                return self.stopped_at::<A>(bytes, width);
            }
            if self.at > len {
                *self = before;
                return End::Block;
            }
            self.left = self.left.wrapping_sub(1);
        }
        End::Found
    }

    /// Why the next row was not passed, which is all there.
    #[inline(always)]
    fn stopped_at<A: Abi>(&self, bytes: &[u8], width: Width) -> End {
        let Some((start, info)) = A::start_and_info(bytes, self.at, width) else {
            return End::Unusual;
        };
        // A start that is not above the wanted place is above the end here.
        let is_above = start.wrapping_add(self.not_wanted) <= self.end;

        if is_above && Lengths::<A>::of(info, width) != Length::Unusual {
            End::Found
        } else {
            End::Unusual
        }
    }

    /// Passes those of a block: the rule of the last one, or where to go on.
    #[inline(always)]
    fn in_block<A: Abi, const N: usize>(
        mut self,
        block: &Block<N>,
        width: Width,
    ) -> Result<Packed, Progress> {
        match self.pass::<A, N>(&block.bytes, width) {
            End::Found => self.rule::<A>(&block.bytes, width).ok_or(Progress::NONE),
            End::Block => Err(progress(&block.head, self.last, self.left, width)),
            End::Unusual => Err(Progress::NONE),
        }
    }

    /// The rule of the last row that was passed.
    #[inline(always)]
    fn rule<A: Abi>(&self, bytes: &[u8], width: Width) -> Option<Packed> {
        let row = bytes.get(self.last..)?;
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
