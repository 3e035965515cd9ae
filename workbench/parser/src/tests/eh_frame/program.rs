// SPDX-License-Identifier: GPL-2.0

//! Random programs of all instructions. The parser and gimli must make the same rows of them.

use std::cell::Cell;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection, UnwindTableRow, Vendor, leb128,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::super::cases;
use crate::memory::Memory;
use crate::parse::Unsupported;
use crate::parse::eh_frame::{Header, Reason};
use crate::parse::{self, AArch64, Amd64, Arch, Error, Register, Rule, Value};

/// The addresses of the table and of its function, and the function's size.
const BASE: u64 = 0x10_0000;
const START: u64 = 0x20_0000;
const SIZE: u32 = 0x1000;

/// Expressions, and their values.
const KNOWN: [(&[u8], Value); 4] = [
    (&[0x76, 0x00], Value::Register(Register::Other(6), 0)),
    (&[0x77, 0x10], Value::Register(Register::Other(7), 16)),
    (&[0x7a, 0x78], Value::Register(Register::Other(10), -8)),
    (&[0x80, 0x80, 0x7f], Value::Register(Register::Other(16), -128)),
];

fn uleb(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();

    leb128::write::unsigned(&mut bytes, value).expect("there is room");
    bytes
}

fn sleb(value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();

    leb128::write::signed(&mut bytes, value).expect("there is room");
    bytes
}

/// A register, often one that rules use. gimli keeps in AArch64's register 34 whether the RA is
/// signed, so it is left out.
fn register() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => prop::sample::select(vec![3u64, 6, 7, 12, 16, 29, 30, 31]),
        1 => 0..34u64,
        1 => 35..40u64,
    ]
}

fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![0..64u64, 0..0x1_0000_0000u64]
}

fn signed() -> impl Strategy<Value = i64> {
    prop_oneof![-64..64i64, -0x8000_0000..0x8000_0000i64]
}

fn instruction() -> impl Strategy<Value = Vec<u8>> {
    let with = |code: u8| move |operand: Vec<u8>| [vec![code], operand].concat();
    let register = || register().prop_map(uleb);
    let offset = || offset().prop_map(uleb);
    let signed = || signed().prop_map(sleb);
    let two = |code, first: BoxedStrategy<Vec<u8>>, second: BoxedStrategy<Vec<u8>>| {
        (first, second)
            .prop_map(move |(first, second)| [vec![code], first, second].concat())
            .boxed()
    };
    let expression = || {
        prop::sample::select(KNOWN.to_vec())
            .prop_map(|(bytes, _)| [uleb(bytes.len() as u64), bytes.to_vec()].concat())
            .boxed()
    };

    prop_oneof![
        6 => (0x41..0x48u8).prop_map(|code| vec![code]),
        1 => any::<u8>().prop_map(|delta| vec![0x02, delta]),
        1 => (0..600u16).prop_map(|delta| [vec![0x03], delta.to_le_bytes().to_vec()].concat()),
        1 => (0..600u32).prop_map(|delta| [vec![0x04], delta.to_le_bytes().to_vec()].concat()),
        1 => Just(vec![0x00]),
        4 => two(0x86, Just(Vec::new()).boxed(), offset().boxed()),
        2 => two(0x9d, Just(Vec::new()).boxed(), offset().boxed()),
        2 => two(0x83, Just(Vec::new()).boxed(), offset().boxed()),
        2 => prop::sample::select(vec![0xc3u8, 0xc6, 0xd0, 0xdd, 0xde]).prop_map(|code| vec![code]),
        2 => two(0x05, register().boxed(), offset().boxed()),
        2 => register().prop_map(with(0x06)),
        1 => register().prop_map(with(0x07)),
        2 => register().prop_map(with(0x08)),
        1 => two(0x09, register().boxed(), (0..40u64).prop_map(uleb).boxed()),
        3 => Just(vec![0x0a]),
        3 => Just(vec![0x0b]),
        3 => two(0x0c, register().boxed(), offset().boxed()),
        3 => register().prop_map(with(0x0d)),
        3 => offset().prop_map(with(0x0e)),
        1 => expression().prop_map(with(0x0f)),
        1 => two(0x10, register().boxed(), expression()),
        2 => two(0x11, register().boxed(), signed().boxed()),
        2 => two(0x12, register().boxed(), signed().boxed()),
        2 => signed().prop_map(with(0x13)),
        1 => two(0x14, register().boxed(), (0..3u64).prop_map(uleb).boxed()),
        1 => two(0x16, register().boxed(), expression()),
        1 => Just(vec![0x2d]),
        1 => offset().prop_map(with(0x2e)),
    ]
}

/// A table of one function with this program, and the place of its `.eh_frame`. The CIE, too, says
/// where the frame pointer is, for what restores it.
fn table<A: Arch>(program: &[u8]) -> (Vec<u8>, usize) {
    let (factor, initial): (u8, &[u8]) = if A::FIXED_RA == 0 {
        (4, &[0x0c, 31, 0, 0x9d, 2])
    } else {
        (1, &[0x0c, 7, 8, 0x90, 1, 0x86, 2])
    };
    let mut bytes = vec![1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0];
    let mut cie = vec![0, 0, 0, 0, 1, b'z', b'R', 0, factor, 0x78, A::RA as u8, 1, 0x1b];

    cie.extend(initial);
    let cie_place = 20;
    let fde_place = cie_place + 4 + cie.len();
    bytes.extend((START.wrapping_sub(BASE) as u32).to_le_bytes());
    bytes.extend((fde_place as u32).to_le_bytes());
    bytes.extend((cie.len() as u32).to_le_bytes());
    bytes.extend(cie);
    bytes.extend((13 + program.len() as u32).to_le_bytes());
    bytes.extend(((fde_place + 4 - cie_place) as u32).to_le_bytes());
    let place = BASE + bytes.len() as u64;
    bytes.extend((START.wrapping_sub(place) as u32).to_le_bytes());
    bytes.extend(SIZE.to_le_bytes());
    bytes.push(0);
    bytes.extend(program);
    (bytes, cie_place)
}

type Row = UnwindTableRow<usize>;
type Section<'a> = EhFrame<gimli::EndianSlice<'a, LittleEndian>>;

/// The value of an expression.
fn value<A: Arch>(section: &Section<'_>, expression: &UnwindExpression<usize>) -> Option<Value> {
    let bytes = expression.get(section).expect("it is there").0;
    let known = KNOWN.iter().find(|(known, _)| *known == bytes.slice());

    match known.expect("a known expression").1 {
        Value::Register(Register::Other(number), offset) => {
            Some(Value::Register(A::register(number.into())?, offset))
        }
        _ => None,
    }
}

/// The place of a register by a row, if a rule can express it.
fn saved<A: Arch>(section: &Section<'_>, row: &Row, number: u32) -> Option<Value> {
    match row.register(gimli::Register(number as u16)) {
        None | Some(RegisterRule::SameValue) => Some(Value::Unchanged),
        Some(RegisterRule::Offset(offset)) => Some(Value::AtCfa(i32::try_from(offset).ok()?)),
        Some(RegisterRule::Register(other)) => {
            Some(Value::Register(A::register(other.0.into())?, 0))
        }
        Some(RegisterRule::Expression(expression)) => match value::<A>(section, &expression)? {
            Value::Register(register, offset) => Some(Value::AtRegister(register, offset)),
            _ => None,
        },
        Some(RegisterRule::ValExpression(expression)) => value::<A>(section, &expression),
        _ => None,
    }
}

/// The rule of a row, with register `tracked` in place of the frame pointer, if the parser supports
/// it.
fn expected<A: Arch>(section: &Section<'_>, row: &Row, tracked: u32) -> Option<Rule> {
    let ra = row.register(gimli::Register(A::RA as u16));
    if ra == Some(RegisterRule::Undefined) {
        return Some(Rule::outermost());
    }
    match row.register(gimli::Register(A::SP as u16)) {
        None | Some(RegisterRule::SameValue | RegisterRule::ValOffset(0)) => {}
        _ => return None,
    }
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            Value::Register(A::register(register.0.into())?, i32::try_from(*offset).ok()?)
        }
        CfaRule::Expression(expression) => value::<A>(section, expression)?,
    };
    let ra = saved::<A>(section, row, A::RA)?;
    if ra == Value::Unchanged && A::FIXED_RA != 0 {
        return None;
    }
    // A rule does not need it.
    let fp = saved::<A>(section, row, tracked).unwrap_or(Value::Unknown);
    let signed = A::SIGNED_RA
        && row.register(gimli::AArch64::RA_SIGN_STATE) == Some(RegisterRule::Constant(1));
    let rule = Rule::frame(cfa, ra, fp)?;

    Some(rule.with_signed_ra(signed.then_some(parse::Key::A)))
}

/// Compares the rules at all addresses. Returns the numbers of equal rules and of equal refusals.
fn compare<A: Arch>(program: &[u8], tracked: u32) -> (u32, u32) {
    let (bytes, start) = table::<A>(program);
    let memory = Memory::new(&bytes);
    let header = Header::<A>::read(&memory, 0, bytes.len() as u32).expect("a good header");
    let mut section = EhFrame::new(&bytes[start..], LittleEndian);
    section.set_address_size(8);
    if A::SIGNED_RA {
        section.set_vendor(Vendor::AArch64);
    }
    let bases = BaseAddresses::default().set_eh_frame(BASE + start as u64);
    let fde =
        section.fde_for_address(&bases, START, EhFrame::cie_from_offset).expect("it is there");
    let (mut good, mut bad) = (0, 0);

    for pc in START..START + u64::from(SIZE) {
        let found = header.rule(&memory, BASE, pc, tracked);
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&section, &bases, &mut context, pc);
        let wanted = row.as_ref().map(|row| expected::<A>(&section, row, tracked));

        match (found, wanted) {
            (Ok(found), Ok(Some(wanted))) => {
                assert_eq!(found, wanted, "at {:#x} of {program:x?}", pc - START);
                good += 1;
            }
            (Err(Error::Unsupported(_)), Ok(None)) => bad += 1,
            // gimli fails at once. The parser goes on, and may restore a good state.
            (_, Err(gimli::Error::CfiInstructionInInvalidContext)) => return (good, bad + 1),
            // gimli remembers one state less than the parser.
            (_, Err(gimli::Error::StackFull)) => return (good, bad + 1),
            (Err(Error::Malformed(malformed)), Err(gimli::Error::PopWithEmptyStack)) => {
                assert_eq!(malformed.reason, parse::Reason::EhFrame(Reason::State));
                return (good, bad + 1);
            }
            (Err(Error::Unsupported(Unsupported::Instruction)), Err(_)) => return (good, bad + 1),
            (found, wanted) => {
                panic!("{found:?} and {wanted:?} at {:#x} of {program:x?}", pc - START)
            }
        }
    }
    (good, bad)
}

/// Compares many programs, for the frame pointer and for other registers.
fn compare_many<A: Arch>() {
    let cases = cases(400);
    let (programs, rules, none) = (cases.cases, Cell::new(0), Cell::new(0));
    let result = TestRunner::new(cases).run(&vec(instruction(), 1..30), |program| {
        for tracked in [A::FP, 3, 12] {
            let (good, bad) = compare::<A>(&program.concat(), tracked);

            rules.set(rules.get() + u64::from(good));
            none.set(none.get() + u64::from(bad));
        }
        Ok(())
    });

    result.unwrap_or_else(|error| panic!("{error}"));
    // Each program has 4096 addresses, for each of three registers. Enough of them must have a
    // rule, and enough must have none.
    let least = u64::from(programs) * 600;
    let (rules, none) = (rules.get(), none.get());
    assert!(rules >= least && none >= least, "{rules} rules, {none} without");
}

#[test]
fn amd64() {
    compare_many::<Amd64>();
}

#[test]
fn aarch64() {
    compare_many::<AArch64>();
}
