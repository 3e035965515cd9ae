// SPDX-License-Identifier: GPL-2.0

//! Rules in one word: what is packed comes out as it went in, and what does not fit is refused.

use proptest::prelude::*;

use super::words::planned_rule;
use super::{ARCHES, cases};
use crate::parse::{Error, Key, Packed, Register, Rule, Value};
use crate::vectors::packed::{COMMON, OTHERS};

#[test]
fn common() {
    for expected in COMMON {
        let rule = match expected.result() {
            Err(Error::NotFound) => None,
            rule => Some(rule.expect("a rule")),
        };
        assert_eq!(Packed::new(rule).map(Packed::rule), Some(rule), "{rule:?}");
    }
}

#[test]
fn others() {
    for expected in OTHERS {
        let rule = expected.result().expect("a rule");
        assert_eq!(Packed::new(Some(rule)), None, "{rule:?}");
    }
}

/// Whether a rule is of a shape that is said to fit, and its offsets are.
fn fits(rule: &Rule) -> bool {
    let saved = |value| match value {
        Value::Unchanged => true,
        Value::AtCfa(offset) => (-0x1_0000..0x1_0000).contains(&offset),
        _ => false,
    };
    let cfa = match rule.cfa() {
        Value::Register(Register::Sp | Register::Fp, offset) => {
            (-0x20_0000..0x20_0000).contains(&offset)
        }
        _ => false,
    };

    *rule == Rule::outermost()
        || *rule == Rule::signal_frame()
        || (cfa && saved(rule.ra()) && saved(rule.fp()))
}

/// An offset, of any size.
fn offset() -> impl Strategy<Value = i32> {
    (any::<i32>(), 0..32_u32).prop_map(|(offset, unused)| offset >> unused)
}

fn check(rule: Rule) -> Result<(), TestCaseError> {
    let packed = Packed::new(Some(rule));

    prop_assert_eq!(packed.is_some(), fits(&rule), "{:?}", rule);
    if let Some(packed) = packed {
        prop_assert_eq!(packed.rule(), Some(rule));
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(20_000))]

    /// Common shapes, with offsets that fit or not.
    #[test]
    fn shapes(
        from_sp in any::<bool>(),
        cfa in offset(),
        ra in prop::option::of(offset()),
        fp in prop::option::of(offset()),
        signal in any::<bool>(),
        key in prop::option::of(prop::sample::select(vec![Key::A, Key::B])),
    ) {
        let base = if from_sp { Register::Sp } else { Register::Fp };
        let saved = |offset: Option<i32>| offset.map_or(Value::Unchanged, Value::AtCfa);
        let rule = Rule::frame(Value::Register(base, cfa), saved(ra), saved(fp)).unwrap();

        check(rule.with_signal(signal).with_signed_ra(key))?;
    }

    /// All that a table can say.
    #[test]
    fn rules(
        planned in planned_rule(),
        arch in prop::sample::select(ARCHES.to_vec()),
        flexible in any::<bool>(),
        key_b in any::<bool>(),
        signal in any::<bool>(),
    ) {
        check(planned.meaning(arch, flexible, key_b).with_signal(signal))?;
    }

    /// Every word means something, which packs and unpacks as such.
    #[test]
    fn words(word in any::<u64>()) {
        let rule = Packed(word).rule();
        let again = Packed::new(rule);

        prop_assert_eq!(again.map(Packed::rule), Some(rule));
    }
}
