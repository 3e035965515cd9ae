// SPDX-License-Identifier: GPL-2.0

//! The search in the index is the kernel's, in C.

#[path = "shim/compile.rs"]
mod compile;

fn main() {
    compile::bisect("shim");
}
