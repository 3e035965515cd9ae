// SPDX-License-Identifier: GPL-2.0

//! The rows: "SFrame Function Descriptor Attribute" and "SFrame Frame Row Entries" of the
//! specification.

use core::num::NonZeroI32;

use super::{
    super::{
        Base,
        Budget,
        Error,
        Frame,
        Reader,
        Reason,
        Rule, //
    },
    function::Function,
    header::Header, //
};

/// Bytes of rows that are read at once: most functions have less.
const WINDOW: usize = 64;

/// The rows of a table, read through a window that moves forward.
///
/// # Invariants
///
/// - The rows lie inside the table (those of a [`Header`]).
/// - `bytes[..filled]` was read from byte `start` of the rows; `filled <= bytes.len()`.
struct Rows<'a, R> {
    reader: &'a R,
    /// Where the rows start, in bytes from the start of the table.
    base: u64,
    /// How many bytes of rows there are.
    len: u64,
    start: u64,
    filled: usize,
    bytes: [u8; WINDOW],
}

impl<'a, R: Reader> Rows<'a, R> {
    fn new(header: &Header, reader: &'a R) -> Self {
        // INVARIANT: Both come from a `Header`; nothing was read.
        Self {
            reader,
            base: header.rows,
            len: u64::from(header.rows_len),
            start: 0,
            filled: 0,
            bytes: [0; WINDOW],
        }
    }

    /// Bytes `at..at + N` of the rows; `reason` is the error if they have no such bytes.
    fn get<const N: usize>(&mut self, at: u64, reason: Reason) -> Result<[u8; N], Error> {
        if let Some(bytes) = self.window(at) {
            return Ok(bytes);
        }

        let left = self.len.saturating_sub(at);
        let filled = usize::try_from(left).map_or(WINDOW, |left| left.min(WINDOW));
        if filled < N {
            return Err(reason.at(self.base.saturating_add(at)));
        }
        // INVARIANT: Empty until the read below has succeeded.
        self.filled = 0;
        if let Some(bytes) = self.bytes.get_mut(..filled) {
            self.reader.read(self.base.saturating_add(at), bytes)?;
        }
        // INVARIANT: Just read; `filled` is at most the window's size.
        (self.start, self.filled) = (at, filled);
        self.window(at)
            .ok_or(reason.at(self.base.saturating_add(at)))
    }

    /// Bytes `at..at + N` of the rows, if the window has them.
    fn window<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let skip = usize::try_from(at.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(..self.filled)?.get(skip..)?;

        bytes.first_chunk().copied()
    }

    /// The error of something at byte `at` of the rows.
    fn error(&self, reason: Reason, at: u64) -> Error {
        reason.at(self.base.saturating_add(at))
    }
}

/// What a function's attribute says of all its rows.
#[derive(Clone, Copy, Debug)]
struct Attribute {
    /// How many rows there are.
    rows: u16,
    /// Bytes of a row's start.
    width: Width,
    /// Size of the block that the function repeats, if it does.
    block: Option<u8>,
    /// Whether its rows are of the default kind, not flexible.
    default: bool,
}

/// Bytes of a number.
#[derive(Clone, Copy, Debug)]
enum Width {
    One = 1,
    Two = 2,
    Four = 4,
}

impl Width {
    fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::One),
            1 => Some(Self::Two),
            2 => Some(Self::Four),
            _ => None,
        }
    }
}

impl Attribute {
    /// Bytes of an attribute.
    const SIZE: usize = 5;
    /// Kind of function: the default one.
    const DEFAULT: u8 = 0;
    /// Kind of function: the flexible one.
    const FLEXIBLE: u8 = 1;

    fn parse(bytes: [u8; Self::SIZE]) -> Result<Self, Reason> {
        let [rows_low, rows_high, info, kind, block] = bytes;

        // Bit 5 is a key of AArch64, bit 6 is unused. Bit 7 marks a signal frame.
        if info & 0x60 != 0 || kind > Self::FLEXIBLE {
            return Err(Reason::FunctionInfo);
        }
        let repeats = info & 0x10 != 0;
        if repeats && block == 0 {
            return Err(Reason::BlockSize);
        }
        Ok(Self {
            rows: u16::from_le_bytes([rows_low, rows_high]),
            width: Width::from_code(info & 0xf).ok_or(Reason::FunctionInfo)?,
            block: repeats.then_some(block),
            default: kind == Self::DEFAULT,
        })
    }
}

/// A row without its start.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Where the information byte is, in bytes from the start of the rows.
    at: u64,
    /// The CFA's base register.
    base: Base,
    /// How many data words it has.
    words: u8,
    /// Bytes of a word.
    width: Width,
}

impl Row {
    fn parse(at: u64, info: u8) -> Result<Self, Reason> {
        // Bit 7 is of AArch64.
        if info & 0x80 != 0 {
            return Err(Reason::RowInfo);
        }
        let row = Self {
            at,
            base: if info & 1 != 0 { Base::Sp } else { Base::Fp },
            words: (info >> 1) & 0xf,
            width: Width::from_code((info >> 5) & 3).ok_or(Reason::RowInfo)?,
        };
        // Without words, nothing else has a meaning.
        if row.words == 0 && info != 0 {
            return Err(Reason::RowInfo);
        }
        Ok(row)
    }

    /// Where data word `nth` is, in bytes from the start of the rows.
    fn word_at(&self, nth: u8) -> u64 {
        self.at
            .saturating_add(1)
            .saturating_add(u64::from(nth).saturating_mul(self.width as u64))
    }

    /// Reads data word `nth`.
    fn word<R: Reader>(&self, rows: &mut Rows<'_, R>, nth: u8) -> Result<i32, Error> {
        let at = self.word_at(nth);

        Ok(match self.width {
            Width::One => i32::from(i8::from_le_bytes(rows.get(at, Reason::RowEnd)?)),
            Width::Two => i32::from(i16::from_le_bytes(rows.get(at, Reason::RowEnd)?)),
            Width::Four => i32::from_le_bytes(rows.get(at, Reason::RowEnd)?),
        })
    }

    /// The rule of a row of the default kind, on AMD64.
    fn rule<R: Reader>(&self, rows: &mut Rows<'_, R>) -> Result<Rule, Error> {
        let fp = match self.words {
            0 => return Ok(Rule::Outermost),
            1 => None,
            2 => match NonZeroI32::new(self.word(rows, 1)?) {
                None => return Err(rows.error(Reason::FramePointer, self.at)),
                fp => fp,
            },
            _ => return Err(rows.error(Reason::RowWords, self.at)),
        };

        Ok(Rule::Frame(Frame {
            base: self.base,
            cfa: self.word(rows, 0)?,
            ra: i32::from(Header::AMD64_RA),
            fp,
        }))
    }
}

impl Function {
    /// The rule that holds at address `pc`, which the function must hold.
    pub(super) fn rule<R: Reader>(
        &self,
        header: &Header,
        reader: &R,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        let mut rows = Rows::new(header, reader);
        let start = u64::from(self.rows);
        let bytes = rows.get(start, Reason::RowsOffset)?;
        let attribute = Attribute::parse(bytes).map_err(|reason| rows.error(reason, start))?;

        if !attribute.default {
            return Err(Error::NotFound);
        }
        let first = start.saturating_add(Attribute::SIZE as u64);
        self.row(&mut rows, attribute, first, pc, budget)?
            .ok_or(Error::NotFound)?
            .rule(&mut rows)
    }

    /// The last row at or below address `pc`, of those from byte `at` of the rows.
    ///
    /// At most 65,535 rows are stepped over, each paid for.
    fn row<R: Reader>(
        &self,
        rows: &mut Rows<'_, R>,
        attribute: Attribute,
        mut at: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Option<Row>, Error> {
        // The function holds `pc`, so this is below its size.
        let offset = pc.wrapping_sub(self.start);
        let (wanted, limit) = match attribute.block {
            Some(block) => {
                let block = u64::from(block);
                (offset.checked_rem(block).unwrap_or(0), block)
            }
            None => (offset, u64::from(self.size)),
        };
        let mut before = None;
        let mut found = None;

        for _ in 0..attribute.rows {
            budget.spend(Budget::ROW)?;
            let (start, info) = match attribute.width {
                Width::One => {
                    let [a, info] = rows.get(at, Reason::RowEnd)?;
                    (u32::from(a), info)
                }
                Width::Two => {
                    let [a, b, info] = rows.get(at, Reason::RowEnd)?;
                    (u32::from(u16::from_le_bytes([a, b])), info)
                }
                Width::Four => {
                    let [a, b, c, d, info] = rows.get(at, Reason::RowEnd)?;
                    (u32::from_le_bytes([a, b, c, d]), info)
                }
            };

            if before.is_some_and(|before| before >= start) {
                return Err(rows.error(Reason::RowOrder, at));
            }
            if u64::from(start) >= limit {
                return Err(rows.error(Reason::RowStart, at));
            }
            if u64::from(start) > wanted {
                break;
            }
            let info_at = at.saturating_add(attribute.width as u64);
            let row = Row::parse(info_at, info).map_err(|reason| rows.error(reason, info_at))?;
            at = row.word_at(row.words);
            before = Some(start);
            found = Some(row);
        }
        Ok(found)
    }
}
