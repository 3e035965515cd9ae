// SPDX-License-Identifier: GPL-2.0

//! Compares the kernel's parser with other readers: `agree TOOL FILE...`, see `unwind_parser::agree`.

use std::env;
use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let tool = arguments.next().unwrap_or_default();

    unwind_parser::agree::run(&tool, &arguments.collect::<Vec<_>>())
}
