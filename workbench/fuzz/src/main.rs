// SPDX-License-Identifier: GPL-2.0

//! Gives libFuzzer's inputs to the target that `FUZZ_TARGET` names.

#![no_main]

use std::env;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use unwind_parser::fuzz;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").expect("FUZZ_TARGET is not set");

    fuzz::target(&name).expect("FUZZ_TARGET names no target")
});

fuzz_target!(|data: &[u8]| TARGET(data));
