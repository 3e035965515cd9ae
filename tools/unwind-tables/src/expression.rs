// SPDX-License-Identifier: GPL-2.0

//! DWARF expressions of call frame information, as far as tables can say the same.
//!
//! Registers have no values here: what comes out is a register and an offset. Only the program
//! counter has one, for the expressions that linkers write for procedure linkage tables.

use gimli::{EndianSlice, Expression, LittleEndian, Operation, Register, Value as Number};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// How deep a stack may get, and how long an expression may be.
const LIMIT: usize = 64;

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    Number(u64),
    /// A register, or what is at it, and an offset.
    Register(u16, i64),
    AtRegister(u16, i64),
    /// What is at a register and an offset, and whole words above that, in bytes.
    AboveAtRegister(u16, i64, u8),
    /// CFA + offset.
    Cfa(i64),
}

/// An expression's value, and what it took.
pub struct Outcome {
    pub term: Term,
    /// Whether the program counter was asked for: at the next address it may be another.
    pub used_pc: bool,
}

impl Term {
    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Some(Self::Number(a.wrapping_add(b))),
            (Self::Register(register, a), Self::Number(b))
            | (Self::Number(b), Self::Register(register, a)) => {
                Some(Self::Register(register, a.wrapping_add(b as i64)))
            }
            (Self::Cfa(a), Self::Number(b)) | (Self::Number(b), Self::Cfa(a)) => {
                Some(Self::Cfa(a.wrapping_add(b as i64)))
            }
            (term @ Self::AtRegister(..), Self::Number(0)) => Some(term),
            (Self::AtRegister(register, at), Self::Number(above @ 8..=120)) if above % 8 == 0 => {
                Some(Self::AboveAtRegister(register, at, above as u8))
            }
            _ => None,
        }
    }

    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

struct Machine {
    stack: Vec<Term>,
    pc: u64,
    pc_register: Register,
    used_pc: bool,
}

impl Machine {
    fn pop_numbers(&mut self) -> Option<(Number, Number)> {
        let b = self.stack.pop()?.number()?;
        let a = self.stack.pop()?.number()?;

        Some((Number::Generic(a), Number::Generic(b)))
    }

    /// Does what gimli knows to do with two numbers.
    fn binary(
        &mut self,
        operation: impl Fn(Number, Number, u64) -> gimli::Result<Number>,
    ) -> Option<Term> {
        let (a, b) = self.pop_numbers()?;
        let result = operation(a, b, u64::MAX).ok()?;

        Some(Term::Number(result.to_u64(u64::MAX).ok()?))
    }

    fn register(&mut self, register: Register, offset: i64) -> Term {
        if register == self.pc_register {
            self.used_pc = true;
            Term::Number(self.pc.wrapping_add_signed(offset))
        } else {
            Term::Register(register.0, offset)
        }
    }

    /// The term that an operation leaves on the stack; none if it has no meaning here.
    fn step(&mut self, operation: Operation<Slice<'_>>) -> Option<Term> {
        Some(match operation {
            Operation::UnsignedConstant { value } => Term::Number(value),
            Operation::SignedConstant { value } => Term::Number(value as u64),
            Operation::RegisterOffset {
                register, offset, ..
            } => self.register(register, offset),
            Operation::PlusConstant { value } => self.stack.pop()?.plus(Term::Number(value))?,
            Operation::Plus => {
                let b = self.stack.pop()?;
                self.stack.pop()?.plus(b)?
            }
            Operation::Minus => {
                let b = self.stack.pop()?.number()?;
                self.stack.pop()?.plus(Term::Number(b.wrapping_neg()))?
            }
            Operation::Deref { size: 8, .. } => match self.stack.pop()? {
                Term::Register(register, offset) => Term::AtRegister(register, offset),
                _ => return None,
            },
            Operation::And => self.binary(Number::and)?,
            Operation::Or => self.binary(Number::or)?,
            Operation::Xor => self.binary(Number::xor)?,
            Operation::Mul => self.binary(Number::mul)?,
            Operation::Shl => self.binary(Number::shl)?,
            Operation::Shr => self.binary(Number::shr)?,
            Operation::Eq => self.binary(Number::eq)?,
            Operation::Ne => self.binary(Number::ne)?,
            Operation::Ge => self.binary(Number::ge)?,
            Operation::Gt => self.binary(Number::gt)?,
            Operation::Le => self.binary(Number::le)?,
            Operation::Lt => self.binary(Number::lt)?,
            Operation::Nop => self.stack.pop()?,
            _ => return None,
        })
    }
}

/// Evaluates an expression at address `pc`; none if that is beyond what tables can say.
pub fn evaluate(
    expression: Expression<Slice<'_>>,
    encoding: gimli::Encoding,
    first: Option<Term>,
    pc: u64,
    pc_register: u16,
) -> Option<Outcome> {
    let mut machine = Machine {
        stack: first.into_iter().collect(),
        pc,
        pc_register: Register(pc_register),
        used_pc: false,
    };
    let mut operations = expression.operations(encoding);

    for _ in 0..LIMIT {
        let Some(operation) = operations.next().ok()? else {
            return Some(Outcome {
                term: machine.stack.pop()?,
                used_pc: machine.used_pc,
            });
        };
        let term = machine.step(operation)?;
        machine.stack.push(term);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: &[u8], first: Option<Term>, pc: u64) -> Option<Term> {
        let encoding = gimli::Encoding {
            address_size: 8,
            format: gimli::Format::Dwarf32,
            version: 4,
        };
        let expression = Expression(EndianSlice::new(bytes, LittleEndian));

        evaluate(expression, encoding, first, pc, 16).map(|outcome| outcome.term)
    }

    #[test]
    fn linkage_tables() {
        // breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus
        let plt = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];

        assert_eq!(value(&plt, None, 0x101a), Some(Term::Register(7, 8)));
        assert_eq!(value(&plt, None, 0x101b), Some(Term::Register(7, 16)));
    }

    #[test]
    fn realigned_stacks() {
        // breg6 -16, deref; and breg6 0 on top of the CFA
        assert_eq!(
            value(&[0x76, 0x70, 6], None, 0),
            Some(Term::AtRegister(6, -16))
        );
        let cfa = Some(Term::Cfa(0));
        assert_eq!(value(&[0x76, 0], cfa, 0), Some(Term::Register(6, 0)));
        // plus_uconst 24 on the CFA
        assert_eq!(value(&[0x23, 24], cfa, 0), Some(Term::Cfa(24)));
    }

    #[test]
    fn what_tables_cannot_say() {
        // Nothing on the stack, a register that is not known, memory twice, an endless loop.
        for bytes in [
            &[0x22][..],
            &[],
            &[0x77, 0, 0x3f, 0x1a],
            &[0x76, 0, 6, 6],
            &[0x2f, 0xfd, 0xff],
        ] {
            assert_eq!(value(bytes, None, 0), None, "{bytes:x?}");
        }
        assert_eq!(value(&[0x30; 100], None, 0), None);
    }
}
