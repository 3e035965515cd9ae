// SPDX-License-Identifier: GPL-2.0

//! How long usual rows are.

use core::marker::PhantomData;

use super::{
    abi::Abi,
    row::{
        Row,
        Width, //
    }, //
};

/// Bytes of a usual row: one of the default kind, with two data words at most.
///
/// The compiler knows that no row is longer than the last of these. So it takes one check of bounds
/// to pass several rows.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Length {
    /// The row is unusual, or has no meaning.
    Unusual = 0,
    Two = 2,
    Three,
    Four,
    Five,
    Six,
    Seven,
    Nine = 9,
    Ten,
    Eleven,
    Thirteen = 13,
}

impl Length {
    /// That of the longest row.
    pub(super) const MOST: usize = Self::Thirteen as usize;

    /// That of so many bytes.
    const fn new(bytes: usize) -> Self {
        match bytes {
            2 => Self::Two,
            3 => Self::Three,
            4 => Self::Four,
            5 => Self::Five,
            6 => Self::Six,
            7 => Self::Seven,
            9 => Self::Nine,
            10 => Self::Ten,
            11 => Self::Eleven,
            13 => Self::Thirteen,
            // No one or two words of the same size make any other.
            _ => Self::Unusual,
        }
    }
}

/// The lengths of usual rows, by their information bytes.
pub(super) struct Lengths<A>(PhantomData<A>);

impl<A: Abi> Lengths<A> {
    const ONE: &'static [Length; 256] = &Self::all(Width::One);
    const TWO: &'static [Length; 256] = &Self::all(Width::Two);
    const FOUR: &'static [Length; 256] = &Self::all(Width::Four);

    /// Those of rows whose starts have `width` bytes.
    const fn all(width: Width) -> [Length; 256] {
        let behind = Row::lengths::<A>(false);
        let mut lengths = [Length::Unusual; 256];
        let mut to: &mut [Length] = &mut lengths;
        let mut from: &[u8] = &behind;

        while let ([length, to_rest @ ..], [behind, from_rest @ ..]) = (to, from) {
            *length = Length::new(width as usize + *behind as usize);
            (to, from) = (to_rest, from_rest);
        }
        lengths
    }

    /// That of a row whose start has `width` bytes.
    #[inline(always)]
    pub(super) fn of(info: u8, width: Width) -> Length {
        let lengths = match width {
            Width::One => Self::ONE,
            Width::Two => Self::TWO,
            Width::Four => Self::FOUR,
        };

        // There is a length for each byte.
        lengths
            .get(usize::from(info))
            .copied()
            .unwrap_or(Length::Unusual)
    }
}
