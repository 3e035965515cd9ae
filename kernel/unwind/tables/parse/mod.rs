// SPDX-License-Identifier: GPL-2.0

//! Reading of unwind tables: bytes in, rules out.
//!
//! The tables are written by anyone and may change while they are read. Everything below this
//! module uses nothing but `core`: it does not know that there is a kernel, allocates nothing, and
//! has no way to panic. It compiles as it stands on a host, which is where most of its tests run.
//!
//! A format ([`sframe`]) is asked for the [`Rule`] that holds at an address. It reads through a
//! [`Reader`], in bounded pieces that are copied before they are looked at, and pays for its work
//! from a [`Budget`].

#![forbid(unsafe_code)]

mod error;
mod packed;
mod reader;
mod rule;
pub(crate) mod sframe;

pub(crate) use error::{
    Error,
    Malformed,
    Reason, //
};
#[allow(unused_imports, reason = "for a cache of rules")]
pub(crate) use packed::Packed;
pub(crate) use reader::{
    Budget,
    Fault,
    Reader, //
};
pub(crate) use rule::{
    Key,
    Register,
    Rule,
    Value, //
};
