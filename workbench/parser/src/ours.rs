// SPDX-License-Identifier: GPL-2.0

//! The kernel's parser.

use anyhow::{Result, anyhow, bail};

use crate::answer::{self, Abi, Answer, Frame, Function, Row};
use crate::listing;
use crate::memory::Slice;
use crate::parse::sframe::Header;
use crate::parse::{AArch64, Amd64, Error, Key, Malformed, Register, Rule, Value};

enum AnyHeader {
    AArch64(Header<AArch64>),
    Amd64(Header<Amd64>),
}

/// Evaluates an expression with the header of any architecture.
macro_rules! with_header {
    ($table:expr, $header:ident => $do:expr) => {
        match &$table.header {
            AnyHeader::AArch64($header) => $do,
            AnyHeader::Amd64($header) => $do,
        }
    };
}

/// A table with a decoded header.
pub struct Table<'a> {
    pub abi: Abi,
    header: AnyHeader,
    bytes: Slice<'a>,
    base: u64,
}

impl<'a> Table<'a> {
    /// The table `bytes` at address `base`.
    pub fn new(bytes: &'a [u8], base: u64) -> Result<Self> {
        let len = bytes.len() as u64;
        let Some(abi) = bytes.get(4).copied().and_then(Abi::from_id) else {
            bail!("the table is of no known architecture");
        };
        let bytes = Slice(bytes);
        let header = match abi {
            Abi::AArch64 => Header::read(&bytes, len).map(AnyHeader::AArch64),
            Abi::Amd64 => Header::read(&bytes, len).map(AnyHeader::Amd64),
        };

        Ok(Self {
            abi,
            header: header.map_err(|error| anyhow!("header: {}", text(error)))?,
            bytes,
            base,
        })
    }

    /// The parser's answer for `pc`.
    pub fn answer(&self, pc: u64) -> Answer {
        match self.rule(pc) {
            Ok(rule) => answer_of(self.abi, &rule),
            Err(Error::NotFound) => Answer::Nothing,
            Err(error) => Answer::Refused(text(error)),
        }
    }

    pub fn functions(&self) -> Result<Vec<Function>> {
        let (table, base) = (&self.bytes, self.base);
        let listed = with_header!(self, header => listing::functions(header, table, base));
        let answer = |row: &listing::Row| Row {
            start: row.start.into(),
            answer: answer_of(self.abi, &row.rule),
        };
        let function = |function: listing::Function| Function {
            start: function.start,
            size: function.size.into(),
            signal: function.signal,
            flexible: function.flexible,
            block: function.block.map(u64::from),
            key_b: function.key == Key::B,
            rows: function.rows.iter().map(answer).collect(),
        };
        let listed = listed.map_err(|error| anyhow!("{}", text(error)))?;

        Ok(listed.into_iter().map(function).collect())
    }

    #[inline]
    fn rule(&self, pc: u64) -> Result<Rule, Error> {
        with_header!(self, header => header.rule(&self.bytes, self.base, pc))
    }
}

/// The text of an error, without its place.
fn text(error: Error) -> &'static str {
    match error {
        Error::NotFound => "not found",
        Error::Fault => "beyond the table",
        Error::Malformed(Malformed { reason, .. }) => reason.text(),
        Error::Unsupported(cause) => cause.text(),
        Error::Budget => "too much work",
        Error::Absent(absence) => absence.text(),
    }
}

fn answer_of(abi: Abi, rule: &Rule) -> Answer {
    if rule.is_outermost() {
        return Answer::Outermost;
    }
    if rule.cfa() == Value::Unchanged {
        return Answer::NoRows;
    }
    Answer::Frame(Frame {
        cfa: value_of(abi, rule.cfa()),
        ra: value_of(abi, rule.ra()),
        fp: value_of(abi, rule.fp()),
        signed: rule.signed_ra().is_some(),
    })
}

fn value_of(abi: Abi, value: Value) -> answer::Value {
    let number = |register| match register {
        Register::Sp => abi.sp(),
        Register::Fp => abi.fp(),
        Register::Other(number) => number.into(),
    };

    match value {
        Value::Unchanged => answer::Value::Unchanged,
        Value::AtCfa(offset) => answer::Value::AtCfa(offset),
        Value::Register(register, offset) => answer::Value::Register(number(register), offset),
        Value::AtRegister(register, offset) => answer::Value::AtRegister(number(register), offset),
        Value::Unknown => unreachable!("SFrame always says where a value is"),
    }
}
