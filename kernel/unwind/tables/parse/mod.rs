// SPDX-License-Identifier: GPL-2.0

//! Reading of unwind tables: bytes in, rules out.
//!
//! The tables are written by anyone and may change while they are read. Everything below this
//! module uses nothing but `core`: it does not know that there is a kernel, allocates nothing, and
//! has no way to panic. It compiles as it stands on a host, which is where most of its tests run.
//!
//! A format ([`sframe`], [`eh_frame`]) is asked for the [`Rule`] that holds at an address. It reads
//! through a [`Reader`], in bounded pieces that are copied before they are looked at. A reader also
//! searches the format's index, an [`Array`] of numbers. It charges both, and bounds the sum.
//!
//! Where the table of a file is that nobody has registered, the file says itself: [`elf`].

#![forbid(unsafe_code)]
// Each user needs but a part: the kernel one architecture, tests and tools all, and whole tables.
#![allow(dead_code, unused_imports)]

mod arch;
mod array;
mod codes;
pub(crate) mod eh_frame;
pub(crate) mod elf;
mod error;
mod packed;
mod reader;
mod rule;
pub(crate) mod sframe;

pub(crate) use arch::{
    AArch64,
    Amd64,
    Arch, //
};
pub(crate) use array::{
    Array,
    Element, //
};
pub(crate) use error::{
    Error,
    Malformed,
    Reason,
    Unsupported, //
};
pub(crate) use packed::Packed;
pub(crate) use reader::{
    bisect_price,
    read_price,
    Reader, //
};
pub(crate) use rule::{
    Key,
    Register,
    Rule,
    Value, //
};
