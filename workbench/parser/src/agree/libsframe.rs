// SPDX-License-Identifier: GPL-2.0

//! GNU libsframe, a library of binutils, by the declarations of `<sframe-api.h>`.

use std::ffi::{c_char, c_int, c_uint};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use anyhow::{Context as _, Result, ensure};

use super::default_ra;
use crate::parse::{Arch, Key, Register, Rule, Value};

/// `sframe_decoder_ctx`, an opaque type.
#[repr(C)]
struct Context {
    _private: [u8; 0],
}

/// `sframe_frame_row_entry`.
#[repr(C)]
struct Row {
    start: u32,
    words: [u8; 24],
    info: u8,
}

const _: () = assert!(size_of::<Row>() == 32 && align_of::<Row>() == 4);

/// The function that returns an offset of a row, in a function of a kind.
type Offset = unsafe extern "C" fn(*const Context, *const Row, u32, *mut c_int) -> i32;
/// One that says something of a row.
type Flag = unsafe extern "C" fn(*const Context, *const Row, *mut c_int) -> bool;

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
    fn sframe_find_fre(context: *const Context, pc: i64, row: *mut Row) -> c_int;
    fn sframe_get_fre_udata(row: *const Row, nth: c_int, error: *mut c_int) -> u32;
    fn sframe_fre_get_base_reg_id(row: *const Row, error: *mut c_int) -> u8;
    fn sframe_fre_get_cfa_offset(_: *const Context, _: *const Row, _: u32, _: *mut c_int) -> i32;
    fn sframe_fre_get_ra_offset(_: *const Context, _: *const Row, _: u32, _: *mut c_int) -> i32;
    fn sframe_fre_get_fp_offset(_: *const Context, _: *const Row, _: u32, _: *mut c_int) -> i32;
    fn sframe_fre_get_ra_mangled_p(_: *const Context, _: *const Row, _: *mut c_int) -> bool;
    fn sframe_fre_get_ra_undefined_p(_: *const Context, _: *const Row, _: *mut c_int) -> bool;
}

/// `SFRAME_FDE_TYPE_FLEX`; the default one is 0.
const FLEXIBLE: u32 = 1;
/// `SFRAME_BASE_REG_SP`.
const BASE_SP: u8 = 1;
/// `SFRAME_F_FDE_FUNC_START_PCREL`.
const PC_RELATIVE: u8 = 4;
/// In the information of a function: it is a signal trampoline; key B.
const SIGNAL: u8 = 1 << 7;
const KEY_B: u8 = 1 << 5;

/// A function. Its start is relative to the table.
struct Function {
    start: i64,
    size: u32,
    info: u8,
    kind: u32,
}

/// A decoded table.
pub(super) struct Table<'a, A> {
    context: NonNull<Context>,
    base: u64,
    functions: Vec<Function>,
    /// The library does not copy a table in the machine's byte order.
    bytes: PhantomData<(&'a [u8], A)>,
}

impl<'a, A: Arch> Table<'a, A> {
    /// Decodes the table `bytes` at address `base`.
    pub(super) fn new(bytes: &'a [u8], base: u64) -> Result<Self> {
        let mut error = 0;
        // SAFETY: The pointer and the length are those of a slice, which outlives the context.
        let context = unsafe { sframe_decode(bytes.as_ptr().cast(), bytes.len(), &raw mut error) };
        let context = NonNull::new(context).with_context(|| format!("libsframe: error {error}"))?;
        let mut table = Self { context, base, functions: Vec::new(), bytes: PhantomData };
        // SAFETY: The context was just made.
        let (id, count) = unsafe {
            let context = context.as_ptr();
            (sframe_decoder_get_abi_arch(context), sframe_decoder_get_num_fidx(context))
        };

        ensure!(id == A::SFRAME_ID, "libsframe sees a table of architecture {id}");
        table.functions = (0..count).map(|nth| table.function(nth)).collect::<Result<_>>()?;
        Ok(table)
    }

    fn function(&self, nth: u32) -> Result<Function> {
        let context = self.context.as_ptr();
        let (mut rows, mut size, mut start) = (0, 0, 0);
        let (mut info, mut info2, mut block) = (0, 0, 0);
        let mut error = 0;
        // SAFETY: The context is valid, and all pointers are to locals.
        let (failed, field, flags) = unsafe {
            (
                sframe_decoder_get_funcdesc_v3(
                    context,
                    nth,
                    &raw mut rows,
                    &raw mut size,
                    &raw mut start,
                    &raw mut info,
                    &raw mut info2,
                    &raw mut block,
                ),
                sframe_decoder_get_offsetof_fde_start_addr(context, nth, &raw mut error),
                sframe_decoder_get_flags(context),
            )
        };

        ensure!(failed == 0 && error == 0, "libsframe does not list function {nth}");
        if flags & PC_RELATIVE != 0 {
            start += i64::from(field);
        }
        Ok(Function { start, size, info, kind: u32::from(info2 & 0x1f) })
    }

    /// The library's rule for `pc`.
    pub(super) fn rule(&self, pc: u64) -> Result<Option<Rule>> {
        // Relative to the table, as the library takes it.
        let pc = pc.wrapping_sub(self.base) as i64;
        let mut row = Row { start: 0, words: [0; 24], info: 0 };
        // SAFETY: The context is valid, and the row is a local.
        if unsafe { sframe_find_fre(self.context.as_ptr(), pc, &raw mut row) } != 0 {
            return Ok(None);
        }
        // The library's other functions need the kind of the one that holds `pc`.
        let below = self.functions.partition_point(|function| function.start <= pc);
        let function = self.functions[..below].iter().rfind(|function| function.size != 0);
        let function = function.context("libsframe: a row of no function")?;

        let flag = |get: Flag| {
            let mut error = 0;
            // SAFETY: The context is valid, the row is one that the library has filled in, and the
            // error is a local.
            let flag = unsafe { get(self.context.as_ptr(), &raw const row, &raw mut error) };
            ensure!(error == 0, "libsframe: no information byte");
            Ok(flag)
        };
        let rule = if flag(sframe_fre_get_ra_undefined_p)? {
            Rule::outermost()
        } else {
            self.frame(&row, function.kind).context("libsframe: a value is missing")?
        };
        let signed = flag(sframe_fre_get_ra_mangled_p)?;
        let key = if function.info & KEY_B != 0 { Key::B } else { Key::A };

        Ok(Some(
            rule.with_signal(function.info & SIGNAL != 0).with_signed_ra(signed.then_some(key)),
        ))
    }

    /// The rule of a row of a function of this kind. The library returns the offsets; of a flexible
    /// row it has the control words undecoded.
    fn frame(&self, row: &Row, kind: u32) -> Option<Rule> {
        let offset = |get: Offset| {
            let mut error = 0;
            // SAFETY: As in `rule()`.
            let offset = unsafe { get(self.context.as_ptr(), row, kind, &raw mut error) };
            (error == 0).then_some(offset)
        };
        let cfa = offset(sframe_fre_get_cfa_offset)?;
        let ra = offset(sframe_fre_get_ra_offset);
        let fp = offset(sframe_fre_get_fp_offset);

        if kind != FLEXIBLE {
            let mut error = 0;
            // SAFETY: As in `rule()`.
            let base = unsafe { sframe_fre_get_base_reg_id(row, &raw mut error) };
            let base = if base == BASE_SP { Register::Sp } else { Register::Fp };
            let at_cfa = |offset: Option<i32>| offset.map_or(Value::Unchanged, Value::AtCfa);
            // `SFRAME_FRE_RA_OFFSET_INVALID` is 0.
            let ra = at_cfa(ra.filter(|ra| *ra != 0));
            return Rule::frame(Value::Register(base, cfa), ra, at_cfa(fp)).filter(|_| error == 0);
        }
        let control = |nth| word(row, nth).filter(|control| *control != 0);
        let ra_control = control(2);
        let fp_control = control(if ra_control.is_some() { 4 } else { 3 });
        let tracked = |control: Option<u32>, offset: Option<i32>, missing| match control {
            None => Some(missing),
            Some(control) => value::<A>(control, offset?),
        };

        Rule::frame(
            value::<A>(word(row, 0)?, cfa)?,
            tracked(ra_control, ra, default_ra::<A>())?,
            tracked(fp_control, fp, Value::Unchanged)?,
        )
    }
}

impl<A> Drop for Table<'_, A> {
    fn drop(&mut self) {
        let mut context: *mut Context = self.context.as_ptr();
        // SAFETY: The context is valid, and nothing uses it after this.
        unsafe { sframe_decoder_free(ptr::from_mut(&mut context)) };
    }
}

/// Data word `nth` of a row.
fn word(row: &Row, nth: c_int) -> Option<u32> {
    let mut error = 0;
    // SAFETY: The row is one that the library has filled in; the error is a local.
    let word = unsafe { sframe_get_fre_udata(row, nth, &raw mut error) };

    (error == 0).then_some(word)
}

/// The meaning of a control word and its offset.
fn value<A: Arch>(control: u32, offset: i32) -> Option<Value> {
    Some(match control & 3 {
        1 => Value::Register(A::register(control >> 3)?, offset),
        3 => Value::AtRegister(A::register(control >> 3)?, offset),
        _ => Value::AtCfa(offset),
    })
}
