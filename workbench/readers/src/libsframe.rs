// SPDX-License-Identifier: GPL-2.0

//! GNU libsframe, a library of binutils, by the declarations of `<sframe-api.h>`.

use std::ffi::{c_char, c_int, c_uint};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use anyhow::{Result, bail};

use crate::answer::{Abi, Answer, Frame, Value};

/// `sframe_decoder_ctx`, an opaque type.
#[repr(C)]
struct Context {
    _private: [u8; 0],
}

/// `sframe_frame_row_entry`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawRow {
    start: u32,
    words: [u8; 24],
    info: u8,
}

const _: () = assert!(size_of::<RawRow>() == 32 && align_of::<RawRow>() == 4);

#[link(name = "sframe")]
unsafe extern "C" {
    fn sframe_decode(bytes: *const c_char, len: usize, error: *mut c_int) -> *mut Context;
    fn sframe_decoder_free(context: *mut *mut Context);
    fn sframe_decoder_get_abi_arch(context: *const Context) -> u8;
    fn sframe_decoder_get_flags(context: *const Context) -> u8;
    fn sframe_decoder_get_num_fidx(context: *const Context) -> u32;
    fn sframe_decoder_get_offsetof_fde_start_addr(
        context: *const Context,
        nth: u32,
        error: *mut c_int,
    ) -> u32;
    fn sframe_decoder_get_funcdesc_v3(
        context: *const Context,
        nth: c_uint,
        rows: *mut u32,
        size: *mut u32,
        start: *mut i64,
        info: *mut u8,
        info2: *mut u8,
        block: *mut u8,
    ) -> c_int;
    fn sframe_find_fre(context: *const Context, pc: i64, row: *mut RawRow) -> c_int;
    fn sframe_get_fre_udata(row: *const RawRow, nth: c_int, error: *mut c_int) -> u32;
    fn sframe_fre_get_base_reg_id(row: *const RawRow, error: *mut c_int) -> u8;
    fn sframe_fre_get_cfa_offset(
        context: *const Context,
        row: *const RawRow,
        kind: u32,
        error: *mut c_int,
    ) -> i32;
    fn sframe_fre_get_ra_offset(
        context: *const Context,
        row: *const RawRow,
        kind: u32,
        error: *mut c_int,
    ) -> i32;
    fn sframe_fre_get_fp_offset(
        context: *const Context,
        row: *const RawRow,
        kind: u32,
        error: *mut c_int,
    ) -> i32;
    fn sframe_fre_get_ra_mangled_p(
        context: *const Context,
        row: *const RawRow,
        error: *mut c_int,
    ) -> bool;
    fn sframe_fre_get_ra_undefined_p(
        context: *const Context,
        row: *const RawRow,
        error: *mut c_int,
    ) -> bool;
}

/// `SFRAME_FDE_TYPE_DEFAULT`.
const DEFAULT: u32 = 0;
/// `SFRAME_FDE_TYPE_FLEX`.
const FLEXIBLE: u32 = 1;
/// `SFRAME_BASE_REG_SP`.
const BASE_SP: u8 = 1;
/// `SFRAME_F_FDE_FUNC_START_PCREL`.
const PC_RELATIVE: u8 = 4;

/// A function. Its start is relative to the table.
struct Function {
    start: i64,
    size: u32,
    kind: u32,
}

/// A decoded table.
pub struct Table<'a> {
    context: NonNull<Context>,
    abi: Abi,
    base: u64,
    functions: Vec<Function>,
    /// The library does not copy a table in the machine's byte order.
    bytes: PhantomData<&'a [u8]>,
}

/// A found row, with the kind of its function.
pub struct Found {
    row: RawRow,
    kind: u32,
}

/// The values of a row of a default function, as the library returns them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    pub from_sp: bool,
    pub cfa: i32,
    pub ra: Option<i32>,
    pub fp: Option<i32>,
}

impl<'a> Table<'a> {
    /// Decodes the table `bytes` at address `base`.
    pub fn new(bytes: &'a [u8], base: u64) -> Result<Self> {
        let mut error = 0;
        // SAFETY: The pointer and the length are those of a slice, which outlives the context.
        let context = unsafe { sframe_decode(bytes.as_ptr().cast(), bytes.len(), &raw mut error) };
        let Some(context) = NonNull::new(context) else {
            bail!("libsframe cannot decode the table: error {error}");
        };
        // SAFETY: The context was just made.
        let abi = unsafe { sframe_decoder_get_abi_arch(context.as_ptr()) };
        let mut table =
            Self { context, abi: Abi::AArch64, base, functions: Vec::new(), bytes: PhantomData };

        match Abi::from_id(abi) {
            Some(abi) => table.abi = abi,
            None => bail!("libsframe knows a table of architecture {abi}"),
        }
        table.functions = table.list()?;
        Ok(table)
    }

    fn list(&self) -> Result<Vec<Function>> {
        // SAFETY: The context is valid until it is dropped.
        let count = unsafe { sframe_decoder_get_num_fidx(self.context.as_ptr()) };

        (0..count).map(|nth| self.function(nth)).collect()
    }

    fn function(&self, nth: u32) -> Result<Function> {
        let context = self.context.as_ptr();
        let (mut rows, mut size, mut start) = (0, 0, 0);
        let (mut info, mut info2, mut block) = (0, 0, 0);
        let mut error = 0;
        // SAFETY: The context is valid, and all pointers are to locals.
        let failed = unsafe {
            sframe_decoder_get_funcdesc_v3(
                context,
                nth,
                &raw mut rows,
                &raw mut size,
                &raw mut start,
                &raw mut info,
                &raw mut info2,
                &raw mut block,
            )
        };
        // SAFETY: As above.
        let (field, flags) = unsafe {
            (
                sframe_decoder_get_offsetof_fde_start_addr(context, nth, &raw mut error),
                sframe_decoder_get_flags(context),
            )
        };

        if failed != 0 || error != 0 {
            bail!("libsframe does not list function {nth}");
        }
        if flags & PC_RELATIVE != 0 {
            start += i64::from(field);
        }
        Ok(Function { start, size, kind: u32::from(info2 & 0x1f) })
    }

    /// Whether the function that holds `pc` is flexible. The library's accessors need this.
    pub fn is_flexible(&self, pc: u64) -> bool {
        let pc = self.relative(pc);
        let below = self.functions.partition_point(|function| function.start <= pc);

        self.functions[..below]
            .iter()
            .rfind(|function| function.size != 0)
            .is_some_and(|function| function.kind == FLEXIBLE)
    }

    /// The library's row for `pc`, in a function of this kind.
    pub fn find(&self, pc: u64, flexible: bool) -> Option<Found> {
        let mut row = RawRow { start: 0, words: [0; 24], info: 0 };
        // SAFETY: The context is valid, and the row is a local.
        let failed =
            unsafe { sframe_find_fre(self.context.as_ptr(), self.relative(pc), &raw mut row) };

        (failed == 0).then_some(Found { row, kind: if flexible { FLEXIBLE } else { DEFAULT } })
    }

    /// The library's answer for `pc`.
    pub fn answer(&self, pc: u64) -> Answer {
        match self.find(pc, self.is_flexible(pc)) {
            None => Answer::Nothing,
            Some(found) => self.answer_of(&found),
        }
    }

    /// The values of a row that was found.
    ///
    /// # Errors
    ///
    /// A value that the library does not have.
    pub fn offsets(&self, found: &Found) -> Result<Offsets, &'static str> {
        let context = self.context.as_ptr();
        let row = &raw const found.row;
        let (mut base_error, mut cfa_error) = (0, 0);
        let (mut ra_error, mut fp_error) = (0, 0);
        // SAFETY: The context is valid, the row is one that the library has filled in, and the
        // errors are locals.
        let (base, cfa, ra, fp) = unsafe {
            (
                sframe_fre_get_base_reg_id(row, &raw mut base_error),
                sframe_fre_get_cfa_offset(context, row, found.kind, &raw mut cfa_error),
                sframe_fre_get_ra_offset(context, row, found.kind, &raw mut ra_error),
                sframe_fre_get_fp_offset(context, row, found.kind, &raw mut fp_error),
            )
        };

        if base_error != 0 {
            return Err("no base register");
        }
        if cfa_error != 0 {
            return Err("no CFA offset");
        }
        Ok(Offsets {
            from_sp: base == BASE_SP,
            cfa,
            ra: (ra_error == 0).then_some(ra),
            fp: (fp_error == 0).then_some(fp),
        })
    }

    /// The answer of a row.
    pub fn answer_of(&self, found: &Found) -> Answer {
        let row = &raw const found.row;
        let mut error = 0;
        // SAFETY: The context is valid, the row is one that the library has filled in, and the
        // error is a local.
        let (undefined, signed) = unsafe {
            (
                sframe_fre_get_ra_undefined_p(self.context.as_ptr(), row, &raw mut error),
                sframe_fre_get_ra_mangled_p(self.context.as_ptr(), row, &raw mut error),
            )
        };

        if error != 0 {
            return Answer::Refused("no information byte");
        }
        if undefined {
            return Answer::Outermost;
        }
        let frame = self.offsets(found).and_then(|offsets| {
            if found.kind == FLEXIBLE {
                self.flexible(found, &offsets, signed)
            } else {
                Ok(self.default(&offsets, signed))
            }
        });
        frame.map_or_else(Answer::Refused, Answer::Frame)
    }

    fn default(&self, offsets: &Offsets, signed: bool) -> Frame {
        let base = if offsets.from_sp { self.abi.sp() } else { self.abi.fp() };
        let at_cfa = |offset: Option<i32>| offset.map_or(Value::Unchanged, Value::AtCfa);

        Frame {
            cfa: Value::Register(base, offsets.cfa),
            // `SFRAME_FRE_RA_OFFSET_INVALID` is 0.
            ra: at_cfa(offsets.ra.filter(|ra| *ra != 0)),
            fp: at_cfa(offsets.fp),
            signed,
        }
    }

    /// A flexible row. The library returns its offsets, and its control words undecoded.
    fn flexible(
        &self,
        found: &Found,
        offsets: &Offsets,
        signed: bool,
    ) -> Result<Frame, &'static str> {
        let cfa = self.word(found, 0).ok_or("no control word")?;
        let ra = self.word(found, 2).filter(|control| *control != 0);
        let fp_word = if ra.is_some() { 4 } else { 3 };
        let fp = self.word(found, fp_word).filter(|control| *control != 0);
        let tracked = |control, offset: Option<i32>, missing| match (control, offset) {
            (None, _) => Ok(missing),
            (Some(control), Some(offset)) => Ok(value(control, offset)),
            (Some(_), None) => Err("a control word without offset"),
        };

        Ok(Frame {
            cfa: value(cfa, offsets.cfa),
            ra: tracked(ra, offsets.ra, self.abi.default_ra())?,
            fp: tracked(fp, offsets.fp, Value::Unchanged)?,
            signed,
        })
    }

    /// Data word `nth` of a row.
    fn word(&self, found: &Found, nth: c_int) -> Option<u32> {
        let mut error = 0;
        // SAFETY: The row is one that the library has filled in; the error is a local.
        let word = unsafe { sframe_get_fre_udata(&raw const found.row, nth, &raw mut error) };

        (error == 0).then_some(word)
    }

    /// `pc` relative to the table, as the library takes it.
    fn relative(&self, pc: u64) -> i64 {
        pc.wrapping_sub(self.base).cast_signed()
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        let mut context: *mut Context = self.context.as_ptr();
        // SAFETY: The context is valid, and nothing uses it after this.
        unsafe { sframe_decoder_free(ptr::from_mut(&mut context)) };
    }
}

/// The meaning of a control word and its offset.
fn value(control: u32, offset: i32) -> Value {
    let register = control >> 3;

    match (control & 1 != 0, control & 2 != 0) {
        (true, true) => Value::AtRegister(register, offset),
        (true, false) => Value::Register(register, offset),
        (false, _) => Value::AtCfa(offset),
    }
}
