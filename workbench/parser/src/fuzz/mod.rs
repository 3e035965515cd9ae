// SPDX-License-Identifier: GPL-2.0

//! Fuzz targets. Each turns bytes into a table or an ELF file, and a lookup in it.
//!
//! A target panics if the answer breaks a promise. libFuzzer generates the bytes, and keeps inputs
//! that reach new code.

mod changing;
mod eh_frame;
mod elf;
mod input;
mod lookup;
mod mutate;

/// The target of this name.
pub fn target(name: &str) -> Option<fn(&[u8])> {
    Some(match name {
        "changing" => changing::changing,
        "eh_frame" => eh_frame::eh_frame,
        "elf" => elf::elf,
        "lookup" => lookup::lookup,
        "mutate" => mutate::mutate,
        _ => return None,
    })
}
