// SPDX-License-Identifier: GPL-2.0

//! Unwind tables of user space.
//!
//! Programs bring tables that say, for each of their instructions, where the caller's frame is.
//! This crate keeps track of which text belongs to which table, and answers one question: what
//! rule holds at an address? The walker, `kernel/unwind/user.c`, applies it.
//!
//! - [`parse`] turns bytes into rules, and knows no kernel.
//! - `user_memory` and `bisect`, with C files beside them, are the only ones that read user memory.
//! - `layout` asserts that C and Rust mean the same by a rule.
//! - `vdso` has the table that no process registers.
//! - `walk` and `recent` are what the lookups of a stack share.
//! - `registry`, `set`, `tree` and `entry` are the only places that know about locks and lifetimes:
//!   what an address space has, the sections that it shares with others, and what they are in.
//! - This file is the only one that is called from C.
//!
//! C header: [`include/linux/unwind_tables.h`](srctree/include/linux/unwind_tables.h)

mod bisect;
mod entry;
mod layout;
mod parse;
mod recent;
mod registry;
mod section;
mod set;
mod tree;
mod user_memory;
mod vdso;
mod walk;

#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod discover_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod tables_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod user_memory_kunit;

use core::ptr::NonNull;

use kernel::{
    bindings,
    prelude::*,
    sync::aref::ARef, //
};

use crate::{
    entry::Entry,
    parse::{
        Budget,
        Rule, //
    },
    registry::{
        slot,
        walk_flags,
        Registry, //
    },
    section::{
        Content,
        Format,
        Found,
        Origin,
        Section,
        Verdict, //
    },
    vdso::Vdso,
    walk::Walk, //
};

const __LOG_PREFIX: &[u8] = b"unwind_tables\0";

impl From<parse::Error> for Error {
    fn from(error: parse::Error) -> Self {
        match error {
            // What is not supported is as good as nothing.
            parse::Error::NotFound | parse::Error::Unsupported(_) => ENOENT,
            parse::Error::Fault => EFAULT,
            parse::Error::Malformed(_) => EINVAL,
            parse::Error::Budget => E2BIG,
        }
    }
}

/// Puts a rule into `frame`, and takes off `units` what it cost to find.
///
/// # Safety
///
/// `frame` must be valid for writing.
#[inline]
unsafe fn lookup(
    frame: *mut bindings::unwind_user_frame,
    units: &mut u32,
    find: impl FnOnce(&mut Budget) -> Result<Rule, parse::Error>,
) -> c_int {
    // So that one frame alone never uses up what is for all.
    let most = (*units).min(bindings::UNWIND_TABLES_BUDGET / Budget::LOOKUPS);
    let mut budget = Budget::new(most);
    let rule = find(&mut budget);

    *units = units.saturating_sub(most.saturating_sub(budget.left()));
    match rule {
        Ok(rule) => {
            // SAFETY: `frame` is valid for writing, and the two are laid out alike: see `layout`.
            unsafe { frame.cast::<Rule>().write(rule) };
            0
        }
        Err(error) => Error::from(error).to_errno(),
    }
}

/// The errno that C is told.
fn errno(result: Result) -> c_int {
    result.map_or_else(|error| error.to_errno(), |()| 0)
}

impl Found {
    /// The same for C.
    fn info(&self) -> bindings::unwind_table_info {
        let section = self.section;
        let mut info = bindings::unwind_table_info {
            text_start: section.text_start,
            text_end: section.text_end,
            table_start: section.table,
            table_end: section.table_end(),
            format: match section.content {
                Content::Table(Format::SFrame) => bindings::UNWIND_TABLE_SFRAME,
                Content::Absent(_) => bindings::UNWIND_TABLE_ABSENT,
            },
            origin: match section.origin {
                Origin::Exec => bindings::UNWIND_TABLE_BY_EXEC,
                Origin::Prctl => bindings::UNWIND_TABLE_BY_PRCTL,
                Origin::Discovery => bindings::UNWIND_TABLE_BY_DISCOVERY,
            },
            state: bindings::UNWIND_TABLE_UNCHECKED,
            ..Default::default()
        };

        if let Content::Absent(absence) = section.content {
            info.reason_name = absence.name().as_char_ptr();
        }
        match self.verdict {
            None => {}
            Some(Verdict::Good(_)) => info.state = bindings::UNWIND_TABLE_GOOD,
            Some(Verdict::Disabled(malformed)) => {
                info.state = bindings::UNWIND_TABLE_DISABLED;
                info.reason = malformed.reason.code();
                info.reason_offset = malformed.offset;
                info.reason_name = malformed.reason.name().as_char_ptr();
            }
        }
        info
    }
}

impl Section {
    /// What C wants to be registered.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a range is empty, the table has 4 GiB or more, or the format is unknown.
    fn from_info(info: &bindings::unwind_table_info) -> Result<Self> {
        Self::new(
            info.table_start,
            info.table_end,
            info.text_start,
            info.text_end,
            match info.format {
                bindings::UNWIND_TABLE_SFRAME => Format::SFrame,
                _ => return Err(EINVAL),
            },
            match info.origin {
                bindings::UNWIND_TABLE_BY_EXEC => Origin::Exec,
                _ => Origin::Prctl,
            },
        )
    }
}

/// Prepares a registration or an update, before locks are taken: see `unwind_tables_register()` and
/// `unwind_tables_update()` in the C header.
///
/// Returns an entry for [`__unwind_tables_insert`] or [`__unwind_tables_replace`], or an
/// `ERR_PTR()`. The caller gives the entry back to [`__unwind_tables_put`].
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns, `info` to a
/// valid `struct unwind_table_info`.
#[export]
pub unsafe extern "C" fn __unwind_tables_prepare(
    mm: *mut bindings::mm_struct,
    info: *const bindings::unwind_table_info,
    update: bool,
) -> *mut bindings::unwind_tables_entry {
    // SAFETY: `info` is valid, by the requirement of this function.
    let section = Section::from_info(unsafe { &*info });
    // SAFETY: `mm` keeps its users, by the requirement of this function.
    let entry = section.and_then(|section| unsafe { Registry::prepare(mm, section, update) });

    match entry {
        Ok(entry) => ARef::into_raw(entry).as_ptr().cast(),
        Err(error) => error.to_ptr(),
    }
}

/// Gives an entry back that [`__unwind_tables_prepare`] made.
///
/// # Safety
///
/// `entry` must be from that function, and not used any more by the caller.
#[export]
pub unsafe extern "C" fn __unwind_tables_put(entry: *mut bindings::unwind_tables_entry) {
    if let Some(entry) = NonNull::new(entry.cast::<Entry<Section>>()) {
        // SAFETY: The caller gives up this reference, which is from `__unwind_tables_prepare()`.
        drop(unsafe { ARef::from_raw(entry) });
    }
}

/// Registers what was prepared: see `unwind_tables_register()` in the C header.
///
/// # Safety
///
/// `mm` must be what `entry` was prepared for, and keep its users until this returns.
#[export]
pub unsafe extern "C" fn __unwind_tables_insert(
    mm: *mut bindings::mm_struct,
    entry: *mut bindings::unwind_tables_entry,
    most: c_uint,
) -> c_int {
    // SAFETY: `mm` keeps its users, and the caller has a reference to `entry`.
    let (registry, entry) = unsafe { (Registry::get(slot(mm)), &*entry.cast::<Entry<Section>>()) };

    errno(
        registry
            .ok_or(ENOENT)
            .and_then(|registry| registry.insert(entry.into(), most as usize)),
    )
}

/// Replaces the table of a section by what was prepared: see `unwind_tables_update()` in the C
/// header.
///
/// # Safety
///
/// As for [`__unwind_tables_insert`].
#[export]
pub unsafe extern "C" fn __unwind_tables_replace(
    mm: *mut bindings::mm_struct,
    entry: *mut bindings::unwind_tables_entry,
) -> c_int {
    // SAFETY: `mm` keeps its users, and the caller has a reference to `entry`.
    let (registry, entry) = unsafe { (Registry::get(slot(mm)), &*entry.cast::<Entry<Section>>()) };

    errno(
        registry
            .ok_or(ENOENT)
            .and_then(|registry| registry.replace(entry.into())),
    )
}

/// Removes a section, of the format that `info` says: see `unwind_tables_unregister()` in the C
/// header.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns; `info` must be
/// valid for reading and writing.
#[export]
pub unsafe extern "C" fn __unwind_tables_remove(
    mm: *mut bindings::mm_struct,
    info: *mut bindings::unwind_table_info,
) -> c_int {
    // SAFETY: `mm` keeps its users, and `info` is valid.
    let (registry, info) = unsafe { (Registry::get(slot(mm)), &mut *info) };
    let removed = registry.and_then(|registry| {
        if registry.is_shared() {
            // Where this fails, the removal waits for memory.
            let _ = registry.unshare(GFP_KERNEL_ACCOUNT);
        }
        let absent = info.format == bindings::UNWIND_TABLE_ABSENT;

        registry.remove(info.text_start, info.text_end, absent)
    });

    errno(removed.ok_or(ENOENT).map(|found| *info = found.info()))
}

/// Finds the first section whose text reaches beyond an address: see `unwind_tables_next()` in the
/// C header.
///
/// # Safety
///
/// As for [`__unwind_tables_remove`].
#[export]
pub unsafe extern "C" fn __unwind_tables_next(
    mm: *mut bindings::mm_struct,
    from: usize,
    info: *mut bindings::unwind_table_info,
) -> bool {
    // SAFETY: `mm` keeps its users, and `info` is valid.
    let (registry, info) = unsafe { (Registry::get(slot(mm)), &mut *info) };

    registry
        .and_then(|registry| registry.find_in(from, usize::MAX))
        .map(|found| *info = found.info())
        .is_some()
}

/// Finds the first section whose text reaches beyond `from`, and whose text or table has a byte in
/// `start..end`: see `unwind_tables_check()` in the C header.
///
/// # Safety
///
/// As for [`__unwind_tables_remove`].
#[export]
pub unsafe extern "C" fn __unwind_tables_touched(
    mm: *mut bindings::mm_struct,
    from: usize,
    start: usize,
    end: usize,
    info: *mut bindings::unwind_table_info,
) -> bool {
    // SAFETY: `mm` keeps its users, and `info` is valid.
    let (registry, info) = unsafe { (Registry::get(slot(mm)), &mut *info) };

    registry
        .and_then(|registry| registry.touched(from, start, end))
        .map(|found| *info = found.info())
        .is_some()
}

/// Removes what is unmapped: see `unwind_tables_unmap()` in the C header.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns.
#[export]
pub unsafe extern "C" fn __unwind_tables_unmap(
    mm: *mut bindings::mm_struct,
    start: usize,
    end: usize,
) {
    // SAFETY: `mm` keeps its users.
    if let Some(registry) = unsafe { Registry::get(slot(mm)) } {
        registry.unmap(start, end);
    }
}

/// Finds the rule for an address: see `unwind_tables_lookup()` in the C header.
///
/// # Safety
///
/// `frame` must be valid for writing, `walk` for reading and writing. Its `tables` must be what
/// `current->mm` points to, its `recent` zeroes or from the last call.
#[export]
pub unsafe extern "C" fn __unwind_tables_lookup(
    ip: usize,
    frame: *mut bindings::unwind_user_frame,
    walk: *mut bindings::unwind_tables_walk,
) -> c_int {
    // SAFETY: `tables` is what `current->mm` points to. A registry lives as long as its address
    // space has users, and `current` is one.
    let registry = unsafe { &*(*walk).tables.cast::<Registry>() };
    // SAFETY: `walk` is valid, its `recent` has only zeroes or what the last call left, and its
    // budget is another field.
    let (mut walk, units) = unsafe { (Walk::from_raw(walk), &mut (*walk).budget) };

    // SAFETY: `frame` is valid for writing.
    unsafe { lookup(frame, units, |budget| registry.rule(ip, &mut walk, budget)) }
}

/// Makes a registry for an address space that has none: see `unwind_tables_start()` in the C
/// header.
///
/// Returns null if there is no memory.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users while the result is used.
#[export]
pub unsafe extern "C" fn __unwind_tables_make(
    mm: *mut bindings::mm_struct,
) -> *mut bindings::unwind_tables {
    // SAFETY: `mm` keeps its users.
    unsafe { Registry::get_or_new(slot(mm), walk_flags()) }
        .map_or(core::ptr::null_mut(), |registry| {
            core::ptr::from_ref(registry).cast_mut().cast()
        })
}

/// Finds the rule for an address in the vDSO: see the C header.
///
/// # Safety
///
/// `frame` must be valid for writing, `walk` for reading and writing.
#[export]
pub unsafe extern "C" fn unwind_tables_lookup_vdso(
    start: usize,
    ip: usize,
    frame: *mut bindings::unwind_user_frame,
    walk: *mut bindings::unwind_tables_walk,
) -> c_int {
    // SAFETY: `walk` is valid.
    let units = unsafe { &mut (*walk).budget };

    // SAFETY: `frame` is valid for writing.
    unsafe { lookup(frame, units, |budget| Vdso::rule(start, ip, budget)) }
}

/// Makes the vDSO's table known: see the C header.
///
/// # Safety
///
/// `table` must point to `len` bytes that stay as they are for ever.
#[export]
pub unsafe extern "C" fn unwind_tables_set_vdso(table: *const c_void, len: usize, offset: usize) {
    // SAFETY: There are `len` bytes at `table`, and they stay.
    let table = unsafe { core::slice::from_raw_parts(table.cast(), len) };

    if let Err(parse::Error::Malformed(malformed)) = Vdso::set(table, offset) {
        pr_err!("the vDSO's table: {}\n", malformed.reason.text());
    }
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
) -> c_int {
    // SAFETY: `old` keeps its users, and nobody else uses `mm`.
    errno(unsafe { Registry::duplicate(mm, old) })
}

/// Frees a registry: see `unwind_tables_exit()` in the C header.
///
/// # Safety
///
/// `tables` must be what a `struct mm_struct` without users points to, and no longer be used.
#[export]
pub unsafe extern "C" fn __unwind_tables_free(tables: *mut bindings::unwind_tables) {
    // SAFETY: `tables` was published in an address space that has no users any more.
    unsafe { Registry::free(tables) };
}
