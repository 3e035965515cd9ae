// SPDX-License-Identifier: GPL-2.0

//! Unwind tables of user space.
//!
//! Programs bring tables that say, for each of their instructions, where the caller's frame is.
//! This crate keeps track of which text belongs to which table, and answers one question: what
//! rule holds at an address? The walker, `kernel/unwind/user.c`, applies it.
//!
//! - [`parse`] turns bytes into rules, and knows no kernel.
//! - `user_memory` is the only place that reads user memory.
//! - `registry` is the only place that knows about locks and lifetimes.
//! - This file is the only one that is called from C.
//!
//! C header: [`include/linux/unwind_tables.h`](srctree/include/linux/unwind_tables.h)

mod parse;
mod registry;
mod section;
mod user_memory;

#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod tables_kunit;

use kernel::{
    bindings,
    prelude::*, //
};

use crate::{
    parse::{
        Budget,
        Register,
        Rule,
        Value, //
    },
    registry::Registry,
    section::Section, //
};

const __LOG_PREFIX: &[u8] = b"unwind_tables\0";

impl From<parse::Error> for Error {
    fn from(error: parse::Error) -> Self {
        match error {
            parse::Error::NotFound => ENOENT,
            parse::Error::Fault => EFAULT,
            parse::Error::Malformed(_) => EINVAL,
            parse::Error::Budget => E2BIG,
        }
    }
}

/// The rule in the form that the walker applies; none if it cannot.
fn user_frame(rule: Rule) -> Option<bindings::unwind_user_frame> {
    if rule.is_outermost() {
        return Some(bindings::unwind_user_frame {
            outermost: true,
            ..Default::default()
        });
    }

    let (use_fp, cfa_off) = match rule.cfa() {
        Value::Register(Register::Sp, offset) => (false, offset),
        Value::Register(Register::Fp, offset) => (true, offset),
        _ => return None,
    };
    let ra_off = match rule.ra() {
        Value::AtCfa(offset) => offset,
        _ => return None,
    };
    let fp_off = match rule.fp() {
        Value::Unchanged => 0,
        // What is at the CFA belongs to the caller, and 0 stands for nothing at all.
        Value::AtCfa(offset) if offset != 0 => offset,
        _ => return None,
    };

    Some(bindings::unwind_user_frame {
        cfa_off,
        ra_off,
        fp_off,
        use_fp,
        outermost: false,
    })
}

/// The errno that C is told.
fn errno(result: Result) -> c_int {
    result.map_or_else(|error| error.to_errno(), |()| 0)
}

/// Registers a table: see `unwind_tables_register()` in the C header.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns.
#[export]
pub unsafe extern "C" fn unwind_tables_register(
    mm: *mut bindings::mm_struct,
    table_start: usize,
    table_end: usize,
    text_start: usize,
    text_end: usize,
) -> c_int {
    errno(
        Section::new(table_start, table_end, text_start, text_end)
            // SAFETY: By the requirement of this function.
            .and_then(|section| unsafe { Registry::register(mm, section) }),
    )
}

/// Finds the rule for an address: see `unwind_tables_lookup()` in the C header.
///
/// # Safety
///
/// `tables` must be what `current->mm` points to; `frame` and `budget` must be valid for writing
/// and reading.
#[export]
pub unsafe extern "C" fn __unwind_tables_lookup(
    tables: *mut bindings::unwind_tables,
    ip: usize,
    frame: *mut bindings::unwind_user_frame,
    budget: *mut u32,
) -> c_int {
    // SAFETY: A registry lives as long as its address space has users, and `current` is one.
    let registry = unsafe { &*tables.cast::<Registry>() };
    // SAFETY: By the requirement of this function.
    let (frame, units) = unsafe { (&mut *frame, &mut *budget) };
    let mut budget = Budget::new(*units);
    let rule = registry.rule(ip, &mut budget);

    *units = budget.left();
    errno(rule.map_err(Error::from).and_then(|rule| {
        *frame = user_frame(rule).ok_or(ENOENT)?;
        Ok(())
    }))
}

/// Copies a registry at fork: see `unwind_tables_dup()` in the C header.
///
/// # Safety
///
/// `old` must point to a `struct mm_struct` that keeps its users until this returns, `mm` to a new
/// one that nobody else uses.
#[export]
pub unsafe extern "C" fn __unwind_tables_dup(
    mm: *mut bindings::mm_struct,
    old: *mut bindings::mm_struct,
) {
    // SAFETY: By the requirement of this function.
    unsafe { Registry::duplicate(mm, old) };
}

/// Frees a registry: see `unwind_tables_exit()` in the C header.
///
/// # Safety
///
/// `tables` must be what a `struct mm_struct` without users points to, and no longer be used.
#[export]
pub unsafe extern "C" fn __unwind_tables_free(tables: *mut bindings::unwind_tables) {
    // SAFETY: By the requirement of this function.
    unsafe { Registry::free(tables) };
}
