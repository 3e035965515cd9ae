// SPDX-License-Identifier: GPL-2.0

//! The record of a function: "The Frame Description Entry Format" of the specification.

use super::{
    super::{
        Error,
        Reader,
        Rule, //
    },
    abi::Abi,
    cie::Cie,
    cursor::Cursor,
    program::Program,
    reason::Reason,
    row::Row, //
};

/// The range of a table.
pub(super) struct Table {
    /// Address of its first byte.
    pub(super) base: u64,
    /// Bytes of it.
    pub(super) len: u64,
}

/// The parameters of a lookup.
pub(super) struct Wanted {
    /// The address.
    pub(super) pc: u64,
    /// The start of its function, as the index has it.
    pub(super) start: u64,
    /// The register whose place is looked up instead of that of the frame pointer.
    pub(super) tracked: u32,
}

/// Reads the CIE at byte `place` of a table of `len` bytes, and runs its program. Returns the row
/// with which all its functions start, too.
#[inline(never)]
fn read_cie<A: Abi, R: Reader>(
    reader: &R,
    place: u64,
    len: u64,
    wanted: &Wanted,
) -> Result<(Cie, Row), Error> {
    let mut cursor = Cursor::<A, R>::new(reader);
    let cie = Cie::read(&mut cursor, place, len)?;
    let program = Program::new(&cie, Row::EMPTY, wanted.pc, wanted.tracked);
    let row = program.run_common(&mut cursor)?;

    Ok((cie, row))
}

/// Finds the rule for the wanted address in the FDE at byte `place` of a table.
pub(super) fn rule<A: Abi, R: Reader>(
    reader: &R,
    table: &Table,
    place: u64,
    wanted: &Wanted,
) -> Result<Rule, Error> {
    let mut cursor = Cursor::<A, R>::new(reader);

    cursor.open(place, table.len, usize::MAX)?;
    let len = cursor.u32()?;
    let id_place = cursor.position();
    let id = cursor.u32()?;
    if id == 0 || len == 0 {
        return Err(Reason::NotFde.at(place));
    }
    // The length counts from the ID on.
    let rest_len = u64::from(len).checked_sub(4);
    if !rest_len.is_some_and(|len| cursor.limit(len)) {
        return Err(Reason::Length.at(place));
    }
    let cie_place = id_place
        .checked_sub(id.into())
        .ok_or_else(|| Reason::CiePlace.at(id_place))?;
    let (cie, row) = read_cie::<A, R>(reader, cie_place, table.len, wanted)?;

    let rest = cursor.position();
    if cie.encoding.address(&mut cursor, table.base)? != wanted.start {
        return Err(Reason::Start.at(rest));
    }
    // Does not wrap: the search finds a start that is not above the address.
    let offset = wanted.pc.wrapping_sub(wanted.start);
    if offset >= cie.encoding.number(&mut cursor)? {
        return Err(Error::NotFound);
    }
    if cie.augmented {
        let len = cursor.uleb()?;
        cursor.skip(len)?;
    }
    let mut program = Program::new(&cie, row, wanted.pc, wanted.tracked);

    Ok(program.run(&mut cursor, offset)?.rule::<A>(&cie)?)
}
