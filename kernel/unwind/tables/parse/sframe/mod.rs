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
//! [`Header`] is read once per table. Then [`Header::rule`] finds the function of an address by a
//! search of the index, which is an [`Array`](super::Array), and the row by a scan: rows have
//! different sizes and no index.
//!
//! The architecture is a type, an [`Arch`](super::Arch). Numbers have their least significant byte
//! first.
//!
//! A table is never checked as a whole, which could take long: what a lookup reads is checked then,
//! all of it.
//!
//! Reference: "The SFrame Format", version 3, as published with GNU binutils 2.46.

mod header;
mod reason;
mod rows;
mod rule;

pub(crate) use header::Header;
pub(crate) use reason::Reason;

#[allow(unused_imports, reason = "tests and tools read whole tables")]
pub(crate) use {
    header::Function,
    rows::{
        Attribute,
        Rows, //
    }, //
};
