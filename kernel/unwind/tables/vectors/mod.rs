// SPDX-License-Identifier: GPL-2.0

//! Tables and what is to be found in them, for KUnit and for the tests on a host.
//!
//! Every table is well-formed. Its [`Vector`]s say what a change of some of its bytes makes of it:
//! at each bound of the format one that is still good, and one that is not. So it is with the files
//! of [`elf`].

mod aarch64;
mod amd64;
mod amd64_flexible;
mod amd64_large;
mod arrays;
mod eh_frame;
pub(crate) mod elf;

use crate::parse::{
    self,
    sframe::{
        self,
        Reason, //
    },
    AArch64,
    Amd64,
    Error,
    Key,
    Malformed,
    Reader,
    Register,
    Rule,
    Unsupported,
    Value, //
};

#[allow(unused_imports, reason = "some tests have user memory")]
pub(crate) use arrays::{
    search,
    Search,
    ARRAYS, //
};

/// The tables of SFrame.
pub(crate) const TABLES: &[&Table] = &[
    &amd64::TABLE,
    &amd64_flexible::TABLE,
    &amd64_large::TABLE,
    &aarch64::TABLE,
];

/// Tables of `.eh_frame`.
pub(crate) const EH_FRAME_TABLES: &[&Table] = &eh_frame::TABLES;

/// The tables of all formats.
#[allow(
    dead_code,
    reason = "the tests on a host look at the formats one by one"
)]
pub(crate) fn all_tables() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().chain(EH_FRAME_TABLES).copied()
}

/// A well-formed table.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) arch: Arch,
    pub(crate) format: Format,
    /// Address of its first byte.
    pub(crate) base: u64,
    pub(crate) bytes: &'static [u8],
    /// Addresses, and what it says about them.
    pub(crate) lookups: &'static [(u64, Expected)],
    pub(crate) vectors: &'static [Vector],
}

impl Table {
    /// The rule for address `pc` in a change of this table, of `len` bytes, which `reader` reads.
    #[allow(dead_code, reason = "the tests on a host look at more than the rule")]
    pub(crate) fn rule(&self, reader: &impl Reader, len: usize, pc: u64) -> Result<Rule, Error> {
        match self.arch {
            Arch::Amd64 => self.rule_of::<Amd64>(reader, len, pc),
            Arch::AArch64 => self.rule_of::<AArch64>(reader, len, pc),
        }
    }

    fn rule_of<A: parse::Arch>(
        &self,
        reader: &impl Reader,
        len: usize,
        pc: u64,
    ) -> Result<Rule, Error> {
        match self.format {
            Format::SFrame => {
                sframe::Header::<A>::read(reader, len as u64)?.rule(reader, self.base, pc)
            }
            // A vector's length is small.
            Format::EhFrame(place) => parse::eh_frame::Header::<A>::read(
                reader, place, len as u32,
            )?
            .rule(reader, self.base, pc, A::FP),
        }
    }
}

/// A change of a table, an address, and what is said about it then.
pub(crate) struct Vector {
    /// What is tested.
    pub(crate) name: &'static str,
    change: Change,
    pub(crate) pc: u64,
    pub(crate) expected: Expected,
}

/// Bytes that stand at a place instead of others.
pub(crate) type Patch<'a> = (usize, &'a [u8]);

enum Change {
    /// Other bytes.
    Patches(&'static [Patch<'static>]),
    /// Other bytes, and another length. Zeros follow a shorter table.
    Length(usize, &'static [Patch<'static>]),
    /// The byte at a place, to one after the other of all values in some ranges.
    Each(usize, &'static [(u8, u8)]),
}

const fn with(
    name: &'static str,
    patches: &'static [Patch<'static>],
    pc: u64,
    expected: Expected,
) -> Vector {
    Vector {
        name,
        change: Change::Patches(patches),
        pc,
        expected,
    }
}

const fn with_len(
    name: &'static str,
    len: usize,
    patches: &'static [Patch<'static>],
    pc: u64,
    expected: Expected,
) -> Vector {
    Vector {
        name,
        change: Change::Length(len, patches),
        pc,
        expected,
    }
}

const fn each(
    name: &'static str,
    at: usize,
    values: &'static [(u8, u8)],
    pc: u64,
    expected: Expected,
) -> Vector {
    Vector {
        name,
        change: Change::Each(at, values),
        pc,
        expected,
    }
}

impl Vector {
    /// Calls `test` with each table that the change makes of `table`, which must be its own.
    pub(crate) fn for_each(&self, table: &Table, test: impl FnMut(&Bytes<'_>)) {
        self.change.for_each(Bytes::new(table), test);
    }
}

impl Change {
    /// Calls `test` with all that it makes of `bytes`.
    fn for_each(&self, bytes: Bytes<'_>, mut test: impl FnMut(&Bytes<'_>)) {
        match *self {
            Change::Patches(patches) => test(&Bytes { patches, ..bytes }),
            Change::Length(len, patches) => test(&Bytes {
                patches,
                len,
                ..bytes
            }),
            Change::Each(at, ranges) => {
                for (first, last) in ranges {
                    for value in *first..=*last {
                        test(&Bytes {
                            patches: &[(at, &[value])],
                            ..bytes
                        });
                    }
                }
            }
        }
    }
}

/// The bytes of a table, with a change.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    bytes: &'a [u8],
    pub(crate) len: usize,
    pub(crate) patches: &'a [Patch<'a>],
}

impl Bytes<'_> {
    /// Takes the bytes of `table`, unchanged.
    pub(crate) fn new(table: &Table) -> Self {
        Self {
            bytes: table.bytes,
            len: table.bytes.len(),
            patches: &[],
        }
    }

    /// The first bytes, at most `most`: the rest of a long table is zeros.
    pub(crate) fn first(&self, most: usize) -> impl Iterator<Item = u8> + '_ {
        (0..most).map_while(|at| self.get(at))
    }

    /// The byte at a place, if the table reaches so far.
    fn get(&self, at: usize) -> Option<u8> {
        let patched = self
            .patches
            .iter()
            .find_map(|(place, bytes)| bytes.get(at.checked_sub(*place)?));
        let byte = patched.or(self.bytes.get(at)).copied().unwrap_or(0);

        (at < self.len).then_some(byte)
    }
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    SFrame,
    /// `.eh_frame`, with its index at this place of the table.
    EhFrame(u32),
}

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arch {
    Amd64,
    AArch64,
}

/// The expected result of a lookup, as a constant.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    what: What,
    signal: bool,
    above: i32,
    key: Option<Key>,
}

#[derive(Clone, Copy)]
enum What {
    NotFound,
    SignalFrame,
    Outermost,
    Frame(Value, Value, Value),
    Malformed(parse::Reason, u32),
    Unsupported(Unsupported),
}

const fn expected(what: What) -> Expected {
    Expected {
        what,
        signal: false,
        above: 0,
        key: None,
    }
}

const NOT_FOUND: Expected = expected(What::NotFound);
const SIGNAL_FRAME: Expected = expected(What::SignalFrame);
const OUTERMOST: Expected = expected(What::Outermost);

const fn frame(cfa: Value, ra: Value, fp: Value) -> Expected {
    expected(What::Frame(cfa, ra, fp))
}

const fn malformed(reason: parse::Reason, offset: u32) -> Expected {
    expected(What::Malformed(reason, offset))
}

const fn unsupported(cause: Unsupported) -> Expected {
    expected(What::Unsupported(cause))
}

const fn bad(reason: Reason, offset: u32) -> Expected {
    malformed(parse::Reason::SFrame(reason), offset)
}

impl Expected {
    /// Adds the mark that a signal interrupted the caller.
    const fn signal(self) -> Self {
        Self {
            signal: true,
            ..self
        }
    }

    /// Moves the CFA up by so many bytes.
    const fn above(self, above: i32) -> Self {
        Self { above, ..self }
    }

    /// Adds the mark of a signed return address.
    const fn signed(self, key: Key) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }

    /// Returns the expected result of the lookup.
    pub(crate) fn result(&self) -> Result<Rule, Error> {
        let rule = match self.what {
            What::NotFound => return Err(Error::NotFound),
            What::Unsupported(cause) => return Err(Error::Unsupported(cause)),
            What::Malformed(reason, offset) => {
                return Err(Error::Malformed(Malformed { reason, offset }));
            }
            What::SignalFrame => Rule::signal_frame(),
            What::Outermost => Rule::outermost(),
            // No lookup of the tests yields this error without being told to.
            What::Frame(cfa, ra, fp) => Rule::frame(cfa, ra, fp).ok_or(Error::Budget)?,
        };

        Ok(rule
            .with_cfa_above(self.above)
            .ok_or(Error::Budget)?
            .with_signal(self.signal)
            .with_signed_ra(self.key))
    }

    /// Where that rule is to find the CFA, the return address and the frame pointer.
    pub(crate) fn values(&self) -> Option<[Value; 3]> {
        match self.what {
            What::NotFound | What::Malformed(..) | What::Unsupported(_) => None,
            What::SignalFrame | What::Outermost => Some([SAME; 3]),
            What::Frame(cfa, ra, fp) => Some([cfa, ra, fp]),
        }
    }
}

const SAME: Value = Value::Unchanged;
const LOST: Value = Value::Unknown;

const fn at_cfa(offset: i32) -> Value {
    Value::AtCfa(offset)
}

const fn sp(offset: i32) -> Value {
    Value::Register(Register::Sp, offset)
}

const fn fp(offset: i32) -> Value {
    Value::Register(Register::Fp, offset)
}

const fn reg(number: u8, offset: i32) -> Value {
    Value::Register(Register::Other(number), offset)
}

const fn at_sp(offset: i32) -> Value {
    Value::AtRegister(Register::Sp, offset)
}

const fn at_fp(offset: i32) -> Value {
    Value::AtRegister(Register::Fp, offset)
}

const fn at_reg(number: u8, offset: i32) -> Value {
    Value::AtRegister(Register::Other(number), offset)
}
