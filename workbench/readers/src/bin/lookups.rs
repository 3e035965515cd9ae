// SPDX-License-Identifier: GPL-2.0

//! Lookups of one reader. valgrind counts their instructions.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use unwind_readers::file::File;
use unwind_readers::lookups::Tables;

/// Look an address of each function up, again and again.
#[derive(Parser)]
struct Arguments {
    file: PathBuf,
    /// Which reader
    reader: String,
    /// How often each address is looked up
    passes: u32,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let file = File::read(&arguments.file)?;
    let tables = Tables::new(&file)?;
    let mut readers = tables.readers();
    let reader = readers.iter_mut().find(|reader| reader.name == arguments.reader);
    let reader = reader.context("there is no such reader")?;

    for _ in 0..arguments.passes {
        reader.pass();
    }
    Ok(())
}
