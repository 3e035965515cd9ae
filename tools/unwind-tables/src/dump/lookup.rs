// SPDX-License-Identifier: GPL-2.0

//! `unwind-tables dump --pc`: what the kernel finds for an address, in each of the tables.

use std::io::Write;

use anyhow::Result;

use super::sframe_table;
use crate::arch::Arch;
use crate::eh_table::{self, EhTable};
use crate::elf::Elf;
use crate::parse::{Error, Rule};
use crate::table::Table;
use crate::text;

/// Prints what the kernel finds for addresses; the result is whether it has a rule for each.
pub fn lookup<A: Arch>(out: &mut impl Write, elf: &Elf<'_>, addresses: &[u64]) -> Result<bool> {
    let tables = Tables::<A> {
        elf,
        sframe: match sframe_table(elf) {
            Ok(Ok(table)) => Ok(table),
            Ok(Err(error)) => Err(format!("refused: the header: {}", text::error(error))),
            Err(reason) => Err(reason),
        },
        eh_frame: eh_frame_table(elf),
    };
    let mut all = true;

    for address in addresses {
        all &= tables.address(out, *address)?;
    }
    Ok(all)
}

/// The `.eh_frame` of a file, or why there is none for the kernel.
fn eh_frame_table<'a, A: Arch>(elf: &Elf<'a>) -> Result<EhTable<'a, A>, String> {
    let segment = match eh_table::find::<A>(elf) {
        eh_table::Found::Index(segment) => segment,
        eh_table::Found::None => {
            return Err("no table: there is no PT_GNU_EH_FRAME program header".into());
        }
        eh_table::Found::NoIndex => {
            return Err("a section .eh_frame, but no index of it (PT_GNU_EH_FRAME)".into());
        }
        eh_table::Found::Missing(absence) => {
            return Err(format!("PT_GNU_EH_FRAME: {}", absence.text()));
        }
    };

    match EhTable::read(elf, &segment) {
        Ok(Ok(table)) => Ok(table),
        Ok(Err(error)) => Err(format!("refused: .eh_frame_hdr: {}", text::error(error))),
        Err(absence) => Err(format!("PT_GNU_EH_FRAME: {}", absence.text())),
    }
}

/// The tables of a file, or why there is none.
struct Tables<'f, 'a, A> {
    elf: &'f Elf<'a>,
    sframe: Result<Table<'a, A>, String>,
    eh_frame: Result<EhTable<'a, A>, String>,
}

impl<A: Arch> Tables<'_, '_, A> {
    /// Prints what the kernel uses, and what each table says; the result is whether that is a rule.
    fn address(&self, out: &mut impl Write, address: u64) -> Result<bool> {
        let sframe = self.by_sframe(address);
        let eh_frame = self.by_eh_frame(address);
        let place = match self.function_of(address) {
            Some(start) => text::place(self.elf.name(start).as_deref(), start, address),
            None => format!("{address:#x}"),
        };
        // What one table cannot say, another one may, unless the lookup costs too much.
        let used = match self.is_too_much(address) {
            true => sframe.as_ref(),
            false => sframe.as_ref().or(eh_frame.as_ref()),
        };

        match used {
            Ok(rule) => writeln!(out, "{place}: {}", text::rule::<A>(rule))?,
            Err(_) => writeln!(out, "{place}: no rule")?,
        }
        for (name, found) in [("sframe", &sframe), ("eh_frame", &eh_frame)] {
            match found {
                Ok(rule) => writeln!(out, "  {name:9} {}", text::rule::<A>(rule))?,
                Err(reason) => writeln!(out, "  {name:9} no rule: {reason}")?,
            }
        }
        Ok(used.is_ok())
    }

    /// Whether a lookup in the SFrame table uses up what the kernel gives it.
    fn is_too_much(&self, address: u64) -> bool {
        let table = self.sframe.as_ref();

        table.is_ok_and(|table| table.lookup(address).0 == Err(Error::Budget))
    }

    fn by_sframe(&self, address: u64) -> Result<Rule, String> {
        let table = self.sframe.as_ref().map_err(String::clone)?;

        table.lookup(address).0.map_err(|error| match error {
            Error::NotFound if self.sframe_function(address).is_some() => {
                "the function has no row there".into()
            }
            Error::NotFound => {
                let functions = table.index().flatten();
                self.why(address, functions.map(|function| function.start))
            }
            error => text::error(error),
        })
    }

    fn by_eh_frame(&self, address: u64) -> Result<Rule, String> {
        let table = self.eh_frame.as_ref().map_err(String::clone)?;

        table.lookup(address).0.map_err(|error| match error {
            Error::NotFound => {
                let entries = table.entries().flatten();
                self.why(address, entries.map(|entry| entry.start))
            }
            error => text::error(error),
        })
    }

    /// Where the function starts that an address is of, by the tables.
    fn function_of(&self, address: u64) -> Option<u64> {
        if let Some(start) = self.sframe_function(address) {
            return Some(start);
        }
        let table = self.eh_frame.as_ref().ok()?;
        if table.lookup(address).0 == Err(Error::NotFound) {
            return None;
        }
        let starts = table.entries().flatten().map(|entry| entry.start);
        starts.filter(|start| *start <= address).max()
    }

    fn sframe_function(&self, address: u64) -> Option<u64> {
        let mut functions = self.sframe.as_ref().ok()?.index().flatten();
        let function = functions.find(|function| {
            address
                .checked_sub(function.start)
                .is_some_and(|offset| offset < u64::from(function.size))
        })?;

        Some(function.start)
    }

    /// Why nothing is known about an address, in a table with functions that start at `starts`.
    fn why(&self, address: u64, starts: impl Iterator<Item = u64>) -> String {
        if !self.elf.is_code((address, address.saturating_add(1))) {
            return "the address is not in an executable segment".into();
        }
        let (mut before, mut after) = (None, None);
        for start in starts {
            if start <= address {
                before = Some(start);
            } else if after.is_none() {
                after = Some(start);
            }
        }
        let name = |start| text::place(self.elf.name(start).as_deref(), start, start);

        match (before, after) {
            (Some(before), Some(after)) => {
                format!(
                    "no function there, between {} and {}",
                    name(before),
                    name(after)
                )
            }
            (Some(before), None) => format!("no function there, behind {}", name(before)),
            (None, Some(after)) => format!("no function there, before {}", name(after)),
            (None, None) => "the table has no functions".into(),
        }
    }
}
