// SPDX-License-Identifier: GPL-2.0

//! The rules that a file's own `.eh_frame` has.

use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry,
    LittleEndian, Pointer, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
    UnwindTableRow, Vendor,
};

use crate::arch::{Arch, register};
use crate::augmentation::Changed;
use crate::elf::Elf;
use crate::expression::{self, Term};
use crate::parse::{Key, Value};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// What `.eh_frame` says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Value(Value),
    /// So many bytes above that.
    Above(Value, i32),
    /// Something that a table has no words for: CFA + offset, a register it cannot name.
    Other,
    Undefined,
}

/// What `.eh_frame` says about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    pub cfa: Said,
    pub ra: Said,
    pub fp: Said,
    /// The return address is found in an unusual way: by an expression, or as CFA + offset.
    pub unusual_ra: bool,
    /// The caller's stack pointer is not the CFA.
    pub unusual_sp: bool,
    /// An expression says where the CFA or the return address is.
    pub by_expression: bool,
    /// An expression says where the frame pointer is.
    pub fp_by_expression: bool,
    pub signed: Option<Key>,
    pub signal: bool,
}

/// Where the bytes of `.eh_frame` are.
pub struct Source<'a> {
    pub bytes: &'a [u8],
    pub address: u64,
    pub hdr_bytes: u64,
    /// What the section has; not known if only the program header leads there.
    pub size: Option<u64>,
}

/// Finds `.eh_frame`: by its section, or by the program header of `.eh_frame_hdr`.
pub fn find<'a>(elf: &Elf<'a>) -> Option<Source<'a>> {
    let hdr_bytes = match (elf.section(".eh_frame_hdr"), elf.eh_frame_hdr) {
        (Some(section), _) => section.size,
        (None, Some(segment)) => segment.file_size,
        (None, None) => 0,
    };

    if let Some(section) = elf.section(".eh_frame") {
        return Some(Source {
            bytes: section.bytes,
            address: section.address,
            hdr_bytes,
            size: Some(section.size),
        });
    }
    let address = elf.eh_frame_hdr?.address;
    let (bytes, _) = elf.loaded_at(address)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(address);
    let header = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
    let Pointer::Direct(address) = header.eh_frame_ptr() else {
        return None;
    };
    let (bytes, _) = elf.loaded_at(address)?;
    Some(Source {
        bytes,
        address,
        hdr_bytes,
        size: None,
    })
}

/// An FDE: the addresses that it is about, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Fde {
    pub start: u64,
    pub end: u64,
    /// Where it is in the section.
    offset: usize,
    /// Bytes of it and of its CIE, which both are read for its rows.
    pub bytes: u64,
}

/// A file's call frame information.
pub struct Cfi<'a, A> {
    section: EhFrame<Slice<'a>>,
    bases: BaseAddresses,
    /// Where the section stands.
    address: u64,
    changed: &'a Changed,
    /// Those that are about any address, sorted by that.
    pub fdes: Vec<Fde>,
    /// Where the others stand.
    empty: HashSet<u64>,
    /// What could not be read.
    pub errors: Vec<String>,
    arch: PhantomData<A>,
}

impl<'a, A: Arch> Cfi<'a, A> {
    /// Reads the list of FDEs in the bytes that stand at `address`.
    pub fn read(bytes: &'a [u8], changed: &'a Changed, address: u64) -> Self {
        let mut section = EhFrame::new(bytes, LittleEndian);
        section.set_vendor(Vendor::AArch64);
        section.set_address_size(8);

        let mut cfi = Self {
            section,
            bases: BaseAddresses::default().set_eh_frame(address),
            address,
            changed,
            fdes: Vec::new(),
            empty: HashSet::new(),
            errors: Vec::new(),
            arch: PhantomData,
        };
        cfi.read_fdes();
        cfi
    }

    fn read_fdes(&mut self) {
        let bases = self.bases.clone();
        let mut entries = self.section.entries(&bases);
        // Many FDEs share one, and each may be long.
        let mut cies = HashMap::new();

        loop {
            let fde = match entries.next() {
                Ok(None) => break,
                Ok(Some(CieOrFde::Cie(_))) => continue,
                Ok(Some(CieOrFde::Fde(fde))) => fde.parse(|section, bases, offset| {
                    let cie = cies.entry(offset.0);
                    cie.or_insert_with(|| section.cie_from_offset(bases, offset))
                        .clone()
                }),
                // Gimli does not go on after that.
                Err(error) => {
                    self.errors
                        .push(format!("no entry more can be read: {error}"));
                    break;
                }
            };
            match fde {
                Ok(fde) => self.fdes.push(Fde {
                    start: fde.initial_address(),
                    end: fde.initial_address().saturating_add(fde.len()),
                    offset: fde.offset(),
                    bytes: (fde.entry_len() + fde.cie().entry_len()) as u64,
                }),
                Err(error) => self
                    .errors
                    .push(format!("an entry cannot be read: {error}")),
            }
        }
        let empty = self.fdes.extract_if(.., |fde| fde.start >= fde.end);
        let address = self.address;
        self.empty = empty
            .map(|fde| address.wrapping_add(fde.offset as u64))
            .collect();
        self.fdes.sort_by_key(|fde| fde.start);
    }

    /// The FDEs that are about addresses in a range.
    pub fn about(&self, start: u64, end: u64) -> impl Iterator<Item = &Fde> {
        // They rarely overlap, so only the one before can reach into the range.
        let first = self.fdes.partition_point(|fde| fde.start <= start);

        self.fdes[first.saturating_sub(1)..]
            .iter()
            .take_while(move |fde| fde.start < end)
            .filter(move |fde| fde.end > start)
    }

    /// The FDE of a function that starts at `start`, if it stands at `address`.
    pub fn fde_at(&self, start: u64, address: u64) -> Option<&Fde> {
        let first = self.fdes.partition_point(|fde| fde.start < start);
        let same = self.fdes[first..].iter();

        same.take_while(|fde| fde.start == start)
            .find(|fde| self.address_of(fde) == address)
    }

    /// Whether the FDE that stands at `address` is about no address.
    pub fn is_empty(&self, address: u64) -> bool {
        self.empty.contains(&address)
    }

    /// Where an FDE stands.
    pub fn address_of(&self, fde: &Fde) -> u64 {
        self.address.wrapping_add(fde.offset as u64)
    }

    /// Calls `visit` with each row of an FDE: its range, and a way to evaluate it at an address.
    pub fn rows(
        &self,
        fde: &Fde,
        mut visit: impl FnMut(u64, u64, &dyn Fn(u64) -> (Expected, bool)) -> bool,
    ) -> gimli::Result<()> {
        let fde = self.section.fde_from_offset(
            &self.bases,
            fde.offset.into(),
            EhFrame::cie_from_offset,
        )?;
        let mut context = UnwindContext::new();
        let mut table = fde.rows(&self.section, &self.bases, &mut context)?;

        while let Some(row) = table.next_row()? {
            let end = row.end_address().min(fde.end_address());
            let at = |pc| self.expected(&fde, row, pc);

            if !visit(row.start_address(), end, &at) {
                break;
            }
        }
        Ok(())
    }

    /// What a row says at address `pc`, and whether that depends on `pc`.
    fn expected(
        &self,
        fde: &FrameDescriptionEntry<Slice<'a>>,
        row: &UnwindTableRow<usize>,
        pc: u64,
    ) -> (Expected, bool) {
        let mut evaluator = Evaluator::<A> {
            section: &self.section,
            encoding: fde.cie().encoding(),
            pc,
            used_pc: false,
            arch: PhantomData,
        };
        let said = self.changed.get(&fde.cie().offset());
        let ra = row.register(fde.cie().return_address_register());
        let sp = row.register(Register(A::SP as u16));
        let fp = row.register(Register(A::FP as u16));
        let key = if said.is_some_and(|said| said.key_b) {
            Key::B
        } else {
            Key::A
        };
        let signed = A::SIGNED_RA
            && row.register(gimli::AArch64::RA_SIGN_STATE) == Some(RegisterRule::Constant(1));

        let cfa = evaluator.cfa(row.cfa());
        let expected = Expected {
            cfa,
            ra: evaluator.saved(ra.as_ref(), A::RA as u16, cfa),
            fp: evaluator.saved(fp.as_ref(), A::FP as u16, cfa),
            unusual_ra: matches!(
                ra,
                Some(
                    RegisterRule::Expression(_)
                        | RegisterRule::ValExpression(_)
                        | RegisterRule::ValOffset(_)
                )
            ),
            unusual_sp: !matches!(
                sp,
                None | Some(RegisterRule::SameValue | RegisterRule::ValOffset(0))
            ),
            by_expression: matches!(row.cfa(), CfaRule::Expression(_)) || is_expression(&ra),
            fp_by_expression: is_expression(&fp),
            signed: signed.then_some(key),
            signal: said.map_or(fde.is_signal_trampoline(), |said| said.signal),
        };
        (expected, evaluator.used_pc)
    }
}

/// Whether an expression says where a register is.
fn is_expression(rule: &Option<RegisterRule<usize>>) -> bool {
    matches!(
        rule,
        Some(RegisterRule::Expression(_) | RegisterRule::ValExpression(_))
    )
}

/// Turns gimli's rules into values as tables have them.
struct Evaluator<'s, 'a, A> {
    section: &'s EhFrame<Slice<'a>>,
    encoding: gimli::Encoding,
    pc: u64,
    used_pc: bool,
    arch: PhantomData<A>,
}

impl<A: Arch> Evaluator<'_, '_, A> {
    fn term(&mut self, expression: &UnwindExpression<usize>, first: Option<Term>) -> Option<Term> {
        let expression = expression.get(self.section).ok()?;
        let outcome = expression::evaluate(expression, self.encoding, first, self.pc, A::PC)?;

        self.used_pc |= outcome.used_pc;
        Some(outcome.term)
    }

    fn cfa(&mut self, rule: &CfaRule<usize>) -> Said {
        let term = match rule {
            CfaRule::RegisterAndOffset { register, offset } => {
                Some(Term::Register(register.0, *offset))
            }
            CfaRule::Expression(expression) => self.term(expression, None),
        };
        let value = match term {
            Some(Term::Register(number, offset)) => at::<A>(number, offset, Value::Register),
            Some(Term::AtRegister(number, offset)) => at::<A>(number, offset, Value::AtRegister),
            Some(Term::AboveAtRegister(number, offset, above)) => {
                return at::<A>(number, offset, Value::AtRegister)
                    .map_or(Said::Other, |value| Said::Above(value, above.into()));
            }
            _ => None,
        };

        value.map_or(Said::Other, Said::Value)
    }

    /// What is said about register `own`.
    fn saved(&mut self, rule: Option<&RegisterRule<usize>>, own: u16, cfa: Said) -> Said {
        let value = match rule {
            Some(RegisterRule::Undefined) => return Said::Undefined,
            // By the ABI, calls preserve it; the return address is in it.
            None | Some(RegisterRule::SameValue) => Some(Value::Unchanged),
            Some(RegisterRule::Offset(offset)) => i32::try_from(*offset).ok().map(Value::AtCfa),
            Some(RegisterRule::Register(register)) => at::<A>(register.0, 0, Value::Register),
            Some(RegisterRule::Expression(expression)) => {
                // It comes to the address where the value is.
                match self.term(expression, Some(Term::Cfa(0))) {
                    Some(Term::Register(number, offset)) => {
                        at::<A>(number, offset, Value::AtRegister)
                    }
                    Some(Term::Cfa(offset)) => i32::try_from(offset).ok().map(Value::AtCfa),
                    _ => None,
                }
            }
            Some(RegisterRule::ValExpression(expression)) => {
                match self.term(expression, Some(Term::Cfa(0))) {
                    Some(Term::Register(number, offset)) => {
                        at::<A>(number, offset, Value::Register)
                    }
                    Some(Term::AtRegister(number, offset)) => {
                        at::<A>(number, offset, Value::AtRegister)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let cfa = match cfa {
            Said::Value(value) => Some(value),
            _ => None,
        };

        value.map_or(Said::Other, |value| {
            Said::Value(normal::<A>(value, own, cfa))
        })
    }
}

fn at<A: Arch>(
    number: u16,
    offset: i64,
    value: impl Fn(crate::parse::Register, i32) -> Value,
) -> Option<Value> {
    Some(value(register::<A>(number)?, i32::try_from(offset).ok()?))
}

/// The one way to write a value of register `own` that can be written in several.
pub fn normal<A: Arch>(value: Value, own: u16, cfa: Option<Value>) -> Value {
    match (value, cfa) {
        (Value::Register(register, 0), _) if Some(register) == self::register::<A>(own) => {
            Value::Unchanged
        }
        (Value::AtRegister(register, at), Some(Value::Register(base, offset)))
            if register == base =>
        {
            at.checked_sub(offset).map_or(value, Value::AtCfa)
        }
        _ => value,
    }
}
