// SPDX-License-Identifier: GPL-2.0

//! `unwind-tables dump`: what a table says, or what the tables say about an address.

mod lookup;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};

use crate::arch::Arch;
use crate::elf::{self, Elf, Machine};
use crate::parse::sframe::{Attribute, Function};
use crate::parse::{AArch64, Amd64, Error, Key, Reader};
use crate::table::{self, Found, Rows, Table};
use crate::text;

/// Prints the SFrame table of a file, or the rules of some addresses; the result is whether all of
/// it could be had.
pub fn dump(out: &mut impl Write, path: &Path, addresses: &[u64]) -> Result<bool> {
    dump_bytes(out, &elf::read(path)?, addresses)
}

/// The same for the contents of a file.
pub fn dump_bytes(out: &mut impl Write, data: &[u8], addresses: &[u64]) -> Result<bool> {
    let elf = Elf::parse(data)?;

    match elf.machine {
        Machine::X86_64 => dump_elf::<Amd64>(out, &elf, addresses),
        Machine::AArch64 => dump_elf::<AArch64>(out, &elf, addresses),
    }
}

fn dump_elf<A: Arch>(out: &mut impl Write, elf: &Elf<'_>, addresses: &[u64]) -> Result<bool> {
    if !addresses.is_empty() {
        return lookup::lookup::<A>(out, elf, addresses);
    }
    match sframe_table::<A>(elf) {
        Ok(Ok(table)) => {
            let dump = Dump { elf, table };
            dump.header(out)?;
            dump.functions(out)
        }
        Ok(Err(error)) => {
            writeln!(out, "refused: the header: {}", text::error(error))?;
            Ok(false)
        }
        Err(reason) => bail!("{reason}"),
    }
}

/// The SFrame table of a file, or why the kernel refuses it, or why there is none.
fn sframe_table<'a, A: Arch>(elf: &Elf<'a>) -> Result<Result<Table<'a, A>, Error>, String> {
    let reason = match table::find(elf) {
        Found::Table { segment, bytes, .. } => {
            return Ok(Table::read(bytes, segment.address, segment.file_size));
        }
        Found::None => "no table: there is no PT_GNU_SFRAME program header",
        Found::Empty => "no table: the PT_GNU_SFRAME program header is empty",
        Found::SectionOnly => "a section .sframe, but no PT_GNU_SFRAME program header",
        Found::NotLoaded(address) => {
            return Err(format!(
                "nothing is loaded at the table's place, {address:#x}"
            ));
        }
    };

    Err(reason.into())
}

struct Dump<'f, 'a, A> {
    elf: &'f Elf<'a>,
    table: Table<'a, A>,
}

impl<A: Arch> Dump<'_, '_, A> {
    fn header(&self, out: &mut impl Write) -> Result<()> {
        let bytes: [u8; 8] = self.table.bytes.read_array(0).unwrap_or_default();
        let [_, _, version, flags, abi, fp, ra, aux] = bytes;

        writeln!(
            out,
            "table at {:#x}, {} bytes: version {version}, flags {flags:#x}, ABI {abi} ({})",
            self.table.base,
            self.table.len(),
            A::NAME
        )?;
        writeln!(
            out,
            "fixed offsets: FP {}, RA {}; auxiliary header {aux} bytes; {} functions, {} rows",
            fp as i8,
            ra as i8,
            self.table.header.functions,
            self.table.rows_in_header().unwrap_or_default()
        )?;
        Ok(())
    }

    fn functions(&self, out: &mut impl Write) -> Result<bool> {
        let mut rows = Rows::new();
        let mut good = true;

        for function in self.table.index() {
            let function = match function {
                Ok(function) => function,
                Err(error) => {
                    writeln!(out, "\nrefused: {}", text::error(error))?;
                    good = false;
                    continue;
                }
            };
            let result = self.table.rows(&function, &mut rows);

            self.function(out, &function, result.as_ref().ok())?;
            for (start, rule) in &rows {
                let rule = match rule {
                    Ok(rule) => text::rule::<A>(rule),
                    Err(cause) => text::error(Error::Unsupported(*cause)),
                };
                writeln!(out, "  +{start:#04x} {rule}")?;
            }
            if let Err((error, row)) = result {
                writeln!(out, "  refused: row {row}: {}", text::error(error))?;
                good = false;
            }
        }
        Ok(good)
    }

    fn function(
        &self,
        out: &mut impl Write,
        function: &Function,
        attribute: Option<&Attribute>,
    ) -> io::Result<()> {
        let end = function.start + u64::from(function.size);

        write!(out, "\n{:#x}-{end:#x}", function.start)?;
        if let Some(name) = self.elf.name(function.start) {
            write!(out, " {name}")?;
        }
        if let Some(attribute) = attribute {
            if attribute.flexible {
                write!(out, " [flexible]")?;
            }
            if let Some(block) = attribute.block {
                write!(out, " [repeats every {block} bytes]")?;
            }
            if attribute.signal {
                write!(out, " [signal]")?;
            }
            if attribute.key == Key::B {
                write!(out, " [key B]")?;
            }
        }
        writeln!(out)
    }
}
