// SPDX-License-Identifier: GPL-2.0

//! ELF: where the unwind tables of an executable file are.
//!
//! A file that is mapped says it itself. It starts with a header, which says where the program
//! headers are; each of those is about a segment:
//!
//! ```text
//!   0         ELF header, 64 bytes
//!   e_phoff   program headers, e_phnum of 56 bytes: part of the file, address, size in memory
//! ```
//!
//! [`Headers`] says where the program headers are, which need not be near the ELF header, and reads
//! them there, each byte once. It is told a place in the file that is executed, and finds the
//! segment that holds the place, and those of tables and notes. The loader adds one number to all
//! addresses of a file, so where the one is in memory, the places of the others follow.
//!
//! The bytes are user memory, and need not be those of the file. So the caller has to check that
//! the parts of the file are mapped where the headers say.
//!
//! Reference: "gABI / ELF-64 Object File Format", and the GNU extensions to it in binutils.

mod absence;
mod header;
mod notes;
mod object;
mod segment;

pub(crate) use absence::Absence;
pub(crate) use header::{
    Headers,
    Target, //
};
pub(crate) use notes::are_of_go;
pub(crate) use object::{
    object_of,
    texts,
    Object, //
};
pub(crate) use segment::Segment;
