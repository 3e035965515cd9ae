// SPDX-License-Identifier: GPL-2.0

//! A range of text, the tables that describe it, and what is known about them.

use core::ffi::CStr;

use kernel::{
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

/// Who registered a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Origin {
    /// exec, from a file's program headers.
    Exec,
    /// The program itself.
    Prctl,
    /// A walk that came there, from what the process has mapped.
    Discovery,
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
    /// Its name, for programs to read: ABI, as `/proc/PID/unwind_tables` shows it.
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::NoFile => c"no-file",
            Self::NoHeader => c"no-header",
            Self::NotMapped => c"not-mapped",
            Self::NoIndex => c"no-index",
            Self::Elf(absence) => absence.name(),
        }
    }
}

/// What was found out about a table.
#[derive(Clone, Copy)]
pub(crate) enum Verdict {
    /// Its header is good; this is what it says.
    Good(Header),
    /// It contradicts its format. It is not read again.
    Disabled(Malformed),
}

/// A verdict, with the id of the section that it is about.
#[derive(Clone, Copy)]
pub(crate) struct Judged {
    /// The section's id.
    pub(crate) id: u64,
    /// What was found out about its table of one format.
    pub(crate) verdict: Verdict,
}

/// A section and what an address space has found out about it, copied out of its registry.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The section.
    pub(crate) section: Section,
    /// What was found out about its tables, of those that were looked at.
    pub(crate) verdicts: [Option<Verdict>; Format::COUNT],
}

impl Found {
    /// A section about which nothing was found out.
    pub(crate) fn new(section: Section) -> Self {
        Self {
            section,
            verdicts: [None; Format::COUNT],
        }
    }
}

/// A range of text and the tables that describe it: plain data, copied out of the registry.
///
/// # Invariants
///
/// - `text_start < text_end`. Whether there is anything at these addresses shows when they are
///   used.
/// - There is a table of some format, or a reason why there is none, but not both.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// What this registration is known by, unlike its addresses, which another may reuse.
    pub(crate) id: u64,
    /// Address of the first byte of text.
    pub(crate) text_start: usize,
    /// Address after the last byte of text.
    pub(crate) text_end: usize,
    /// The table of each format.
    pub(crate) tables: [Option<Table>; Format::COUNT],
    /// Who registered each.
    pub(crate) origins: [Origin; Format::COUNT],
    /// Why there is no table.
    pub(crate) absence: Option<Absence>,
}

// Beside the trees' nodes, this is all that a section costs, and a table that is used.
static_assert!(size_of::<rcu::Counted<Section>>() <= 96);
static_assert!(size_of::<rcu::Counted<Judged>>() <= 64);

impl Section {
    /// A section without an id yet, and with one table.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the text is empty.
    pub(crate) fn new(
        text_start: usize,
        text_end: usize,
        format: Format,
        table: Table,
        origin: Origin,
    ) -> Result<Self> {
        let mut tables = [None; Format::COUNT];

        *format.of_mut(&mut tables) = Some(table);
        Self::found(text_start, text_end, tables, origin).and_then(|section| section.ok_or(EINVAL))
    }

    /// A section without an id yet, and with all tables that there are: none if there is no table.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the text is empty.
    pub(crate) fn found(
        text_start: usize,
        text_end: usize,
        tables: [Option<Table>; Format::COUNT],
        origin: Origin,
    ) -> Result<Option<Self>> {
        if text_start >= text_end {
            return Err(EINVAL);
        }
        // INVARIANT: The text is not empty, and there is a table.
        Ok(tables.iter().any(Option::is_some).then_some(Self {
            id: 0,
            text_start,
            text_end,
            tables,
            origins: [origin; Format::COUNT],
            absence: None,
        }))
    }

    /// A section without a table, as a walk has found, and without an id yet.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the text is empty.
    pub(crate) fn absent(text_start: usize, text_end: usize, absence: Absence) -> Result<Self> {
        if text_start >= text_end {
            return Err(EINVAL);
        }
        // INVARIANT: The text is not empty; and there is no table.
        Ok(Self {
            id: 0,
            text_start,
            text_end,
            tables: [None; Format::COUNT],
            origins: [Origin::Discovery; Format::COUNT],
            absence: Some(absence),
        })
    }

    /// The table of a format, if there is one.
    #[inline]
    pub(crate) fn table(&self, format: Format) -> Option<&Table> {
        format.of(&self.tables).as_ref()
    }

    /// Who registered the table of a format; if there is none, that means nothing.
    pub(crate) fn origin(&self, format: Format) -> Origin {
        *format.of(&self.origins)
    }

    /// Whether there is no table.
    pub(crate) fn is_absent(&self) -> bool {
        self.absence.is_some()
    }

    /// Whether somebody has said what describes this text: then no walk does.
    pub(crate) fn is_explicit(&self) -> bool {
        Format::ALL.iter().any(|format| self.has_explicit(*format))
    }

    /// Whether somebody has said so in this format.
    pub(crate) fn has_explicit(&self, format: Format) -> bool {
        self.table(format).is_some() && self.origin(format) != Origin::Discovery
    }

    /// The same section, with those tables of `other` as well that it has not itself.
    pub(crate) fn or(mut self, other: &Self) -> Self {
        for format in Format::ALL {
            if self.table(format).is_none() {
                *format.of_mut(&mut self.tables) = other.table(format).copied();
                *format.of_mut(&mut self.origins) = other.origin(format);
            }
        }
        self
    }

    /// What is left of a section if its table of `format` is taken away: a table that somebody has
    /// registered. None if there is none, for walks find the others again.
    pub(crate) fn without(mut self, format: Format) -> Option<Self> {
        *format.of_mut(&mut self.tables) = None;
        // INVARIANT: There is a table.
        self.is_explicit().then_some(self)
    }

    /// Address of the last byte of text.
    pub(crate) fn text_last(&self) -> usize {
        // Does not wrap: by the invariants `text_end` is above `text_start`.
        self.text_end.wrapping_sub(1)
    }

    /// Whether the text is exactly `start..end`.
    pub(crate) fn has_text(&self, start: usize, end: usize) -> bool {
        (self.text_start, self.text_end) == (start, end)
    }

    /// Whether the text has a byte in `start..end`.
    pub(crate) fn is_text_in(&self, start: usize, end: usize) -> bool {
        self.text_start < end && start < self.text_end
    }

    /// Whether the text or a table has a byte in `start..end`.
    pub(crate) fn is_in(&self, start: usize, end: usize) -> bool {
        self.is_text_in(start, end) || self.tables().any(|table| table.is_in(start, end))
    }

    /// All tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten()
    }

    /// How far the tables reach beyond the text, on the side where that is more.
    pub(crate) fn reach(&self) -> usize {
        self.tables().fold(0, |reach, table| {
            let below = self.text_start.saturating_sub(table.start());
            let above = table.end().saturating_sub(self.text_end);

            reach.max(below).max(above)
        })
    }
}
