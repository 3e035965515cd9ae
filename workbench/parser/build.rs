// SPDX-License-Identifier: GPL-2.0

//! The search in a table's index is the kernel's, in C.

#[rustfmt::skip]
#[path = "../../tools/unwind-tables/shim/compile.rs"]
mod compile;

fn main() {
    compile::bisect("../../tools/unwind-tables/shim");
}
