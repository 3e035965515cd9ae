// SPDX-License-Identifier: GPL-2.0

//! Notes: "Note Section" of the specification.

use super::super::{
    reader::field,
    Error,
    Reader, //
};

/// Limit of notes that are read.
const MAX_NOTES: usize = 8;

/// Bytes of a note's lengths, its type, and a name of four bytes.
const START: u64 = 16;

/// Says whether one of the first notes in `len` bytes, which `reader` reads from byte 0 on, is the
/// build id of Go's linker: it is in all programs that have code of Go's compiler.
///
/// # Errors
///
/// Those of `reader`.
pub(crate) fn are_of_go<R: Reader>(reader: &R, len: u64) -> Result<bool, Error> {
    /// The type of the note, and its name.
    const GO_BUILD_ID: (u32, [u8; 4]) = (4, *b"Go\0\0");

    let mut at = 0_u64;

    for _ in 0..MAX_NOTES {
        if at.saturating_add(START) > len {
            break;
        }
        let bytes: [u8; START as usize] = reader.read_array(at)?;
        let u32_at = |at| u32::from_le_bytes(field(&bytes, at));
        let (name_len, desc_len, kind) = (u32_at(0), u32_at(4), u32_at(8));

        if name_len == 4 && (kind, field(&bytes, 12)) == GO_BUILD_ID {
            return Ok(true);
        }
        // No sum here is more than 2^64: `at` is less than `len`, which is less than 2^63.
        let padded = |len: u32| u64::from(len).wrapping_add(3) & !3;
        at = at
            .wrapping_add(START - 4)
            .wrapping_add(padded(name_len))
            .wrapping_add(padded(desc_len));
    }
    Ok(false)
}
