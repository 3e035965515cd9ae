// SPDX-License-Identifier: GPL-2.0

//! Rules hold what they were made of.

use crate::parse::{Key, Register, Rule, Value};

/// All values that there are, with these offsets.
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
            for fp in values(&[0, i32::MAX]) {
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
    let frame = Rule::frame(
        Value::Register(Register::Sp, 8),
        Value::AtCfa(-8),
        Value::Unchanged,
    )
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
