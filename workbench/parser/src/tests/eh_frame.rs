// SPDX-License-Identifier: GPL-2.0

//! Generated tables of `.eh_frame`. Functions that start at the same address, as linkers sort them;
//! what the header of an index says about its records; and random programs of all instructions, of
//! which the parser and gimli must make the same rows.

use std::cell::Cell;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection, UnwindTableRow, Vendor, leb128,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use super::{ENOUGH, cases};
use crate::check::{self, Lookup};
use crate::memory::Memory;
use crate::parse::eh_frame::{Reason, Records};
use crate::parse::{
    self, AArch64, Amd64, Arch, Error, Malformed, Register, Rule, Unsupported, Value,
};

/// The address of the table, whose index comes first.
const BASE: u64 = 0x10_0000;
/// The address that functions start from.
const TEXT: u64 = 0x20_0000;
/// The size of a function with a random program.
const SIZE: u32 = 0x1000;
/// The most that the lookups of a stack may cost in the kernel.
const STACK: u32 = 80 * 1024;

/// Expressions, and their values.
const KNOWN: [(&[u8], Value); 4] = [
    (&[0x76, 0x00], Value::Register(Register::Other(6), 0)),
    (&[0x77, 0x10], Value::Register(Register::Other(7), 16)),
    (&[0x7a, 0x78], Value::Register(Register::Other(10), -8)),
    (&[0x80, 0x80, 0x7f], Value::Register(Register::Other(16), -128)),
];

/// A function: the distance of its start from [`TEXT`], its size, and its program.
type Function = (u32, u32, Vec<u8>);

/// A table of these functions, in the order of the index, and the place of its CIE, which has the
/// program `common`.
fn table<A: Arch>(wide: bool, common: &[u8], functions: &[Function]) -> (Vec<u8>, usize) {
    let size = if wide { 16 } else { 8 };
    let factor = if A::FIXED_RA == 0 { 4 } else { 1 };
    let mut cie = vec![0, 0, 0, 0, 1, b'z', b'R', 0, factor, 0x78, A::RA as u8, 1, 0x1b];
    let cie_place = 12 + size * functions.len();
    let mut index = vec![1, 0x1b, 3, if wide { 0x3c } else { 0x3b }];
    let mut records = Vec::new();

    cie.extend(common);
    index.extend((cie_place as u32 - 4).to_le_bytes());
    index.extend((functions.len() as u32).to_le_bytes());
    records.extend((cie.len() as u32).to_le_bytes());
    records.extend(cie);
    for (start, len, program) in functions {
        let place = cie_place + records.len();
        let start = TEXT + u64::from(*start);
        let distance = start.wrapping_sub(BASE + place as u64 + 8);

        for number in [start - BASE, place as u64] {
            index.extend(&number.to_le_bytes()[..size / 2]);
        }
        for number in [13 + program.len(), place + 4 - cie_place, distance as usize, *len as usize]
        {
            records.extend((number as u32).to_le_bytes());
        }
        records.push(0);
        records.extend(program);
    }
    ([index, records].concat(), cie_place)
}

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

/// A table of functions of these starts and sizes. In each the CFA is at SP + 8 times its number
/// from 1.
fn numbered(functions: &[(u32, u32)], wide: bool) -> Vec<u8> {
    let number = |(nth, (start, len)): (usize, &(u32, u32))| {
        (*start, *len, [&[0x0c, 7][..], &uleb(8 * (nth as u64 + 1))].concat())
    };
    let functions: Vec<Function> = functions.iter().enumerate().map(number).collect();

    table::<Amd64>(wide, &[0x0c, 7, 8, 0x90, 1], &functions).0
}

/// The rule of the last function of the index that is about `pc`, among those that start at the
/// last start that is not above it.
fn expected(functions: &[(u32, u32)], pc: u64) -> Result<Rule, Error> {
    let at = pc.checked_sub(TEXT).ok_or(Error::NotFound)? as u32;
    let below = functions.partition_point(|(start, _)| *start <= at);
    let (last, _) = functions[..below].last().ok_or(Error::NotFound)?;
    let about = |(start, size): &(u32, u32)| start == last && at - start < *size;
    let nth = functions[..below].iter().rposition(about).ok_or(Error::NotFound)?;
    let cfa = Value::Register(Register::Sp, 8 * (nth as i32 + 1));

    Ok(Rule::frame(cfa, Value::AtCfa(-8), Value::Unchanged).expect("a frame"))
}

fn find(bytes: &[u8], pc: u64, units: u32) -> Lookup<Rule, Error> {
    check::eh_frame::<Amd64>(&Memory::new(bytes), 0, BASE, pc, Amd64::FP, units)
}

proptest! {
    #![proptest_config(cases(500))]

    /// Many functions start at few addresses, and many are empty.
    #[test]
    fn same_start(
        mut functions in vec(((0..6_u32).prop_map(|nth| 8 * nth), select(vec![0, 0, 0, 4, 8, 16])), 1..40),
        wide: bool,
    ) {
        // A stable sort: equal ones have any order.
        functions.sort_by_key(|(start, _)| *start);
        let bytes = numbered(&functions, wide);

        for pc in TEXT - 1..TEXT + 64 {
            prop_assert_eq!(find(&bytes, pc, ENOUGH).result, expected(&functions, pc), "{:#x}", pc);
        }
    }
}

/// A lookup passes hundreds of empty functions, but not any number.
#[test]
fn many_empty_functions() {
    for empty in [0, 1, 8, 300, 1000] {
        let functions = [vec![(0, 16)], vec![(0, 0); empty]].concat();
        let found = find(&numbered(&functions, false), TEXT + 8, STACK);

        if empty < 1000 {
            assert_eq!(found.result, expected(&functions, TEXT + 8));
            // Each costs two pieces of its record, one of its CIE, and two numbers of the index;
            // the search has up to 9 steps.
            assert!(found.spent <= 32 * 13 + 5 * 32 * empty as u32, "{} units", found.spent);
        } else {
            assert_eq!((found.result, found.spent), (Err(Error::Budget), STACK));
        }
    }
}

/// A lookup in a very long record ends when its units are used up. A byte costs a unit, beside some
/// 10 pieces that are short, and the search.
#[test]
fn a_long_program() {
    let find = |len, units| {
        let functions = [(0, 16, vec![0; len])];
        find(&table::<Amd64>(false, &[0x0c, 7, 8, 0x90, 1], &functions).0, TEXT, units)
    };

    for units in [1_000, 27_648, 110_592] {
        let found = find(1 << 20, units);
        assert_eq!((found.result, found.spent), (Err(Error::Budget), units));
    }
    for len in [1024, 24 * 1024] {
        let spent = find(len as usize, ENOUGH).spent;
        assert!((len..len + 32 * 16).contains(&spent), "{spent} units");
    }
}

/// The index leads to a record of another function: one that starts below, or above.
#[test]
fn another_start() {
    for distance in [1, u32::MAX] {
        let mut bytes = numbered(&[(8, 16)], false);
        // Where the only record has its start, before the size and a program of three bytes.
        let at = bytes.len() - 12;
        let start = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let wrong = Malformed { reason: parse::Reason::EhFrame(Reason::Start), offset: at as u32 };

        bytes[at..at + 4].copy_from_slice(&start.wrapping_add(distance).to_le_bytes());
        assert_eq!(find(&bytes, TEXT + 12, ENOUGH).result, Err(Error::Malformed(wrong)));
    }
}

#[test]
fn records() {
    let good = [1, 0x1b, 3, 0x3b, 0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0];
    let with = |changes: &[(usize, u8)], address| {
        let mut header = good;
        changes.iter().for_each(|(at, byte)| header[*at] = *byte);
        Records::new::<Amd64>(header, address)
    };

    // From where the pointer stands.
    assert_eq!(with(&[], 0x1000), Records::At(0xff4));
    assert_eq!(with(&[(7, 0x7f)], 0x1000), Records::At(0x7fff_fff0 + 0x1004));
    assert_eq!(with(&[], 4), Records::At(0u64.wrapping_sub(8)));
    // Without entries, in each way to say so.
    for change in [(2, 0xff), (3, 0xff), (8, 0)] {
        assert_eq!(with(&[change], 0x1000), Records::None);
    }
    // Another version, other pointers; and a number of entries that is said in another way.
    for change in [(0, 2), (1, 0xff), (1, 0x1c), (1, 0x3b), (1, 0)] {
        assert_eq!(with(&[change], 0x1000), Records::Unsaid);
    }
    assert_eq!(with(&[(2, 4), (8, 0)], 0x1000), Records::At(0xff4));
}

/// An instruction, encoded.
fn instruction() -> impl Strategy<Value = Vec<u8>> {
    /// An instruction: one of these codes, and operands.
    fn with(codes: &[u8], operands: Vec<BoxedStrategy<Vec<u8>>>) -> BoxedStrategy<Vec<u8>> {
        let code = select(codes.to_vec());
        (code, operands)
            .prop_map(|(code, operands)| [vec![code], operands.concat()].concat())
            .boxed()
    }
    // Often a register that rules use. gimli keeps in AArch64's register 34 whether the RA is
    // signed, so it is left out.
    let registers = vec![3, 6, 7, 12, 16, 29, 30, 31];
    let register = || prop_oneof![6 => select(registers.clone()), 1 => 0..34_u64, 1 => 35..40_u64];
    let register = || register().prop_map(uleb).boxed();
    let offset = || prop_oneof![0..64_u64, 0..1_u64 << 32].prop_map(uleb).boxed();
    let signed = || prop_oneof![-64..64_i64, -1_i64 << 31..1 << 31].prop_map(sleb).boxed();
    let bytes = |most: u32, len: usize| {
        (0..most).prop_map(move |delta| delta.to_le_bytes()[..len].to_vec()).boxed()
    };
    let expression = || {
        let known = select(KNOWN.to_vec());
        known.prop_map(|(bytes, _)| [uleb(bytes.len() as u64), bytes.to_vec()].concat()).boxed()
    };

    prop_oneof![
        6 => with(&[0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47], vec![]),
        1 => with(&[0x02], vec![bytes(256, 1)]),
        1 => with(&[0x03], vec![bytes(600, 2)]),
        1 => with(&[0x04], vec![bytes(600, 4)]),
        8 => with(&[0x86, 0x86, 0x9d, 0x83], vec![offset()]),
        // Restores, a nop, and states that are remembered and restored.
        3 => with(&[0x00, 0xc3, 0xc6, 0xd0, 0xdd, 0xde], vec![]),
        6 => with(&[0x0a, 0x0b], vec![]),
        8 => with(&[0x06, 0x06, 0x07, 0x08, 0x08, 0x0d, 0x0d, 0x0d], vec![register()]),
        5 => with(&[0x05, 0x0c, 0x0c], vec![register(), offset()]),
        1 => with(&[0x09], vec![register(), (0..40_u64).prop_map(uleb).boxed()]),
        4 => with(&[0x0e, 0x0e, 0x0e, 0x2e], vec![offset()]),
        2 => with(&[0x10, 0x16], vec![register(), expression()]),
        1 => with(&[0x0f], vec![expression()]),
        4 => with(&[0x11, 0x12], vec![register(), signed()]),
        2 => with(&[0x13], vec![signed()]),
        1 => with(&[0x14], vec![register(), (0..3_u64).prop_map(uleb).boxed()]),
        1 => with(&[0x2d], vec![]),
    ]
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
fn of_row<A: Arch>(section: &Section<'_>, row: &Row, tracked: u32) -> Option<Rule> {
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
    // The CIE, too, says where the frame pointer is, for what restores it.
    let common: &[u8] =
        if A::FIXED_RA == 0 { &[0x0c, 31, 0, 0x9d, 2] } else { &[0x0c, 7, 8, 0x90, 1, 0x86, 2] };
    let (bytes, start) = table::<A>(false, common, &[(0, SIZE, program.to_vec())]);
    let mut section = EhFrame::new(&bytes[start..], LittleEndian);
    section.set_address_size(8);
    if A::SIGNED_RA {
        section.set_vendor(Vendor::AArch64);
    }
    let bases = BaseAddresses::default().set_eh_frame(BASE + start as u64);
    let fde = section.fde_for_address(&bases, TEXT, EhFrame::cie_from_offset).expect("it is there");
    let (mut good, mut bad) = (0, 0);

    for pc in TEXT..TEXT + u64::from(SIZE) {
        let found = check::eh_frame::<A>(&Memory::new(&bytes), 0, BASE, pc, tracked, ENOUGH).result;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&section, &bases, &mut context, pc);
        let wanted = row.as_ref().map(|row| of_row::<A>(&section, row, tracked));

        match (found, wanted) {
            (Ok(found), Ok(Some(wanted))) => {
                assert_eq!(found, wanted, "at {:#x} of {program:x?}", pc - TEXT);
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
                panic!("{found:?} and {wanted:?} at {:#x} of {program:x?}", pc - TEXT)
            }
        }
    }
    (good, bad)
}

/// A register is restored to what the CIE says, by both instructions.
#[test]
fn restored() {
    for restore in [vec![0xc6], vec![0x06, 6]] {
        // DW_CFA_same_value, and DW_CFA_advance_loc.
        let program = [vec![0x08, 6, 0x41], restore].concat();
        assert_eq!(compare::<Amd64>(&program, Amd64::FP), (SIZE, 0));
    }
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
fn programs_of_amd64() {
    compare_many::<Amd64>();
}

#[test]
fn programs_of_aarch64() {
    compare_many::<AArch64>();
}
