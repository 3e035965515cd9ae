// SPDX-License-Identifier: GPL-2.0

//! The kernel's parser of unwind tables, on the host.
//!
//! `kernel/unwind/tables/parse` uses nothing but `core`, so its files are compiled here as they
//! stand, with the search that it asks for. It shows nothing to other crates. So this crate has
//! its tests, what the fuzz targets do, and what other readers are compared with.

#![deny(unsafe_code)]

// The kernel's files have the kernel's format.
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/parse/mod.rs"]
mod parse;
#[cfg(test)]
#[rustfmt::skip]
#[path = "../../../kernel/unwind/tables/vectors/mod.rs"]
mod vectors;

pub mod answer;
mod check;
pub mod fuzz;
mod listing;
mod memory;
mod model;
pub mod ours;
// The search in C, which the kernel's parser asks for.
#[allow(unsafe_code)]
#[path = "../../../tools/unwind-tables/shim/search.rs"]
mod search;
#[cfg(test)]
mod tests;
