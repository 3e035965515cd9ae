// SPDX-License-Identifier: GPL-2.0

//! GNU libsframe is a C library.

fn main() {
    println!("cargo::rustc-link-lib=sframe");
}
