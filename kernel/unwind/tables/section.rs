// SPDX-License-Identifier: GPL-2.0

//! A range of text, the table that describes it, and what is known about that.

use core::ffi::CStr;

use kernel::prelude::*;

use crate::parse::{
    self,
    elf,
    sframe,
    Malformed, //
};

/// The header of a table for this architecture.
#[cfg(CONFIG_X86_64)]
pub(crate) type Header = sframe::Header<parse::Amd64>;

/// Who registered a section.
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

/// What a table is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Format {
    /// SFrame, version 3.
    SFrame,
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
            Self::Elf(absence) => absence.name(),
        }
    }
}

/// What describes a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A table.
    Table(Format),
    /// Nothing: a walk has looked for a table, and there is none.
    Absent(Absence),
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
    /// What was found out about its table.
    pub(crate) verdict: Verdict,
}

/// A section and what an address space has found out about it, copied out of its registry.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The section.
    pub(crate) section: Section,
    /// What was found out about its table, if it was looked at.
    pub(crate) verdict: Option<Verdict>,
}

/// A range of text and the table that describes it: plain data, copied out of the registry.
///
/// # Invariants
///
/// - `text_start < text_end`, and `table_len` is zero only if there is no table. Whether there is
///   anything at these addresses shows when they are used.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// What this registration is known by, unlike its addresses, which another may reuse.
    pub(crate) id: u64,
    /// Address of the first byte of text.
    pub(crate) text_start: usize,
    /// Address after the last byte of text.
    pub(crate) text_end: usize,
    /// Address of the table.
    pub(crate) table: usize,
    /// Bytes that the table may use.
    pub(crate) table_len: u32,
    /// What the table is written in, or why there is none.
    pub(crate) content: Content,
    /// Who registered it.
    pub(crate) origin: Origin,
}

impl Section {
    /// A section without an id yet.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a range is empty or the table has 4 GiB or more.
    pub(crate) fn new(
        table_start: usize,
        table_end: usize,
        text_start: usize,
        text_end: usize,
        format: Format,
        origin: Origin,
    ) -> Result<Self> {
        let table_len = table_end.checked_sub(table_start).ok_or(EINVAL)?;

        if text_start >= text_end || table_len == 0 {
            return Err(EINVAL);
        }
        // INVARIANT: Just checked.
        Ok(Self {
            id: 0,
            text_start,
            text_end,
            table: table_start,
            table_len: table_len.try_into().map_err(|_| EINVAL)?,
            content: Content::Table(format),
            origin,
        })
    }

    /// A section without a table, as a walk has found, and without an id yet.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the range is empty.
    pub(crate) fn absent(text_start: usize, text_end: usize, absence: Absence) -> Result<Self> {
        if text_start >= text_end {
            return Err(EINVAL);
        }
        // INVARIANT: Just checked; and there is no table.
        Ok(Self {
            id: 0,
            text_start,
            text_end,
            table: 0,
            table_len: 0,
            content: Content::Absent(absence),
            origin: Origin::Discovery,
        })
    }

    /// Whether there is no table.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.content, Content::Absent(_))
    }

    /// Whether somebody has said what describes this text: then no walk does.
    pub(crate) fn is_explicit(&self) -> bool {
        self.origin != Origin::Discovery
    }

    /// Address of the last byte of text.
    pub(crate) fn text_last(&self) -> usize {
        // Does not wrap: by the invariants `text_end` is above `text_start`.
        self.text_end.wrapping_sub(1)
    }

    /// Address after the last byte that the table may use.
    pub(crate) fn table_end(&self) -> usize {
        // Does not wrap: it was a number before it became a length.
        self.table.wrapping_add(self.table_len as usize)
    }

    /// Whether the text is exactly `start..end`.
    pub(crate) fn has_text(&self, start: usize, end: usize) -> bool {
        (self.text_start, self.text_end) == (start, end)
    }

    /// Whether the text or the table has a byte in `start..end`.
    pub(crate) fn is_in(&self, start: usize, end: usize) -> bool {
        (self.text_start < end && start < self.text_end)
            || (self.table < end && start < self.table_end())
    }

    /// How far the table reaches beyond the text, on the side where that is more.
    pub(crate) fn reach(&self) -> usize {
        if self.is_absent() {
            return 0;
        }
        let below = self.text_start.saturating_sub(self.table);
        let above = self.table_end().saturating_sub(self.text_end);

        below.max(above)
    }
}
