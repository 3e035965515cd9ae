// SPDX-License-Identifier: GPL-2.0

//! Functions that start at the same address, as linkers sort them; and what the header of an index
//! says about its records.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::super::cases;
use super::ENOUGH;
use crate::check;
use crate::memory::Memory;
use crate::parse::eh_frame::{Reason, Records};
use crate::parse::{self, Amd64, Error, Malformed, Register, Rule, Value};

/// The address of the table, whose index comes first.
const BASE: u64 = 0x10_0000;
/// The address that functions start from.
const TEXT: u64 = 0x20_0000;
/// The most that the lookups of a stack may cost in the kernel.
const STACK: u32 = 80 * 1024;

/// A function: the distance of its start from [`TEXT`], and its size.
type Function = (u32, u32);

/// A table of these functions, in the order of the index. In each the CFA is at SP + 8 times its
/// number from 1.
fn table(functions: &[Function], wide: bool) -> Vec<u8> {
    let size = if wide { 16 } else { 8 };
    let cie_place = 12 + size * functions.len();
    let cie = [0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0];
    let fde_place = |nth: usize| cie_place + 4 + cie.len() + nth * 24;
    let mut bytes = vec![1, 0x1b, 3, if wide { 0x3c } else { 0x3b }];
    let mut put = |number: i64| {
        let number = number.to_le_bytes();
        bytes.extend(&number[..size / 2]);
    };

    // The pointer and the number of entries have four bytes each in both.
    if wide {
        put((cie_place as i64 - 4) | (functions.len() as i64) << 32);
    } else {
        put(cie_place as i64 - 4);
        put(functions.len() as i64);
    }
    for (nth, (start, _)) in functions.iter().enumerate() {
        put((TEXT - BASE) as i64 + i64::from(*start));
        put(fde_place(nth) as i64);
    }
    bytes.extend((cie.len() as u32).to_le_bytes());
    bytes.extend(cie);
    for (nth, (start, len)) in functions.iter().enumerate() {
        let place = fde_place(nth);
        let [a, b, ..] = (8 * (nth as u32 + 1)).to_le_bytes();

        assert_eq!(place, bytes.len());
        bytes.extend(20u32.to_le_bytes());
        bytes.extend(((place + 4 - cie_place) as u32).to_le_bytes());
        bytes.extend((TEXT as u32 + start - (BASE as u32 + place as u32 + 8)).to_le_bytes());
        bytes.extend(len.to_le_bytes());
        // The CFA, as a number of three bytes.
        let cfa = u32::from(a) | u32::from(b) << 8;
        let digits = [cfa | 0x80, cfa >> 7 | 0x80, cfa >> 14].map(|digit| digit as u8);
        bytes.extend([0, 0x0c, 7, digits[0], digits[1], digits[2], 0, 0]);
    }
    bytes
}

/// The rule of the last function of the index that is about `pc`, among those that start at the
/// last start that is not above it.
fn expected(functions: &[Function], pc: u64) -> Result<Rule, Error> {
    let at = pc.checked_sub(TEXT).ok_or(Error::NotFound)? as u32;
    let below = functions.partition_point(|(start, _)| *start <= at);
    let (last, _) = functions[..below].last().ok_or(Error::NotFound)?;
    let about = |(start, size): &Function| start == last && at - start < *size;
    let nth = functions[..below].iter().rposition(about).ok_or(Error::NotFound)?;
    let cfa = Value::Register(Register::Sp, 8 * (nth as i32 + 1));

    Ok(Rule::frame(cfa, Value::AtCfa(-8), Value::Unchanged).expect("a frame"))
}

fn found(bytes: &[u8], pc: u64, units: u32) -> (Result<Rule, Error>, u32) {
    let memory = Memory::new(bytes);
    let lookup = check::eh_frame::<Amd64>(&memory, 0, BASE, pc, 6, units);

    (lookup.result, lookup.spent)
}

/// Many functions start at few addresses, and many are empty.
#[test]
fn same_start() {
    let function = (0..6u32, prop::sample::select(vec![0, 0, 0, 4, 8, 16]));
    let functions = prop::collection::vec(function, 1..40);
    let result = TestRunner::new(cases(500)).run(&(functions, any::<bool>()), |(some, wide)| {
        let mut functions: Vec<Function> = some.iter().map(|(nth, len)| (nth * 8, *len)).collect();
        // A stable sort: equal ones have any order.
        functions.sort_by_key(|(start, _)| *start);
        let bytes = table(&functions, wide);

        for pc in TEXT - 1..TEXT + 64 {
            let (found, _) = found(&bytes, pc, ENOUGH);
            prop_assert_eq!(found, expected(&functions, pc), "at {:#x} of {:?}", pc, functions);
        }
        Ok(())
    });

    result.unwrap_or_else(|error| panic!("{error}"));
}

/// A lookup passes hundreds of empty functions, but not any number.
#[test]
fn many_empty_functions() {
    let with = |empty: usize| {
        let mut functions = vec![(0, 16)];
        functions.resize(empty + 1, (0, 0));
        table(&functions, false)
    };

    for empty in [0, 1, 8, 300] {
        let functions = [vec![(0, 16)], vec![(0, 0); empty]].concat();
        let (found, spent) = found(&with(empty), TEXT + 8, STACK);

        assert_eq!(found, expected(&functions, TEXT + 8));
        // Each costs two pieces of its record, one of its CIE, and two numbers of the index; the
        // search has up to 9 steps.
        assert!(spent <= 32 * 13 + 5 * 32 * empty as u32, "{spent} units for {empty}");
    }
    let (found, spent) = found(&with(1000), TEXT + 8, STACK);
    assert_eq!((found, spent), (Err(Error::Budget), STACK));
}

/// The index leads to a record of another function: one that starts below, or above.
#[test]
fn another_start() {
    for distance in [1, u32::MAX] {
        let mut bytes = table(&[(8, 16)], false);
        // Where the only record has its start.
        let at = bytes.len() - 16;
        let start = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let wrong = Malformed { reason: parse::Reason::EhFrame(Reason::Start), offset: at as u32 };

        bytes[at..at + 4].copy_from_slice(&start.wrapping_add(distance).to_le_bytes());
        assert_eq!(found(&bytes, TEXT + 12, ENOUGH).0, Err(Error::Malformed(wrong)));
    }
}

#[test]
fn records() {
    let good = [1, 0x1b, 3, 0x3b, 0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0];
    let with = |at: usize, byte| {
        let mut header = good;
        header[at] = byte;
        Records::new::<Amd64>(header, 0x1000)
    };

    // From where the pointer stands.
    assert_eq!(Records::new::<Amd64>(good, 0x1000), Records::At(0xff4));
    assert_eq!(with(7, 0x7f), Records::At(0x7fff_fff0 + 0x1004));
    assert_eq!(Records::new::<Amd64>(good, 4), Records::At(0u64.wrapping_sub(8)));
    // Without entries, in each way to say so.
    for (at, byte) in [(2, 0xff), (3, 0xff), (8, 0)] {
        assert_eq!(with(at, byte), Records::None);
    }
    // Another version, other pointers; and a number of entries that is said in another way.
    for (at, byte) in [(0, 2), (1, 0xff), (1, 0x1c), (1, 0x3b), (1, 0)] {
        assert_eq!(with(at, byte), Records::Unsaid);
    }
    let mut header = good;
    header[2] = 4;
    header[8] = 0;
    assert_eq!(Records::new::<Amd64>(header, 0x1000), Records::At(0xff4));
}
