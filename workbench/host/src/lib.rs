// SPDX-License-Identifier: GPL-2.0

//! The kernel's parser of unwind tables, tested on the host.
//!
//! `kernel/unwind/tables/parse` uses nothing but `core`, so its files are compiled here as they
//! stand, with the search that it asks for.  Nothing but the tests uses them: without tests, this library is empty.

#![deny(unsafe_code)]

// The kernel's files have the kernel's format.
#[cfg(test)]
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/parse/mod.rs"]
mod parse;
#[cfg(test)]
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/vectors/mod.rs"]
mod vectors;

// The search in C, which the kernel's parser asks for.
#[cfg(test)]
#[allow(unsafe_code)]
#[path = "../../../tools/unwind-tables/shim/search.rs"]
mod search;

#[cfg(test)]
mod tests;
