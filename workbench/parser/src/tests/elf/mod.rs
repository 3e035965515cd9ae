// SPDX-License-Identifier: GPL-2.0

//! The search in ELF headers.
//!
//! [`find`] compares each answer with that of a model, which sees the bytes of each read.

mod hostile;
mod real;
mod vectors;

use crate::check::object as find;
use crate::memory::Memory;
use crate::parse::Error;
use crate::parse::elf::{Object, Target};

/// Units that are enough for any file.
const ENOUGH: u32 = 10_000;

/// Files of a machine with pages of 64 KiB.
const LARGE_PAGES: Target = Target { machine: 183, page_size: 0x1_0000 };

/// The answer for `offset` in a file of these bytes, all of which are mapped.
fn object(bytes: &[u8], offset: u64, target: &Target) -> Result<Object, Error> {
    find(&Memory::new(bytes), bytes.len() as u64, offset, target, ENOUGH).result
}
