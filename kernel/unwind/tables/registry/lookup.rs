// SPDX-License-Identifier: GPL-2.0

//! The lookup of a rule: first the text that holds the address, then the tables of that text. The
//! text is that of the last lookup, or one in the registry, or one that discovery finds.

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

/// Returns the flags with which a walk allocates. It waits for no reclaim of memory: it may be a
/// walk that must not wait, or hold the lock, which fork() and munmap() take inside the mmap lock.
/// It can do without the memory.
pub(crate) fn walk_flags() -> Flags {
    let account = GFP_KERNEL_ACCOUNT & !GFP_KERNEL;

    GFP_NOWAIT | account | __GFP_NOWARN
}

impl Registry {
    /// Finds the rule that holds at address `pc` of the current process.
    ///
    /// The rule has the place of the register with the DWARF number `tracked` instead of that of
    /// the frame pointer.
    pub(crate) fn rule(&self, pc: usize, tracked: u32, walk: &mut Walk<'_>) -> Result<Rule, Error> {
        if !walk.is_at(pc) {
            self.look(pc, |text| walk.open(text))
                .unwrap_or_else(|| self.discover(pc, walk))
                .inspect_err(|_| walk.forget())?;
        }
        self.ask_tables(pc, tracked, walk)
    }

    /// Asks the tables of the last text, in the order of the formats. If no table has a rule,
    /// returns the first error other than [`Error::NotFound`].
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
        if let State::Unread = walk.table(format).ok_or(Error::NotFound)?.0.state {
            self.read_header(format, walk)?;
        }
        let (table, memory) = walk.table(format).ok_or(Error::NotFound)?;
        let found = match &table.state {
            State::Good(header) => header.rule(&memory, table.start(), pc, tracked),
            State::Bad(malformed) => return Err(Error::Malformed(*malformed)),
            State::Unread => return Err(Error::Fault),
        };

        // If only a function is malformed, the others are as good as before.
        if let Err(Error::Malformed(malformed)) = found {
            if malformed.reason.is_of_table() {
                self.note_state(State::Bad(malformed), format, walk);
            }
        }
        found
    }

    /// Reads the header of the table of `format` of the last text, and notes what it says.
    #[inline(never)] // Called once for each table.
    fn read_header(&self, format: Format, walk: &mut Walk<'_>) -> Result<(), Error> {
        if walk.is_immediate() {
            return Err(Error::Fault);
        }
        let (table, memory) = walk.table(format).ok_or(Error::NotFound)?;
        let state = match Header::read(format, table, &memory) {
            Ok(header) => State::Good(header),
            Err(Error::Malformed(malformed)) => State::Bad(malformed),
            Err(error) => return Err(error),
        };

        self.note_state(state, format, walk);
        walk.set_learned();
        Ok(())
    }

    /// Sets the state of a table of the last text, for this walk and in the registry. If the
    /// registry cannot be changed now, the next stack finds out the state again.
    fn note_state(&self, state: State, format: Format, walk: &mut Walk<'_>) {
        if let Some((text, generation)) = walk.last().filter(|_| !walk.is_immediate()) {
            let _ = self.set_state(text, format, state, generation);
        }
        walk.set_state(format, state);
    }
}
