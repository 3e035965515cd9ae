// SPDX-License-Identifier: GPL-2.0

//! Searches for tables, and for ELF headers, that the kernel's parser cannot take.
//!
//! Each target turns arbitrary bytes into a table and what is asked of it, asks, and panics if the
//! answer breaks a promise. libFuzzer makes up the bytes, and keeps those that reach new code.

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
