// SPDX-License-Identifier: GPL-2.0

//! The kernel's reader of unwind tables, as it stands, for tests of what writes them.

// The kernel's files have the kernel's format. What only the kernel needs is not used here.
#[allow(dead_code, unused_imports)]
#[rustfmt::skip]
#[path = "../../../../../kernel/unwind/tables/parse/mod.rs"]
mod parse;
// The search in C, which the kernel's reader asks for.
#[path = "../../../../unwind-tables/shim/search.rs"]
mod search;

use parse::{eh_frame, sframe, Amd64, Arch, Array, Element, Error, Reader, Rule, Value};

/// Bytes in memory; all others fault.
struct Bytes<'a>(&'a [u8]);

impl Reader for Bytes<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let start = usize::try_from(offset).map_err(|_| Error::Fault)?;
        let end = start.checked_add(buf.len()).ok_or(Error::Fault)?;

        buf.copy_from_slice(self.0.get(start..end).ok_or(Error::Fault)?);
        Ok(())
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        search::bisect(&|offset, to| self.read(offset, to).is_ok(), array, key)
    }
}

/// Bytes that may be others each time.
struct Changing<F>(F);

impl<F: Fn(usize, &mut [u8]) -> bool> Reader for Changing<F> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let offset = usize::try_from(offset).map_err(|_| Error::Fault)?;

        if (self.0)(offset, buf) {
            Ok(())
        } else {
            Err(Error::Fault)
        }
    }

    fn bisect(&self, array: &Array, key: u64) -> Result<Element, Error> {
        search::bisect(&|offset, to| self.read(offset, to).is_ok(), array, key)
    }
}

/// What a table says of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// There is no caller.
    Outermost,
    /// The CFA is SP plus this, and where the caller's FP is from there, if not in its register.
    Sp(i32, Option<i32>),
    /// The CFA is FP plus this, likewise.
    Fp(i32, Option<i32>),
}

impl Answer {
    /// What the rule says, in which the return address must be at CFA - 8.
    fn of(rule: Result<Rule, Error>) -> Result<Self, String> {
        let rule = match rule {
            Ok(rule) => rule,
            Err(Error::NotFound) => return Ok(Self::Nothing),
            Err(error) => return Err(format!("{error:?}")),
        };
        if rule.is_outermost() {
            return Ok(Self::Outermost);
        }
        let fp = match rule.fp() {
            Value::Unchanged => None,
            Value::AtCfa(offset) => Some(offset),
            _ => return Err(format!("{rule:?}")),
        };

        match (rule.cfa(), rule.ra()) {
            (Value::Register(parse::Register::Sp, cfa), Value::AtCfa(-8)) => Ok(Self::Sp(cfa, fp)),
            (Value::Register(parse::Register::Fp, cfa), Value::AtCfa(-8)) => Ok(Self::Fp(cfa, fp)),
            _ => Err(format!("{rule:?}")),
        }
    }
}

/// An SFrame table whose header was read, of which that is kept, as the kernel does.
pub struct SFrame {
    header: sframe::Header<Amd64>,
    base: u64,
}

impl SFrame {
    /// Reads the header of the table `bytes` that stands at address `base`.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn new(bytes: &[u8], base: usize) -> Result<Self, String> {
        let header = sframe::Header::read(&Bytes(bytes), bytes.len() as u64);

        Ok(Self {
            header: header.map_err(|error| format!("{error:?}"))?,
            base: base as u64,
        })
    }

    /// What the table says of address `pc`, if it has these bytes now.
    ///
    /// # Errors
    ///
    /// If the kernel would not use it any more.
    pub fn answer(&self, bytes: &[u8], pc: usize) -> Result<Answer, String> {
        Answer::of(self.header.rule(&Bytes(bytes), self.base, pc as u64))
    }

    /// What the table says of address `pc`, if `read` is how its bytes are read, all of which are
    /// there.
    ///
    /// # Errors
    ///
    /// If the kernel would not use it any more.
    pub fn answer_by(
        &self,
        read: impl Fn(usize, &mut [u8]) -> bool,
        pc: usize,
    ) -> Result<Answer, String> {
        Answer::of(self.header.rule(&Changing(read), self.base, pc as u64))
    }

    /// How many functions the index has, with those that are empty.
    pub fn functions(&self) -> u32 {
        self.header.functions
    }
}

/// What the `.eh_frame` in the table `bytes`, at address `base`, says of address `pc`. Its index is
/// at byte `index`.
///
/// # Errors
///
/// If the kernel would not use it any more, or does not know what it says.
pub fn eh_frame(bytes: &[u8], base: usize, index: usize, pc: usize) -> Result<Answer, String> {
    let reader = Bytes(bytes);
    let header = eh_frame::Header::<Amd64>::read(&reader, index as u32, bytes.len() as u32);

    Answer::of(header.and_then(|header| header.rule(&reader, base as u64, pc as u64, Amd64::FP)))
}
