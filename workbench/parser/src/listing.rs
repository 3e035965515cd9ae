// SPDX-License-Identifier: GPL-2.0

//! All functions and rows of an SFrame table, one after the other, and what they mean.

use crate::check;
use crate::parse::sframe::{self, Header, Rows};
use crate::parse::{Arch, Error, Key, Reader, Rule};

/// How many functions of one start the parser looks at: empty ones do not count if others follow.
const SAME_START: usize = 9;

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

/// A row. Its start counts from that of the function, or of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) start: u32,
    pub(crate) rule: Rule,
}

/// All functions, in the order of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table(pub(crate) Vec<Function>);

/// The length of a table, by its header.
pub(crate) fn table_len<A: Arch>(header: &Header<A>) -> u64 {
    let index_len = u64::from(header.functions) * sframe::Function::ENTRY_SIZE as u64;

    (header.index + index_len).max(header.rows + u64::from(header.rows_len))
}

impl Function {
    /// Reads function `nth` and all its rows, and checks what every function has to be.
    pub(crate) fn read<A: Arch>(
        header: &Header<A>,
        reader: &impl Reader,
        base: u64,
        nth: u32,
    ) -> Result<Self, Error> {
        let entry = header.function(reader, base, nth)?;
        let mut rows = Rows::new(header, &entry, reader);
        rows.open()?;
        let attribute = rows.attribute;
        let mut function = Self {
            start: entry.start,
            size: entry.size,
            block: attribute.block,
            flexible: attribute.flexible,
            signal: attribute.signal,
            key: attribute.key,
            rows: Vec::new(),
        };

        while rows.left > 0 {
            let row = rows.step()?;
            let rule = rows.rule(&row)?;
            check::rule::<A>(rule);
            function.rows.push(Row { start: row.start, rule });
        }
        assert_eq!(function.rows.len(), usize::from(attribute.rows));
        assert!(function.start.checked_add(function.size.into()).is_some());
        assert!(function.rows.is_sorted_by_key(|row| row.start));
        assert!(function.rows.iter().all(|row| row.start <= function.limit()));
        Ok(function)
    }

    /// Where rows start at most.
    fn limit(&self) -> u32 {
        self.block.map_or(self.size, u32::from)
    }

    /// The rule at byte `offset` of the function.
    fn rule(&self, offset: u64) -> Result<Rule, Error> {
        let wanted = self.block.map_or(offset, |block| offset % u64::from(block));
        let below = self.rows.partition_point(|row| u64::from(row.start) <= wanted);

        if offset >= self.size.into() {
            return Err(Error::NotFound);
        }
        match self.rows[..below].last() {
            Some(row) => Ok(row.rule),
            None if self.rows.is_empty() && self.signal => Ok(Rule::signal_frame()),
            None => Err(Error::NotFound),
        }
    }
}

impl Table {
    /// Reads all functions. This finds all errors of a table but a wrong order of functions.
    pub(crate) fn read<A: Arch>(
        header: &Header<A>,
        reader: &impl Reader,
        base: u64,
    ) -> Result<Self, Error> {
        let functions = 0..header.functions;

        functions
            .map(|nth| Function::read(header, reader, base, nth))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Says whether the functions are in the order of their starts.
    pub(crate) fn is_sorted(&self) -> bool {
        self.0.is_sorted_by_key(|function| function.start)
    }

    /// The functions with the last start that is not above `pc`, the last one first.
    pub(crate) fn candidates(&self, pc: u64) -> impl Iterator<Item = &Function> {
        let below = &self.0[..self.0.partition_point(|function| function.start <= pc)];
        let start = below.last().map(|function| function.start);

        below.iter().rev().take_while(move |function| Some(function.start) == start)
    }

    /// The rule for `pc` in a sorted table: that of the last function that starts at or below it.
    pub(crate) fn rule(&self, pc: u64) -> Result<Rule, Error> {
        let mut candidates = self.candidates(pc).take(SAME_START);
        let function = candidates.find(|function| function.size != 0).ok_or(Error::NotFound)?;

        function.rule(pc - function.start)
    }

    /// The addresses where the rule may change, and those before them, without duplicates.
    pub(crate) fn boundaries(&self) -> Vec<u64> {
        let mut addresses = vec![0, u64::MAX];

        for function in &self.0 {
            let mut add = |offset: u64| {
                let address = function.start.saturating_add(offset);
                addresses.extend([address.saturating_sub(1), address]);
            };
            let size = u64::from(function.size);
            add(size);
            let blocks = match function.block.map(u64::from) {
                None => vec![0],
                Some(block) => vec![0, block, size / block * block, size.saturating_sub(block)],
            };
            for block in blocks {
                add(block);
                function.rows.iter().for_each(|row| add(block + u64::from(row.start)));
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}
