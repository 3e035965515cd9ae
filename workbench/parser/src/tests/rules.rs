// SPDX-License-Identifier: GPL-2.0

//! A rule returns the values that it was made of.

use crate::parse::{AArch64, Amd64, Arch, Key, Packed, Register, Rule, Value};

/// All values with these offsets.
fn values(offsets: &[i32]) -> Vec<Value> {
    let registers = (0..32).map(Register::Other);
    let mut values = vec![Value::Unchanged];

    for register in [Register::Sp, Register::Fp].into_iter().chain(registers) {
        for offset in offsets {
            values.push(Value::Register(register, *offset));
            values.push(Value::AtRegister(register, *offset));
        }
    }
    values.extend(offsets.iter().map(|offset| Value::AtCfa(*offset)));
    values
}

#[test]
fn fields() {
    for cfa in values(&[0, 1, -1, i32::MIN, i32::MAX]) {
        for ra in values(&[0, -8]) {
            for fp in [values(&[0, i32::MAX]), vec![Value::Unknown]].concat() {
                let possible = matches!(cfa, Value::Register(..) | Value::AtRegister(..));
                let rule = Rule::frame(cfa, ra, fp);

                assert_eq!(rule.is_some(), possible, "{cfa:?}");
                if let Some(rule) = rule {
                    assert_eq!((rule.cfa(), rule.ra(), rule.fp()), (cfa, ra, fp));
                    assert!(!rule.is_outermost() && !rule.is_signal());
                    assert_eq!(rule.signed_ra(), None);
                }
            }
        }
    }
}

#[test]
fn flags() {
    let frame = Rule::frame(Value::Register(Register::Sp, 8), Value::AtCfa(-8), Value::Unchanged)
        .expect("a frame");

    for signal in [false, true] {
        for key in [None, Some(Key::A), Some(Key::B)] {
            let rule = frame.with_signal(signal).with_signed_ra(key);
            assert_eq!(rule.is_signal(), signal);
            assert_eq!(rule.signed_ra(), key);
            assert_eq!(rule.cfa(), frame.cfa());
            assert_eq!(rule == frame, !signal && key.is_none());
        }
        let outermost = Rule::outermost().with_signal(signal);
        assert!(outermost.is_outermost() && outermost.is_signal() == signal);
    }
    assert!(Rule::signal_frame().is_signal() && !Rule::signal_frame().is_outermost());
}

/// Returns whether a rule is usual: it needs few words, which are near each other.
fn is_usual<A: Arch>(rule: &Rule) -> bool {
    let words = |offset: i64, count: i64| (0..count * 8).contains(&offset) && offset % 8 == 0;
    let Value::AtCfa(ra) = rule.ra() else {
        return false;
    };
    let ra = i64::from(ra);
    // Where calls leave the return address in a register, functions store it anywhere.
    let has_ra = words(-8 - ra, if A::FIXED_RA == 0 { 1 << 12 } else { 1 });
    let is_near = match rule.fp() {
        Value::Unchanged => true,
        Value::AtCfa(offset) => {
            let offset = i64::from(offset) - ra - 8;
            (-248..=-8).contains(&offset) && offset % 8 == 0
        }
        _ => false,
    };
    let has_cfa = match rule.cfa() {
        Value::Register(Register::Sp | Register::Fp, offset) => words(offset.into(), 1 << 20),
        _ => false,
    };

    !rule.is_signal() && has_ra && is_near && has_cfa
}

/// Packs and unpacks all rules of these values. Returns how many fit, and how many are usual.
fn pack_rules<A: Arch>() -> (usize, usize) {
    let flags = |rule: Rule| [rule, rule.with_signal(true)];
    let offsets =
        [0, 8, 12, 32760, 32768, (8 << 20) - 8, 8 << 20, -8, -12, -16, -248, -256, -32768, -32776];
    let offsets = [&offsets[..], &[i32::MIN, i32::MAX]].concat();
    let places = [-8, -12, -16, -32760, -32768, -32776, 0, i32::MIN, i32::MAX].map(Value::AtCfa);
    let (mut fit, mut usual) = (0, 0);

    for cfa in values(&offsets) {
        for ra in [Value::Unchanged].into_iter().chain(places) {
            for fp in [values(&offsets), vec![Value::Unknown]].concat() {
                for rule in Rule::frame(cfa, ra, fp).into_iter().flat_map(flags) {
                    // Rules that do not fit are looked up each time.
                    let fits = match fp {
                        Value::AtCfa(offset) => offset != 0 && offset.unsigned_abs() < 1 << 15,
                        Value::Unchanged | Value::Unknown => true,
                        _ => false,
                    } && matches!(ra, Value::Unchanged | Value::AtCfa(-8));
                    let Some(packed) = Packed::new::<A>(&rule) else {
                        assert!(!fits && !is_usual::<A>(&rule), "{rule:?}");
                        continue;
                    };
                    fit += 1;
                    assert!(fits || is_usual::<A>(&rule), "{rule:?}");
                    assert_eq!(packed.rule(), Some(rule));
                    assert_eq!(Packed::from_word(packed.word()), Some(packed));
                    assert_eq!(packed.word() & Packed::USUAL != 0, is_usual::<A>(&rule));
                    // The walker strips signatures, so no word says that there is one.
                    assert_eq!(Packed::new::<A>(&rule.with_signed_ra(Some(Key::B))), Some(packed));
                    if is_usual::<A>(&rule) {
                        usual += 1;
                        assert!(packed.word() < 1 << (Packed::CFA + Packed::CFA_BITS));
                    }
                }
            }
        }
    }
    (fit, usual)
}

/// A packed rule equals the rule. The rules of usual programs can be packed, in fewer bits.
#[test]
fn packed() {
    // All: 68 places of the CFA with 16 offsets, 10 places of the frame pointer, 2 of the return
    // address, with and without a signal. Usual ones: 2 registers, 5 offsets, 4 places of the
    // frame pointer near the CFA.
    assert_eq!(pack_rules::<Amd64>(), (68 * 16 * 10 * 2 * 2, 2 * 5 * 4));
    // Also usual: the return address at -16, -32760 and -32768, with the frame pointer unchanged or
    // at one of 3, 2 and 2 places near it.
    let (fit, usual) = pack_rules::<AArch64>();
    assert_eq!((fit - 68 * 16 * 10 * 2 * 2, usual), (2 * 5 * 10, 2 * 5 * 14));
    for rule in [Rule::outermost(), Rule::signal_frame()] {
        assert_eq!(Packed::new::<Amd64>(&rule).and_then(Packed::rule), Some(rule));
    }
    assert_eq!(Packed::NOTHING.rule(), None);
    assert_eq!(Packed::NOTHING_BUT_FP.rule(), None);
    assert_ne!(Packed::NOTHING_BUT_FP, Packed::NOTHING);
    assert_eq!(Packed::from_word(0), None);
    assert_eq!(Packed::from_word(Packed::NOTHING.word()), Some(Packed::NOTHING));
}

/// Only a CFA that is stored in memory at a register may have a distance, with the RA at CFA-8.
#[test]
fn cfa_above() {
    let offsets = [0, -8, 8, 32767, -32768, 32768, -32769];
    let saved = [Value::Unchanged, Value::AtCfa(-24), Value::Unknown];
    let mut fit = 0;

    for cfa in values(&offsets) {
        for (ra, fp) in [Value::AtCfa(-8), Value::AtCfa(-16)]
            .into_iter()
            .flat_map(|ra| saved.map(|fp| (ra, fp)))
        {
            let Some(rule) = Rule::frame(cfa, ra, fp) else {
                continue;
            };
            assert_eq!(rule.with_cfa_above(0), Some(rule));
            for above in [8, 80, 32767, 32768, -8, -32769, i32::MIN] {
                let possible = matches!(cfa, Value::AtRegister(..)) && ra == Value::AtCfa(-8);
                let Some(rule) = rule.with_cfa_above(above) else {
                    assert!(!possible);
                    continue;
                };
                assert!(possible);
                assert_eq!((rule.cfa(), rule.ra(), rule.fp()), (cfa, ra, fp));
                assert_eq!(rule.cfa_above(), above);
                let Some(packed) = Packed::new::<Amd64>(&rule) else {
                    continue;
                };
                fit += 1;
                assert_eq!(packed.rule(), Some(rule));
                assert_eq!(packed.word() & Packed::USUAL, 0);
            }
        }
    }
    // 34 registers, 5 offsets, 3 places of the frame pointer, 4 distances.
    assert_eq!(fit, 34 * 5 * 3 * 4);
}

/// C code relies on these bits: see `unwind_user_follow()` in `kernel/unwind/follow.h`.
#[test]
fn packed_places() {
    let word = |cfa, fp| {
        let rule = Rule::frame(cfa, Value::AtCfa(-8), fp).expect("a frame");
        Packed::new::<Amd64>(&rule).expect("it fits").word()
    };

    assert_eq!(word(Value::Register(Register::Fp, 16), Value::AtCfa(-16)), 2 << 32 | 30 << 2 | 3);
    assert_eq!(word(Value::Register(Register::Sp, 32760), Value::Unchanged), 0xfff << 32 | 1);
    // A frame record at the bottom of 64 bytes.
    let (cfa, fp) = (Value::Register(Register::Sp, 64), Value::AtCfa(-64));
    let rule = Rule::frame(cfa, Value::AtCfa(-56), fp).expect("a frame");
    let packed = Packed::new::<AArch64>(&rule).expect("it fits");
    assert_eq!(packed.word(), 8 << 32 | 6 << 7 | 30 << 2 | 1);
    assert_eq!(Packed::new::<Amd64>(&rule), None);
    assert_eq!(word(Value::Register(Register::Sp, -8), Value::Unchanged), 0xffff_fff8_0000_6002);
    assert_eq!(
        Packed::new::<Amd64>(&Rule::outermost()).map(Packed::word),
        Some(Packed::OUTERMOST | 2)
    );
    assert_eq!(Packed::from_word(8), None);
}
