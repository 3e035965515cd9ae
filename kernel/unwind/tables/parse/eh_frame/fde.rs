// SPDX-License-Identifier: GPL-2.0

//! The record of a function: "The Frame Description Entry Format" of the specification.

use super::{
    super::{
        Budget,
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

/// Bytes of a record's length and of what follows it.
const HEAD: usize = 8;

/// Where a table is.
pub(super) struct Table {
    /// Address of its first byte.
    pub(super) base: u64,
    /// Bytes of it.
    pub(super) len: u64,
}

/// The rule that holds at address `pc`, from the FDE at byte `place` of a table, of a function that
/// is said to begin at `start`.
///
/// One cursor reads the beginning of the FDE, its CIE, and then its rest.
pub(super) fn rule<A: Abi, R: Reader>(
    reader: &R,
    table: &Table,
    place: u64,
    start: u64,
    pc: u64,
    budget: &mut Budget,
) -> Result<Rule, Error> {
    let mut cursor = Cursor::<A, R>::new(reader, budget);

    cursor.open(place, table.len, HEAD)?;
    let len = cursor.u32()?;
    let id_place = cursor.position();
    let id = cursor.u32()?;
    if id == 0 || len == 0 {
        return Err(Reason::NotFde.at(place));
    }
    // Neither wraps: the place is in the table.
    let end = id_place.wrapping_add(len.into());
    if len < 4 || end > table.len {
        return Err(Reason::Length.at(place));
    }
    let cie_place = id_place
        .checked_sub(id.into())
        .ok_or_else(|| Reason::CiePlace.at(id_place))?;
    let rest = cursor.position();

    let cie = Cie::read(&mut cursor, cie_place, table.len)?;
    let mut program = Program::new(&cie, pc);
    program.run_common(&mut cursor)?;

    cursor.open(rest, end, usize::MAX)?;
    if cie.encoding.address(&mut cursor, table.base)? != start {
        return Err(Reason::Start.at(rest));
    }
    // Does not wrap: the search finds a start that is not above `pc`.
    let wanted = pc.wrapping_sub(start);
    if wanted >= cie.encoding.number(&mut cursor)? {
        return Err(Error::NotFound);
    }
    if cie.augmented {
        let len = cursor.uleb()?;
        cursor.skip(len)?;
    }
    let row: Row = program.run(&mut cursor, wanted)?;

    Ok(row.rule::<A>(&cie)?)
}
