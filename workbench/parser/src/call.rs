// SPDX-License-Identifier: GPL-2.0

//! The call instruction before an address, as the kernel finds it.

use crate::parse::{Amd64, Arch, Call};

/// How many bytes before an address are looked at.
pub const LEN: usize = Call::LEN;

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It leads to this address.
    To(u64),
    /// It does not say where it leads.
    Anywhere,
}

/// Finds the call that ends at `ra`, behind these bytes.
pub fn before(code: &[u8; LEN], ra: u64) -> Option<Found> {
    Some(match Amd64::call(code)? {
        Call::Direct(distance) => Found::To(ra.wrapping_add_signed(distance.into())),
        Call::Indirect => Found::Anywhere,
    })
}
