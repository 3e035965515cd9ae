// SPDX-License-Identifier: GPL-2.0

//! A function's rows next to what `.eh_frame` says of the same addresses.

use crate::arch::Arch;
use crate::cfi::{Cfi, Expected, Said, normal};
use crate::parse::sframe::{Attribute, Function};
use crate::parse::{Rule, Value};
use crate::table::{Rows, row_at};
use crate::text;

/// Mistakes that producers of tables are known to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// GNU ld says CFA = SP + 16 in `.plt.got`, where it is SP + 8.
    PltGotCfa,
    /// GNU as takes `.cfi_restore` of FP for "as in the function's first row".
    CfiRestoreFp,
    /// GNU as cuts off an offset of the return address that does not fit.
    FlexRaTruncated,
    /// GNU as ignores rules for the return address that it cannot express.
    RaRuleIgnored,
    /// GNU as ignores rules for SP that it cannot express.
    SpRuleIgnored,
}

impl Defect {
    pub fn name(self) -> &'static str {
        match self {
            Self::PltGotCfa => "plt-got-cfa",
            Self::CfiRestoreFp => "cfi-restore-fp",
            Self::FlexRaTruncated => "flex-ra-truncated",
            Self::RaRuleIgnored => "ra-rule-ignored",
            Self::SpRuleIgnored => "sp-rule-ignored",
        }
    }
}

/// How many bytes of `.eh_frame` are as much work as a row.
const BYTES: u64 = 4;

/// What comes of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Equal,
    Known(Defect),
    Differs,
    /// The table has nothing for this address.
    NoRow,
    /// The row says that a signal frame is here, and no more; or its rule is not supported.
    NoRule,
}

/// Addresses for which both sides say the same thing all along.
pub struct Place<'a> {
    pub address: u64,
    pub rule: Option<&'a Rule>,
    pub expected: Expected,
    pub outcome: Outcome,
}

/// What `.eh_frame` says, as text.
pub fn expected_text<A: Arch>(expected: &Expected) -> String {
    let said = |said| match said {
        Said::Value(value) => text::value::<A>(value),
        Said::Above(value, above) => format!("{}+{above}", text::value::<A>(value)),
        Said::Other => "other".into(),
        Said::Undefined => "undefined".into(),
    };

    if expected.ra == Said::Undefined {
        return "outermost".into();
    }
    let signed = match expected.signed {
        None => "",
        Some(crate::parse::Key::A) => " signed-a",
        Some(crate::parse::Key::B) => " signed-b",
    };
    format!(
        "cfa={} ra={} fp={}{}{}{signed}",
        said(expected.cfa),
        said(expected.ra),
        said(expected.fp),
        if expected.unusual_sp { " sp=other" } else { "" },
        if expected.signal { " signal" } else { "" },
    )
}

/// Compares a function of the table with `.eh_frame`.
pub struct Comparison<'f, 'a, A> {
    pub cfi: &'f Cfi<'a, A>,
    pub function: &'f Function,
    pub attribute: &'f Attribute,
    pub rows: &'f Rows,
    /// Whether the function is in the section `.plt.got`.
    pub plt_got: bool,
}

impl<A: Arch> Comparison<'_, '_, A> {
    /// Calls `visit` for each place. What that costs is taken from `left`; at 0 it ends.
    pub fn run(&self, left: &mut u64, mut visit: impl FnMut(Place<'_>)) -> gimli::Result<()> {
        let start = self.function.start;
        let end = start.saturating_add(self.function.size.into());

        for fde in self.cfi.about(start, end) {
            // It is read to its end, whatever it has of rows.
            *left = left.saturating_sub(fde.bytes / BYTES);
            self.cfi.rows(fde, |from, to, at| {
                *left = left.saturating_sub(1);
                self.row(from.max(start), to.min(end), at, left, &mut visit);
                *left != 0 && to < end
            })?;
        }
        Ok(())
    }

    /// Compares with one row of `.eh_frame`, which holds at `from..to`.
    fn row(
        &self,
        from: u64,
        to: u64,
        at: &dyn Fn(u64) -> (Expected, bool),
        left: &mut u64,
        visit: &mut impl FnMut(Place<'_>),
    ) {
        let mut address = from;

        while address < to && *left != 0 {
            let offset = (address - self.function.start) as u32;
            let size = self.function.size;
            let (row, until) = row_at(self.rows, self.attribute.block, size, offset);
            let until = to.min(self.function.start + u64::from(until));
            let (expected, depends) = at(address);
            let here = address;

            *left -= 1;
            address = until.max(here + 1);
            if depends {
                address = here + 1;
                while address < until && *left != 0 && at(address).0 == expected {
                    *left -= 1;
                    address += 1;
                }
            }
            visit(self.place(here, row, expected));
        }
    }

    fn place(&self, address: u64, row: Option<usize>, expected: Expected) -> Place<'_> {
        let row = row.and_then(|row| self.rows.get(row));
        let rule = row.and_then(|(_, rule)| rule.as_ref().ok());
        let outcome = match rule {
            None if row.is_some() => Outcome::NoRule,
            None if self.attribute.rows == 0 && self.attribute.signal && expected.signal => {
                Outcome::NoRule
            }
            None => Outcome::NoRow,
            Some(rule) if self.agrees(rule, &expected) => Outcome::Equal,
            Some(rule) => self
                .defect(rule, &expected)
                .map_or(Outcome::Differs, Outcome::Known),
        };

        Place {
            address,
            rule,
            expected,
            outcome,
        }
    }

    fn agrees(&self, rule: &Rule, expected: &Expected) -> bool {
        if rule.is_signal() != expected.signal {
            return false;
        }
        if rule.is_outermost() || expected.ra == Said::Undefined {
            return rule.is_outermost() && expected.ra == Said::Undefined;
        }
        self.cfa_agrees(rule, expected)
            && self.ra_agrees(rule, expected)
            && self.fp_agrees(rule, expected)
            && !expected.unusual_sp
    }

    fn cfa_agrees(&self, rule: &Rule, expected: &Expected) -> bool {
        expected.cfa == Said::Value(rule.cfa())
    }

    fn ra_agrees(&self, rule: &Rule, expected: &Expected) -> bool {
        let ra = normal::<A>(rule.ra(), A::RA as u16, Some(rule.cfa()));

        expected.ra == Said::Value(ra) && rule.signed_ra() == expected.signed
    }

    fn fp_agrees(&self, rule: &Rule, expected: &Expected) -> bool {
        let fp = normal::<A>(rule.fp(), A::FP as u16, Some(rule.cfa()));

        // A value that nobody may rely on cannot be wrong.
        expected.fp == Said::Value(fp) || expected.fp == Said::Undefined
    }

    /// The defect that explains a difference: all of it.
    fn defect(&self, rule: &Rule, expected: &Expected) -> Option<Defect> {
        if rule.is_outermost() || rule.is_signal() != expected.signal {
            return None;
        }
        let cfa = self.cfa_agrees(rule, expected);
        let ra = self.ra_agrees(rule, expected);
        let fp = self.fp_agrees(rule, expected);

        match (cfa, ra, fp, expected.unusual_sp) {
            (false, true, true, false) if self.is_plt_got(rule, expected) => {
                Some(Defect::PltGotCfa)
            }
            (true, true, false, false) if self.is_restored_fp(rule, expected) => {
                Some(Defect::CfiRestoreFp)
            }
            (true, false, true, false) if self.is_truncated(rule, expected) => {
                Some(Defect::FlexRaTruncated)
            }
            (true, false, true, false) if is_ignored::<A>(rule, expected) => {
                Some(Defect::RaRuleIgnored)
            }
            (true, true, true, true) => Some(Defect::SpRuleIgnored),
            _ => None,
        }
    }

    fn is_plt_got(&self, rule: &Rule, expected: &Expected) -> bool {
        use crate::parse::Register::Sp;

        self.plt_got
            && rule.cfa() == Value::Register(Sp, 16)
            && expected.cfa == Said::Value(Value::Register(Sp, 8))
    }

    /// FP is back, but the row says what the first one does.
    fn is_restored_fp(&self, rule: &Rule, expected: &Expected) -> bool {
        expected.fp == Said::Value(Value::Unchanged)
            && matches!(self.rows.first(), Some((_, Ok(first))) if first.fp() == rule.fp())
    }

    /// The offset is the low bits of the right one.
    fn is_truncated(&self, rule: &Rule, expected: &Expected) -> bool {
        let (Value::AtCfa(has), Said::Value(Value::AtCfa(wants))) = (rule.ra(), expected.ra) else {
            return false;
        };

        self.attribute.flexible && (has == i32::from(wants as i8) || has == i32::from(wants as i16))
    }
}

/// The return address is where it always is, as if nothing had been said.
fn is_ignored<A: Arch>(rule: &Rule, expected: &Expected) -> bool {
    expected.unusual_ra && A::FIXED_RA != 0 && rule.ra() == Value::AtCfa(A::FIXED_RA.into())
}
