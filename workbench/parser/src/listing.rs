// SPDX-License-Identifier: GPL-2.0

//! All functions and rows of an SFrame table, one after the other.

use crate::check;
use crate::parse::sframe::{self, Header, Rows};
use crate::parse::{Arch, Error, Key, Reader, Rule};

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) start: u64,
    pub(crate) size: u32,
    /// The size of the block that the function repeats, if it does.
    pub(crate) block: Option<u8>,
    /// Whether the rows name their registers.
    pub(crate) flexible: bool,
    /// Whether it is a signal trampoline.
    pub(crate) signal: bool,
    /// The key of signed return addresses.
    pub(crate) key: Key,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) start: u32,
    pub(crate) rule: Rule,
}

/// The length of a table, by its header.
pub(crate) fn table_len<A: Arch>(header: &Header<A>) -> u64 {
    let index_len = u64::from(header.functions) * sframe::Function::ENTRY_SIZE as u64;

    (header.index + index_len).max(header.rows + u64::from(header.rows_len))
}

/// Reads one function and all its rows.
pub(crate) fn function<A: Arch>(
    header: &Header<A>,
    reader: &impl Reader,
    base: u64,
    nth: u32,
) -> Result<Function, Error> {
    let function = header.function(reader, base, nth)?;
    let mut rows = Rows::new(header, &function, reader);
    rows.open()?;
    let attribute = rows.attribute;
    let mut listed = Vec::new();

    while rows.left > 0 {
        let row = rows.step()?;
        let rule = rows.rule(&row)?;
        check::rule::<A>(rule);
        listed.push(Row { start: row.start, rule });
    }
    assert_eq!(listed.len(), usize::from(attribute.rows));
    Ok(Function {
        start: function.start,
        size: function.size,
        block: attribute.block,
        flexible: attribute.flexible,
        signal: attribute.signal,
        key: attribute.key,
        rows: listed,
    })
}

/// Reads all functions.
pub(crate) fn functions<A: Arch>(
    header: &Header<A>,
    reader: &impl Reader,
    base: u64,
) -> Result<Vec<Function>, Error> {
    (0..header.functions).map(|nth| function(header, reader, base, nth)).collect()
}
