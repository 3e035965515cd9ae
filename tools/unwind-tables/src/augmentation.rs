// SPDX-License-Identifier: GPL-2.0

//! CIEs that gimli does not know.
//!
//! On AArch64 'B' says that return addresses are signed with key B, and 'G' that the stack is
//! tagged. Neither has data, so each is overwritten by 'S', which has none either: then gimli reads
//! the CIE, and what it really says is kept here.
//!
//! Version 4 has two bytes more than version 3: the sizes of an address and of a segment selector,
//! which gimli does not expect in `.eh_frame`. They are taken out, and the CIE becomes one of
//! version 3, with two no-operations at its end.

use std::borrow::Cow;
use std::collections::HashMap;

use gimli::{EndianSlice, LittleEndian, Reader};

/// What the augmentation of a CIE really says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// It is for a signal trampoline.
    pub signal: bool,
    /// Return addresses are signed with key B.
    pub key_b: bool,
}

/// What the CIEs that were changed said, by their offsets.
pub type Changed = HashMap<usize, Said>;

/// The letters of the CIE at the start of `input`: their place in it.
fn letters(
    input: &mut EndianSlice<'_, LittleEndian>,
) -> gimli::Result<Option<std::ops::Range<usize>>> {
    let whole = input.len();
    let (length, format) = input.read_initial_length()?;
    let header = whole - input.len();
    let mut entry = input.split(length)?;

    if entry.is_empty() || format != gimli::Format::Dwarf32 || entry.read_u32()? != 0 {
        return Ok(None);
    }
    entry.read_u8()?; // the version
    let letters = entry.read_null_terminated_slice()?;
    Ok(Some(header + 5..header + 5 + letters.len()))
}

/// Section `.eh_frame` as gimli can read it, and what was changed.
pub fn readable(section: &[u8]) -> (Cow<'_, [u8]>, Changed) {
    let mut bytes = Cow::Borrowed(section);
    let mut changed = Changed::new();
    let mut input = EndianSlice::new(section, LittleEndian);

    // What cannot be read is gimli's to complain about.
    while !input.is_empty() {
        let offset = section.len() - input.len();
        let Ok(place) = letters(&mut input) else {
            break;
        };
        let Some(place) = place.map(|place| offset + place.start..offset + place.end) else {
            continue;
        };
        let end = section.len() - input.len();
        let sizes = place.end + 1..place.end + 3;
        if section[place.start - 1] == 4 && sizes.end <= end && section[sizes.clone()] == [8, 0] {
            let bytes = bytes.to_mut();
            bytes[place.start - 1] = 3;
            bytes.copy_within(sizes.end..end, sizes.start);
            bytes[end - sizes.len()..end].fill(0);
        }
        let letters = &section[place.clone()];
        if letters.first() != Some(&b'z') || !letters.iter().any(|letter| b"BG".contains(letter)) {
            continue;
        }
        changed.insert(
            offset,
            Said {
                signal: letters.contains(&b'S'),
                key_b: letters.contains(&b'B'),
            },
        );
        for letter in &mut bytes.to_mut()[place] {
            if b"BG".contains(letter) {
                *letter = b'S';
            }
        }
    }
    (bytes, changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_b_is_kept() {
        let section = b"\x08\0\0\0\0\0\0\0\x01zR\0\x0c\0\0\0\0\0\0\0\x01zRBG\0\0\0\x05\0";
        let (bytes, changed) = readable(section);

        assert_eq!(&bytes[..21], &section[..21]);
        assert_eq!(&bytes[21..25], b"zRSS");
        let said = Said {
            signal: false,
            key_b: true,
        };
        assert_eq!(changed, Changed::from([(12, said)]));
    }

    #[test]
    fn version_4_becomes_version_3() {
        let cie = b"\x10\0\0\0\0\0\0\0\x04zR\0\x08\0\x01\x78\x10\x01\x1b\x0e";
        let section = [&cie[..], b"\x05\0\0\0\0\0\0\0\x04"].concat();
        let (bytes, changed) = readable(&section);

        assert_eq!(&bytes[..12], b"\x10\0\0\0\0\0\0\0\x03zR\0");
        assert_eq!(&bytes[12..20], b"\x01\x78\x10\x01\x1b\x0e\0\0");
        assert_eq!(&bytes[20..], &section[20..]);
        assert!(changed.is_empty());
        // Other sizes.
        let mut other = section.clone();
        other[12] = 4;
        assert_eq!(readable(&other).0, &other[..]);
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        for section in [
            &b"\xff\xff\xff\xff"[..],
            b"\x20\0\0\0\0\0\0\0\x01zB",
            b"\x01",
        ] {
            let (bytes, changed) = readable(section);

            assert_eq!(bytes, section);
            assert!(changed.is_empty());
        }
    }
}
