// SPDX-License-Identifier: GPL-2.0

//! The index, `.eh_frame_hdr`: "The .eh_frame_hdr section" of the specification.

use core::marker::PhantomData;

use super::{
    super::{
        error,
        Arch,
        Array,
        Error,
        Reader,
        Rule, //
    },
    fde::{
        self,
        Wanted, //
    },
    reason::Reason, //
};

/// The address of the records, as the header of an index has it.
///
/// Lookups do not need it, but discovery does: linkers may put the records into another segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// There are none: the index has no entries.
    None,
    /// The records start at this address.
    At(u64),
    /// The header has no such address, or has it in another encoding than linkers write.
    Unsaid,
}

impl Records {
    /// Number of bytes of the header that this needs.
    pub(crate) const LEN: usize = 12;
    /// `DW_EH_PE_pcrel | DW_EH_PE_sdata4`.
    const POINTER: u8 = 0x1b;
    /// Offset of the pointer in the header.
    const POINTER_AT: u64 = 4;

    /// Decodes the first bytes of a header that is at `address`.
    pub(crate) fn new<A: Arch>(header: [u8; Self::LEN], address: u64) -> Self {
        let [version, pointer, count, entry, a, b, c, d, number @ ..] = header;

        if version != Header::<A>::VERSION {
            return Self::Unsaid;
        }
        if count == Header::<A>::OMITTED || entry == Header::<A>::OMITTED {
            return Self::None;
        }
        if pointer != Self::POINTER {
            return Self::Unsaid;
        }
        if count == Header::<A>::COUNT && u32::from_le_bytes(number) == 0 {
            return Self::None;
        }
        let distance = u32::from_le_bytes([a, b, c, d]) as i32 as u64;

        Self::At(
            address
                .wrapping_add(Self::POINTER_AT)
                .wrapping_add(distance),
        )
    }
}

/// A decoded header of an index: all that is kept of a table.
///
/// # Invariants
///
/// - The index, `count` entries from byte `index`, lies inside of the `len` bytes that the table
///   was said to have, and so does byte `place`, which is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<A> {
    /// Where the header starts, in bytes from the start of the table.
    place: u32,
    /// Where the index starts, in bytes from the start of the table.
    index: u32,
    /// How many functions the index has.
    pub(crate) count: u32,
    /// Bytes of the table.
    len: u32,
    /// Whether an entry has 16 bytes, not 8.
    wide: bool,
    abi: PhantomData<A>,
}

impl<A: Arch> Header<A> {
    const VERSION: u8 = 1;
    /// `DW_EH_PE_omit`: there is no such thing.
    const OMITTED: u8 = 0xff;
    /// `DW_EH_PE_udata4`.
    const COUNT: u8 = 0x03;
    /// `DW_EH_PE_datarel | DW_EH_PE_sdata4`: from the start of the header.
    const ENTRY: u8 = 0x3b;
    /// `DW_EH_PE_datarel | DW_EH_PE_sdata8`.
    const WIDE_ENTRY: u8 = 0x3c;

    /// Reads and checks the header at byte `place` of a table of `len` bytes.
    ///
    /// A header without an index is a header of no functions.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] if the header cannot be read, [`Error::Malformed`] if it contradicts the
    /// format.
    pub(crate) fn read<R: Reader>(reader: &R, place: u32, len: u32) -> Result<Self, Error> {
        let at = |bytes| u64::from(place).wrapping_add(bytes);
        let has = |bytes| at(bytes) <= u64::from(len);

        if !has(4) {
            return Err(Reason::Truncated.at(len.into()));
        }
        let [version, pointer, count, entry] = reader.read_array(at(0))?;
        if version != Self::VERSION {
            return Err(Reason::Version.at(at(0)));
        }
        // INVARIANT: An index without entries lies anywhere.
        let mut header = Self {
            place,
            index: place,
            count: 0,
            len,
            wide: entry == Self::WIDE_ENTRY,
            abi: PhantomData,
        };
        if count == Self::OMITTED || entry == Self::OMITTED {
            return Ok(header);
        }
        // The pointer to `.eh_frame` is not needed: the entries point to all its records.
        let pointer_len = match pointer & 0x0f {
            _ if pointer == Self::OMITTED => 0,
            0x3 | 0xb => 4,
            0x0 | 0x4 | 0xc => 8,
            _ => return Err(Reason::Encoding.at(at(1))),
        };
        if count != Self::COUNT {
            return Err(Reason::Encoding.at(at(2)));
        }
        if entry != Self::ENTRY && entry != Self::WIDE_ENTRY {
            return Err(Reason::Encoding.at(at(3)));
        }

        // None of this wraps: all terms are below 2^37.
        let count_at = 4u64.wrapping_add(pointer_len);
        let index_at = count_at.wrapping_add(4);
        if !has(index_at) {
            return Err(Reason::Truncated.at(len.into()));
        }
        header.count = u32::from_le_bytes(reader.read_array(at(count_at))?);
        let size = if header.wide { 16 } else { 8 };
        let index_len = u64::from(header.count).wrapping_mul(size);
        if !has(index_at.wrapping_add(index_len)) {
            return Err(Reason::Layout.at(at(count_at)));
        }
        // INVARIANT: Just checked, and so this fits.
        header.index = at(index_at) as u32;
        Ok(header)
    }

    /// Finds the rule that holds at address `pc`, from the table that stands at address `base`.
    ///
    /// The rule has the place of the register with the DWARF number `tracked` instead of that of
    /// the frame pointer. This is any register but the stack pointer and the return address. A
    /// restorer has no rule for another register than the frame pointer.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the table says nothing about `pc`, [`Error::Unsupported`] if it does
    /// and that is not understood, [`Error::Malformed`], or those of `reader`.
    pub(crate) fn rule<R: Reader>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
        tracked: u32,
    ) -> Result<Rule, Error> {
        let array = self.array(base);
        let mut element = reader.bisect(&array, pc)?;
        let wanted = Wanted {
            base,
            len: self.len.into(),
            pc,
            start: element.start,
            tracked,
        };

        // Compilers write FDEs of no bytes, for code that they have left out. Such a one starts
        // where the next function does, and not every linker sorts it before that.
        loop {
            let distance = match self.wide {
                true => element.rest,
                false => element.rest as i32 as u64,
            };
            let place = u64::from(self.place).wrapping_add(distance);

            // A linker fills entries that it has no function for with the header's own address.
            if distance != 0 {
                if place >= self.len.into() {
                    return Err(Reason::FdePlace.at(array.element(element.nth)));
                }
                match fde::rule::<A, R>(reader, place, &wanted) {
                    Err(Error::NotFound) => {}
                    found => return found,
                }
            }
            // What the reader may cost ends this, if not the index.
            let before = element.nth.checked_sub(1).ok_or(Error::NotFound)?;
            element = array.read(reader, before)?;
            if element.start != wanted.start {
                return Err(Error::NotFound);
            }
        }
    }

    /// Describes the index of the table at address `base`.
    fn array(&self, base: u64) -> Array {
        Array {
            place: self.index.into(),
            origin: base.wrapping_add(self.place.into()),
            count: self.count,
            wide: self.wide,
            relative: false,
            unsorted: error::Reason::EhFrame(Reason::Unsorted),
        }
    }
}
