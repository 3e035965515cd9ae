// SPDX-License-Identifier: GPL-2.0

//! CIEs: "The Common Information Entry Format" of the specification.

use super::{
    super::{
        Arch,
        Error,
        Reader,
        Unsupported, //
    },
    cursor::Cursor,
    pointer::Encoding,
    reason::Reason, //
};

/// Number of bytes of a CIE that are read first: the longest that compilers write.
const FIRST: usize = 32;

/// A CIE, but for its program.
#[derive(Clone, Copy)]
pub(super) struct Cie {
    /// Factor of advances.
    pub(super) code_factor: u64,
    /// Factor of offsets.
    pub(super) data_factor: i64,
    /// Encoding of the function's start in an FDE.
    pub(super) encoding: Encoding,
    /// Whether an FDE has augmentation data.
    pub(super) augmented: bool,
    /// Whether the functions are restorers.
    pub(super) signal: bool,
    /// Whether return addresses are signed with key B.
    pub(super) key_b: bool,
}

impl Cie {
    /// Reads the CIE at byte `place` of a table of `len` bytes. Then the cursor is at its program.
    pub(super) fn read<A: Arch, R: Reader>(
        cursor: &mut Cursor<'_, A, R>,
        place: u64,
        len: u64,
    ) -> Result<Self, Error> {
        cursor.open(place, len, FIRST)?;
        let record_len = cursor.u32()?;
        if record_len == 0 {
            return Err(Reason::NotCie.at(place));
        }
        if !cursor.limit(record_len.into()) {
            return Err(Reason::Length.at(place));
        }
        if cursor.u32()? != 0 {
            return Err(Reason::NotCie.at(place));
        }
        let version = cursor.byte()?;
        if !matches!(version, 1 | 3 | 4) {
            return Err(Unsupported::CieVersion.into());
        }
        let letters = Self::augmentation(cursor)?;
        // How long an address is, and the selector of its segment.
        if version == 4 && cursor.bytes()? != [8, 0] {
            return Err(Unsupported::Encoding.into());
        }
        let code_factor = cursor.uleb()?;
        let data_factor = cursor.sleb()?;
        let return_register = if version == 1 {
            cursor.byte()?.into()
        } else {
            cursor.register()?
        };
        if return_register != A::RA {
            return Err(Unsupported::ReturnRegister.into());
        }

        let mut cie = Self {
            code_factor,
            data_factor,
            encoding: Encoding::ABSOLUTE,
            augmented: false,
            signal: false,
            key_b: false,
        };
        let [first, letters @ ..] = letters;
        if first == b'z' {
            cie.augmented = true;
            cie.read_augmentation(cursor, &letters)?;
        } else if first != 0 {
            return Err(Unsupported::Augmentation.into());
        }
        Ok(cie)
    }

    /// Takes the augmentation, a string of at most 7 letters. Zeros follow.
    fn augmentation<A: Arch, R: Reader>(cursor: &mut Cursor<'_, A, R>) -> Result<[u8; 8], Error> {
        let mut letters = [0; 8];

        for letter in &mut letters {
            *letter = cursor.byte()?;
            if *letter == 0 {
                return Ok(letters);
            }
        }
        Err(Unsupported::Augmentation.into())
    }

    /// Takes the augmentation data: those of each letter, after their length.
    fn read_augmentation<A: Arch, R: Reader>(
        &mut self,
        cursor: &mut Cursor<'_, A, R>,
        letters: &[u8],
    ) -> Result<(), Error> {
        let len = cursor.uleb()?;
        let before = cursor.left();

        for letter in letters {
            match letter {
                0 => break,
                b'R' => {
                    let encoding = Encoding::of_functions(cursor.byte()?);
                    self.encoding = encoding.ok_or(Unsupported::Encoding)?;
                }
                b'P' => {
                    let encoding = cursor.byte()?;
                    Encoding::skip(encoding, cursor)?;
                }
                // How an FDE has the address of data of its language.
                b'L' => {
                    cursor.byte()?;
                }
                b'S' => self.signal = true,
                b'B' => self.key_b = true,
                // The frame has tagged memory.
                b'G' => {}
                _ => return Err(Unsupported::Augmentation.into()),
            }
        }
        // Does not wrap: the cursor has gone on.
        let taken = before.wrapping_sub(cursor.left());
        let rest = len.checked_sub(taken);
        cursor.skip(rest.ok_or_else(|| Reason::RecordEnd.at(cursor.position()))?)
    }
}
