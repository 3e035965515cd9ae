// SPDX-License-Identifier: GPL-2.0

//! Reading of unwind tables: bytes in, rules out.
//!
//! Anyone may write tables, and they may change while they are read. This module uses only `core`,
//! allocates nothing, and cannot panic. It compiles on a host unchanged: most of its tests run
//! there.
//!
//! A format ([`sframe`], [`eh_frame`]) is asked for the [`Rule`] that holds at an address. It reads
//! through a [`Reader`], in bounded pieces that are copied before they are looked at. A reader also
//! searches the format's index, an [`Array`] of numbers. It charges both, and bounds the sum.
//!
//! [`elf`] finds the tables of a file by its headers.

#![forbid(unsafe_code)]

mod arch;
mod array;
#[allow(
    dead_code,
    unused_imports,
    reason = "a kernel may be built without CONFIG_UNWIND_USER_EH_FRAME"
)]
pub(crate) mod eh_frame;
pub(crate) mod elf;
mod error;
mod packed;
mod reader;
mod rule;
pub(crate) mod sframe;

pub(crate) use arch::{
    Amd64,
    Arch,
    Call,
    Stub, //
};
pub(crate) use array::{
    Array,
    Element, //
};
pub(crate) use error::{
    Error,
    Malformed, //
};
pub(crate) use packed::Packed;
pub(crate) use reader::{
    bisect_price,
    read_price,
    Reader, //
};
pub(crate) use rule::{
    Register,
    Rule,
    Value, //
};

#[allow(unused_imports, reason = "tests and tools use them")]
pub(crate) use {
    arch::AArch64,
    error::{
        Reason,
        Unsupported, //
    },
    rule::Key, //
};
