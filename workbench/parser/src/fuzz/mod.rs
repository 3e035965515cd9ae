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

pub use changing::changing;
pub use eh_frame::eh_frame;
pub use elf::elf;
pub use lookup::lookup;
pub use mutate::mutate;
