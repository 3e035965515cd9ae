// SPDX-License-Identifier: GPL-2.0

//! The header: "SFrame Section", "SFrame Preamble" and "SFrame Header" of the specification.

use core::{
    marker::PhantomData,
    mem::MaybeUninit, //
};

use super::{
    super::{
        reader::take,
        AnyBlock,
        Array,
        BlockHead,
        Budget,
        Element,
        Error,
        Index,
        Lost,
        Packed,
        Reader,
        Rule,
        Sink,
        BLOCK,
        LARGE_BLOCK, //
    },
    abi::Abi,
    function::Function,
    quick::{
        self,
        block_rule,
        rule_further_on, //
    },
    reason::Reason,
    row::Walk,
    window::Window,
    words::has_usual_rules, //
};

/// Bytes of the preamble and header.
const SIZE: usize = 28;

/// A decoded header: all that is kept of a table.
///
/// # Invariants
///
/// - The index, `functions` entries of [`Function::ENTRY_SIZE`] bytes from byte `index`, and the
///   rows, `rows_len` bytes from byte `rows`, lie inside the length that the table was said to
///   have, do not overlap each other or the header, and end below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<A> {
    /// Where the index starts, in bytes from the start of the table.
    pub(super) index: u64,
    /// Where the rows start, in bytes from the start of the table.
    pub(super) rows: u64,
    /// How many bytes of rows there are, attributes included.
    pub(super) rows_len: u32,
    /// How many functions the index has.
    pub(super) functions: u32,
    /// Whether a function's start counts from the place it is written at, not from the table's.
    pub(super) pc_relative: bool,
    abi: PhantomData<A>,
}

/// What a quick lookup has left to be done.
pub(crate) enum Rest {
    /// To read on in the rows of a function.
    ReadOn(BlockHead),
    /// To look at the function that this element of the index is.
    Decide(Element),
    /// To search the index: it is of an unusual kind, or a quick search has failed.
    Search,
    /// Nothing but to say this.
    Nothing(Error),
}

impl Rest {
    /// To go on behind what a search has found, which was not enough.
    pub(crate) fn behind(head: &BlockHead) -> Self {
        if head.progress.place != 0 {
            Self::ReadOn(*head)
        } else {
            Self::Decide(head.element)
        }
    }
}

impl From<Error> for Rest {
    fn from(error: Error) -> Self {
        Self::Nothing(error)
    }
}

impl<A: Abi> Header<A> {
    /// `SFRAME_MAGIC`.
    const MAGIC: u16 = 0xdee2;
    /// `SFRAME_VERSION_3`.
    const VERSION: u8 = 3;
    /// `SFRAME_F_FDE_SORTED`: without it there is no searching.
    const SORTED: u8 = 0x1;
    /// `SFRAME_F_FDE_FUNC_START_PCREL`.
    const PC_RELATIVE: u8 = 0x4;

    /// Reads and checks the header of a table of `len` bytes.
    ///
    /// More bytes than the header accounts for are no error: linkers reserve more than they use.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if it cannot be read, [`Error::Malformed`] if it is none.
    pub(crate) fn read<R: Reader>(reader: &R, len: u64) -> Result<Self, Error> {
        if len < SIZE as u64 {
            return Err(Reason::Truncated.at(len));
        }
        let bytes: [u8; SIZE] = reader.read_array(0)?;

        Self::parse(&bytes, len)
    }

    /// Decodes the header of a table of `len` bytes.
    fn parse(mut bytes: &[u8], len: u64) -> Result<Self, Error> {
        let truncated = || Reason::Truncated.at(len);
        let bytes = &mut bytes;

        let magic = A::u16(take(bytes).ok_or_else(truncated)?);
        if magic == Self::MAGIC.swap_bytes() {
            return Err(Reason::ByteOrder.at(0));
        }
        if magic != Self::MAGIC {
            return Err(Reason::Magic.at(0));
        }
        let [version, flags, abi, fixed_fp, fixed_ra, aux_len] =
            take(bytes).ok_or_else(truncated)?;
        if version != Self::VERSION {
            return Err(Reason::Version.at(2));
        }
        if flags & !(Self::SORTED | Self::PC_RELATIVE) != 0 {
            return Err(Reason::Flags.at(3));
        }
        if flags & Self::SORTED == 0 {
            return Err(Reason::Unsorted.at(3));
        }
        if abi != A::ID {
            return Err(Reason::Abi.at(4));
        }
        if fixed_fp != 0 {
            return Err(Reason::FixedOffset.at(5));
        }
        if i8::from_ne_bytes([fixed_ra]) != A::FIXED_RA {
            return Err(Reason::FixedOffset.at(6));
        }

        let functions = A::u32(take(bytes).ok_or_else(truncated)?);
        // The total number of rows: each function says its own.
        let _: [u8; 4] = take(bytes).ok_or_else(truncated)?;
        let rows_len = A::u32(take(bytes).ok_or_else(truncated)?);
        let index_offset = A::u32(take(bytes).ok_or_else(truncated)?);
        let rows_offset = A::u32(take(bytes).ok_or_else(truncated)?);

        // None of this wraps: all terms are at most 2^36.
        let end = (SIZE as u64).wrapping_add(aux_len.into());
        let index = end.wrapping_add(index_offset.into());
        let index_len = u64::from(functions).wrapping_mul(Function::ENTRY_SIZE as u64);
        let index_end = index.wrapping_add(index_len);
        let rows = end.wrapping_add(rows_offset.into());
        let rows_end = rows.wrapping_add(rows_len.into());
        if index_end > len {
            return Err(Reason::Layout.at(0x14));
        }
        if rows_end > len {
            return Err(Reason::Layout.at(0x18));
        }
        if index < rows_end && rows < index_end {
            return Err(Reason::Layout.at(0x14));
        }

        // INVARIANT: Both ranges were just checked against `len` and each other, and start at or
        // after the end of the header.
        Ok(Self {
            index,
            rows,
            rows_len,
            functions,
            pc_relative: flags & Self::PC_RELATIVE != 0,
            abi: PhantomData,
        })
    }

    /// How many functions the table has.
    pub(crate) fn functions(&self) -> u32 {
        self.functions
    }

    /// How many bytes the table has, of those that it may use.
    pub(crate) fn table_len(&self) -> u64 {
        let index_len = u64::from(self.functions).saturating_mul(Function::ENTRY_SIZE as u64);
        let index_end = self.index.saturating_add(index_len);

        index_end.max(self.rows.saturating_add(self.rows_len.into()))
    }

    /// The rule that holds at address `pc`, from the table that stands at address `base`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the table says nothing about `pc`; [`Error::Fault`],
    /// [`Error::Malformed`] or [`Error::Budget`] if what it says cannot be had.
    pub(crate) fn rule<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        let mut rule = None;

        self.put_rule(reader, base, pc, budget, &mut rule)?;
        rule.ok_or(Error::NotFound)
    }

    /// The same, but puts the rule into `sink`.
    pub(crate) fn put_rule<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        match self.quick_rule(reader, base, pc, budget) {
            Ok(rule) => {
                sink.put_packed(rule);
                Ok(())
            }
            Err(rest) => self.put_rest(&rest, reader, base, pc, budget, sink),
        }
    }

    /// The same rule, if it is found quickly; or what is left to be done, for [`Header::put_rest`].
    // A kernel calls this in one place for each reader. Its tests do so in others, and without this
    // the compiler would inline it in none.
    #[inline(always)]
    pub(crate) fn quick_rule<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Packed, Rest> {
        let Some(index) = self.usual_index().filter(|_| pc <= quick::HIGHEST) else {
            return Err(Rest::Search);
        };
        budget.spend(Budget::FIND)?;
        let mut room = MaybeUninit::uninit();
        match reader
            .find(base, &index, pc, &mut room)
            .ok_or(Rest::Search)?
        {
            AnyBlock::Small(block) => {
                block_rule::<A, _>(block, pc).ok_or_else(|| Rest::behind(&block.head))
            }
            AnyBlock::Large(block) => {
                block_rule::<A, _>(block, pc).ok_or_else(|| Rest::behind(&block.head))
            }
        }
    }

    /// Does what a quick lookup has left to be done, and puts the rule into `sink`.
    ///
    /// # Errors
    ///
    /// As [`Header::rule`].
    #[inline(never)]
    pub(crate) fn put_rest<R: Reader>(
        &self,
        rest: &Rest,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let (element, head) = match rest {
            Rest::ReadOn(head) => (head.element, Some(*head)),
            Rest::Decide(element) => (*element, None),
            Rest::Search => {
                budget.spend(Budget::FIND)?;
                let element = reader
                    .bisect(&self.array(base), pc)
                    .map_err(|lost| self.lost(lost))?;

                (element, Some(BlockHead::new(element)))
            }
            Rest::Nothing(error) => return Err(*error),
        };

        budget.limited(|budget| self.decide(&element, head, reader, base, pc, budget, sink))
    }

    /// Puts the rule into `sink` of the function whose entry a search of the index has found,
    /// whatever that is like. If `head` is given, it first reads on there.
    #[expect(clippy::too_many_arguments)]
    #[inline(always)]
    fn decide<R: Reader>(
        &self,
        element: &Element,
        head: Option<BlockHead>,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let mut function = Function::from_element(self, element)?;

        if !function.holds(pc) {
            function = function.hidden(self, reader, base, pc, budget)?;
        } else if let (Some(head), Some(index)) = (head, self.usual_rows()) {
            let rule = rule_further_on::<A, _>(reader, base, &index, head, pc, budget)?;

            if let Some(rule) = rule {
                sink.put_packed(rule);
                return Ok(());
            }
        }

        let mut window = Window::new(self, reader);
        sink.put(Walk::start(&function, &mut window)?.rule_at(&mut window, pc, budget)?);
        Ok(())
    }

    /// The index, if it is as linkers write it for the machine that this runs on, and rows are:
    /// what a search of it finds is for [`block_rule`].
    #[inline(always)]
    pub(crate) fn usual_index(&self) -> Option<Index> {
        self.usual_rows().filter(|_| self.pc_relative)
    }

    /// The same, whatever the index is like: blocks can be read of what another search finds.
    #[inline(always)]
    fn usual_rows(&self) -> Option<Index> {
        if !has_usual_rules::<A>() || cfg!(target_endian = "big") {
            return None;
        }
        // Does not wrap: the rows end below 2^63.
        let rows_end = self.rows.wrapping_add(self.rows_len.into());

        Some(Index {
            first: self.index,
            blocks: self.rows,
            // Before the rows, there is more of the table.
            last: rows_end.checked_sub(BLOCK as u64)?,
            count: self.functions,
            small: if rows_end < LARGE_BLOCK as u64 {
                u32::MAX
            } else {
                quick::SMALL
            },
        })
    }

    /// The index, of the table that stands at address `base`.
    #[inline(always)]
    fn array(&self, base: u64) -> Array {
        Array {
            place: self.index,
            origin: if self.pc_relative {
                base.wrapping_add(self.index)
            } else {
                base
            },
            count: self.functions,
            wide: true,
            relative: self.pc_relative,
            swapped: A::BIG_ENDIAN != cfg!(target_endian = "big"),
        }
    }

    /// The error of a search in the index.
    #[cold]
    #[inline(never)]
    fn lost(&self, lost: Lost) -> Error {
        match lost {
            Lost::NotFound => Error::NotFound,
            Lost::Fault => Error::Fault,
            Lost::Unsorted(nth) => Reason::Unsorted.at(Function::entry(self, nth)),
        }
    }
}
