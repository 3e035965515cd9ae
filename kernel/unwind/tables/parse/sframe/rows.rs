// SPDX-License-Identifier: GPL-2.0

//! The rows: "SFrame Function Descriptor Attribute" and "SFrame Frame Row Entries" of the
//! specification.

use core::marker::PhantomData;

use super::{
    super::{
        Error,
        Key,
        Reader,
        Rule, //
    },
    abi::Abi,
    function::Function,
    header::Header,
    reason::Reason,
    rule::Words, //
};

/// Bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// One byte.
    One = 1,
    /// Two bytes.
    Two = 2,
    /// Four bytes.
    Four = 4,
}

impl Width {
    /// Decodes a width.
    fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::One),
            1 => Some(Self::Two),
            2 => Some(Self::Four),
            _ => None,
        }
    }

    /// Decodes the number of this width that `bytes` start with.
    #[inline]
    pub(super) fn number(self, bytes: [u8; 4]) -> u32 {
        let [a, b, ..] = bytes;

        match self {
            Self::One => a.into(),
            Self::Two => u16::from_le_bytes([a, b]).into(),
            Self::Four => u32::from_le_bytes(bytes),
        }
    }
}

/// The attribute of a function, for all its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Number of rows.
    pub(crate) rows: u16,
    /// Bytes of a row's start.
    pub(crate) width: Width,
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
        width: Width::One,
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
    fn parse<A: Abi>(bytes: [u8; Self::SIZE]) -> Result<Self, (Reason, u64)> {
        let [count_0, count_1, info, kind, block] = bytes;
        let unused = if A::SIGNED_RA {
            Self::UNUSED
        } else {
            Self::UNUSED | Self::KEY_B
        };
        let width = Width::from_code(info & 0xf).ok_or((Reason::RowKind, 2))?;

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
            width,
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

    /// Returns how many bytes a data word has.
    pub(super) fn width(&self) -> Width {
        // There is no other code in a row.
        Width::from_code((self.info >> 5) & 3).unwrap_or(Width::One)
    }

    /// Returns whether the CFA of a default function is from SP, not FP.
    pub(super) fn counts_from_sp(&self) -> bool {
        self.info & Self::FROM_SP != 0
    }

    /// Returns whether the return address is signed.
    pub(super) fn signed<A: Abi>(&self) -> bool {
        A::SIGNED_RA && self.info & Self::SIGNED != 0
    }

    /// Returns where the information byte is, in bytes from the start of the table.
    pub(super) fn info_at(&self) -> u64 {
        self.at.wrapping_sub(1)
    }

    /// Returns where data word `nth` is, in bytes from the start of the table.
    pub(super) fn word_at(&self, nth: u8) -> u64 {
        self.at
            .wrapping_add(u64::from(nth).wrapping_mul(self.width() as u64))
    }

    /// Computes how long a row is behind its start, by its information byte.
    const fn lengths<A: Abi>(flexible: bool) -> [u8; 256] {
        let unused =
            if A::SIGNED_RA { 0 } else { Self::SIGNED } | if flexible { Self::FROM_SP } else { 0 };
        let mut lengths = [Self::NO_LENGTH; 256];
        let mut rest: &mut [u8] = &mut lengths;
        let mut info: u8 = 0;

        while let [length, tail @ ..] = rest {
            let (words, code) = ((info >> 1) & 0xf, (info >> 5) & 3);
            // Without words, nothing else has a meaning.
            if info & unused == 0 && code != 3 && (words != 0 || info == 0) {
                *length = 1 + (words << code);
            }
            info = info.wrapping_add(1);
            rest = tail;
        }
        lengths
    }

    /// Returns the error of an information byte that has no meaning.
    #[cold]
    fn meaningless(info: u8) -> Reason {
        if (info >> 5) & 3 == 3 {
            Reason::WordWidth
        } else {
            Reason::RowInfo
        }
    }
}

/// The lengths of rows behind their starts, by their information bytes.
struct Lengths<A>(PhantomData<A>);

impl<A: Abi> Lengths<A> {
    const DEFAULT: &'static [u8; 256] = &Row::lengths::<A>(false);
    const FLEXIBLE: &'static [u8; 256] = &Row::lengths::<A>(true);
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
    /// The attribute of the function.
    pub(crate) attribute: Attribute,
    function: Function,
    /// Number of rows that are left.
    pub(crate) left: u32,
    /// Offset of the next row in the table, in bytes.
    next: u64,
    /// The start of the last row: the next one may not start below it. An assembler may write two
    /// rows with one start, of which the later one holds.
    least: u32,
    /// The end of the function or of its block: no row may start beyond it. An assembler may write
    /// a row that starts there, which holds nowhere.
    limit: u32,
    /// Offset of the end of all rows in the table, in bytes.
    end: u64,
    place: u64,
    filled: usize,
    bytes: [u8; SIZE + MORE],
    abi: PhantomData<A>,
}

impl<'a, A: Abi, R: Reader> Rows<'a, A, R> {
    /// Number of rows that are passed between two checks that rows are left.
    const BATCH: u32 = 4;

    /// Prepares to read the rows of `function`, which must be of the table of `header`.
    #[inline(always)] // Or it would be made elsewhere, and copied.
    pub(crate) fn new(header: &Header<A>, function: &Function, reader: &'a R) -> Self {
        let at = header.rows.wrapping_add(function.rows.into());

        // INVARIANT: By those of `header`; nothing was read.
        Self {
            reader,
            attribute: Attribute::NONE,
            function: *function,
            left: 0,
            next: at,
            least: 0,
            limit: function.size,
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
        let bytes = self.get(at, Attribute::SIZE, Reason::RowsOffset)?;
        self.attribute = Attribute::parse::<A>(bytes)
            .map_err(|(reason, place)| self.error(reason, at.wrapping_add(place)))?;
        self.left = self.attribute.rows.into();
        if let Some(block) = self.attribute.block {
            self.limit = block.into();
        }
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
            let row = self.step()?;
            if row.start > wanted {
                break;
            }
            found = match self.attribute.width {
                Width::One => self.pass::<1>(wanted)?,
                Width::Two => self.pass::<2>(wanted)?,
                Width::Four => self.pass::<4>(wanted)?,
            }
            .or(Some(row));
        }
        self.rule(&found.ok_or(Error::NotFound)?)
    }

    /// Steps over the next row, which must be left, and checks it.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if it has no meaning, or those of the reader.
    #[inline(never)] // A lookup does so twice, and passes the other rows.
    pub(crate) fn step(&mut self) -> Result<Row, Error> {
        let at = self.next;
        let width = self.attribute.width as usize;
        let head: [u8; 8] = self.get(at, width.wrapping_add(1), Reason::RowEnd)?;
        let [a, b, c, d, e, ..] = head;
        let start = self.attribute.width.number([a, b, c, d]);
        let info = match self.attribute.width {
            Width::One => b,
            Width::Two => c,
            Width::Four => e,
        };

        if start < self.least {
            return Err(self.error(Reason::RowOrder, at));
        }
        if start > self.limit {
            return Err(self.error(Reason::RowStart, at));
        }
        let length = self.length(info);
        let info_at = at.wrapping_add(width as u64);
        if length == Row::NO_LENGTH {
            return Err(self.error(Row::meaningless(info), info_at));
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

    /// Passes the next rows that start at or below `wanted`. Returns the last one. The starts have
    /// `WIDTH` bytes.
    ///
    /// It stops at a row that is not in order or has no meaning: [`Rows::step`] says what is wrong.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the rows end too early, or those of the reader.
    #[inline(always)] // Three times, each with its own width: this is the inner loop.
    fn pass<const WIDTH: usize>(&mut self, wanted: u32) -> Result<Option<Row>, Error> {
        let lengths = self.lengths();
        let mut found = None;

        loop {
            let mut passed = Passed {
                at: usize::try_from(self.next.wrapping_sub(self.place)).unwrap_or(usize::MAX),
                last: 0,
                compared: self.least.wrapping_add(!wanted),
            };
            // Behind this, a row's information byte may not be in the buffer.
            let most = self.filled.min(SIZE).saturating_sub(WIDTH);
            let mut left = self.left;

            'rows: {
                while left >= Self::BATCH {
                    for _ in 0..Self::BATCH {
                        if !passed.row::<WIDTH>(&self.bytes, most, !wanted, lengths) {
                            break 'rows;
                        }
                        left = left.wrapping_sub(1);
                    }
                }
                while left != 0 && passed.row::<WIDTH>(&self.bytes, most, !wanted, lengths) {
                    left = left.wrapping_sub(1);
                }
            }

            let info_at = passed.last.wrapping_add(WIDTH);
            let info = match self.bytes.get(info_at) {
                Some(info) if left != self.left => *info,
                _ => return Ok(found),
            };
            if self.length(info) == Row::NO_LENGTH {
                passed.at = passed.last;
                left = left.wrapping_add(1);
            }
            self.next = self.place.wrapping_add(passed.at as u64);
            self.left = left;
            self.least = passed.compared.wrapping_sub(!wanted);
            found = Some(Row {
                start: self.least,
                info,
                at: self.place.wrapping_add(info_at as u64).wrapping_add(1),
            });
            if left == 0 || passed.at < most {
                return Ok(found);
            }
            self.refill(self.next, WIDTH.wrapping_add(1), Reason::RowEnd)?;
        }
    }

    fn lengths(&self) -> &'static [u8; 256] {
        if self.attribute.flexible {
            Lengths::<A>::FLEXIBLE
        } else {
            Lengths::<A>::DEFAULT
        }
    }

    /// Returns how long a row with this information byte is behind its start.
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
        let rule = match row.words() {
            0 => Rule::outermost(),
            count => {
                let words = Words::new::<A>(&self.attribute, row, self.end)?;
                let len = (row.width() as usize).wrapping_mul(count.into());

                words.rule::<A>(self.get(row.at, len, Reason::RowEnd)?)?
            }
        };

        Ok(rule
            .with_signal(self.attribute.signal)
            .with_signed_ra(row.signed::<A>().then_some(self.attribute.key)))
    }

    /// Returns bytes from byte `at` of the table on, of which only the first `len` are of the rows;
    /// `reason` is the error if the rows have no such bytes.
    #[inline]
    fn get<const N: usize>(
        &mut self,
        at: u64,
        len: usize,
        reason: Reason,
    ) -> Result<[u8; N], Error> {
        const { assert!(N <= MORE) };

        if at.wrapping_sub(self.place).saturating_add(len as u64) > self.filled as u64 {
            self.refill(at, len, reason)?;
        }
        let bytes = usize::try_from(at.wrapping_sub(self.place))
            .ok()
            .and_then(|skip| self.bytes.get(skip..)?.first_chunk());

        bytes.copied().ok_or_else(|| self.error(reason, at))
    }

    /// Moves the buffer to byte `at` of the table; `reason` is the error if `len` bytes of the rows
    /// are not there.
    #[inline(never)] // Once for most functions.
    fn refill(&mut self, at: u64, len: usize, reason: Reason) -> Result<(), Error> {
        let left = self.end.saturating_sub(at);
        let filled = usize::try_from(left).map_or(SIZE, |left| left.min(SIZE));

        if filled < len {
            return Err(self.error(reason, at));
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

    /// Returns the error of something at byte `at` of the table, or missing at the end of its rows.
    #[cold]
    #[inline(never)]
    fn error(&self, reason: Reason, at: u64) -> Error {
        reason.at(at.min(self.end))
    }
}

/// How far rows in a buffer were passed.
struct Passed {
    /// Where the next one is.
    at: usize,
    /// Where the last one is.
    last: usize,
    /// Where the last one starts to hold, as starts are compared.
    compared: u32,
}

impl Passed {
    /// Passes the next row, unless it is not before `most`, starts above the wanted place, or is
    /// out of order. Returns whether it did.
    ///
    /// One comparison says whether a row is above the wanted place, or out of order. For that,
    /// `not_wanted` is added to starts, modulo 2^32: this maps the wanted place to the highest
    /// number, keeps the order of the starts below it, and maps those above it to the lowest ones.
    #[inline(always)] // The inner loop.
    fn row<const WIDTH: usize>(
        &mut self,
        bytes: &[u8; SIZE + MORE],
        most: usize,
        not_wanted: u32,
        lengths: &[u8; 256],
    ) -> bool {
        if self.at >= most {
            return false;
        }
        let Some(&[a, b, c, d, e]) = bytes.get(self.at..).and_then(<[u8]>::first_chunk) else {
            return false;
        };
        let (start, info) = match WIDTH {
            1 => (a.into(), b),
            2 => (u16::from_le_bytes([a, b]).into(), c),
            _ => (u32::from_le_bytes([a, b, c, d]), e),
        };
        let compared = not_wanted.wrapping_add(start);

        if compared < self.compared {
            return false;
        }
        // There is a length for each byte. That of no meaning leads out of the buffer.
        let length = lengths.get(usize::from(info)).copied();
        self.compared = compared;
        self.last = self.at;
        self.at = self
            .at
            .wrapping_add(length.unwrap_or(Row::NO_LENGTH).into())
            .wrapping_add(WIDTH);
        true
    }
}
