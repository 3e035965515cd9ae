// SPDX-License-Identifier: GPL-2.0

//! Asserts that C and Rust agree on each byte of a rule: Rust writes rules, and C applies them.

use core::mem::offset_of;

use kernel::{
    bindings::{
        self,
        unwind_user_frame as Frame, //
    },
    prelude::*, //
};

use crate::parse::{
    Packed,
    Register,
    Rule,
    Value, //
};

static_assert!(size_of::<Rule>() == size_of::<Frame>());
static_assert!(align_of::<Rule>() == align_of::<Frame>());

static_assert!(Rule::PLACES[0] == offset_of!(Frame, cfa_off));
static_assert!(Rule::PLACES[1] == offset_of!(Frame, ra_off));
static_assert!(Rule::PLACES[2] == offset_of!(Frame, fp_off));
static_assert!(Rule::PLACES[3] == offset_of!(Frame, cfa_from));
static_assert!(Rule::PLACES[3] + 1 == offset_of!(Frame, ra_from));
static_assert!(Rule::PLACES[3] + 2 == offset_of!(Frame, fp_from));
static_assert!(Rule::PLACES[3] + 3 == offset_of!(Frame, flags));

/// Says whether a value has the source `from` of C.
const fn is_from(value: Value, from: u32) -> bool {
    value.source() as u32 == from
}

const SP: Register = Register::Sp;
const FP: Register = Register::Fp;

static_assert!(is_from(Value::Unchanged, bindings::UNWIND_USER_UNCHANGED));
static_assert!(is_from(Value::AtCfa(-8), bindings::UNWIND_USER_AT_CFA));
static_assert!(is_from(Value::Unknown, bindings::UNWIND_USER_UNKNOWN));
static_assert!(is_from(
    Value::Register(SP, 8),
    bindings::UNWIND_USER_REG | bindings::UNWIND_USER_SP
));
static_assert!(is_from(
    Value::Register(FP, 8),
    bindings::UNWIND_USER_REG | bindings::UNWIND_USER_FP
));
static_assert!(is_from(
    Value::Register(Register::Other(31), 8),
    bindings::UNWIND_USER_REG | 31
));
static_assert!(is_from(
    Value::AtRegister(SP, 8),
    bindings::UNWIND_USER_AT_REG | bindings::UNWIND_USER_SP
));
static_assert!(is_from(
    Value::AtRegister(Register::Other(31), 8),
    bindings::UNWIND_USER_AT_REG | 31
));
// A register's code does not reach into the other bits.
static_assert!(
    bindings::UNWIND_USER_REG_MASK & (bindings::UNWIND_USER_REG | bindings::UNWIND_USER_AT_REG)
        == 0
);
static_assert!(bindings::UNWIND_USER_FP <= bindings::UNWIND_USER_REG_MASK);

static_assert!(Rule::outermost().flags() as u32 == bindings::UNWIND_USER_OUTERMOST);
static_assert!(Rule::CFA_ABOVE as u32 == bindings::UNWIND_USER_CFA_ABOVE);
static_assert!(
    Rule::signal_frame().flags() as u32
        == bindings::UNWIND_USER_SIGNAL | bindings::UNWIND_USER_NO_ROWS
);

static_assert!(Packed::USUAL == bindings::UNWIND_TABLES_RULE_USUAL as u64);
static_assert!(Packed::OUTERMOST == bindings::UNWIND_TABLES_RULE_OUTERMOST as u64);
static_assert!(Packed::FROM_FP == bindings::UNWIND_TABLES_RULE_FROM_FP as u64);
static_assert!(Packed::FP == bindings::UNWIND_TABLES_RULE_FP);
static_assert!(Packed::RA == bindings::UNWIND_TABLES_RULE_RA);
static_assert!(Packed::RA_BITS == bindings::UNWIND_TABLES_RULE_RA_BITS);
static_assert!(Packed::CFA == bindings::UNWIND_TABLES_RULE_CFA);
static_assert!(Packed::CFA_BITS == bindings::UNWIND_TABLES_RULE_CFA_BITS);
// C's own words are none of these.
static_assert!(
    (bindings::UNWIND_TABLES_RULE_LARGE | bindings::UNWIND_TABLES_RULE_ERROR) as u64
        & (Packed::USUAL | Packed::OTHER)
        == 0
);
static_assert!(Packed::NEAR as u32 == bindings::UNWIND_USER_NEAR);
