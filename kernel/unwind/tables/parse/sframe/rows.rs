// SPDX-License-Identifier: GPL-2.0

//! The rows: "SFrame Function Descriptor Attribute" and "SFrame Frame Row Entries" of the
//! specification.

use core::marker::PhantomData;

use super::{
    super::{
        reader::field,
        Arch,
        Error,
        Key,
        Reader,
        Rule, //
    },
    header::{
        Function,
        Header, //
    },
    reason::Reason,
    rule::Words, //
};

/// Decodes a number of `width` bytes: 1, 2 or 4.
#[inline]
pub(super) fn number(width: usize, bytes: [u8; 4]) -> u32 {
    let [a, b, ..] = bytes;

    match width {
        1 => a.into(),
        2 => u16::from_le_bytes([a, b]).into(),
        _ => u32::from_le_bytes(bytes),
    }
}

/// Decodes the start of a row, of `width` bytes, and its information byte.
#[inline(always)] // The inner loop.
fn start_and_info(width: usize, bytes: &[u8; 5]) -> (u32, u8) {
    let [a, b, c, d, e] = *bytes;
    let info = match width {
        1 => b,
        2 => c,
        _ => e,
    };

    (number(width, [a, b, c, d]), info)
}

/// The attribute of a function, for all its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Number of rows.
    pub(crate) rows: u16,
    /// Bytes of a row's start: 1, 2 or 4.
    width: usize,
    /// Size of the block that the function repeats, if it does.
    pub(crate) block: Option<u8>,
    /// Whether its rows name their registers, unlike those of the default kind.
    pub(crate) flexible: bool,
    /// Whether the function is a restorer.
    pub(crate) signal: bool,
    /// The key of return addresses that are signed.
    pub(crate) key: Key,
}

impl Attribute {
    /// An attribute without rows.
    const NONE: Self = Self {
        rows: 0,
        width: 1,
        block: None,
        flexible: false,
        signal: false,
        key: Key::A,
    };
    /// Bytes of an attribute.
    const SIZE: usize = 5;
    /// Kind of function: the default one.
    const DEFAULT: u8 = 0;
    /// Kind of function: the flexible one.
    const FLEXIBLE: u8 = 1;
    /// The bits of a function's kind.
    const KIND: u8 = 0x1f;
    /// The rows are of a block that the function repeats.
    const REPEATS: u8 = 1 << 4;
    /// Return addresses are signed with key B, on AArch64.
    const KEY_B: u8 = 1 << 5;
    /// Has no meaning.
    const UNUSED: u8 = 1 << 6;
    /// The function is a signal trampoline.
    const SIGNAL: u8 = 1 << 7;

    /// Decodes an attribute. An error has its offset in the attribute.
    fn parse<A: Arch>(bytes: [u8; Self::SIZE]) -> Result<Self, (Reason, u64)> {
        let [count_0, count_1, info, kind, block] = bytes;
        let unused = if A::SIGNED_RA {
            Self::UNUSED
        } else {
            Self::UNUSED | Self::KEY_B
        };
        let code = info & 0xf;

        if code > 2 {
            return Err((Reason::RowKind, 2));
        }
        if info & unused != 0 {
            return Err((Reason::FunctionInfo, 2));
        }
        if kind & !Self::KIND != 0 {
            return Err((Reason::FunctionInfo, 3));
        }
        if kind != Self::DEFAULT && kind != Self::FLEXIBLE {
            return Err((Reason::FunctionKind, 3));
        }
        let repeats = info & Self::REPEATS != 0;
        if repeats != (block != 0) {
            return Err((Reason::BlockSize, 4));
        }

        Ok(Self {
            rows: u16::from_le_bytes([count_0, count_1]),
            width: 1usize.wrapping_shl(code.into()),
            block: repeats.then_some(block),
            flexible: kind == Self::FLEXIBLE,
            signal: info & Self::SIGNAL != 0,
            key: if info & Self::KEY_B != 0 {
                Key::B
            } else {
                Key::A
            },
        })
    }
}

/// A row, without its data words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it starts to hold: an offset from the start of the function or of its block.
    pub(crate) start: u32,
    /// Its information byte, which has a meaning.
    info: u8,
    /// Offset of its data words in the table, in bytes.
    pub(super) at: u64,
}

impl Row {
    /// The CFA is from SP. Of a default function only.
    const FROM_SP: u8 = 1 << 0;
    /// The return address is signed, on AArch64.
    const SIGNED: u8 = 1 << 7;
    /// The length of a row whose information byte has no meaning. No row is so long, and no buffer.
    const NO_LENGTH: u8 = u8::MAX;

    /// Returns how many data words there are.
    pub(super) fn words(&self) -> u8 {
        (self.info >> 1) & 0xf
    }

    /// Returns how many bytes a data word has: 1, 2 or 4.
    pub(super) fn width(&self) -> usize {
        1usize.wrapping_shl(Self::width_code(self.info).into())
    }

    /// Decodes the width of data words: 3 has no meaning.
    const fn width_code(info: u8) -> u8 {
        (info >> 5) & 3
    }

    /// Returns whether the CFA of a default function is from SP, not FP.
    pub(super) fn counts_from_sp(&self) -> bool {
        self.info & Self::FROM_SP != 0
    }

    /// Returns where the information byte is, in bytes from the start of the table.
    pub(super) fn info_at(&self) -> u64 {
        self.at.wrapping_sub(1)
    }

    /// Returns where data word `nth` is, in bytes from the start of the table.
    pub(super) fn word_at(&self, nth: u8) -> u64 {
        self.at
            .wrapping_add((self.width() as u64).wrapping_mul(nth.into()))
    }

    /// Computes how long a row is behind its start, by its information byte.
    const fn lengths<A: Arch>(flexible: bool) -> [u8; 256] {
        let unused =
            if A::SIGNED_RA { 0 } else { Self::SIGNED } | if flexible { Self::FROM_SP } else { 0 };
        let mut lengths = [Self::NO_LENGTH; 256];
        let mut rest: &mut [u8] = &mut lengths;
        let mut info: u8 = 0;

        while let [length, tail @ ..] = rest {
            let (words, code) = ((info >> 1) & 0xf, Self::width_code(info));
            // Without words, nothing else has a meaning.
            if info & unused == 0 && code != 3 && (words != 0 || info == 0) {
                *length = 1 + (words << code);
            }
            info = info.wrapping_add(1);
            rest = tail;
        }
        lengths
    }
}

/// Bytes that are read at once: with those behind it, a buffer that a few instructions clear.
const SIZE: usize = 104;
/// Bytes behind these, so that a few can be looked at without knowing how many there are.
const MORE: usize = 24;

/// The rows of a function, read through a buffer that moves forward.
///
/// # Invariants
///
/// - The table has `end` bytes at least.
/// - `bytes[..filled]` was read from byte `place` of the table; `filled <= SIZE`.
pub(crate) struct Rows<'a, A, R> {
    reader: &'a R,
    function: &'a Function,
    /// The attribute of the function.
    pub(crate) attribute: Attribute,
    /// Number of rows that are left.
    pub(crate) left: u32,
    /// Offset of the next row in the table, in bytes.
    next: u64,
    /// The start of the last row: the next one may not start below it. An assembler may write two
    /// rows with one start, of which the later one holds.
    least: u32,
    /// Offset of the end of all rows in the table, in bytes.
    end: u64,
    place: u64,
    filled: usize,
    bytes: [u8; SIZE + MORE],
    abi: PhantomData<A>,
}

impl<'a, A: Arch, R: Reader> Rows<'a, A, R> {
    /// Prepares to read the rows of `function`, which must be of the table of `header`.
    #[inline(always)] // Or it would be made elsewhere, and copied.
    pub(crate) fn new(header: &Header<A>, function: &'a Function, reader: &'a R) -> Self {
        let at = header.rows.wrapping_add(function.rows.into());

        // INVARIANT: By those of `header`; nothing was read.
        Self {
            reader,
            function,
            attribute: Attribute::NONE,
            left: 0,
            next: at,
            least: 0,
            end: header.rows.wrapping_add(header.rows_len.into()),
            place: at,
            filled: 0,
            bytes: [0; SIZE + MORE],
            abi: PhantomData,
        }
    }

    /// Reads the attribute, which comes before the rows.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it has no meaning, or those of the reader.
    #[inline]
    pub(crate) fn open(&mut self) -> Result<(), Error> {
        let at = self.next;

        self.next = at.wrapping_add(Attribute::SIZE as u64);
        if self.next > self.end {
            return Err(Reason::RowsOffset.at(self.function.rows_at()));
        }
        let bytes = self.get(at, Attribute::SIZE)?;
        self.attribute = Attribute::parse::<A>(bytes)
            .map_err(|(reason, place)| reason.at(at.wrapping_add(place)))?;
        self.left = self.attribute.rows.into();
        Ok(())
    }

    /// Finds the rule that holds at address `pc`, which the function must hold: that of the last
    /// row at or below it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such row, or those of [`Rows::open`], [`Rows::step`] and
    /// [`Rows::rule`].
    #[inline]
    pub(super) fn rule_at(&mut self, pc: u64) -> Result<Rule, Error> {
        self.open()?;
        // The function holds `pc`, so this is below its size.
        let offset = pc.wrapping_sub(self.function.start) as u32;
        let wanted = match self.attribute.block {
            Some(block) => offset.checked_rem(block.into()).unwrap_or(0),
            None => offset,
        };

        if self.left == 0 && self.attribute.signal {
            return Ok(Rule::signal_frame());
        }
        let mut found = None;
        while self.left != 0 {
            found = match self.attribute.width {
                1 => self.pass::<1>(wanted),
                2 => self.pass::<2>(wanted),
                _ => self.pass::<4>(wanted),
            }
            .or(found);
            if self.left == 0 {
                break;
            }
            let row = self.step()?;
            if row.start > wanted {
                break;
            }
            found = Some(row);
        }
        self.rule(&found.ok_or(Error::NotFound)?)
    }

    /// Steps over the next row, which must be left, and checks it.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it has no meaning, or those of the reader.
    #[inline(never)] // A lookup passes most rows.
    pub(crate) fn step(&mut self) -> Result<Row, Error> {
        let at = self.next;
        let width = self.attribute.width;
        let bytes = self.get(at, width.wrapping_add(1))?;
        let (start, info) = start_and_info(width, &bytes);

        if start < self.least {
            return Err(Reason::RowOrder.at(at));
        }
        // An assembler may write a row that starts at the end, which holds nowhere.
        if start > self.attribute.block.map_or(self.function.size, u32::from) {
            return Err(Reason::RowStart.at(at));
        }
        let length = self.length(info);
        let info_at = at.wrapping_add(width as u64);
        if length == Row::NO_LENGTH {
            return Err(match Row::width_code(info) {
                3 => Reason::WordWidth.at(info_at),
                _ => Reason::RowInfo.at(info_at),
            });
        }

        self.next = info_at.wrapping_add(length.into());
        self.least = start;
        self.left = self.left.wrapping_sub(1);
        Ok(Row {
            start,
            info,
            at: info_at.wrapping_add(1),
        })
    }

    /// Passes the rows in the buffer that start at or below `wanted`. Returns the last one. The
    /// starts have `WIDTH` bytes.
    ///
    /// It stops at a row that is not in order or has no meaning: [`Rows::step`] says what is wrong.
    ///
    /// One comparison says whether a row is above the wanted place, or out of order. For that,
    /// `!wanted` is added to starts, modulo 2^32: this maps the wanted place to the highest number,
    /// keeps the order of the starts below it, and maps those above it to the lowest ones.
    #[inline(always)] // Three times, each with its own width: this is the inner loop.
    fn pass<const WIDTH: usize>(&mut self, wanted: u32) -> Option<Row> {
        let lengths = self.lengths();
        // Behind this, a row's information byte may not be in the buffer.
        let most = self.filled.min(SIZE).saturating_sub(WIDTH);
        let mut at = usize::try_from(self.next.wrapping_sub(self.place)).unwrap_or(usize::MAX);
        let mut last = at;
        let mut least = self.least.wrapping_add(!wanted);
        let mut left = self.left;

        while left != 0 && at < most {
            let Some(bytes) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) else {
                break;
            };
            let (start, info) = start_and_info(WIDTH, bytes);
            let start = start.wrapping_add(!wanted);

            if start < least {
                break;
            }
            // There is a length for each byte. That of no meaning leads out of the buffer.
            let length = lengths.get(usize::from(info)).copied();
            (last, least) = (at, start);
            at = at
                .wrapping_add(length.unwrap_or(Row::NO_LENGTH).into())
                .wrapping_add(WIDTH);
            left = left.wrapping_sub(1);
        }
        if left == self.left {
            return None;
        }
        let (_, info) = start_and_info(WIDTH, &field(&self.bytes, last));
        if self.length(info) == Row::NO_LENGTH {
            at = last;
            left = left.wrapping_add(1);
        }
        let words = last.wrapping_add(WIDTH).wrapping_add(1);

        self.next = self.place.wrapping_add(at as u64);
        self.least = least.wrapping_sub(!wanted);
        self.left = left;
        Some(Row {
            start: self.least,
            info,
            at: self.place.wrapping_add(words as u64),
        })
    }

    fn lengths(&self) -> &'static [u8; 256] {
        if self.attribute.flexible {
            const { &Row::lengths::<A>(true) }
        } else {
            const { &Row::lengths::<A>(false) }
        }
    }

    /// Returns how long a row with this information byte is behind its start.
    #[inline]
    fn length(&self, info: u8) -> u8 {
        // There is a length for each byte.
        let length = self.lengths().get(usize::from(info)).copied();

        length.unwrap_or(Row::NO_LENGTH)
    }

    /// Makes the rule of `row`, which must be one of these.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if its words are not there or have no meaning, [`Error::Unsupported`]
    /// if they name a register that no rule can, or those of the reader.
    #[inline]
    pub(crate) fn rule(&mut self, row: &Row) -> Result<Rule, Error> {
        let count = row.words();
        let flexible = self.attribute.flexible;
        let numbers = if flexible {
            Words::FLEXIBLE
        } else {
            A::SFRAME_WORDS
        };
        let rule = if count == 0 {
            Rule::outermost()
        } else if numbers & 1u16.wrapping_shl(count.into()) == 0 {
            return Err(Reason::WordCount.at(row.info_at()));
        } else {
            let len = row.width().wrapping_mul(count.into());
            let bytes = self.get(row.at, len)?;
            let words = Words { row, bytes };

            if flexible {
                words.flexible::<A>()?
            } else {
                words.default::<A>()?
            }
        };

        let signed = A::SIGNED_RA && row.info & Row::SIGNED != 0;

        Ok(rule
            .with_signal(self.attribute.signal)
            .with_signed_ra(signed.then_some(self.attribute.key)))
    }

    /// Returns bytes from byte `at` of the table on, of which only the first `len` are of the rows.
    #[inline]
    fn get<const N: usize>(&mut self, at: u64, len: usize) -> Result<[u8; N], Error> {
        const { assert!(N <= MORE) };

        if at.wrapping_sub(self.place).saturating_add(len as u64) > self.filled as u64 {
            self.refill(at, len)?;
        }
        Ok(field(&self.bytes, at.wrapping_sub(self.place) as usize))
    }

    /// Moves the buffer to byte `at` of the table, from where on the rows must have `len` bytes.
    #[inline(never)] // Once for most functions.
    fn refill(&mut self, at: u64, len: usize) -> Result<(), Error> {
        let left = self.end.saturating_sub(at);
        let filled = usize::try_from(left).map_or(SIZE, |left| left.min(SIZE));

        if filled < len {
            return Err(Reason::RowEnd.at(at.min(self.end)));
        }
        // INVARIANT: Empty until the read below has succeeded.
        self.filled = 0;
        if let Some(bytes) = self.bytes.get_mut(..filled) {
            self.reader.read(at, bytes)?;
        }
        // INVARIANT: Just read; `filled` is at most `SIZE`.
        (self.place, self.filled) = (at, filled);
        Ok(())
    }
}
