// SPDX-License-Identifier: GPL-2.0

//! Compiles the kernel's search in sorted arrays, for build scripts.

/// Compiles and links it. `shim` is this directory, as the crate sees it.
pub fn bisect(shim: &str) {
    let kernel = format!("{shim}/../../../kernel/unwind/tables");

    for source in [
        shim,
        &format!("{kernel}/bisect.c"),
        &format!("{kernel}/bisect.h"),
    ] {
        println!("cargo::rerun-if-changed={source}");
    }
    cc::Build::new()
        .file(format!("{shim}/bisect.c"))
        .include(format!("{shim}/include"))
        // A panic of the reader's passes through.
        .flag("-fexceptions")
        .flag("-Wno-unused-parameter")
        .compile("unwind_bisect");
}
