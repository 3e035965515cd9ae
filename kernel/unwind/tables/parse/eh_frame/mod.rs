// SPDX-License-Identifier: GPL-2.0

//! `.eh_frame`, which programs have for exceptions, and its index, `.eh_frame_hdr`.
//!
//! Both stand in one segment of a file, or each in its own: that is the table here, with what is
//! between them. Linkers write the index, but the records come from compilers and assemblers:
//!
//! ```text
//!   index     header, usually of 12 bytes, then for each function 8 or 16: its start, its FDE
//!   FDE       length, distance to its CIE, start and size of the function, its program
//!   CIE       length, 0, what its FDEs have in common, the beginning of their programs
//! ```
//!
//! [`Header`] is read once per table. Then [`Header::rule`] finds the FDE of an address by a search
//! of the index, which is an [`Array`](super::Array), and runs the programs of its CIE and of
//! itself up to the address. They make a row: where the CFA is, and the caller's registers.
//!
//! A program has neither loops nor calls, so its length bounds the work. It may ask for expressions
//! to be evaluated. None is: the few that compilers, assemblers and linkers write are recognised.
//! What is not, and what else the format has and nobody uses, is
//! [`Unsupported`](super::Unsupported). That is no fault of the table, which stays in use.
//! Exceptions are records with a length of 64 bits, numbers of more than ten bytes, and encodings
//! of the index that no linker writes: these are malformed.
//!
//! A table is never checked as a whole: what a lookup reads is checked then, all of it. A malformed
//! index disables the table, but a malformed record only those lookups that come to it.
//!
//! Reference: "DWARF Debugging Information Format", version 5, 6.4; "Linux Standard Base Core
//! Specification", "Exception Frames".

mod cie;
mod cursor;
mod expression;
mod fde;
mod header;
mod pointer;
mod program;
mod reason;
mod row;

pub(crate) use header::{
    Header,
    Records, //
};
pub(crate) use reason::Reason;
