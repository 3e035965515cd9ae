// SPDX-License-Identifier: GPL-2.0

//! The kernel's parser of unwind tables, on the host.
//!
//! `kernel/unwind/tables/parse` uses only `core`, so this crate compiles its files unchanged. It
//! also has the search in C that the parser calls. The parser has no public items: so this crate
//! holds the tests, the fuzz targets, and the comparison with other readers.

#![deny(unsafe_code)]

// The kernel's files have the kernel's format. What only the kernel needs is not used here.
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/parse/mod.rs"]
mod parse;
#[cfg(test)]
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/vectors/mod.rs"]
mod vectors;

pub mod agree;
pub mod call;
mod check;
pub mod fuzz;
mod listing;
mod memory;
mod model;
// The search in C that the kernel's parser calls.
#[allow(unsafe_code)]
#[rustfmt::skip]
#[path = "../../../tools/unwind-tables/shim/search.rs"]
mod search;
#[cfg(test)]
mod tests;
