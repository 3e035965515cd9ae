// SPDX-License-Identifier: GPL-2.0

//! The header: "SFrame Section", "SFrame Preamble" and "SFrame Header" of the specification.

use core::marker::PhantomData;

use super::{
    super::{
        reader::take,
        Array,
        Budget,
        Error,
        Lost,
        Reader,
        Rule, //
    },
    abi::Abi,
    function::Function,
    quick,
    reason::Reason,
    row::Walk,
    window::Window, //
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
    // A kernel calls this in one place for each reader. Its tests do so in others, and without this
    // the compiler would inline it in none.
    #[inline(always)]
    pub(crate) fn rule<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        self.with_rule(reader, base, pc, budget, |rule| rule)
    }

    /// The same, but what `then` makes of the rule.
    // What is done with a rule that is still in registers costs least.
    #[inline(always)]
    pub(crate) fn with_rule<R: Reader, T>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        budget: &mut Budget,
        then: impl FnOnce(Rule) -> T,
    ) -> Result<T, Error> {
        budget.spend(Budget::FIND)?;
        let element = match reader.bisect(&self.index(base), pc) {
            Ok(element) => element,
            Err(lost) => return Err(self.lost(lost)),
        };
        let function = Function::from_element(self, &element)?;
        if !function.holds(pc) {
            let rule = self.rule_of_hidden(reader, base, pc, &function, budget)?;
            return Ok(then(rule));
        }

        // The function holds `pc`, so this is below its size.
        let wanted = pc.wrapping_sub(function.start) as u32;
        if let Some(rule) = quick::rule(self, reader, &function, wanted, budget)? {
            return Ok(then(rule));
        }
        let rule = self.rule_in(reader, pc, &function, budget)?;
        Ok(then(rule))
    }

    /// The index, of the table that stands at address `base`.
    #[inline(always)]
    fn index(&self, base: u64) -> Array {
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

    /// The rule that holds at `pc`, which `last` does not hold, the last function that starts at or
    /// below it.
    #[cold]
    #[inline(never)]
    fn rule_of_hidden<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        last: &Function,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        let function = last.hidden(self, reader, base, pc, budget)?;

        self.rule_in(reader, pc, &function, budget)
    }

    /// The rule that holds at `pc` in the function that does, whatever it is like.
    #[inline(never)]
    fn rule_in<R: Reader>(
        &self,
        reader: &R,
        pc: u64,
        function: &Function,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        let mut window = Window::new(self, reader);

        Walk::start(function, &mut window)?.rule_at(&mut window, pc, budget)
    }
}
