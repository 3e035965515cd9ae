// SPDX-License-Identifier: GPL-2.0

//! Unwind tables of user space.
//!
//! Programs bring tables that say, for each of their instructions, where the caller's frame is.
//! This crate keeps track of which text belongs to which table, and answers one question: what
//! rule holds at an address? The walker, `kernel/unwind/user.c`, applies it.
//!
//! - [`parse`] turns bytes into rules, and knows no kernel.
//! - `user_memory` is the only module that reads user memory, through two C files, and `mappings`
//!   the only one that looks at mappings.
//! - `layout` asserts that C and Rust agree on each byte of a rule.
//! - `table` lists the formats. Another format is a folder of [`parse`], and a variant there.
//! - `walk` is the state that the lookups of a stack share.
//! - `text` is a range of text with its tables. `registry` has the texts of an address space, and
//!   is the only module that knows about locks and lifetimes.
//! - This file has all functions that C calls.
//!
//! C headers: [`include/linux/unwind_tables.h`](srctree/include/linux/unwind_tables.h) and
//! `tables.h`

mod layout;
mod mappings;
mod parse;
mod registry;
mod table;
mod text;
mod user_memory;
mod walk;

#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod discover_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod formats_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod tables_kunit;
#[cfg(CONFIG_UNWIND_USER_TABLES_KUNIT_TEST)]
mod user_memory_kunit;

use kernel::{
    bindings,
    error::from_result,
    prelude::*, //
};

use crate::{
    mappings::Mappings,
    parse::{
        Arch,
        Call,
        Packed,
        Rule,
        Stub, //
    },
    registry::{
        max_explicit,
        register_at_exec,
        walk_flags,
        Registry, //
    },
    table::{
        Format,
        Machine,
        Table, //
    },
    text::{
        Origin,
        State,
        Text, //
    },
    walk::Walk, //
};

const __LOG_PREFIX: &[u8] = b"unwind_tables\0";

impl From<parse::Error> for Error {
    fn from(error: parse::Error) -> Self {
        match error {
            parse::Error::NotFound | parse::Error::Absent(_) => ENOENT,
            parse::Error::Unsupported(_) => EOPNOTSUPP,
            parse::Error::Fault => EFAULT,
            parse::Error::Malformed(_) => EBADMSG,
            parse::Error::Budget => E2BIG,
        }
    }
}

impl Table {
    /// Describes a table of `format` for `/proc/PID/unwind_tables`.
    fn info(&self, format: Format, text: &Text) -> bindings::unwind_table_info {
        let info = bindings::unwind_table_info {
            table_start: self.start(),
            table_end: self.end(),
            header: match format {
                Format::SFrame => 0,
                Format::EhFrame => self.header(),
            },
            format: format as u32,
            origin: self.origin as u32,
            ..text.info()
        };

        match &self.state {
            State::Unread => info,
            State::Good(_) => bindings::unwind_table_info {
                state: bindings::unwind_table_state_UNWIND_TABLE_GOOD,
                ..info
            },
            State::Bad(malformed) => bindings::unwind_table_info {
                state: bindings::unwind_table_state_UNWIND_TABLE_DISABLED,
                reason: malformed.reason.name().as_char_ptr(),
                reason_offset: malformed.offset,
                ..info
            },
        }
    }
}

impl Text {
    /// Describes a text for `/proc/PID/unwind_tables`, without its tables.
    fn info(&self) -> bindings::unwind_table_info {
        bindings::unwind_table_info {
            text_start: self.start,
            text_end: self.end,
            origin: Origin::Discovery as u32,
            reason: self
                .absence
                .map_or(core::ptr::null(), |absence| absence.name().as_char_ptr()),
            ..Default::default()
        }
    }

    /// Writes an info for each table, or one for a text without a table. Returns their number.
    fn write(&self, infos: &mut [bindings::unwind_table_info; Format::COUNT]) -> c_uint {
        let absent = self.is_absent().then(|| self.info());
        let tables = Format::ALL
            .into_iter()
            .filter_map(|format| Some(self.table(format)?.info(format, self)));

        Iterator::zip(infos.iter_mut(), Iterator::chain(tables, absent))
            .map(|(to, info)| *to = info)
            .count() as c_uint
    }

    /// Makes a text of what a program registers.
    ///
    /// # Errors
    ///
    /// `EINVAL` if a range is empty, the table has 4 GiB or more, its header is outside of it, or
    /// the format is unknown.
    fn from_program(table: &bindings::unwind_table) -> Result<Self> {
        let format = Format::from_number(table.format).ok_or(EINVAL)?;
        let (start, end) = (table.table_start as usize, table.table_end as usize);
        let header = match format {
            Format::SFrame if table.header != 0 => return Err(EINVAL),
            Format::SFrame => start,
            Format::EhFrame => table.header as usize,
        };
        let mut tables = [None; Format::COUNT];

        *format.of_mut(&mut tables) =
            Some(Table::new(start, end, header, Origin::Prctl).ok_or(EINVAL)?);
        Self::new(table.text_start as usize, table.text_end as usize, tables)
    }
}

static_assert!(Format::COUNT == bindings::UNWIND_TABLE_FORMATS as usize);

impl Format {
    /// Returns the format with a number. Returns `None` if this kernel does not read it.
    fn from_number(number: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|format| *format as u32 == number && format.is_built_in())
    }
}

/// Registers a table of the current process: see `PR_UNWIND_TABLES_REGISTER`.
///
/// # Safety
///
/// `mm` must be what `current->mm` points to, `table` must be valid for reading.
#[export]
pub unsafe extern "C" fn __unwind_tables_register(
    mm: *mut bindings::mm_struct,
    table: *const bindings::unwind_table,
) -> c_int {
    from_result(|| {
        // SAFETY: `table` is valid, by the requirement of this function.
        let table = unsafe { &*table };
        let text = Text::from_program(table)?;
        // SAFETY: The current task is a user of `mm`.
        let registry = unsafe { Registry::get_or_new(mm, GFP_KERNEL_ACCOUNT) }?;
        let mappings = Mappings::lock()?;

        mappings.check(table)?;
        registry.register(text, max_explicit())?;
        Ok(0)
    })
}

/// Removes a table of the current process: see `PR_UNWIND_TABLES_UNREGISTER`.
///
/// # Safety
///
/// As for [`__unwind_tables_register`].
#[export]
pub unsafe extern "C" fn __unwind_tables_unregister(
    mm: *mut bindings::mm_struct,
    table: *const bindings::unwind_table,
) -> c_int {
    // SAFETY: The current task is a user of `mm`, and `table` is valid.
    let (registry, table) = unsafe { (Registry::get(mm), &*table) };

    from_result(|| {
        let format = Format::from_number(table.format).ok_or(EINVAL)?;
        let (start, end) = (table.text_start as usize, table.text_end as usize);

        registry.ok_or(ENOENT)?.unregister(start, end, format)?;
        Ok(0)
    })
}

/// Registers the tables of a program that exec has mapped: see the C header.
///
/// # Safety
///
/// `mm` must be what `current->mm` points to. There must be `len` bytes at `headers`, valid for
/// reading.
#[export]
pub unsafe extern "C" fn unwind_tables_exec(
    mm: *mut bindings::mm_struct,
    bias: usize,
    headers: *const c_void,
    len: usize,
) {
    // SAFETY: `headers` has `len` bytes, by the requirement of this function.
    let headers = unsafe { core::slice::from_raw_parts(headers.cast(), len) };

    // Profilers can do without: whatever is wrong with the tables, the program starts.
    // SAFETY: As this function requires.
    let _ = unsafe { register_at_exec(mm, bias, headers) };
}

/// Finds the first text that reaches beyond an address: see the C header.
///
/// # Safety
///
/// `mm` must point to a `struct mm_struct` that keeps its users until this returns; `infos` must be
/// initialised and valid for writing, one for each format.
#[export]
pub unsafe extern "C" fn unwind_tables_next(
    mm: *mut bindings::mm_struct,
    from: usize,
    infos: *mut bindings::unwind_table_info,
) -> c_uint {
    // SAFETY: `mm` keeps its users, and `infos` is one for each format.
    let (registry, infos) = unsafe { (Registry::get(mm), &mut *infos.cast()) };

    registry
        .and_then(|registry| registry.next(from))
        .map_or(0, |text| text.write(infos))
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

/// Finds the rule for an address. The rule has the place of `register` instead of that of the frame
/// pointer.
///
/// Returns a word: see [`Walk::put`]. C may remember it, unless the generation of `walk` is 0 then.
///
/// # Safety
///
/// `walk` must be initialised and valid for reading and writing, and nothing else may use it. Its
/// `tables` must be what `current->mm` points to, its `last` from the last call, or with a
/// generation of zero.
#[export]
pub unsafe extern "C" fn __unwind_tables_find(
    ip: usize,
    register: c_uint,
    walk: *mut bindings::unwind_tables_walk,
) -> u64 {
    // SAFETY: `tables` is what `current->mm` points to. A registry lives as long as its address
    // space has users, and `current` is one.
    let registry = unsafe { &*(*walk).tables.cast::<Registry>() };
    // SAFETY: `walk` is valid, its `last` from the last call or without a generation.
    let mut walk = unsafe { Walk::from_raw(walk) };
    let tracked = match register {
        bindings::UNWIND_USER_FP => Machine::FP,
        register => register,
    };
    let found = registry.rule(ip, tracked, &mut walk);

    walk.put(ip, found)
}

/// Writes the rule of a word to `frame`.
///
/// # Safety
///
/// `frame` must be valid for writing.
#[export]
pub unsafe extern "C" fn __unwind_tables_unpack(
    word: u64,
    frame: *mut bindings::unwind_user_frame,
) -> c_int {
    let Some(rule) = Packed::from_word(word).and_then(Packed::rule) else {
        return ENOENT.to_errno();
    };

    // SAFETY: `frame` is valid for writing, and the two are laid out alike: see `layout`.
    unsafe { frame.cast::<Rule>().write(rule) };
    0
}

/// Says whether a call instruction ends at address `ra`, behind [`Call::LEN`] bytes of code. If it
/// leads to an address that it has itself, writes that to `target`, which is left alone otherwise.
///
/// # Safety
///
/// `code` must be valid for reading, `target` for writing.
#[export]
pub unsafe extern "C" fn unwind_tables_is_call(
    code: *const u8,
    ra: usize,
    target: *mut usize,
) -> bool {
    // SAFETY: `code` is valid for reading so many bytes.
    let call = Machine::call(unsafe { &*code.cast() });

    if let Some(Call::Direct(distance)) = call {
        // SAFETY: `target` is valid for writing.
        unsafe { target.write(ra.wrapping_add_signed(distance as isize)) };
    }
    call.is_some()
}

static_assert!(Call::LEN == bindings::UNWIND_TABLES_CALL as usize);

/// Says whether code is that of a linker's stub, given [`Stub::LEN`] words around an address: see
/// [`Arch::is_stub`].
///
/// # Safety
///
/// `code` must be valid for reading.
#[export]
pub unsafe extern "C" fn unwind_tables_is_stub(code: *const u32) -> bool {
    // SAFETY: `code` is valid for reading so many words.
    Machine::is_stub(unsafe { &*code.cast() })
}

static_assert!(Stub::BEFORE == bindings::UNWIND_TABLES_STUB_BEFORE as usize);
static_assert!(Stub::LEN == bindings::UNWIND_TABLES_STUB as usize);

/// Makes a registry for an address space that has none. Returns null if there is no memory.
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

/// Frees a registry, and its cache: see `unwind_tables_exit()` in the C header.
///
/// # Safety
///
/// `tables` must be what a `struct mm_struct` without users points to, and no longer be used.
#[export]
pub unsafe extern "C" fn __unwind_tables_free(tables: *mut bindings::unwind_tables) {
    // SAFETY: `tables` is valid until it is freed. It has the only pointer to the cache.
    unsafe { bindings::kvfree((*tables).cache.cast()) };
    // SAFETY: `tables` was published in an address space that has no users any more.
    unsafe { Registry::free(tables) };
}
