// SPDX-License-Identifier: GPL-2.0

//! framehop, which unwinds frames by `.eh_frame`, for x86-64.

use anyhow::{Result, ensure};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};

use crate::answer::{Answer, Value};
use crate::file::File;

/// The registers of the unwound frame.
const SP: u64 = 0x7ffd_0000_0000;
const FP: u64 = SP + 0x10_0000;

/// framehop with the `.eh_frame` of a file.
pub struct Unwinder(UnwinderX86_64<Vec<u8>>);

/// A cache of framehop.
#[derive(Default)]
pub struct Cache(CacheX86_64);

impl Cache {
    /// The number of slots. An address modulo this number is its slot.
    pub const SLOTS: usize = 509;

    /// The number of lookups that missed the cache.
    pub fn misses(&self) -> u64 {
        self.0.stats().misses()
    }
}

/// The caller's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub pc: u64,
    pub sp: u64,
    pub fp: u64,
}

impl Unwinder {
    pub fn new(file: &File) -> Result<Self> {
        let (eh_frame, text) = (file.section(".eh_frame")?, file.section(".text")?);
        // Without it, framehop searches all functions.
        let eh_frame_hdr = file.section(".eh_frame_hdr").ok();
        let end = file.code.iter().map(|range| range.end).max().unwrap_or(0);
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: Some(text.range()),
            text: Some(text.bytes),
            eh_frame_svma: Some(eh_frame.range()),
            eh_frame: Some(eh_frame.bytes),
            eh_frame_hdr_svma: eh_frame_hdr.as_ref().map(|section| section.range()),
            eh_frame_hdr: eh_frame_hdr.map(|section| section.bytes),
            ..Default::default()
        };
        let mut unwinder = UnwinderX86_64::new();

        ensure!(end != 0, "no instructions");
        unwinder.add_module(Module::new("file".into(), 0..end, 0, sections));
        Ok(Self(unwinder))
    }

    /// Unwinds one frame. Each word of its stack has its own address as value.
    #[inline]
    pub fn unwind(&self, cache: &mut Cache, pc: u64) -> Option<Caller> {
        let mut registers = UnwindRegsX86_64::new(pc, SP, FP);
        let from = FrameAddress::from_instruction_pointer(pc);
        let caller = self.0.unwind_frame(from, &mut registers, &mut cache.0, &mut Ok).ok()??;

        Some(Caller { pc: caller, sp: registers.sp(), fp: registers.bp() })
    }
}

/// The caller's registers by a rule, if the rule needs only SP and FP.
pub fn caller(answer: Answer) -> Option<Caller> {
    let Answer::Frame(frame) = answer else {
        return None;
    };
    let cfa = match frame.cfa {
        Value::Register(7, offset) => SP.wrapping_add_signed(offset.into()),
        Value::Register(6, offset) => FP.wrapping_add_signed(offset.into()),
        _ => return None,
    };
    let at_cfa = |value, unchanged| match value {
        Value::AtCfa(offset) => Some(cfa.wrapping_add_signed(offset.into())),
        Value::Unchanged => unchanged,
        _ => None,
    };

    Some(Caller { pc: at_cfa(frame.ra, None)?, sp: cfa, fp: at_cfa(frame.fp, Some(FP))? })
}
