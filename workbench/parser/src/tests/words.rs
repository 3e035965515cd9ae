// SPDX-License-Identifier: GPL-2.0

//! Arbitrary rules, and their data words.
//!
//! A planned rule suits each architecture and kind of function. If these cannot express a part of
//! it, the words and the meaning leave this part out.

use proptest::prelude::*;

use crate::parse::{Key, Register, Rule, Value};
use crate::vectors::Arch;

/// The plan of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRule {
    outermost: bool,
    cfa: Place,
    ra: Option<Place>,
    fp: Option<Place>,
    signed: bool,
}

/// The place of a value.
#[derive(Clone, Copy, Debug)]
struct Place {
    base: Base,
    /// Whether the value is in memory there.
    at: bool,
    offset: i32,
}

/// The base of an offset.
#[derive(Clone, Copy, Debug)]
enum Base {
    Cfa,
    Sp,
    Fp,
    /// Taken modulo the number of registers.
    Other(u8),
}

fn offset() -> impl Strategy<Value = i32> {
    prop_oneof![
        8 => any::<i8>().prop_map(i32::from),
        2 => any::<i16>().prop_map(i32::from),
        1 => any::<i32>(),
        1 => prop::sample::select(vec![
            0, -0x80, 0x7f, -0x81, 0x80, -0x8000, 0x7fff, -0x8001, 0x8000, i32::MIN, i32::MAX,
        ]),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    let base = prop_oneof![
        Just(Base::Cfa),
        Just(Base::Sp),
        Just(Base::Fp),
        any::<u8>().prop_map(Base::Other),
    ];

    (base, any::<bool>(), offset()).prop_map(|(base, at, offset)| Place { base, at, offset })
}

pub(super) fn planned_rule() -> impl Strategy<Value = PlannedRule> {
    let place_or_none = || proptest::option::of(place());

    (prop::bool::weighted(0.1), place(), (place_or_none(), place_or_none()), any::<bool>())
        .prop_map(|(outermost, cfa, (ra, fp), signed)| PlannedRule {
            outermost,
            cfa,
            ra,
            fp,
            signed,
        })
}

pub(super) fn to_bytes(number: u64, width: u8) -> Vec<u8> {
    number.to_le_bytes()[..usize::from(width)].to_vec()
}

/// A data word without a width.
#[derive(Clone, Copy)]
enum Word {
    Control(u8),
    Signed(i32),
}

impl Word {
    /// The smallest number of bytes that hold the word.
    fn width(self) -> u8 {
        match self {
            Word::Control(_) => 1,
            Word::Signed(number) if i8::try_from(number).is_ok() => 1,
            Word::Signed(number) if i16::try_from(number).is_ok() => 2,
            Word::Signed(_) => 4,
        }
    }

    fn bits(self) -> u64 {
        match self {
            Word::Control(control) => control.into(),
            Word::Signed(number) => number as u64,
        }
    }
}

/// The DWARF numbers of SP and FP, and the number of registers.
fn numbers(arch: Arch) -> (u8, u8, u8) {
    match arch {
        Arch::Amd64 => (7, 6, 16),
        Arch::AArch64 => (31, 29, 32),
    }
}

/// One of the registers that are neither SP nor FP.
fn other(arch: Arch, pick: u8) -> u8 {
    let (sp, fp, count) = numbers(arch);
    let others: Vec<u8> = (0..count).filter(|nth| ![sp, fp].contains(nth)).collect();

    others[usize::from(pick) % others.len()]
}

impl Place {
    /// The place as a CFA: relative to a register, in a default function to SP or FP, with an
    /// offset that a word can store.
    fn of_cfa(self, flexible: bool) -> Self {
        let base = match self.base {
            Base::Cfa => Base::Sp,
            Base::Other(_) if !flexible => Base::Fp,
            base => base,
        };

        Self { base, at: self.at && flexible, ..self }
    }

    /// The place as another value: in a default function it is always on the stack.
    fn of_saved(self, flexible: bool) -> Self {
        match self.base {
            Base::Cfa => Self { at: true, ..self },
            _ if !flexible => Self { base: Base::Cfa, at: true, ..self },
            _ => self,
        }
    }

    fn control(self, arch: Arch) -> Word {
        let (sp, fp, _) = numbers(arch);
        let register = match self.base {
            Base::Cfa => 0,
            Base::Sp => sp << 3 | 1,
            Base::Fp => fp << 3 | 1,
            Base::Other(pick) => other(arch, pick) << 3 | 1,
        };

        Word::Control(register | u8::from(self.at) << 1)
    }

    fn meaning(self, arch: Arch) -> Value {
        let register = match self.base {
            Base::Cfa => return Value::AtCfa(self.offset),
            Base::Sp => Register::Sp,
            Base::Fp => Register::Fp,
            Base::Other(pick) => Register::Other(other(arch, pick)),
        };

        if self.at {
            Value::AtRegister(register, self.offset)
        } else {
            Value::Register(register, self.offset)
        }
    }
}

impl PlannedRule {
    /// The places of the CFA, the RA and the FP, if the row can express them.
    fn places(&self, arch: Arch, flexible: bool) -> (Place, Option<Place>, Option<Place>) {
        let cfa = self.cfa.of_cfa(flexible);
        let ra = self.ra.map(|ra| ra.of_saved(flexible));
        let fp = self.fp.map(|fp| fp.of_saved(flexible));

        match (arch, flexible) {
            (_, true) => (cfa, ra, fp),
            // The header has the place of the RA.
            (Arch::Amd64, false) => (cfa, None, fp),
            // A row has the place of the FP only if it has that of the RA.
            (Arch::AArch64, false) => (cfa, ra, fp.filter(|_| ra.is_some())),
        }
    }

    fn words(&self, arch: Arch, flexible: bool) -> Vec<Word> {
        if self.outermost {
            return Vec::new();
        }
        let (cfa, ra, fp) = self.places(arch, flexible);

        if flexible {
            let pair = |place: Place| vec![place.control(arch), Word::Signed(place.offset)];
            let mut words = vec![cfa.control(arch), Word::Signed(cfa.offset)];
            match (ra, fp) {
                (None, None) => {}
                (None, Some(_)) => words.push(Word::Control(0)),
                (Some(ra), _) => words.extend(pair(ra)),
            }
            words.extend(fp.map(pair).into_iter().flatten());
            return words;
        }

        let offset = |place: Place| Word::Signed(place.offset);
        [Some(cfa), ra, fp].into_iter().flatten().map(offset).collect()
    }

    /// The bytes of a row without its start. Words have `width` bytes, or more if they need more.
    pub(super) fn write(&self, arch: Arch, flexible: bool, width: u8) -> Vec<u8> {
        let words = self.words(arch, flexible);
        if words.is_empty() {
            return vec![0];
        }
        let needed = words.iter().map(|word| word.width()).max();
        let width = needed.map_or(width, |needed| needed.max(width));
        let (cfa, ..) = self.places(arch, flexible);
        let from_sp = u8::from(!flexible && matches!(cfa.base, Base::Sp));
        let signed = u8::from(self.signed && arch == Arch::AArch64) << 7;

        let mut bytes = vec![from_sp | (words.len() as u8) << 1 | (width / 2) << 5 | signed];
        for word in words {
            bytes.extend(to_bytes(word.bits(), width));
        }
        bytes
    }

    pub(super) fn meaning(&self, arch: Arch, flexible: bool, key_b: bool) -> Rule {
        if self.outermost {
            return Rule::outermost();
        }
        let (cfa, ra, fp) = self.places(arch, flexible);
        let unsaid = match arch {
            Arch::Amd64 => Value::AtCfa(-8),
            _ => Value::Unchanged,
        };
        let key = if key_b { Key::B } else { Key::A };

        Rule::frame(
            cfa.meaning(arch),
            ra.map_or(unsaid, |ra| ra.meaning(arch)),
            fp.map_or(Value::Unchanged, |fp| fp.meaning(arch)),
        )
        .expect("a CFA is from a register")
        .with_signed_ra((self.signed && arch == Arch::AArch64).then_some(key))
    }
}
