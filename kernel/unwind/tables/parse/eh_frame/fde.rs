// SPDX-License-Identifier: GPL-2.0

//! The record of a function: "The Frame Description Entry Format" of the specification.

use super::{
    super::{
        Arch,
        Error,
        Reader,
        Rule, //
    },
    cie::Cie,
    cursor::Cursor,
    program::Program,
    reason::Reason,
    row::Row, //
};

/// The parameters of a lookup.
pub(super) struct Wanted {
    /// Address of the table's first byte.
    pub(super) base: u64,
    /// Length of the table, in bytes.
    pub(super) len: u64,
    /// The address that is looked up.
    pub(super) pc: u64,
    /// The start of its function, as the index has it.
    pub(super) start: u64,
    /// The register whose place goes into the row instead of that of the frame pointer.
    pub(super) tracked: u32,
}

/// Reads the CIE at byte `place` of the table, and runs its program. Returns the row
/// with which all its functions start, too.
#[inline(never)]
fn read_cie<A: Arch, R: Reader>(
    reader: &R,
    place: u64,
    wanted: &Wanted,
) -> Result<(Cie, Row), Error> {
    let mut cursor = Cursor::<A, R>::new(reader);
    let cie = Cie::read(&mut cursor, place, wanted.len)?;
    let row = Program::new(&cie, Row::EMPTY, wanted).run_common(&mut cursor)?;

    Ok((cie, row))
}

/// Finds the rule for the wanted address in the FDE at byte `place` of a table.
pub(super) fn rule<A: Arch, R: Reader>(
    reader: &R,
    place: u64,
    wanted: &Wanted,
) -> Result<Rule, Error> {
    let mut cursor = Cursor::<A, R>::new(reader);

    cursor.open(place, wanted.len, usize::MAX)?;
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
    let (cie, row) = read_cie::<A, R>(reader, cie_place, wanted)?;

    let rest = cursor.position();
    if cie.encoding.address(&mut cursor, wanted.base)? != wanted.start {
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
    let mut program = Program::new(&cie, row, wanted);

    Ok(program.run(&mut cursor, offset)?.rule::<A>(&cie)?)
}
