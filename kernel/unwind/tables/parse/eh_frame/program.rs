// SPDX-License-Identifier: GPL-2.0

//! The programs of CIEs and FDEs: "Call Frame Instructions" of the specification.

use super::{
    super::{
        Arch,
        Error,
        Reader,
        Unsupported,
        Value, //
    },
    cie::Cie,
    cursor::Cursor,
    expression,
    fde::Wanted,
    reason::Reason,
    row::{
        Cfa,
        Place,
        Row, //
    },
};

/// Limit of states that are remembered within each other: compilers write one.
const DEPTH: usize = 4;

/// `DW_CFA_advance_loc`, with the delta in the low six bits of the code.
const ADVANCE_LOC: u8 = 1;
/// `DW_CFA_offset`, with the register in the low six bits of the code.
const OFFSET: u8 = 2;
/// `DW_CFA_restore`, with the register in the low six bits of the code.
const RESTORE: u8 = 3;
const NOP: u8 = 0x00;
const ADVANCE_LOC1: u8 = 0x02;
const ADVANCE_LOC2: u8 = 0x03;
const ADVANCE_LOC4: u8 = 0x04;
const OFFSET_EXTENDED: u8 = 0x05;
const RESTORE_EXTENDED: u8 = 0x06;
const UNDEFINED: u8 = 0x07;
const SAME_VALUE: u8 = 0x08;
const REGISTER: u8 = 0x09;
const REMEMBER_STATE: u8 = 0x0a;
const RESTORE_STATE: u8 = 0x0b;
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_REGISTER: u8 = 0x0d;
const DEF_CFA_OFFSET: u8 = 0x0e;
const DEF_CFA_EXPRESSION: u8 = 0x0f;
const EXPRESSION: u8 = 0x10;
const OFFSET_EXTENDED_SF: u8 = 0x11;
const DEF_CFA_SF: u8 = 0x12;
const DEF_CFA_OFFSET_SF: u8 = 0x13;
const VAL_OFFSET: u8 = 0x14;
const VAL_OFFSET_SF: u8 = 0x15;
const VAL_EXPRESSION: u8 = 0x16;
const MIPS_ADVANCE_LOC8: u8 = 0x1d;
const AARCH64_SET_RA_STATE: u8 = 0x2b;
const AARCH64_NEGATE_RA_STATE_WITH_PC: u8 = 0x2c;
const AARCH64_NEGATE_RA_STATE: u8 = 0x2d;
const GNU_ARGS_SIZE: u8 = 0x2e;
const GNU_NEGATIVE_OFFSET_EXTENDED: u8 = 0x2f;

/// A way to sign return addresses that is not supported.
const SIGNED_OTHERWISE: u8 = 2;

/// A program that is run.
///
/// # Invariants
///
/// - `depth` is at most [`DEPTH`].
pub(super) struct Program<'a> {
    cie: &'a Cie,
    wanted: &'a Wanted,
    row: Row,
    /// The row that the CIE makes, which registers are restored to.
    common: Row,
    remembered: [Option<Row>; DEPTH],
    depth: usize,
}

impl<'a> Program<'a> {
    /// Prepares the program of an FDE, which starts with the row of its CIE, or that of a CIE,
    /// which starts with [`Row::EMPTY`].
    pub(super) fn new(cie: &'a Cie, common: Row, wanted: &'a Wanted) -> Self {
        // INVARIANT: Nothing is remembered.
        Self {
            cie,
            wanted,
            row: common,
            common,
            remembered: [None; DEPTH],
            depth: 0,
        }
    }

    /// Runs the program at the cursor, until it passes `offset` bytes from the function's start.
    /// The rest is not read.
    pub(super) fn run<A: Arch, R: Reader>(
        &mut self,
        cursor: &mut Cursor<'_, A, R>,
        offset: u64,
    ) -> Result<Row, Error> {
        let mut location = 0u64;

        while cursor.has_more() {
            let code = cursor.byte()?;
            let low = code & 0x3f;

            let delta = match code >> 6 {
                ADVANCE_LOC => low.into(),
                OFFSET => {
                    let offset = cursor.uleb()?;
                    self.save::<A>(low.into(), self.at_cfa(i64::try_from(offset).ok()));
                    continue;
                }
                RESTORE => {
                    self.restore::<A>(low.into());
                    continue;
                }
                _ => match code {
                    ADVANCE_LOC1 => cursor.byte()?.into(),
                    ADVANCE_LOC2 => u16::from_le_bytes(cursor.bytes()?).into(),
                    ADVANCE_LOC4 => cursor.u32()?.into(),
                    MIPS_ADVANCE_LOC8 => u64::from_le_bytes(cursor.bytes()?),
                    // What programs have most of.
                    NOP => continue,
                    DEF_CFA_OFFSET => {
                        let offset = cursor.uleb()?;
                        self.set_cfa_offset(i32::try_from(offset).ok());
                        continue;
                    }
                    // In large functions, a quarter of the instructions.
                    REMEMBER_STATE => {
                        self.remember()?;
                        continue;
                    }
                    RESTORE_STATE => {
                        self.restore_state(cursor.position())?;
                        continue;
                    }
                    _ => {
                        self.step(cursor, code)?;
                        continue;
                    }
                },
            };
            location = location.saturating_add(self.cie.code_factor.saturating_mul(delta));
            if location > offset {
                break;
            }
        }
        Ok(self.row)
    }

    /// Runs the CIE's program, at the cursor. Its FDEs get the row, but no remembered states.
    pub(super) fn run_common<A: Arch, R: Reader>(
        mut self,
        cursor: &mut Cursor<'_, A, R>,
    ) -> Result<Row, Error> {
        let row = self.run(cursor, u64::MAX)?;

        if self.depth > 0 {
            return Err(Unsupported::Depth.into());
        }
        Ok(row)
    }

    /// Runs an instruction that is no advance, and has no operand in its code.
    #[inline(never)]
    fn step<A: Arch, R: Reader>(
        &mut self,
        cursor: &mut Cursor<'_, A, R>,
        code: u8,
    ) -> Result<(), Error> {
        match code {
            DEF_CFA_OFFSET_SF => {
                let offset = self.factored(cursor.sleb()?);
                self.set_cfa_offset(offset);
            }
            DEF_CFA => {
                let register = A::register(cursor.register()?);
                self.row.cfa = Cfa::Parts(register, i32::try_from(cursor.uleb()?).ok());
            }
            DEF_CFA_SF => {
                let register = A::register(cursor.register()?);
                self.row.cfa = Cfa::Parts(register, self.factored(cursor.sleb()?));
            }
            DEF_CFA_REGISTER => {
                let register = A::register(cursor.register()?);
                self.row.cfa = match self.row.cfa {
                    Cfa::Parts(_, offset) => Cfa::Parts(register, offset),
                    Cfa::Expression(..) => Cfa::UNSAID,
                };
            }
            DEF_CFA_EXPRESSION => self.row.cfa = expression::cfa(cursor, self.wanted.pc)?,
            OFFSET_EXTENDED..=REGISTER
            | EXPRESSION
            | OFFSET_EXTENDED_SF
            | VAL_OFFSET
            | VAL_OFFSET_SF
            | VAL_EXPRESSION
            | GNU_NEGATIVE_OFFSET_EXTENDED => self.set_register(cursor, code)?,
            GNU_ARGS_SIZE => {
                cursor.uleb()?;
            }
            AARCH64_NEGATE_RA_STATE if A::SIGNED_RA => self.row.signed ^= 1,
            AARCH64_NEGATE_RA_STATE_WITH_PC if A::SIGNED_RA => {
                self.row.signed ^= 1 | SIGNED_OTHERWISE;
            }
            AARCH64_SET_RA_STATE if A::SIGNED_RA => {
                let state = cursor.uleb()?;
                cursor.sleb()?;
                self.row.signed = if state == 0 { 0 } else { SIGNED_OTHERWISE };
            }
            // Its operands are not known.
            _ => return Err(Unsupported::Instruction.into()),
        }
        Ok(())
    }

    fn remember(&mut self) -> Result<(), Error> {
        let room = self.remembered.get_mut(self.depth);

        *room.ok_or(Unsupported::Depth)? = Some(self.row);
        // INVARIANT: It was below `DEPTH`.
        self.depth = self.depth.wrapping_add(1);
        Ok(())
    }

    fn restore_state(&mut self, place: u64) -> Result<(), Error> {
        let depth = self.depth.checked_sub(1);
        let row = depth.and_then(|depth| *self.remembered.get(depth)?);

        self.row = row.ok_or_else(|| Reason::State.at(place.wrapping_sub(1)))?;
        // INVARIANT: This is less than it was.
        self.depth = depth.unwrap_or(0);
        Ok(())
    }

    /// Changes the CFA's offset.
    #[inline]
    fn set_cfa_offset(&mut self, offset: Option<i32>) {
        self.row.cfa = match self.row.cfa {
            Cfa::Parts(register, _) => Cfa::Parts(register, offset),
            Cfa::Expression(..) => Cfa::UNSAID,
        };
    }

    /// Runs an instruction about a register.
    fn set_register<A: Arch, R: Reader>(
        &mut self,
        cursor: &mut Cursor<'_, A, R>,
        code: u8,
    ) -> Result<(), Error> {
        let register = cursor.register()?;
        let place = match code {
            RESTORE_EXTENDED => {
                self.restore::<A>(register);
                return Ok(());
            }
            OFFSET_EXTENDED => self.at_cfa(i64::try_from(cursor.uleb()?).ok()),
            OFFSET_EXTENDED_SF => self.at_cfa(Some(cursor.sleb()?)),
            GNU_NEGATIVE_OFFSET_EXTENDED => {
                let offset = i64::try_from(cursor.uleb()?).ok();
                self.at_cfa(offset.and_then(i64::checked_neg))
            }
            UNDEFINED => Ok(Value::Unknown),
            SAME_VALUE => Ok(Value::Unchanged),
            REGISTER => A::register(cursor.register()?)
                .map(|register| Value::Register(register, 0))
                .ok_or(Unsupported::Register),
            EXPRESSION => expression::sum(cursor)?
                .map(|(register, offset)| Value::AtRegister(register, offset)),
            VAL_EXPRESSION => {
                expression::sum(cursor)?.map(|(register, offset)| Value::Register(register, offset))
            }
            // The CFA itself is what the stack pointer is anyway.
            _ => match cursor.uleb()? {
                0 if register == A::SP => Ok(Value::Unchanged),
                _ => Err(Unsupported::Offset),
            },
        };

        self.save::<A>(register, place);
        Ok(())
    }

    /// Sets the place of a register, if the row has it.
    #[inline]
    fn save<A: Arch>(&mut self, register: u32, place: Place) {
        if register == self.wanted.tracked {
            self.row.fp = place;
        } else if register == A::RA {
            self.row.ra = place;
        } else if register == A::SP {
            self.row.other_sp = place != Ok(Value::Unchanged);
        }
    }

    /// Sets a register to what the CIE says.
    #[inline]
    fn restore<A: Arch>(&mut self, register: u32) {
        if register == self.wanted.tracked {
            self.row.fp = self.common.fp;
        } else if register == A::RA {
            self.row.ra = self.common.ra;
        } else if register == A::SP {
            self.row.other_sp = self.common.other_sp;
        }
    }

    /// Makes a place at the CFA, at an offset without the CIE's factor. `None` is an offset that no
    /// rule can have.
    #[inline]
    fn at_cfa(&self, offset: Option<i64>) -> Place {
        let offset = offset.and_then(|offset| self.factored(offset));

        offset.map(Value::AtCfa).ok_or(Unsupported::Offset)
    }

    /// Multiplies an offset with the CIE's factor. Returns `None` if a rule cannot have the
    /// product.
    fn factored(&self, offset: i64) -> Option<i32> {
        i32::try_from(offset.checked_mul(self.cie.data_factor)?).ok()
    }
}
