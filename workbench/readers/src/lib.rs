// SPDX-License-Identifier: GPL-2.0

//! A comparison of the kernel's reader of SFrame tables with other readers.
//!
//! Each reader has a module that converts its results to an [`answer::Answer`]. The modules share
//! no other code, so they agree only if the readers do.

#![deny(unsafe_code)]

pub mod agree;
pub mod dwarf;
pub mod file;
pub mod known;
#[allow(unsafe_code, reason = "a C library")]
pub mod libsframe;
pub mod readelf;
pub mod table;

pub use unwind_parser::{answer, ours};
