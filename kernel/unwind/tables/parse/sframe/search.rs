// SPDX-License-Identifier: GPL-2.0

//! The search in the index, and what is read with it.

use super::{
    super::{
        Fault,
        Reader, //
    },
    abi::Abi,
    function::Function,
    header::Header, //
};

/// Bytes of a function's attribute and rows that are looked at before there is a need for more.
pub(super) const FIRST: usize = 40;
/// Bytes that can be looked at without knowing how many there are.
pub(super) const PEEK: usize = 8;

/// Where a search ended: the last entry that starts at or below an address.
///
/// The layout is for C, where a kernel searches.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Place {
    /// What it starts at, as it was compared.
    pub(super) start: u64,
    /// The second half of the entry.
    pub(super) rest: [u8; 8],
    /// The number of the entry, from 0.
    pub(crate) nth: u32,
    /// How many of the bytes below are of the table's rows; at most `FIRST` count.
    pub(super) filled: u32,
    /// What is where the entry says that its rows are.
    pub(super) bytes: [u8; FIRST + PEEK],
}

/// Why a search did not end at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// All entries start above the address.
    NotFound,
    /// The table could not be read.
    Fault,
    /// The entry of this number starts beyond the address space.
    Beyond(u32),
    /// The entry of this number does not start between those that were compared before.
    Unsorted(u32),
}

impl From<Fault> for Lost {
    fn from(_: Fault) -> Self {
        Self::Fault
    }
}

impl<A: Abi> Header<A> {
    /// Finds the last entry that starts at or below address `pc`, by single reads.
    ///
    /// Of the at most 29 entries on the way only the start is read. Each must not contradict those
    /// before: what lies between two entries starts between them.
    pub(in super::super) fn search<R: Reader + ?Sized>(
        &self,
        reader: &R,
        base: u64,
        pc: u64,
    ) -> Result<Place, Lost> {
        let (mut nth, mut count) = (0u32, self.functions);
        let (mut least, mut most) = (0, u64::MAX);
        let start_of = |nth| {
            let entry = Function::entry(self, nth);
            let offset = A::i64(reader.read_array(entry)?);

            Function::start_of(self, base, entry, offset).ok_or(Lost::Beyond(nth))
        };

        // The last entry at or below the address is in `nth..nth + count`, if there is one.
        while count > 1 {
            let half = count / 2;
            // Cannot wrap: there is such an entry.
            let middle = nth.wrapping_add(half);
            let start = start_of(middle)?;

            if !(least..=most).contains(&start) {
                return Err(Lost::Unsorted(middle));
            }
            if start <= pc {
                (nth, least) = (middle, start);
                count = count.wrapping_sub(half);
            } else {
                (count, most) = (half, start);
            }
        }
        if nth == 0 {
            // This one was not looked at.
            if count == 0 {
                return Err(Lost::NotFound);
            }
            least = start_of(0)?;
            if least > most {
                return Err(Lost::Unsorted(0));
            }
            if least > pc {
                return Err(Lost::NotFound);
            }
        }

        let rest: [u8; 8] = reader.read_array(Function::entry(self, nth).saturating_add(8))?;
        let [.., r0, r1, r2, r3] = rest;
        let rows = A::u32([r0, r1, r2, r3]);
        let filled = (self.rows_len.saturating_sub(rows) as usize).min(FIRST);
        let mut bytes = [0; FIRST + PEEK];
        if let Some(bytes) = bytes.get_mut(..filled).filter(|bytes| !bytes.is_empty()) {
            reader.read(self.rows.saturating_add(rows.into()), bytes)?;
        }
        Ok(Place {
            start: least,
            rest,
            nth,
            filled: filled as u32,
            bytes,
        })
    }
}
