// SPDX-License-Identifier: GPL-2.0

//! The rows: "SFrame Function Descriptor Attribute" and "SFrame Frame Row Entries" of the
//! specification.

use super::{
    super::{
        Budget,
        Error,
        Key,
        Reader,
        Reason,
        Rule, //
    },
    abi::Abi,
    function::Function,
    header::Header,
    window::Window, //
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
    fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::One),
            1 => Some(Self::Two),
            2 => Some(Self::Four),
            _ => None,
        }
    }
}

/// What a function's attribute says of all its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// How many rows there are.
    pub(crate) rows: u16,
    /// Bytes of a row's start.
    pub(crate) width: Width,
    /// Size of the block that the function repeats, if it does.
    pub(crate) block: Option<u8>,
    /// Whether its rows name their registers, unlike those of the default kind.
    pub(crate) flexible: bool,
    /// Whether it is what a signal handler returns to.
    pub(crate) signal: bool,
    /// What return addresses are signed with, where they are.
    pub(crate) key: Key,
}

impl Attribute {
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

    /// Decodes an attribute; an error comes with its place in it.
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
            rows: A::u16([count_0, count_1]),
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
    /// Where it starts to hold, in bytes from the start of the function or of its block.
    pub(crate) start: u32,
    /// Where its data words are, in bytes from the start of the rows.
    pub(super) at: u64,
    /// How many there are.
    pub(crate) words: u8,
    /// Bytes of one.
    pub(crate) width: Width,
    /// Of a default function: whether the CFA is from SP, not FP.
    pub(super) from_sp: bool,
    /// Whether the return address is signed.
    pub(super) signed: bool,
}

impl Row {
    /// The CFA is from SP.
    const FROM_SP: u8 = 1 << 0;
    /// The return address is signed, on AArch64.
    const SIGNED: u8 = 1 << 7;

    /// Decodes the information byte of a row, which stands before byte `at` of the rows.
    fn parse<A: Abi>(start: u32, info: u8, flexible: bool, at: u64) -> Result<Self, Reason> {
        let words = (info >> 1) & 0xf;
        let width = Width::from_code((info >> 5) & 3).ok_or(Reason::WordWidth)?;

        if info & Self::unused::<A>(flexible) != 0
            // Without words, nothing else has a meaning.
            || (words == 0 && info != 0)
        {
            return Err(Reason::RowInfo);
        }
        Ok(Self {
            start,
            at,
            words,
            width,
            from_sp: info & Self::FROM_SP != 0,
            signed: info & Self::SIGNED != 0,
        })
    }

    /// Bytes of the data words that an information byte speaks of; none if it has no meaning.
    fn words_len<A: Abi>(info: u8, flexible: bool) -> Option<u64> {
        let (words, code) = (u64::from((info >> 1) & 0xf), (info >> 5) & 3);

        (info & Self::unused::<A>(flexible) == 0 && code != 3 && (words != 0 || info == 0))
            .then_some(words << code)
    }

    /// The bits of an information byte that have no meaning.
    fn unused<A: Abi>(flexible: bool) -> u8 {
        let signed = if A::SIGNED_RA { 0 } else { Self::SIGNED };

        signed | if flexible { Self::FROM_SP } else { 0 }
    }

    /// Where the information byte is, in bytes from the start of the rows.
    pub(super) fn info_at(&self) -> u64 {
        self.at.wrapping_sub(1)
    }

    /// Where data word `nth` is, in bytes from the start of the rows.
    pub(super) fn word_at(&self, nth: u8) -> u64 {
        self.at
            .wrapping_add(u64::from(nth).wrapping_mul(self.width as u64))
    }
}

/// What is known of a row after a glance: enough to step over it.
#[derive(Clone, Copy)]
struct Glance {
    start: u32,
    info: u8,
    /// Where its data words are, in bytes from the start of the rows.
    at: u64,
}

/// How far the rows of a function have been stepped through.
///
/// This is apart from the [`Window`], which is passed to others: so it stays in registers.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    attribute: Attribute,
    /// Address of the function's first byte.
    function: u64,
    /// Where the next row is, in bytes from the start of the rows.
    next: u64,
    /// How many are left.
    left: u16,
    /// Where the next one may start: behind the last one, and below the end of the function.
    least: u64,
    end: u64,
}

impl Walk {
    /// Starts with the attribute of a function.
    #[inline]
    pub(super) fn start<A: Abi, R: Reader>(
        function: &Function,
        window: &mut Window<'_, A, R>,
    ) -> Result<Self, Error> {
        let at = u64::from(function.rows);
        if !window.has(at, Attribute::SIZE) {
            return Err(Reason::RowsOffset.at(function.rows_at()));
        }
        let bytes = window.get(at, Reason::RowsOffset)?;
        let attribute = Attribute::parse::<A>(bytes)
            .map_err(|(reason, place)| window.error(reason, at.wrapping_add(place)))?;

        Ok(Self {
            attribute,
            function: function.start,
            next: at.wrapping_add(Attribute::SIZE as u64),
            left: attribute.rows,
            least: 0,
            end: match attribute.block {
                Some(block) => block.into(),
                // A function of size 0 has a row, which holds nowhere.
                None => function.size.max(1).into(),
            },
        })
    }

    /// Steps over the next row, if there is one: all that [`Row::parse`] would refuse is refused.
    #[inline(always)]
    fn step<A: Abi, R: Reader>(
        &mut self,
        window: &mut Window<'_, A, R>,
        budget: &mut Budget,
    ) -> Result<Option<Glance>, Error> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        budget.spend(Budget::ROW)?;

        let at = self.next;
        let head_len = (self.attribute.width as usize).wrapping_add(1);
        let head = window.peek(at, head_len, Reason::RowEnd)?;
        let (start, info) = A::start_and_info(head, self.attribute.width);
        if !(self.least..self.end).contains(&start.into()) {
            return Err(self.misplaced(window, start));
        }
        let glance = Glance {
            start,
            info,
            at: at.wrapping_add(head_len as u64),
        };
        let Some(words_len) = Row::words_len::<A>(info, self.attribute.flexible) else {
            return Err(self.meaningless(window, glance));
        };

        self.next = glance.at.wrapping_add(words_len);
        self.left = left;
        self.least = u64::from(start).wrapping_add(1);
        Ok(Some(glance))
    }

    /// The error of the next row, which starts where it may not.
    #[cold]
    fn misplaced<A: Abi, R: Reader>(&self, window: &Window<'_, A, R>, start: u32) -> Error {
        let reason = if u64::from(start) < self.least {
            Reason::RowOrder
        } else {
            Reason::RowStart
        };

        window.error(reason, self.next)
    }

    /// The error of a row whose information byte has no meaning.
    #[cold]
    fn meaningless<A: Abi, R: Reader>(&self, window: &Window<'_, A, R>, glance: Glance) -> Error {
        match self.row(window, glance) {
            Ok(row) => window.error(Reason::RowInfo, row.info_at()),
            Err(error) => error,
        }
    }

    /// All of a row that was stepped over.
    fn row<A: Abi, R: Reader>(
        &self,
        window: &Window<'_, A, R>,
        glance: Glance,
    ) -> Result<Row, Error> {
        let Glance { start, info, at } = glance;

        Row::parse::<A>(start, info, self.attribute.flexible, at)
            .map_err(|reason| window.error(reason, at.wrapping_sub(1)))
    }

    /// The rule that holds at address `pc`, which the function must hold: that of the last row at
    /// or below it.
    #[inline]
    pub(super) fn rule_at<A: Abi, R: Reader>(
        mut self,
        window: &mut Window<'_, A, R>,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        // The function holds `pc`, so this is below its size.
        let offset = pc.wrapping_sub(self.function);
        let wanted = match self.attribute.block {
            Some(block) => offset.checked_rem(u64::from(block)).unwrap_or(0),
            None => offset,
        };
        let mut found = None;

        if self.attribute.rows == 0 && self.attribute.signal {
            return Ok(Rule::signal_frame());
        }
        while let Some(glance) = self.step(window, budget)? {
            if u64::from(glance.start) > wanted {
                break;
            }
            found = Some(glance);
        }
        let row = self.row(window, found.ok_or(Error::NotFound)?)?;
        window.rule(&self.attribute, &row)
    }
}

/// The rows of a function, in order.
pub(crate) struct Rows<'a, A, R> {
    window: Window<'a, A, R>,
    walk: Walk,
}

impl Function {
    /// The rows of the function, which must be of the table of `header`.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] or [`Error::Malformed`] if its attribute cannot be had.
    #[allow(dead_code, reason = "for tests and tools")]
    pub(crate) fn rows<'a, A: Abi, R: Reader>(
        &self,
        header: &Header<A>,
        reader: &'a R,
    ) -> Result<Rows<'a, A, R>, Error> {
        let mut window = Window::new(header, reader);
        let walk = Walk::start(self, &mut window)?;

        Ok(Rows { window, walk })
    }
}

#[allow(dead_code, reason = "for tests and tools")]
impl<A: Abi, R: Reader> Rows<'_, A, R> {
    /// What holds for all of them.
    pub(crate) fn attribute(&self) -> Attribute {
        self.walk.attribute
    }

    /// The next row, if there is one; it is paid for.
    ///
    /// There are at most 65,535.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`], [`Error::Malformed`] or [`Error::Budget`]; there is nothing behind one.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<Row>, Error> {
        match self.walk.step(&mut self.window, budget)? {
            Some(glance) => self.walk.row(&self.window, glance).map(Some),
            None => Ok(None),
        }
    }

    /// The rule of `row`, which must be one of these.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] or [`Error::Malformed`] if its words cannot be had or have no meaning.
    pub(crate) fn rule(&mut self, row: &Row) -> Result<Rule, Error> {
        self.window.rule(&self.walk.attribute, row)
    }
}
