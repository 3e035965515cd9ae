// SPDX-License-Identifier: GPL-2.0

//! Where the rule for an address comes from: the tables of its text, which the last lookup was in,
//! or which is registered, or which is found in what the process has mapped.

use kernel::{
    alloc::{
        flags::__GFP_NOWARN,
        Flags, //
    },
    prelude::*, //
};

use super::Registry;

use crate::{
    parse::{
        Error,
        Rule, //
    },
    table::{
        Format,
        Header, //
    },
    text::State,
    walk::Walk, //
};

/// Returns the flags by which a walk allocates: it can do without, and waits for no reclaim of
/// memory. It may be a walk that must not wait, or hold the lock: fork() and munmap() take that
/// inside the mmap lock.
pub(crate) fn walk_flags() -> Flags {
    let account = GFP_KERNEL_ACCOUNT & !GFP_KERNEL;

    GFP_NOWAIT | account | __GFP_NOWARN
}

impl Registry {
    /// Finds the rule that holds at address `pc` of the current process.
    ///
    /// What the rule says of the frame pointer is true of the register with the DWARF number
    /// `tracked`. Reads user memory.
    pub(crate) fn rule(&self, pc: usize, tracked: u32, walk: &mut Walk<'_>) -> Result<Rule, Error> {
        let generation = walk.generation();

        if !walk.last().is_at(generation, pc) {
            self.open(pc, walk).inspect_err(|_| walk.forget())?;
        }
        self.ask_tables(pc, tracked, walk)
    }

    /// Makes the text that holds address `pc` the last one: a registered one, or one that is found
    /// in what the process has mapped.
    #[inline(never)] // What discovery needs of the kernel's stack is free when a table is read.
    fn open(&self, pc: usize, walk: &mut Walk<'_>) -> Result<(), Error> {
        let generation = walk.generation();
        let text = match self.find(pc) {
            Some(text) => text,
            None => self.discover(pc, walk)?,
        };

        if text.is_absent() {
            walk.set_nothing(text.start, text.end, Error::NotFound);
            return Err(Error::NotFound);
        }
        walk.last().set(generation, text);
        Ok(())
    }

    /// Asks the tables of the last text, in the order of the formats. If none has a rule, the first
    /// error counts that is not [`Error::NotFound`].
    fn ask_tables(&self, pc: usize, tracked: u32, walk: &mut Walk<'_>) -> Result<Rule, Error> {
        let mut first = Error::NotFound;

        for format in Format::ALL {
            match self.ask(format, pc, tracked, walk) {
                Ok(rule) => return Ok(rule),
                Err(Error::Budget) => return Err(Error::Budget),
                Err(error) => {
                    // Asked again, a table that could not be read may know better than the others.
                    if error == Error::Fault {
                        walk.forget();
                    }
                    if first == Error::NotFound {
                        first = error;
                    }
                }
            }
        }
        Err(first)
    }

    /// Asks the table of `format` of the last text.
    fn ask(
        &self,
        format: Format,
        pc: usize,
        tracked: u32,
        walk: &mut Walk<'_>,
    ) -> Result<Rule, Error> {
        let (header, base) = self.header(format, walk)?;
        let found = header.rule(&walk.memory(base), base, pc, tracked);

        // If only a function is malformed, the others are as good as before.
        if let Err(Error::Malformed(malformed)) = found {
            if malformed.reason.is_of_table() {
                self.note_state(State::Bad(malformed), format, walk);
            }
        }
        found
    }

    /// Returns the header of the table of `format` of the last text, and where that table stands.
    fn header(&self, format: Format, walk: &mut Walk<'_>) -> Result<(Header, usize), Error> {
        let table = walk.last().table(format).ok_or(Error::NotFound)?;
        let base = table.start();

        match table.state {
            State::Good(header) => Ok((header, base)),
            State::Bad(malformed) => Err(Error::Malformed(malformed)),
            State::Unread => Ok((self.read_header(format, walk)?, base)),
        }
    }

    /// Reads the header of the table of `format` of the last text, and notes what it says.
    #[inline(never)] // Once for each table.
    fn read_header(&self, format: Format, walk: &mut Walk<'_>) -> Result<Header, Error> {
        let table = *walk.last().table(format).ok_or(Error::NotFound)?;
        let header = Header::read(format, &table, &walk.memory(table.start()));

        match header {
            Ok(header) => self.note_state(State::Good(header), format, walk),
            Err(Error::Malformed(malformed)) => {
                self.note_state(State::Bad(malformed), format, walk);
            }
            Err(_) => {}
        }
        header
    }

    /// Remembers what was found out about a table of the last text: in the registry, too, if that
    /// is possible now. Else the next stack finds it out again.
    fn note_state(&self, state: State, format: Format, walk: &mut Walk<'_>) {
        let last = walk.last();

        if let Some(text) = last.text() {
            let _ = self.set_state(text, format, state, last.generation());
        }
        last.set_state(format, state);
    }
}
