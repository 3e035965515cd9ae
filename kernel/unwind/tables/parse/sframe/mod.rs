// SPDX-License-Identifier: GPL-2.0

//! SFrame, version 3.
//!
//! A table is a header, an index of functions sorted by address, and the functions' rows:
//!
//! ```text
//!   0             preamble and header, 28 bytes
//!   28            auxiliary header: a length from the header, usually nothing
//!   H             the offsets below count from here
//!   H + fdeoff    the index: 16 bytes a function (FDE): start, size, where its rows are
//!   H + freoff    the rows: for each function an attribute of 5 bytes, then its rows (FRE)
//! ```
//!
//! [`Header`] is read once per table. Then [`Header::rule`] finds the function of an address by
//! binary search and the row by a scan, for rows are of variable size and have no index.
//!
//! Default functions on AMD64 are understood. A flexible function says nothing, as one that is not
//! in the table.
//!
//! Reference: "The SFrame Format", version 3, as published with GNU binutils 2.46.

mod function;
mod header;
mod row;

pub(crate) use header::Header;
