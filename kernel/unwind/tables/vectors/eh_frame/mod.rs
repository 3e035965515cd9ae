// SPDX-License-Identifier: GPL-2.0

//! Tables of `.eh_frame`.

mod aarch64;
mod amd64;

use super::*;
use crate::parse::eh_frame::Reason;

/// All of them.
pub(super) const TABLES: [&Table; 2] = [&amd64::TABLE, &aarch64::TABLE];

const fn bad(reason: Reason, offset: u32) -> Expected {
    malformed(parse::Reason::EhFrame(reason), offset)
}
