// SPDX-License-Identifier: GPL-2.0

//! Pointers: "DWARF Exception Header Encoding" of the specification.

use super::{
    super::{
        Arch,
        Error,
        Reader,
        Unsupported, //
    },
    cursor::Cursor, //
};

/// The encoding of a pointer: its format and its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding(u8);

impl Encoding {
    /// `DW_EH_PE_absptr`: eight bytes.
    pub(super) const ABSOLUTE: Self = Self(0x00);
    /// `DW_EH_PE_pcrel`: the base is the place of the pointer.
    const PC_RELATIVE: u8 = 0x10;
    /// `DW_EH_PE_aligned`: there is padding before it.
    const ALIGNED: u8 = 0x50;
    /// `DW_EH_PE_indirect`: the pointer is the address of the value.
    const INDIRECT: u8 = 0x80;
    const BASE: u8 = 0x70;
    const FORMAT: u8 = 0x0f;
    const ULEB128: u8 = 0x01;
    const UDATA2: u8 = 0x02;
    const UDATA4: u8 = 0x03;
    const UDATA8: u8 = 0x04;
    const SIGNED: u8 = 0x08;
    const SLEB128: u8 = 0x09;
    const SDATA2: u8 = 0x0a;
    const SDATA4: u8 = 0x0b;
    const SDATA8: u8 = 0x0c;

    /// Decodes the encoding of pointers to functions. Returns `None` if no linker writes it.
    pub(super) fn of_functions(byte: u8) -> Option<Self> {
        let base = byte & (Self::BASE | Self::INDIRECT);
        let format = matches!(
            byte & Self::FORMAT,
            0 | Self::UDATA4 | Self::UDATA8 | Self::SDATA4 | Self::SDATA8
        );

        (format && (base == 0 || base == Self::PC_RELATIVE)).then_some(Self(byte))
    }

    /// Takes the address that a pointer stands for, in the table that stands at address `base`.
    pub(super) fn address<A: Arch, R: Reader>(
        self,
        cursor: &mut Cursor<'_, A, R>,
        base: u64,
    ) -> Result<u64, Error> {
        let place = base.wrapping_add(cursor.position());
        let value = self.number(cursor)?;

        Ok(if self.0 & Self::BASE == Self::PC_RELATIVE {
            place.wrapping_add(value)
        } else {
            value
        })
    }

    /// Takes a number in the format of a pointer.
    pub(super) fn number<A: Arch, R: Reader>(
        self,
        cursor: &mut Cursor<'_, A, R>,
    ) -> Result<u64, Error> {
        Ok(match self.0 & Self::FORMAT {
            Self::UDATA4 => cursor.u32()?.into(),
            Self::SDATA4 => cursor.u32()? as i32 as u64,
            _ => u64::from_le_bytes(cursor.bytes()?),
        })
    }

    /// Passes a pointer of any encoding that has no padding.
    pub(super) fn skip<A: Arch, R: Reader>(
        byte: u8,
        cursor: &mut Cursor<'_, A, R>,
    ) -> Result<(), Error> {
        if byte & Self::BASE == Self::ALIGNED {
            return Err(Unsupported::Encoding.into());
        }
        match byte & Self::FORMAT {
            Self::ULEB128 | Self::SLEB128 => cursor.uleb().map(|_| ()),
            Self::UDATA2 | Self::SDATA2 => cursor.skip(2),
            Self::UDATA4 | Self::SDATA4 => cursor.skip(4),
            0 | Self::UDATA8 | Self::SIGNED | Self::SDATA8 => cursor.skip(8),
            _ => Err(Unsupported::Encoding.into()),
        }
    }
}
