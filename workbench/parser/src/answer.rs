// SPDX-License-Identifier: GPL-2.0

//! The answer of a reader for an address. All readers share these types.

use std::fmt;

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    AArch64,
    Amd64,
}

impl Abi {
    /// The architecture with this identifier in a table's header.
    pub fn from_id(id: u8) -> Option<Self> {
        match id {
            2 => Some(Self::AArch64),
            3 => Some(Self::Amd64),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::AArch64 => "aarch64",
            Self::Amd64 => "x86-64",
        }
    }

    /// The DWARF number of the stack pointer.
    pub fn sp(self) -> u32 {
        match self {
            Self::AArch64 => 31,
            Self::Amd64 => 7,
        }
    }

    /// The DWARF number of the frame pointer.
    pub fn fp(self) -> u32 {
        match self {
            Self::AArch64 => 29,
            Self::Amd64 => 6,
        }
    }

    /// The place of the return address (RA) if a row does not say it.
    pub fn default_ra(self) -> Value {
        match self {
            Self::Amd64 => Value::AtCfa(-8),
            Self::AArch64 => Value::Unchanged,
        }
    }
}

/// The place of a caller's value. Registers have DWARF numbers, offsets are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Unchanged,
    AtCfa(i32),
    Register(u32, i32),
    AtRegister(u32, i32),
}

/// The places of a caller's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub cfa: Value,
    pub ra: Value,
    pub fp: Value,
    /// The return address is signed.
    pub signed: bool,
}

/// The answer of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The table does not cover the address.
    Nothing,
    /// The address is in a signal trampoline without rows.
    NoRows,
    /// There is no caller.
    Outermost,
    Frame(Frame),
    /// The reader refuses the table.
    Refused(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => write!(f, "u"),
            Self::AtCfa(offset) => write!(f, "(cfa{offset:+})"),
            Self::Register(register, offset) => write!(f, "r{register}{offset:+}"),
            Self::AtRegister(register, offset) => write!(f, "(r{register}{offset:+})"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "nothing"),
            Self::NoRows => write!(f, "signal trampoline without rows"),
            Self::Outermost => write!(f, "outermost"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Frame(frame) => {
                write!(f, "CFA {} FP {} RA {}", frame.cfa, frame.fp, frame.ra)?;
                if frame.signed {
                    write!(f, " signed")?;
                }
                Ok(())
            }
        }
    }
}

/// A row. Its start is an offset from the start of the function, or of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub start: u64,
    pub answer: Answer,
}

/// A function with all its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub start: u64,
    pub size: u64,
    pub signal: bool,
    pub flexible: bool,
    /// The size of the block that the function repeats, if it does; 0 if the reader does not say
    /// it.
    pub block: Option<u64>,
    pub key_b: bool,
    pub rows: Vec<Row>,
}

impl Function {
    pub fn holds(&self, pc: u64) -> bool {
        pc.wrapping_sub(self.start) < self.size
    }

    /// The answer of the rows for `pc`, which must be in the function.
    pub fn answer(&self, pc: u64) -> Answer {
        let offset = pc - self.start;
        let wanted = self.block.map_or(offset, |block| offset % block);
        let below = self.rows.partition_point(|row| row.start <= wanted);

        match self.rows[..below].last() {
            Some(row) => row.answer,
            None if self.rows.is_empty() && self.signal => Answer::NoRows,
            None => Answer::Nothing,
        }
    }
}
