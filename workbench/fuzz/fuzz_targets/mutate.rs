// SPDX-License-Identifier: GPL-2.0

//! Gives libFuzzer's inputs to [`unwind_parser::fuzz::mutate`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unwind_parser::fuzz::mutate(data));
