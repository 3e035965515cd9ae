// SPDX-License-Identifier: GPL-2.0

//! The rows: "SFrame Function Descriptor Attribute" and "SFrame Frame Row Entries" of the
//! specification.

use core::marker::PhantomData;

use super::{
    super::{
        Budget,
        Error,
        Key,
        Reader,
        Rule, //
    },
    abi::Abi,
    function::Function,
    header::Header,
    reason::Reason,
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
    /// Its code.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::One => 0,
            Self::Two => 1,
            Self::Four => 2,
        }
    }

    /// The width that a code says.
    #[inline(always)]
    pub(super) fn from_code(code: u8) -> Option<Self> {
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
    pub(super) const SIZE: usize = 5;
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

    /// The number of rows of the attribute at byte `at` of `bytes`, and the code of the width of
    /// their starts, which may have no meaning. `None` if the rows are not default ones.
    #[inline(always)]
    pub(super) fn usual<A: Abi>(bytes: &[u8], at: usize) -> Option<(u16, u8)> {
        let [count_0, count_1, info, kind, block] = *bytes.get(at..)?.first_chunk()?;

        if u16::from_ne_bytes([kind, block]) != 0 {
            return None;
        }
        Some((A::u16([count_0, count_1]), info))
    }

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
    /// Its information byte, which has a meaning.
    info: u8,
    /// Where its data words are, in bytes from the start of the rows.
    at: u64,
}

impl Row {
    /// The CFA is from SP. Of a default function only.
    const FROM_SP: u8 = 1 << 0;
    /// The bits of the number of data words.
    pub(super) const WORDS: u8 = 0xf << 1;
    /// The return address is signed, on AArch64.
    const SIGNED: u8 = 1 << 7;

    /// How many data words there are.
    pub(crate) fn words(&self) -> u8 {
        (self.info >> 1) & 0xf
    }

    /// Bytes of one.
    pub(crate) fn width(&self) -> Width {
        // There is no other code in a row.
        Width::from_code((self.info >> 5) & 3).unwrap_or(Width::One)
    }

    /// Of a default function: whether the CFA is from SP, not FP.
    pub(super) fn counts_from_sp(&self) -> bool {
        Self::is_from_sp(self.info)
    }

    pub(super) fn is_from_sp(info: u8) -> bool {
        info & Self::FROM_SP != 0
    }

    /// Whether the return address is signed.
    pub(super) fn signed<A: Abi>(&self) -> bool {
        Self::is_signed::<A>(self.info)
    }

    pub(super) fn is_signed<A: Abi>(info: u8) -> bool {
        A::SIGNED_RA && info & Self::SIGNED != 0
    }

    /// Where the information byte is, in bytes from the start of the rows.
    pub(super) fn info_at(&self) -> u64 {
        self.at.wrapping_sub(1)
    }

    /// Where data word `nth` is, in bytes from the start of the rows.
    #[inline]
    pub(super) fn word_at(&self, nth: u8) -> u64 {
        let width = 1u64.wrapping_shl(u32::from((self.info >> 5) & 3));

        self.at.wrapping_add(u64::from(nth).wrapping_mul(width))
    }

    /// The length of a row whose information byte has no meaning: more than any has, or a window.
    const NO_LENGTH: u8 = u8::MAX;

    /// How long a row is behind its start, by its information byte.
    pub(super) const fn lengths<A: Abi>(flexible: bool) -> [u8; 256] {
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

    /// The error of an information byte that has no meaning.
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

/// How far the rows of a function have been stepped through.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    attribute: Attribute,
    /// By the information byte, how long a row is behind its start.
    lengths: &'static [u8; 256],
    /// Address of the function's first byte.
    function: u64,
    /// Where the next row is, in bytes from the start of the rows.
    next: u64,
    /// How many are left.
    left: u32,
    /// Where the next one may start at least: where the last one does. An assembler may write two
    /// at one address, of which the later one holds.
    least: u32,
    /// What none may start beyond: the end of the function or of its block. An assembler may write
    /// one at the end, which holds nowhere.
    end: u32,
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
            lengths: if attribute.flexible {
                Lengths::<A>::FLEXIBLE
            } else {
                Lengths::<A>::DEFAULT
            },
            function: function.start,
            next: at.wrapping_add(Attribute::SIZE as u64),
            left: attribute.rows.into(),
            least: 0,
            end: match attribute.block {
                Some(block) => block.into(),
                None => function.size,
            },
        })
    }

    /// Steps over the next row, which must be left. Its start is compared only with the one
    /// before.
    #[inline(never)]
    fn step<A: Abi, R: Reader>(&mut self, window: &mut Window<'_, A, R>) -> Result<Row, Error> {
        let at = self.next;
        let width = self.attribute.width as usize;
        let head = window.peek(at, width.wrapping_add(1), Reason::RowEnd)?;
        let Some((start, info)) = A::start_and_info(&head, 0, self.attribute.width) else {
            return Err(window.error(Reason::RowEnd, at));
        };
        if start < self.least {
            return Err(window.error(Reason::RowOrder, at));
        }
        // There is a length for each byte.
        let length = self.lengths.get(usize::from(info)).copied();
        let length = length.unwrap_or(Row::NO_LENGTH);
        let info_at = at.wrapping_add(width as u64);
        if length == Row::NO_LENGTH {
            return Err(self.bad_row(window, start, info));
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

    /// The error of the next row, whose information byte has no meaning.
    #[cold]
    fn bad_row<A: Abi, R: Reader>(&self, window: &Window<'_, A, R>, start: u32, info: u8) -> Error {
        if start > self.end {
            return window.error(Reason::RowStart, self.next);
        }
        let info_at = self.next.wrapping_add(self.attribute.width as u64);

        window.error(Row::meaningless(info), info_at)
    }

    /// Refuses a row, the last one stepped over, that starts beyond the function.
    fn check_start<A: Abi, R: Reader>(
        &self,
        window: &Window<'_, A, R>,
        row: &Row,
    ) -> Result<(), Error> {
        if row.start <= self.end {
            return Ok(());
        }
        Err(window.error(
            Reason::RowStart,
            row.info_at().wrapping_sub(self.attribute.width as u64),
        ))
    }

    /// The last row at or below `wanted`, which is below the end.
    fn scan<A: Abi, R: Reader>(
        &mut self,
        window: &mut Window<'_, A, R>,
        wanted: u32,
        budget: &mut Budget,
    ) -> Result<Option<Row>, Error> {
        let mut found = None;

        while self.left != 0 {
            budget.spend(Budget::STEP)?;
            let row = self.step(window)?;
            if row.start > wanted {
                self.check_start(window, &row)?;
                break;
            }
            found = Some(row);
        }
        Ok(found)
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
        let offset = pc.wrapping_sub(self.function) as u32;
        let wanted = match self.attribute.block {
            Some(block) => offset.checked_rem(block.into()).unwrap_or(0),
            None => offset,
        };

        if self.left == 0 && self.attribute.signal {
            return Ok(Rule::signal_frame());
        }
        match self.scan(window, wanted, budget)? {
            Some(row) => window.rule(&self.attribute, &row),
            None => Err(Error::NotFound),
        }
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
        if self.walk.left == 0 {
            return Ok(None);
        }
        budget.spend(Budget::STEP)?;
        let row = self.walk.step(&mut self.window)?;
        self.walk.check_start(&self.window, &row)?;
        Ok(Some(row))
    }

    /// The rule of `row`, which must be one of these.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] or [`Error::Malformed`] if its words cannot be had or have no meaning,
    /// [`Error::Unsupported`] if they name a register that no rule can.
    pub(crate) fn rule(&mut self, row: &Row) -> Result<Rule, Error> {
        self.window.rule(&self.walk.attribute, row)
    }
}
