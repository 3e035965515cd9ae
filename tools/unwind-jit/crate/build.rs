// SPDX-License-Identifier: GPL-2.0 OR MIT

//! Compiles the library, which is C.

fn main() {
    let sources = ["../unwind_jit.c", "../eh_frame_index.c"];

    for file in sources.iter().chain(&["../unwind_jit.h", "../tables.h"]) {
        println!("cargo:rerun-if-changed={file}");
    }
    cc::Build::new().files(sources).compile("unwind-jit");
}
