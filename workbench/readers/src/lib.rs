// SPDX-License-Identifier: GPL-2.0

//! The kernel's reader of SFrame tables next to other readers of them.
//!
//! Each reader has a module that turns what it says into an [`answer::Answer`]. The modules share
//! nothing but that, so that they agree only if the readers do.

#![deny(unsafe_code)]

pub mod agree;
pub mod dwarf;
pub mod file;
pub mod frames;
pub mod known;
#[allow(unsafe_code, reason = "a C library")]
pub mod libsframe;
pub mod lookups;
pub mod readelf;
pub mod simple_frame;
pub mod table;

pub use unwind_parser::{answer, ours};
