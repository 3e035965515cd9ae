// SPDX-License-Identifier: GPL-2.0

//! Gives libFuzzer's inputs to the target that `FUZZ_TARGET` names.

#![no_main]

use std::env;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<String> =
    LazyLock::new(|| env::var("FUZZ_TARGET").expect("FUZZ_TARGET is not set"));

fuzz_target!(|data: &[u8]| unwind_parser::fuzz::run(&TARGET, data));
