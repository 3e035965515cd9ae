// SPDX-License-Identifier: GPL-2.0

//! Where C remembers what walks of a process have looked up, by address.
//!
//! C looks there before it asks for a rule, `unwind_tables_cached()` in
//! `include/linux/unwind_tables.h`, and puts there what it got.

use pin_init::init_zeroed;

use kernel::{
    bindings,
    prelude::*, //
};

use crate::registry::walk_flags;

/// From one generation to the next: odd, so that none comes again before all 2^52 were there that C
/// tells from each other, and so that the generations that an address space has are far apart.
pub(crate) const GENERATION: u64 = 0xd134_2543_de82_ef95;

/// All empty at first. Only C looks into it.
pub(crate) type Cache = bindings::unwind_tables_cache;

static_assert!(size_of::<Cache>() == 8192);

/// Makes an empty cache.
pub(crate) fn new() -> Result<KBox<Cache>> {
    KBox::init(init_zeroed(), walk_flags())
}
