// SPDX-License-Identifier: GPL-2.0

//! The expressions that are known: "DWARF Expressions" of the specification, 2.5.
//!
//! Nothing is evaluated. These are all that compilers, assemblers and linkers write for AMD64 but
//! for a few hand-written ones: a register and an offset, what is there, at most fifteen words
//! above that, and the CFA in a procedure linkage table.

use super::{
    super::{
        Arch,
        Error,
        Reader,
        Register,
        Unsupported,
        Value, //
    },
    cursor::Cursor,
    row::Cfa, //
};

/// Limit of an expression's bytes: the longest known one has 11.
const MAX: usize = 16;

/// `DW_OP_deref`.
const DEREF: u8 = 0x06;
/// `DW_OP_plus_uconst`.
const PLUS_UCONST: u8 = 0x23;
/// `DW_OP_breg0`, the first of 32: a register and an offset.
const BREG0: u8 = 0x70;
/// `DW_OP_breg31`, the last one.
const BREG31: u8 = 0x8f;

/// Takes the expression that the CFA is the value of, at address `pc`.
pub(super) fn cfa<A: Arch, R: Reader>(
    cursor: &mut Cursor<'_, A, R>,
    pc: u64,
) -> Result<Cfa, Error> {
    known(cursor, |bytes| {
        if let Some(offset) = A::linkage_cfa(bytes, pc) {
            return Some((Value::Register(Register::Sp, offset), 0));
        }
        let (register, offset, rest) = base::<A>(bytes)?;

        match *rest {
            [] => Some((Value::Register(register, offset), 0)),
            [DEREF] => Some((Value::AtRegister(register, offset), 0)),
            // Whole words, of a number of one byte.
            [DEREF, PLUS_UCONST, above] if above & 0x87 == 0 => {
                Some((Value::AtRegister(register, offset), above as i8))
            }
            _ => None,
        }
    })
    .map(|found| match found {
        Ok((value, above)) => Cfa::Expression(Ok(value), above),
        Err(unsupported) => Cfa::Expression(Err(unsupported), 0),
    })
}

/// Takes an expression about a register: of the address that it was saved at, or of its value.
/// Returns the register and the offset that it names.
pub(super) fn sum<A: Arch, R: Reader>(
    cursor: &mut Cursor<'_, A, R>,
) -> Result<Result<(Register, i32), Unsupported>, Error> {
    known(cursor, |bytes| match base::<A>(bytes)? {
        (register, offset, []) => Some((register, offset)),
        _ => None,
    })
}

/// Takes an expression. Returns what `know` recognises in it.
#[inline(never)]
fn known<A: Arch, R: Reader, T>(
    cursor: &mut Cursor<'_, A, R>,
    know: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Result<T, Unsupported>, Error> {
    let len = cursor.uleb()?;
    let mut bytes = [0; MAX];
    let bytes = usize::try_from(len)
        .ok()
        .and_then(|len| bytes.get_mut(..len));

    let Some(bytes) = bytes else {
        cursor.skip(len)?;
        return Ok(Err(Unsupported::Expression));
    };
    for byte in &mut *bytes {
        *byte = cursor.byte()?;
    }
    Ok(know(bytes).ok_or(Unsupported::Expression))
}

/// Decodes the register and the offset at the start of an expression. Returns them with the rest.
fn base<A: Arch>(bytes: &[u8]) -> Option<(Register, i32, &[u8])> {
    let (code, mut rest) = bytes.split_first()?;

    if !(BREG0..=BREG31).contains(code) {
        return None;
    }
    let register = A::register(code.wrapping_sub(BREG0).into())?;
    let offset = offset(&mut rest)?;
    Some((register, offset, rest))
}

/// Takes a signed number of at most four bytes: no offset is larger.
fn offset(bytes: &mut &[u8]) -> Option<i32> {
    let mut value = 0i32;
    let mut shift = 0u32;

    while shift < 28 {
        let (byte, rest) = bytes.split_first()?;

        *bytes = rest;
        value |= i32::from(byte & 0x7f).wrapping_shl(shift);
        shift = shift.wrapping_add(7);
        if *byte < 0x80 {
            // The sign is the highest bit of what there is.
            let unused = 32u32.wrapping_sub(shift);
            return Some(value.wrapping_shl(unused).wrapping_shr(unused));
        }
    }
    None
}
