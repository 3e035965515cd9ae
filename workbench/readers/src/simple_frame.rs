// SPDX-License-Identifier: GPL-2.0

//! The crate `simple-frame-rs`.

use anyhow::{Result, bail};
use simple_frame_rs::v3::s390x::{SFRAME_FRE_RA_OFFSET_INVALID, cfa_offset_decode};
use simple_frame_rs::v3::{
    SFrameFDE, SFrameFDEType, SFrameFRE, SFrameFlexRecoveryRule, SFrameSection,
};

use crate::answer::{Abi, Answer, Frame, Value};

/// A decoded table.
pub struct Table<'a> {
    section: SFrameSection<'a>,
    abi: Abi,
}

impl<'a> Table<'a> {
    /// The table `bytes` at address `base`.
    pub fn new(bytes: &'a [u8], base: u64) -> Result<Self> {
        let Some(abi) = bytes.get(4).copied().and_then(Abi::from_id) else {
            bail!("the table is of no known architecture");
        };

        Ok(Self { section: SFrameSection::from(bytes, base)?, abi })
    }

    /// The crate's function and row for `pc`.
    fn find(&self, pc: u64) -> Result<Option<(SFrameFDE, SFrameFRE)>, &'static str> {
        let Some(function) = self.section.find_fde(pc).map_err(|_| "no function")? else {
            return Ok(None);
        };
        let row = function.find_fre(&self.section, pc).map_err(|_| "no row")?;

        Ok(row.map(|row| (function, row)))
    }

    /// The crate's answer for `pc`.
    pub fn answer(&self, pc: u64) -> Answer {
        match self.find(pc) {
            Ok(None) => Answer::Nothing,
            Ok(Some((function, row))) => {
                self.answer_of(&function, &row).unwrap_or_else(Answer::Refused)
            }
            Err(why) => Answer::Refused(why),
        }
    }

    /// The answer of a row.
    fn answer_of(&self, function: &SFrameFDE, row: &SFrameFRE) -> Result<Answer, &'static str> {
        if row.stack_offsets.is_empty() {
            return Ok(Answer::Outermost);
        }
        match function.get_fde_type() {
            Ok(SFrameFDEType::Default) => self.default(row),
            Ok(SFrameFDEType::Flex) => self.flexible(row),
            Err(_) => Err("unknown kind of function"),
        }
        .map(Answer::Frame)
    }

    fn default(&self, row: &SFrameFRE) -> Result<Frame, &'static str> {
        let base = match row.info.get_cfa_base_reg_id() {
            0 => self.abi.fp(),
            _ => self.abi.sp(),
        };
        let cfa = row.get_cfa_offset(&self.section).ok_or("no CFA offset")?;
        let ra = row.get_ra_offset(&self.section).filter(|ra| *ra != SFRAME_FRE_RA_OFFSET_INVALID);
        let at_cfa = |offset: Option<i32>| offset.map_or(Value::Unchanged, Value::AtCfa);

        Ok(Frame {
            cfa: Value::Register(base, cfa),
            ra: at_cfa(ra),
            fp: at_cfa(row.get_fp_offset(&self.section)),
            signed: row.info.get_mangled_ra_p(),
        })
    }

    fn flexible(&self, row: &SFrameFRE) -> Result<Frame, &'static str> {
        let mut rules = row.get_flex_recovery_rules().ok_or("missing words in a flexible row")?;
        // The crate decodes the offsets of default functions only.
        if self.abi == Abi::S390x {
            rules.cfa.offset = cfa_offset_decode(rules.cfa.offset);
        }
        let tracked = |rule: Option<SFrameFlexRecoveryRule>, missing| {
            rule.filter(|rule| !rule.control.is_padding()).map_or(missing, value)
        };

        Ok(Frame {
            cfa: value(rules.cfa),
            ra: tracked(rules.ra, self.abi.default_ra()),
            fp: tracked(rules.fp, Value::Unchanged),
            signed: row.info.get_mangled_ra_p(),
        })
    }
}

fn value(rule: SFrameFlexRecoveryRule) -> Value {
    let register = rule.control.regnum().cast_unsigned();

    match (rule.control.reg_p(), rule.control.deref_p()) {
        (true, true) => Value::AtRegister(register, rule.offset),
        (true, false) => Value::Register(register, rule.offset),
        (false, _) => Value::AtCfa(rule.offset),
    }
}
