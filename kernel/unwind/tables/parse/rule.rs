// SPDX-License-Identifier: GPL-2.0

//! Rules, which every format yields.

use core::mem::offset_of;

/// A rule: how to get from a frame to its caller's.
///
/// The CFA, the canonical frame address, is the caller's stack pointer. All registers in a rule are
/// the frame's own, not the caller's. All offsets are in bytes.
///
/// The layout is that of C, where the walker applies rules.
///
/// # Invariants
///
/// - An offset whose source is [`Value::UNCHANGED`] or [`Value::UNKNOWN`] is zero.
/// - The CFA's source is [`Value::UNCHANGED`] if and only if the flags have [`Rule::OUTERMOST`] or
///   [`Rule::NO_ROWS`], else a register or what one points to.
/// - If the flags have [`Rule::CFA_ABOVE`], the CFA's source is what a register points to, and that
///   of the return address is [`Value::AT_CFA`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Rule {
    pub(super) cfa_offset: i32,
    pub(super) ra_offset: i32,
    pub(super) fp_offset: i32,
    /// Sources: see [`Value::source`].
    pub(super) cfa_from: u8,
    pub(super) ra_from: u8,
    pub(super) fp_from: u8,
    flags: u8,
}

impl Rule {
    /// The offsets of the fields, as C expects them.
    pub(crate) const PLACES: [usize; 4] = [
        offset_of!(Self, cfa_offset),
        offset_of!(Self, ra_offset),
        offset_of!(Self, fp_offset),
        offset_of!(Self, cfa_from),
    ];
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    /// The stack pointer.
    Sp,
    /// The frame pointer.
    Fp,
    /// The register with this DWARF number, below 32. It is known in the topmost frame, in a frame
    /// that a signal interrupted, and where a second walk has carried it along.
    Other(u8),
}

impl Register {
    const SP: u8 = 32;
    const FP: u8 = 33;

    #[inline(always)]
    const fn code(self) -> u8 {
        match self {
            Self::Sp => Self::SP,
            Self::Fp => Self::FP,
            Self::Other(number) => number & 31,
        }
    }

    fn from_code(code: u8) -> Self {
        match code {
            Self::SP => Self::Sp,
            Self::FP => Self::Fp,
            number => Self::Other(number & 31),
        }
    }
}

/// The place of a caller's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// In its own register, which the frame has not changed.
    Unchanged,
    /// In memory, at CFA + offset.
    AtCfa(i32),
    /// Not in memory: the value is register + offset.
    Register(Register, i32),
    /// In memory, at register + offset.
    AtRegister(Register, i32),
    /// Nowhere, or in a place that no rule can name. Of frame pointers only: most callers do not
    /// need theirs.
    Unknown,
}

impl Value {
    pub(super) const UNCHANGED: u8 = 0;
    pub(super) const AT_CFA: u8 = 1;
    pub(super) const UNKNOWN: u8 = 2;
    const REGISTER: u8 = 0x40;
    const AT_REGISTER: u8 = 0x80;

    /// Returns the byte by which C knows the place, without the offset: 0, 1 or 2, or one of the
    /// bits with a register's code.
    #[inline(always)]
    pub(crate) const fn source(self) -> u8 {
        match self {
            Self::Unchanged => Self::UNCHANGED,
            Self::AtCfa(_) => Self::AT_CFA,
            Self::Register(register, _) => Self::REGISTER | register.code(),
            Self::AtRegister(register, _) => Self::AT_REGISTER | register.code(),
            Self::Unknown => Self::UNKNOWN,
        }
    }

    /// Returns the offset, or 0 if the place has none.
    #[inline(always)]
    const fn offset(self) -> i32 {
        match self {
            Self::Unchanged | Self::Unknown => 0,
            Self::AtCfa(offset) | Self::Register(_, offset) | Self::AtRegister(_, offset) => offset,
        }
    }

    /// Makes a value of the byte of [`Value::source`] and an offset.
    pub(super) fn from_source(source: u8, offset: i32) -> Self {
        let register = Register::from_code(source & 0x3f);

        match source {
            Self::UNCHANGED => Self::Unchanged,
            Self::AT_CFA => Self::AtCfa(offset),
            Self::UNKNOWN => Self::Unknown,
            _ if source & Self::AT_REGISTER != 0 => Self::AtRegister(register, offset),
            _ => Self::Register(register, offset),
        }
    }
}

/// A key that return addresses are signed with, on AArch64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Key A.
    A,
    /// Key B.
    B,
}

impl Rule {
    /// Flag: there is no caller.
    const OUTERMOST: u8 = 1 << 0;
    /// Flag: a signal interrupted the caller.
    const SIGNAL: u8 = 1 << 1;
    /// Flag: there is no more to the rule.
    const NO_ROWS: u8 = 1 << 2;
    /// Flag: the return address is signed.
    pub(super) const SIGNED: u8 = 1 << 3;
    /// Flag: the return address is signed with key B.
    const KEY_B: u8 = 1 << 4;
    /// The flags of a signed return address.
    pub(super) const SIGNATURE: u8 = Self::SIGNED | Self::KEY_B;
    /// Flag: `ra_offset` is to be added to the CFA. The return address is just below the sum.
    pub(crate) const CFA_ABOVE: u8 = 1 << 5;

    /// Offset of a return address that is just below the CFA.
    pub(super) const RA: i32 = -8;

    /// Makes the rule of an outermost frame, which has no caller.
    pub(crate) const fn outermost() -> Self {
        Self::without_rows(Self::OUTERMOST)
    }

    /// Makes the rule of a restorer: the kernel has saved the registers of the interrupted frame.
    pub(crate) const fn signal_frame() -> Self {
        Self::without_rows(Self::SIGNAL | Self::NO_ROWS)
    }

    /// Makes a rule of flags alone, one of which is [`Rule::OUTERMOST`] or [`Rule::NO_ROWS`].
    pub(super) const fn without_rows(flags: u8) -> Self {
        // INVARIANT: Nothing has an offset, and one of the two flags is set.
        Self {
            cfa_offset: 0,
            ra_offset: 0,
            fp_offset: 0,
            cfa_from: Value::UNCHANGED,
            ra_from: Value::UNCHANGED,
            fp_from: Value::UNCHANGED,
            flags,
        }
    }

    /// Makes the rule of a frame with a caller.
    ///
    /// Returns `None` if the CFA does not come from a register.
    #[inline(always)]
    pub(crate) fn frame(cfa: Value, ra: Value, fp: Value) -> Option<Self> {
        // INVARIANT: The CFA is from a register. Values without a source have no offset.
        matches!(cfa, Value::Register(..) | Value::AtRegister(..)).then_some(Self {
            cfa_offset: cfa.offset(),
            ra_offset: ra.offset(),
            fp_offset: fp.offset(),
            cfa_from: cfa.source(),
            ra_from: ra.source(),
            fp_from: fp.source(),
            flags: 0,
        })
    }

    /// Adds flags to the rule.
    pub(super) fn with_flags(mut self, more: u8) -> Self {
        self.flags |= more;
        self
    }

    /// Returns the flags, as C knows them.
    pub(crate) const fn flags(&self) -> u8 {
        self.flags
    }

    /// Adds the mark that a signal interrupted the caller, if `signal` is set.
    pub(crate) fn with_signal(self, signal: bool) -> Self {
        self.with_flags(if signal { Self::SIGNAL } else { 0 })
    }

    /// Moves the CFA of the rule up by so many bytes.
    ///
    /// Returns `None` if the CFA is not a stored value, or the return address not just below it.
    pub(crate) fn with_cfa_above(mut self, above: i32) -> Option<Self> {
        if above == 0 {
            return Some(self);
        }
        if !matches!(self.cfa(), Value::AtRegister(..)) || self.ra() != Value::AtCfa(Self::RA) {
            return None;
        }
        // INVARIANT: Both values are where they have to be.
        self.ra_offset = above;
        Some(self.with_flags(Self::CFA_ABOVE))
    }

    /// Adds the mark that the return address is signed, if there is a key.
    pub(crate) fn with_signed_ra(self, key: Option<Key>) -> Self {
        self.with_flags(match key {
            None => 0,
            Some(Key::A) => Self::SIGNED,
            Some(Key::B) => Self::SIGNED | Self::KEY_B,
        })
    }

    /// Returns the place of the CFA; [`Value::Unchanged`] if the rule has flags alone.
    pub(crate) fn cfa(&self) -> Value {
        Value::from_source(self.cfa_from, self.cfa_offset)
    }

    /// Returns the place of the return address. If unchanged, it is in the register of calls.
    pub(crate) fn ra(&self) -> Value {
        match self.flags & Self::CFA_ABOVE {
            0 => Value::from_source(self.ra_from, self.ra_offset),
            _ => Value::AtCfa(Self::RA),
        }
    }
}

#[allow(dead_code, reason = "tests and tools look at rules")]
impl Rule {
    /// Says whether there is no caller.
    pub(crate) fn is_outermost(&self) -> bool {
        self.flags & Self::OUTERMOST != 0
    }

    /// Says whether a signal interrupted the caller. Then its address is exact, not behind a call.
    pub(crate) fn is_signal(&self) -> bool {
        self.flags & Self::SIGNAL != 0
    }

    /// Returns the number of bytes to add to the CFA that [`Rule::cfa`] returns.
    pub(crate) fn cfa_above(&self) -> i32 {
        match self.flags & Self::CFA_ABOVE {
            0 => 0,
            _ => self.ra_offset,
        }
    }

    /// Returns the key of a signed return address.
    pub(crate) fn signed_ra(&self) -> Option<Key> {
        match (self.flags & Self::SIGNED, self.flags & Self::KEY_B) {
            (0, _) => None,
            (_, 0) => Some(Key::A),
            _ => Some(Key::B),
        }
    }

    /// Returns the place of the caller's frame pointer.
    pub(crate) fn fp(&self) -> Value {
        Value::from_source(self.fp_from, self.fp_offset)
    }
}
