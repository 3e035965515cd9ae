// SPDX-License-Identifier: GPL-2.0

//! Unwind tables of user space.
//!
//! Programs bring tables that say, for each of their instructions, where the caller's frame is.
//! This crate keeps track of which text belongs to which table, and answers one question: what
//! rule holds at an address? The walker, `kernel/unwind/user.c`, applies it.
//!
//! - [`parse`] turns bytes into rules, and knows no kernel.
//! - `user_memory` and `bisect`, with C files beside them, are the only ones that read user memory.
//!   C searches the index of the last section itself, before it calls anything here.
//! - `layout` asserts that C and Rust mean the same by a rule.
//! - `vdso` has the tables that no process registers.
//! - `table` has what there is of each format: another one is a folder of [`parse`] and a variant
//!   there.
//! - `walk` and `recent` are what the lookups of a stack share, `cache` what the stacks of a
//!   process do.
//! - `registry`, `set` and `tree` are the only places that know about locks and lifetimes:
//!   what an address space has, the sections that it shares with others, and what they are in.
//! - This file is the only one that is called from C.
//!
//! C header: [`include/linux/unwind_tables.h`](srctree/include/linux/unwind_tables.h)

mod bisect;
mod cache;
mod layout;
mod parse;
mod recent;
mod registry;
mod section;
mod set;
mod table;
mod tree;
mod user_memory;
mod vdso;
mod walk;

#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod discover_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod formats_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod tables_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod user_memory_kunit;

use core::mem::ManuallyDrop;

use kernel::{
    bindings,
    error::from_result,
    prelude::*,
    types::ForeignOwnable, //
};

use crate::{
    parse::{
        BlockHead,
        LargeBlock,
        Packed,
        Rule,
        SmallBlock, //
    },
    registry::{
        walk_flags,
        Registry, //
    },
    section::{
        Found,
        Origin,
        Section,
        Verdict, //
    },
    table::{
        Format,
        Table, //
    },
    tree::EntryRef,
    vdso::Vdso,
    walk::Walk, //
};

const __LOG_PREFIX: &[u8] = b"unwind_tables\0";

impl From<parse::Error> for Error {
    fn from(error: parse::Error) -> Self {
        match error {
            parse::Error::NotFound => ENOENT,
            parse::Error::Unsupported(_) => EOPNOTSUPP,
            parse::Error::Fault => EFAULT,
            parse::Error::Malformed(_) => EINVAL,
            parse::Error::Budget => E2BIG,
        }
    }
}

/// Puts a rule into `frame`, or says why there is none.
///
/// # Safety
///
/// `frame` must be valid for writing.
unsafe fn put(frame: *mut bindings::unwind_user_frame, rule: Result<Rule, parse::Error>) -> c_int {
    match rule {
        Ok(rule) => {
            // SAFETY: `frame` is valid for writing, and the two are laid out alike: see `layout`.
            unsafe { frame.cast::<Rule>().write(rule) };
            0
        }
        Err(error) => Error::from(error).to_errno(),
    }
}

impl Found {
    /// The same for C, of the table of one format; none if there is none.
    fn info(&self, format: Format) -> Option<bindings::unwind_table_info> {
        let table = self.section.table(format)?;
        let mut info = bindings::unwind_table_info {
            table_start: table.start(),
            table_end: table.end(),
            header: match format {
                Format::SFrame => 0,
                Format::EhFrame => table.header(),
            },
            format: format.number(),
            origin: self.section.origin(format).number(),
            state: bindings::UNWIND_TABLE_UNCHECKED,
            ..self.text_info()
        };

        match format.of(&self.verdicts) {
            None => {}
            Some(Verdict::Good(_)) => info.state = bindings::UNWIND_TABLE_GOOD,
            Some(Verdict::Disabled(malformed)) => {
                info.state = bindings::UNWIND_TABLE_DISABLED;
                info.reason = malformed.reason.code();
                info.reason_offset = malformed.offset;
                info.reason_name = malformed.reason.name().as_char_ptr();
            }
        }
        Some(info)
    }

    /// The same for C, of a text without a table; none if there is one.
    fn absence_info(&self) -> Option<bindings::unwind_table_info> {
        self.section
            .absence
            .map(|absence| bindings::unwind_table_info {
                format: bindings::UNWIND_TABLE_ABSENT,
                origin: Origin::Discovery.number(),
                reason_name: absence.name().as_char_ptr(),
                ..self.text_info()
            })
    }

    fn text_info(&self) -> bindings::unwind_table_info {
        bindings::unwind_table_info {
            text_start: self.section.text_start,
            text_end: self.section.text_end,
            ..Default::default()
        }
    }

    /// The same for C, of all tables, or of a text without one: there is one at least.
    fn infos(&self) -> impl Iterator<Item = bindings::unwind_table_info> + '_ {
        let tables = Format::ALL.iter().filter_map(|format| self.info(*format));

        Iterator::chain(tables, self.absence_info())
    }

    /// Traces that the tables are dropped which `rest` does not have any more.
    fn trace_dropped(&self, rest: Option<Section>) {
        for format in Format::ALL {
            let is_gone = rest.is_none_or(|rest| rest.table(format).is_none());

            if let Some(info) = self.info(format).filter(|_| is_gone) {
                // SAFETY: It only looks at what it is given.
                unsafe { bindings::unwind_tables_dropped(&info) };
            }
        }
    }

    /// Writes one info for each table, or one for a text without a table. Returns how many.
    ///
    /// # Safety
    ///
    /// `infos` must be valid for writing, one for each format.
    unsafe fn write(&self, infos: *mut bindings::unwind_table_info) -> c_uint {
        let mut count: c_uint = 0;

        for info in self.infos() {
            // SAFETY: There is one for each format, and no section has more.
            unsafe { infos.add(count as usize).write(info) };
            count = count.wrapping_add(1);
        }
        count
    }
}

static_assert!(Format::COUNT == bindings::UNWIND_TABLE_FORMATS as usize);

impl Origin {
    /// Its number, as programs and C know it.
    fn number(self) -> u32 {
        match self {
            Self::Exec => bindings::UNWIND_TABLE_BY_EXEC,
            Self::Prctl => bindings::UNWIND_TABLE_BY_PRCTL,
            Self::Discovery => bindings::UNWIND_TABLE_BY_DISCOVERY,
        }
    }
}

impl Format {
    /// The format with a number, if this kernel reads such tables.
    fn from_number(number: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|format| format.number() == number && format.is_built_in())
    }
}

impl Section {
    /// What C wants to be registered.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a range is empty, the table has 4 GiB or more, its header is outside of it, or
    /// the format is unknown.
    fn from_info(info: &bindings::unwind_table_info) -> Result<Self> {
        let format = Format::from_number(info.format).ok_or(EINVAL)?;
        let header = match format {
            Format::SFrame if info.header != 0 => return Err(EINVAL),
            Format::SFrame => info.table_start,
            Format::EhFrame => info.header,
        };

        Self::new(
            info.text_start,
            info.text_end,
            format,
            Table::new(info.table_start, info.table_end, header).ok_or(EINVAL)?,
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
        Ok(entry) => entry.into_foreign().cast(),
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
    // SAFETY: The caller gives up this reference, which is from `__unwind_tables_prepare()`.
    drop(unsafe { EntryRef::<Section>::from_foreign(entry.cast()) });
}

/// Another reference to an entry that [`__unwind_tables_prepare`] made.
///
/// # Safety
///
/// The caller must have a reference to `entry`.
unsafe fn another(entry: *mut bindings::unwind_tables_entry) -> EntryRef<Section> {
    // SAFETY: It is from `__unwind_tables_prepare()`. The caller keeps its reference, which is not
    // dropped here.
    let entry = ManuallyDrop::new(unsafe { EntryRef::<Section>::from_foreign(entry.cast()) });

    (*entry).clone()
}

/// Registers what was prepared: see `unwind_tables_register()` in the C header.
///
/// # Safety
///
/// `mm` must be what `entry` was prepared for, and keep its users until this returns. The caller
/// must have a reference to `entry`.
#[export]
pub unsafe extern "C" fn __unwind_tables_insert(
    mm: *mut bindings::mm_struct,
    entry: *mut bindings::unwind_tables_entry,
    most: c_uint,
) -> c_int {
    // SAFETY: `mm` keeps its users, and the caller has a reference to `entry`.
    let (registry, entry) = unsafe { (Registry::get(mm), another(entry)) };

    from_result(|| {
        registry.ok_or(ENOENT)?.insert(entry, most as usize)?;
        Ok(0)
    })
}

/// Replaces a table of a section by what was prepared: see `unwind_tables_update()` in the C
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
    let (registry, entry) = unsafe { (Registry::get(mm), another(entry)) };

    from_result(|| {
        registry.ok_or(ENOENT)?.replace(entry)?;
        Ok(0)
    })
}

/// Removes a table, of the format that `info` says: see `unwind_tables_unregister()` in the C
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
    let (registry, info) = unsafe { (Registry::get(mm), &mut *info) };
    let Some(format) = Format::from_number(info.format) else {
        return EINVAL.to_errno();
    };
    let removed = registry.and_then(|registry| {
        if registry.is_shared() {
            // Where this fails, the removal waits for memory.
            let _ = registry.unshare(GFP_KERNEL_ACCOUNT);
        }
        registry
            .remove(info.text_start, info.text_end, format)?
            .info(format)
    });

    from_result(|| {
        *info = removed.ok_or(ENOENT)?;
        Ok(0)
    })
}

/// Removes the table of `format` from the section whose text holds `text_start`. If `format` is no
/// format, it removes the section: see `unwind_tables_forget()` in the C header.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns.
#[export]
pub unsafe extern "C" fn __unwind_tables_drop(
    mm: *mut bindings::mm_struct,
    text_start: usize,
    format: c_uint,
) {
    // SAFETY: `mm` keeps its users.
    let registry = unsafe { Registry::get(mm) };

    if let Some((registry, section)) =
        registry.and_then(|registry| Some((registry, registry.find(text_start)?)))
    {
        match Format::from_number(format) {
            Some(format) => registry.drop_table(&section, format),
            None => registry.drop_section(&section),
        }
    }
}

/// Finds the first section whose text reaches beyond an address: see the C header.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns; `infos` must be
/// valid for writing, one for each format.
#[export]
pub unsafe extern "C" fn __unwind_tables_next(
    mm: *mut bindings::mm_struct,
    from: usize,
    infos: *mut bindings::unwind_table_info,
) -> c_uint {
    // SAFETY: `mm` keeps its users.
    let registry = unsafe { Registry::get(mm) };

    registry
        .and_then(|registry| registry.find_in(from, usize::MAX))
        // SAFETY: `infos` is one for each format.
        .map_or(0, |found| unsafe { found.write(infos) })
}

/// Finds the first section whose text reaches beyond `from`, and whose text or tables have a byte
/// in `start..end`: see `unwind_tables_forget()` in the C header.
///
/// # Safety
///
/// As for [`__unwind_tables_next`].
#[export]
pub unsafe extern "C" fn __unwind_tables_touched(
    mm: *mut bindings::mm_struct,
    from: usize,
    start: usize,
    end: usize,
    infos: *mut bindings::unwind_table_info,
) -> c_uint {
    // SAFETY: `mm` keeps its users.
    let registry = unsafe { Registry::get(mm) };

    registry
        .and_then(|registry| registry.touched(from, start, end))
        // SAFETY: `infos` is one for each format.
        .map_or(0, |found| unsafe { found.write(infos) })
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
    if let Some(registry) = unsafe { Registry::get(mm) } {
        registry.unmap(start, end);
    }
}

/// The rule for user address `ip` in a word, from a block that a search for it has read; or 0, if
/// [`__unwind_tables_lookup`] has to decide.
///
/// # Safety
///
/// `block` must be valid for reading and writing, and be from `unwind_bisect_block()`.
#[export]
pub unsafe extern "C" fn __unwind_tables_block_rule(
    block: *mut bindings::unwind_bisect_block,
    ip: usize,
) -> u64 {
    // SAFETY: `block` is valid, C has filled so much of it, and it is laid out so: see `bisect`.
    let block = unsafe { &mut *block.cast::<SmallBlock>() };

    table::block_rule(block, ip).map_or(0, Packed::word)
}

/// The same for a large block, or for one behind another block.
///
/// # Safety
///
/// `block` must be valid for reading and writing, and be a large one from `unwind_bisect_block()`,
/// or from `unwind_bisect_read_on()`.
#[export]
pub unsafe extern "C" fn __unwind_tables_large_block_rule(
    block: *mut bindings::unwind_bisect_block,
    ip: usize,
) -> u64 {
    // SAFETY: `block` is valid, C or Rust has filled each part of it, and it is laid out so: see
    // `bisect`.
    let block = unsafe { &mut *block.cast::<LargeBlock>() };

    table::block_rule(block, ip).map_or(0, Packed::word)
}

/// Finds the rule for an address: see `unwind_tables_ask()` in the C header.
///
/// Puts it into `walk`: into its answer, or into its frame if it does not fit there. `block` is
/// what a search for the address has found, in the table of `walk`'s `recent`, if there was one.
///
/// # Safety
///
/// `block` must be null, or what one of the functions above yielded 0 for. `walk` must be from
/// `unwind_tables_start()` and valid for reading and writing, and nothing else may use it. Its
/// `tables` must be what `current->mm` points to, its `recent` from the last call, or with a
/// generation of zero.
#[export]
pub unsafe extern "C" fn __unwind_tables_lookup(
    ip: usize,
    block: *const bindings::unwind_bisect_block,
    walk: *mut bindings::unwind_tables_walk,
) -> c_int {
    // SAFETY: `tables` is what `current->mm` points to. A registry lives as long as its address
    // space has users, and `current` is one.
    let registry = unsafe { &*(*walk).tables.cast::<Registry>() };
    // SAFETY: `walk` is valid, its `recent` from the last call or without a generation.
    let mut walk = unsafe { Walk::from_raw(walk) };
    // SAFETY: `block` is null or valid for reading, and starts with this: see `bisect`.
    let head = unsafe { block.cast::<BlockHead>().as_ref() };

    let found = registry.rule(ip, head, &mut walk);

    if ip >> bindings::UNWIND_TABLES_CACHED_BITS != 0 {
        walk.lookups().answer.forget();
    }
    from_result(|| found.map(|()| 0))
}

/// Puts a rule into `frame` that was remembered in a word: see `unwind_tables_lookup()` in the C
/// header.
///
/// # Safety
///
/// `frame` must be valid for writing.
#[export]
pub unsafe extern "C" fn __unwind_tables_unpack(
    word: u64,
    frame: *mut bindings::unwind_user_frame,
) -> c_int {
    let rule = Packed::from_word(word).and_then(Packed::rule);

    // SAFETY: `frame` is valid for writing.
    unsafe { put(frame, rule.ok_or(parse::Error::NotFound)) }
}

/// Finds what a frame's rule says of another register than the frame pointer: see
/// `unwind_tables_lookup_register()` in the C header.
///
/// # Safety
///
/// As for [`__unwind_tables_lookup`]. `frame` must be valid for writing.
#[export]
pub unsafe extern "C" fn __unwind_tables_lookup_register(
    ip: usize,
    register: c_uint,
    frame: *mut bindings::unwind_user_frame,
    walk: *mut bindings::unwind_tables_walk,
) -> c_int {
    // SAFETY: `tables` is what `current->mm` points to. A registry lives as long as its address
    // space has users, and `current` is one.
    let registry = unsafe { &*(*walk).tables.cast::<Registry>() };
    // SAFETY: `walk` is valid, its `recent` from the last call or without a generation.
    let mut walk = unsafe { Walk::from_raw(walk) };
    let rule = registry.rule_of(register, ip, &mut walk);

    // SAFETY: `frame` is valid for writing.
    unsafe { put(frame, rule) }
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
    unsafe { Registry::get_or_new(mm, walk_flags()) }.map_or(core::ptr::null_mut(), |registry| {
        core::ptr::from_ref(registry).cast_mut().cast()
    })
}

/// Finds the rule for an address in the vDSO: see the C header.
///
/// # Safety
///
/// `frame` must be valid for writing. `walk` must be from `unwind_tables_start()` and valid for
/// reading and writing, and nothing else may use it; its `recent` must be from the last call, or
/// with a generation of zero.
#[export]
pub unsafe extern "C" fn unwind_tables_lookup_vdso(
    start: usize,
    ip: usize,
    frame: *mut bindings::unwind_user_frame,
    walk: *mut bindings::unwind_tables_walk,
) -> c_int {
    // SAFETY: `walk` is valid, and from `unwind_tables_start()`: its `recent` has no generation, or
    // is from the last call.
    let mut walk = unsafe { Walk::from_raw(walk) };
    let formats = walk.formats();
    let rule = Vdso::rule(start, ip, formats, walk.lookups().budget);

    // SAFETY: `frame` is valid for writing.
    unsafe { put(frame, rule) }
}

/// Makes the vDSO's tables known: see the C header.
///
/// # Safety
///
/// `image` must point to `len` bytes that stay as they are for ever.
#[export]
pub unsafe extern "C" fn unwind_tables_set_vdso(image: *const c_void, len: usize) {
    // SAFETY: There are `len` bytes at `image`, and they stay.
    let image = unsafe { core::slice::from_raw_parts(image.cast(), len) };

    if let Err(text) = Vdso::set(image) {
        pr_err!("the vDSO: {}\n", text);
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
) {
    // Without memory, there are no tables in `mm`.
    // SAFETY: `old` keeps its users, and nobody else uses `mm`.
    let _ = unsafe { Registry::duplicate(mm, old) };
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
