// SPDX-License-Identifier: GPL-2.0

//! GNU libsframe is a C library; the kernel's search in a table's index is in C, too.

#[path = "../../tools/unwind-tables/shim/compile.rs"]
mod compile;

fn main() {
    println!("cargo::rustc-link-lib=sframe");
    compile::bisect("../../tools/unwind-tables/shim");
}
