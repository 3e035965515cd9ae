// SPDX-License-Identifier: GPL-2.0

//! Searches for tables, and for ELF headers, that the kernel's parser cannot take.
//!
//! Each target turns arbitrary bytes into a table and what is asked of it, asks, and panics if the
//! answer breaks a promise. libFuzzer makes up the bytes, and keeps those that reach new code.
//!
//! `kernel/unwind/tables/parse` uses nothing but `core`, so its files are compiled here as they
//! stand, with the search in C that it asks for.

#![deny(unsafe_code)]

// The kernel's files have the kernel's format.
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/parse/mod.rs"]
mod parse;

mod changing;
mod check;
mod eh_frame;
mod elf;
mod input;
mod lookup;
mod memory;
// What is to be found in ELF headers is said once, for all tests.
#[path = "../../host/src/tests/elf/model.rs"]
mod model;
mod mutate;
// The search in C, which the kernel's parser asks for.
#[allow(unsafe_code)]
#[path = "../../../tools/unwind-tables/shim/search.rs"]
mod search;

pub use changing::changing;
pub use eh_frame::eh_frame;
pub use elf::elf;
pub use lookup::lookup;
pub use mutate::mutate;
