// SPDX-License-Identifier: GPL-2.0

//! What a walk does with a registry: it looks up rules, and says what it found out about tables.

use core::cell::Cell;

use kernel::{
    alloc::{
        flags::{
            __GFP_NORETRY,
            __GFP_NOWARN, //
        },
        Flags, //
    },
    bindings,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Relaxed,
            Release, //
        },
        rcu, //
    },
};

use super::Registry;

use crate::{
    cache,
    entry::Entry,
    parse::{
        Budget,
        Error,
        Malformed,
        Rule, //
    },
    recent::Last,
    section::{
        Found,
        Judged,
        Section,
        Verdict, //
    },
    table::{
        Common,
        Format,
        Header,
        Table, //
    },
    user_memory::UserMemory,
    walk::{
        Formats,
        Lookups,
        Walk, //
    },
};

/// How a walk allocates: it can do without, and nobody should be killed for it.
pub(crate) fn walk_flags() -> Flags {
    GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY
}

/// How a walk allocates while it holds the lock: fork() and munmap() take that inside the mmap
/// lock, and must not wait for the reclaim of memory that a profiler causes.
pub(super) fn locked_walk_flags() -> Flags {
    GFP_NOWAIT | __GFP_NOWARN
}

/// A table that is good, and how to read it.
struct Good<'a> {
    header: &'a Header,
    common: &'a mut Common,
    memory: UserMemory<'a>,
    /// Where it stands.
    base: usize,
}

impl Good<'_> {
    /// What `then` makes of the rule that holds at address `pc`.
    #[inline(always)]
    fn with_rule<T>(
        self,
        pc: usize,
        budget: &mut Budget,
        then: impl FnOnce(Rule) -> T,
    ) -> Result<T, Error> {
        self.header
            .with_rule(self.common, &self.memory, self.base, pc, budget, then)
    }
}

impl Registry {
    /// The rule that holds at address `pc`, from the tables of the text that this is in. If the
    /// current process has not registered any, they are looked for.
    ///
    /// Looks first at what `walk` has found last, and leaves there what it found, and the rule.
    /// Reads user memory.
    #[inline(always)]
    pub(crate) fn rule(
        &self,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        let formats = walk.formats();
        // What was removed before the generation was changed is not found after this: `Acquire`.
        let generation = self.generation.load(Acquire);

        if let Err(error) = self.find_last(generation, pc, walk, budget) {
            return walk.lookups().answer.put_error(0, error);
        }
        let Lookups {
            recent,
            waits,
            mut answer,
        } = walk.lookups();
        let Some(last) = recent.last() else {
            return answer.put_error(0, Error::NotFound);
        };

        let first = self.ask(last, Format::FIRST, waits, budget, |good, budget| {
            good.with_rule(pc, budget, |rule| answer.put(generation, rule))
        });
        match first {
            Ok(()) => Ok(()),
            Err(Error::Budget) => answer.put_error(generation, Error::Budget),
            Err(error) => {
                // A table that could not be read now has the first word when it can.
                let generation = if error == Error::Fault { 0 } else { generation };

                match self.ask_others(error, last, formats, pc, waits, budget) {
                    Ok(rule) => {
                        answer.put(generation, rule);
                        Ok(())
                    }
                    Err(error) => answer.put_error(generation, error),
                }
            }
        }
    }

    /// Makes the cache, if there is none. A walk can do without.
    fn make_cache(&self) {
        if !self.cache.load(Relaxed).is_null() {
            return;
        }
        let Ok(new) = cache::new(walk_flags()) else {
            return;
        };
        let new = KBox::into_raw(new);

        // INVARIANT: It was made by `KBox`, and there was none. Who sees it must see what is in it:
        // `Release`.
        if self
            .cache
            .cmpxchg(core::ptr::null_mut(), new, Release)
            .is_err()
        {
            // SAFETY: Another was faster; nobody has seen this one.
            drop(unsafe { KBox::from_raw(new) });
        }
    }

    /// Makes the section whose text holds address `pc` the last one, unless that of the last lookup
    /// is it. `generation` was loaded before.
    #[inline(always)]
    fn find_last(
        &self,
        generation: u64,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        if walk.lookups().recent.is_at(generation, pc) {
            return Ok(());
        }
        self.open(generation, pc, walk, budget)
    }

    /// The rule from the tables of the other formats, after the first one has yielded an error. If
    /// none of them has a rule, the first error is yielded that is more than
    /// [`Error::NotFound`].
    #[inline(never)]
    fn ask_others(
        &self,
        mut nothing: Error,
        last: &mut Last,
        formats: Formats,
        pc: usize,
        waits: &Cell<c_uint>,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        for format in Format::OTHERS {
            if !formats.has(format) {
                continue;
            }
            let rule = self.ask(last, format, waits, budget, |good, budget| {
                good.with_rule(pc, budget, |rule| rule)
            });

            match rule {
                Err(Error::NotFound) => {}
                Err(error) if error != Error::Budget => {
                    if nothing == Error::NotFound {
                        nothing = error;
                    }
                }
                answer => return answer,
            }
        }
        Err(nothing)
    }

    /// Like [`Registry::rule`], but what the rule says of the frame pointer is true of the register
    /// with the DWARF number `register`.
    #[inline(never)]
    pub(crate) fn rule_of(
        &self,
        register: u32,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        let formats = walk.formats();
        self.find_last(self.generation.load(Acquire), pc, walk, budget)?;
        let Lookups { recent, waits, .. } = walk.lookups();
        let last = recent.last().ok_or(Error::NotFound)?;

        for format in Format::ALL {
            if !formats.has(format) {
                continue;
            }
            let rule = self.ask(last, format, waits, budget, |good, budget| {
                good.header
                    .rule_of(register, &good.memory, good.base, pc, budget)
            });

            if rule != Err(Error::NotFound) {
                return rule;
            }
        }
        Err(Error::NotFound)
    }

    /// Lets `read` read the table of one format, if there is a good one.
    #[inline(always)]
    fn ask<T>(
        &self,
        last: &mut Last,
        format: Format,
        waits: &Cell<c_uint>,
        budget: &mut Budget,
        read: impl FnOnce(Good<'_>, &mut Budget) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Last { found, common } = last;
        let Some(table) = found.section.table(format) else {
            return Err(Error::NotFound);
        };
        let verdict = format.of_mut(&mut found.verdicts);

        if verdict.is_none() {
            *verdict = Some(self.examine_table(&found.section, format, table, waits, budget)?);
        }
        let good = match verdict {
            Some(Verdict::Good(header)) => Good {
                header,
                common,
                memory: UserMemory::new(table.start(), waits),
                base: table.start(),
            },
            Some(Verdict::Disabled(malformed)) => return Err(Error::Malformed(*malformed)),
            None => return Err(Error::NotFound),
        };
        let rule = read(good, budget);

        if let Err(Error::Malformed(malformed)) = rule {
            self.disable(&found.section, format, malformed);
        }
        rule
    }

    /// Finds the section whose text holds address `pc`.
    #[inline(never)]
    fn open(
        &self,
        generation: u64,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        let section = match self.find(pc) {
            Some(section) => section,
            None => self.discover(pc, walk, budget)?,
        };

        if section.is_absent() {
            walk.nothing().set_absent(&section);
            return Err(Error::NotFound);
        }
        let formats = walk.formats();
        let has = |format: &Format| section.table(*format).is_some() && formats.has(*format);
        if !Format::ALL.iter().any(has) {
            let (start, end) = (section.text_start, section.text_end);

            walk.nothing().set_failed(start, end, Error::NotFound);
            return Err(Error::NotFound);
        }
        // Not at each lookup: there may be no memory, and to look for some takes long.
        self.make_cache();
        walk.lookups().recent.set(generation, section);
        Ok(())
    }

    /// What is known about a table of `section`; if that is nothing, its header is read.
    #[inline(never)]
    fn examine_table(
        &self,
        section: &Section,
        format: Format,
        table: &Table,
        waits: &Cell<c_uint>,
        budget: &mut Budget,
    ) -> Result<Verdict, Error> {
        if let Some(verdict) = self.verdict(section, format, &rcu::read_lock()) {
            return Ok(verdict);
        }
        budget.spend(Budget::FIND)?;
        let memory = UserMemory::new(table.start(), waits);
        match Header::read(format, table, &memory) {
            Ok(header) => {
                let good = Verdict::Good(header);

                // If this fails, the next stack reads the header again.
                let _ = self.judge(section, format, good);
                Ok(good)
            }
            Err(Error::Malformed(malformed)) => {
                self.disable(section, format, malformed);
                Ok(Verdict::Disabled(malformed))
            }
            Err(error) => Err(error),
        }
    }

    /// Lets nobody use the table of `format` of `section` any more.
    #[cold]
    #[inline(never)]
    fn disable(&self, section: &Section, format: Format, malformed: Malformed) {
        let disabled = Verdict::Disabled(malformed);

        // If this fails, the next lookup tries again.
        if let Ok(true) = self.judge(section, format, disabled) {
            let mut found = Found::new(*section);

            *format.of_mut(&mut found.verdicts) = Some(disabled);
            if let Some(info) = found.info(format) {
                // SAFETY: It only looks at what it is given.
                unsafe { bindings::unwind_tables_disabled(&info) };
            }
        }
    }

    /// Adds a verdict on the table of `format` to a section, if that is still registered. Says
    /// whether it did.
    ///
    /// What is known to be malformed stays so, whoever read something else before or after.
    pub(crate) fn judge(
        &self,
        section: &Section,
        format: Format,
        verdict: Verdict,
    ) -> Result<bool> {
        let judged = Judged {
            id: section.id,
            verdict,
        };
        let entry = Entry::new(judged, walk_flags())?;
        let mut locked = self.lock();
        let Some(now) = locked.exact(section.text_start, section.text_end) else {
            return Ok(false);
        };

        // Not the addresses: another section may have them by now.
        let is_disabled = matches!(format.of(&now.verdicts), Some(Verdict::Disabled(_)));
        if now.section.id != section.id || is_disabled {
            return Ok(false);
        }
        let at = section.text_start;
        locked
            .verdicts(format)
            .put(at, at, entry, locked_walk_flags())?;
        if matches!(verdict, Verdict::Disabled(_)) {
            locked.raise_generation();
        }
        Ok(true)
    }
}
