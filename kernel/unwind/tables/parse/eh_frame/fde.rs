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

/// Bytes of a record's length and of what follows it.
const HEAD: usize = 8;

/// Where a table is.
pub(super) struct Table {
    /// Address of its first byte.
    pub(super) base: u64,
    /// Bytes of it.
    pub(super) len: u64,
}

/// What is looked up.
pub(super) struct Wanted {
    /// The address.
    pub(super) pc: u64,
    /// Where its function is said to begin.
    pub(super) start: u64,
    /// The register that stands where the frame pointer would be.
    pub(super) tracked: u32,
}

/// Reads the CIE at byte `place` of a table of `len` bytes, and runs its program. All its functions
/// start with the row that this makes.
#[inline(never)]
fn read_cie<A: Abi, R: Reader>(
    cursor: &mut Cursor<'_, A, R>,
    place: u64,
    len: u64,
    wanted: &Wanted,
) -> Result<(Cie, Row), Error> {
    let cie = Cie::read(cursor, place, len)?;
    let program = Program::new(&cie, Row::EMPTY, wanted.pc, wanted.tracked);
    let row = program.run_common(cursor)?;

    Ok((cie, row))
}

/// The rule that holds at the wanted address, from the FDE at byte `place` of a table.
///
/// One cursor reads the beginning of the FDE, its CIE, and then its rest.
pub(super) fn rule<A: Abi, R: Reader>(
    reader: &R,
    table: &Table,
    place: u64,
    wanted: &Wanted,
) -> Result<Rule, Error> {
    let mut cursor = Cursor::<A, R>::new(reader);

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

    let (cie, row) = read_cie(&mut cursor, cie_place, table.len, wanted)?;

    cursor.open(rest, end, usize::MAX)?;
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
