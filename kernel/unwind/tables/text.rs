// SPDX-License-Identifier: GPL-2.0

//! A range of text, and the tables that describe it.

use core::ffi::CStr;

use kernel::{
    bindings,
    prelude::*,
    sync::rcu, //
};

use crate::{
    parse::{
        elf,
        Malformed, //
    },
    table::{
        Format,
        Header,
        Table, //
    },
};

/// Who registered a table, with the number by which C knows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Origin {
    /// exec, from a file's program headers.
    Exec = bindings::unwind_table_origin_UNWIND_TABLE_BY_EXEC as u8,
    /// The program itself.
    Prctl = bindings::unwind_table_origin_UNWIND_TABLE_BY_PRCTL as u8,
    /// A walk that came there, from what the process has mapped.
    Discovery = bindings::unwind_table_origin_UNWIND_TABLE_BY_DISCOVERY as u8,
}

/// The state of a table.
#[derive(Clone, Copy)]
pub(crate) enum State {
    /// The header was not read yet.
    Unread,
    /// The header is good.
    Good(Header),
    /// The table contradicts its format, and is not read again.
    Bad(Malformed),
}

/// Why there is no table for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The text is not that of a file.
    NoFile,
    /// The start of the file, with its header, is not mapped near the text.
    NoHeader,
    /// The table is not mapped where the file says.
    NotMapped,
    /// The index of the table has no entries.
    NoIndex,
    /// The file's headers say so.
    Elf(elf::Absence),
}

impl Absence {
    /// Names the reason, as `/proc/PID/unwind_tables` shows it.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::NoFile => c"no-file",
            Self::NoHeader => c"no-header",
            Self::NotMapped => c"not-mapped",
            Self::NoIndex => c"no-index",
            Self::Elf(absence) => absence.name(),
        }
    }

    /// Says whether the object has no table at all, for this text or another. One without an index
    /// was compiled like others that have tables.
    fn is_of_object(self) -> bool {
        matches!(self, Self::Elf(elf::Absence::NoTable))
    }
}

/// The table of each format.
pub(crate) type Tables = [Option<Table>; Format::COUNT];

/// A range of text and the tables that describe it: plain data, copied out of the registry.
///
/// # Invariants
///
/// - `start < end`. Whether there is anything at these addresses shows when they are used.
/// - There is a table of some format, or a reason why there is none, but not both.
/// - Either exec or the program has registered all tables, or discovery has found all of them.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    /// Address of the first byte.
    pub(crate) start: usize,
    /// Address after the last byte.
    pub(crate) end: usize,
    /// The table of each format.
    pub(crate) tables: Tables,
    /// Why there is no table.
    pub(crate) absence: Option<Absence>,
    /// Whether code without a rule keeps frame pointers, and clears the first one: Go's does, and
    /// all code of an object without any table.
    pub(crate) keeps_fp: bool,
}

// Beside the tree's nodes, this is all that a text costs.
static_assert!(size_of::<rcu::Counted<Text>>() <= 192);

impl Text {
    /// Makes a text with these tables.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is empty, or there is no table.
    pub(crate) fn new(start: usize, end: usize, tables: Tables) -> Result<Self> {
        if start >= end || tables.iter().all(Option::is_none) {
            return Err(EINVAL);
        }
        // INVARIANT: The text is not empty, and there is a table. The caller has made all tables
        // with one origin.
        Ok(Self {
            start,
            end,
            tables,
            absence: None,
            keeps_fp: false,
        })
    }

    /// Makes a text without a table.
    ///
    /// # Errors
    ///
    /// `EINVAL` if it is empty.
    pub(crate) fn absent(start: usize, end: usize, absence: Absence) -> Result<Self> {
        if start >= end {
            return Err(EINVAL);
        }
        // INVARIANT: The text is not empty, and there is no table.
        Ok(Self {
            start,
            end,
            tables: [None; Format::COUNT],
            absence: Some(absence),
            keeps_fp: absence.is_of_object(),
        })
    }

    /// Returns the table of a format.
    #[inline]
    pub(crate) fn table(&self, format: Format) -> Option<&Table> {
        format.of(&self.tables).as_ref()
    }

    /// Iterates over all tables.
    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten()
    }

    /// Says whether there is no table.
    pub(crate) fn is_absent(&self) -> bool {
        self.absence.is_some()
    }

    /// Says whether exec or the program has registered the tables.
    pub(crate) fn is_explicit(&self) -> bool {
        self.tables().any(Table::is_explicit)
    }

    /// Says whether exec or the program has registered a table of this format.
    pub(crate) fn has_explicit(&self, format: Format) -> bool {
        self.table(format).is_some_and(Table::is_explicit)
    }

    /// Adds the explicit tables of `other`, of formats for which this text has no table.
    pub(crate) fn with_explicit(mut self, other: &Self) -> Self {
        for format in Format::ALL {
            let table = format.of_mut(&mut self.tables);

            *table = table.or(other.table(format).copied().filter(Table::is_explicit));
        }
        self
    }

    /// Takes the table of `format` away. Returns `None` if the text has no other table.
    pub(crate) fn without(mut self, format: Format) -> Option<Self> {
        *format.of_mut(&mut self.tables) = None;
        // INVARIANT: There is a table.
        self.tables.iter().any(Option::is_some).then_some(self)
    }

    /// Says whether the text or a table has a byte in `start..end`.
    pub(crate) fn is_in(&self, start: usize, end: usize) -> bool {
        (self.start < end && start < self.end) || self.tables().any(|table| table.is_in(start, end))
    }

    /// Computes how far the tables reach beyond the text, on the side where they reach farther.
    pub(crate) fn reach(&self) -> usize {
        self.tables().fold(0, |reach, table| {
            let below = self.start.saturating_sub(table.start());
            let above = table.end().saturating_sub(self.end);

            reach.max(below).max(above)
        })
    }
}
