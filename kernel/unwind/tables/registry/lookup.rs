// SPDX-License-Identifier: GPL-2.0

//! What a walk does with a registry: it looks up rules, and says what it found out about tables.

use kernel::{
    alloc::{
        flags::__GFP_NOWARN,
        Flags, //
    },
    bindings,
    prelude::*,
    sync::{
        atomic::{
            Relaxed,
            Release, //
        },
        rcu, //
    },
};

use super::Registry;

use crate::{
    cache,
    parse::{
        BlockHead,
        Budget,
        Error,
        Malformed,
        Rule,
        Sink, //
    },
    recent::Good,
    section::{
        Found,
        Judged,
        Section,
        Verdict, //
    },
    table::{
        Format,
        Header,
        Rest, //
    },
    user_memory::UserMemory,
    walk::{
        Lookups,
        Walk, //
    },
};

/// How a walk allocates: it can do without, and waits for no reclaim of memory. It may be a walk
/// that must not wait, or hold the lock: fork() and munmap() take that inside the mmap lock.
pub(crate) fn walk_flags() -> Flags {
    let account = GFP_KERNEL_ACCOUNT & !GFP_KERNEL;

    GFP_NOWAIT | account | __GFP_NOWARN
}

impl Registry {
    /// Finds the rule that holds at address `pc`, from the tables of the text that this is in. If
    /// the current process has not registered any, they are looked for.
    ///
    /// Looks first at what `walk` has found last, and leaves there what it found, and the rule.
    /// If `head` is given, the index of that table was searched, and this was found: C does most of
    /// the lookups in a table that is known to be good. Reads user memory.
    pub(crate) fn rule(&self, pc: usize, head: Option<&BlockHead>, walk: &mut Walk<'_>) -> Result {
        let rest = match head {
            Some(head) => Rest::behind(head),
            None => {
                let Lookups { recent, answer, .. } = walk.lookups();
                let is_new = !recent.is_at(answer.generation(), pc);
                if is_new {
                    if let Err(error) = self.open(pc, walk) {
                        return self.unknown(walk, error);
                    }
                }
                if let Err(error) = self.ensure_good(Format::FIRST, walk) {
                    return self.ask_others(error, pc, walk);
                }
                match is_new.then(|| Self::quick_rule(pc, walk)) {
                    Some(Ok(())) => return Ok(()),
                    Some(Err(rest)) => rest,
                    // C has tried.
                    None => Rest::Search,
                }
            }
        };

        match self.ask(&rest, Format::FIRST, pc, walk) {
            Ok(()) => Ok(()),
            Err(error) => self.ask_others(error, pc, walk),
        }
    }

    /// Finds the rule, if the table of the last section says so quickly.
    ///
    /// # Errors
    ///
    /// What is left to be done.
    fn quick_rule(pc: usize, walk: &mut Walk<'_>) -> Result<(), Rest> {
        let Lookups {
            recent,
            waits,
            budget,
            mut answer,
        } = walk.lookups();
        let (Good { header, base }, _) = recent.good(Format::FIRST).ok_or(Rest::Search)?;
        let memory = UserMemory::new(base, waits);

        answer.put_packed(header.quick_rule(&memory, base, pc, budget)?);
        Ok(())
    }

    /// Records that the text of an address is not known, for the reason that `error` is.
    #[cold]
    #[inline(never)]
    fn unknown(&self, walk: &mut Walk<'_>, error: Error) -> Result {
        let mut answer = walk.lookups().answer;

        answer.forget();
        answer.put_error(error)
    }

    /// Makes the cache, if there is none. A walk can do without.
    fn make_cache(&self, walk: &mut Walk<'_>) {
        if !self.cache.load(Relaxed).is_null() || walk.lacks_memory() {
            return;
        }
        let Ok(new) = cache::new() else {
            walk.set_lacks_memory();
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

    /// Asks the tables of the other formats, after the first one has yielded an error. If none of
    /// them has a rule, the first error is yielded that is more than [`Error::NotFound`].
    #[inline(never)]
    fn ask_others(&self, mut nothing: Error, pc: usize, walk: &mut Walk<'_>) -> Result {
        let formats = walk.formats();

        // A table that could not be read now has the first word when it can.
        if nothing == Error::Fault {
            walk.lookups().answer.forget();
        }
        if nothing != Error::Budget {
            for format in Format::OTHERS {
                if !formats.has(format) {
                    continue;
                }
                let asked = self
                    .ensure_good(format, walk)
                    .and_then(|()| self.ask(&Rest::Search, format, pc, walk));

                match asked {
                    Ok(()) => return Ok(()),
                    Err(Error::NotFound) => {}
                    Err(Error::Budget) => {
                        nothing = Error::Budget;
                        break;
                    }
                    Err(error) if nothing == Error::NotFound => nothing = error,
                    Err(_) => {}
                }
            }
        }
        walk.lookups().answer.put_error(nothing)
    }

    /// Asks the table of one format, if it is known to be good.
    #[inline(always)]
    fn ask(
        &self,
        rest: &Rest,
        format: Format,
        pc: usize,
        walk: &mut Walk<'_>,
    ) -> Result<(), Error> {
        let Lookups {
            recent,
            waits,
            budget,
            mut answer,
        } = walk.lookups();
        let (Good { header, base }, common) = recent.good(format).ok_or(Error::NotFound)?;
        let memory = UserMemory::new(base, waits);
        let found = header.put_rest(rest, common, &memory, base, pc, budget, &mut answer);

        self.check(found, format, walk)
    }

    /// Lets nobody use a table any more that is found to be malformed as a whole. If only a
    /// function of it is, the others are as good as before.
    fn check<T>(
        &self,
        found: Result<T, Error>,
        format: Format,
        walk: &mut Walk<'_>,
    ) -> Result<T, Error> {
        if let (Err(Error::Malformed(malformed)), Some(last)) =
            (&found, walk.lookups().recent.last())
        {
            let section = last.found.section;

            if malformed.reason.is_of_table() {
                self.disable(&section, format, *malformed, walk);
            }
        }
        found
    }

    /// The rule that holds at address `pc`, but what it says of the frame pointer is true of the
    /// register with the DWARF number `register`.
    #[inline(never)]
    pub(crate) fn rule_of(
        &self,
        register: u32,
        pc: usize,
        walk: &mut Walk<'_>,
    ) -> Result<Rule, Error> {
        let formats = walk.formats();
        let Lookups { recent, answer, .. } = walk.lookups();
        if !recent.is_at(answer.generation(), pc) {
            self.open(pc, walk)?;
        }

        for format in Format::OTHERS {
            if !formats.has(format) {
                continue;
            }
            let rule = self
                .ensure_good(format, walk)
                .and_then(|()| self.ask_of(register, format, pc, walk));

            if rule != Err(Error::NotFound) {
                return rule;
            }
        }
        Err(Error::NotFound)
    }

    /// Asks the table of one format for the rule of a register.
    fn ask_of(
        &self,
        register: u32,
        format: Format,
        pc: usize,
        walk: &mut Walk<'_>,
    ) -> Result<Rule, Error> {
        let Lookups {
            recent,
            waits,
            budget,
            ..
        } = walk.lookups();
        let (Good { header, base }, _) = recent.good(format).ok_or(Error::NotFound)?;
        let memory = UserMemory::new(base, waits);
        let rule = header.rule_of(register, &memory, base, pc, budget);

        self.check(rule, format, walk)
    }

    /// Makes the section whose text holds address `pc` the last one.
    #[inline(never)]
    fn open(&self, pc: usize, walk: &mut Walk<'_>) -> Result<(), Error> {
        let generation = walk.lookups().answer.generation();
        let section = match self.find(pc) {
            Some(section) => section,
            None => walk.with_budget(|walk, budget| self.discover(pc, walk, budget))?,
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
        // Not at each lookup: most have one.
        self.make_cache(walk);
        walk.lookups().recent.set(generation, section);
        Ok(())
    }

    /// Makes sure that the table of `format` of the last section is known to be good.
    #[inline]
    fn ensure_good(&self, format: Format, walk: &mut Walk<'_>) -> Result<(), Error> {
        let recent = walk.lookups().recent;

        if recent.good(format).is_some() {
            return Ok(());
        }
        // Most texts have a table of one format.
        if !recent.has_table(format) {
            return Err(Error::NotFound);
        }
        self.examine_table(format, walk)
    }

    /// Reads the header of the last section's table, unless there is a verdict on it.
    #[inline(never)]
    fn examine_table(&self, format: Format, walk: &mut Walk<'_>) -> Result<(), Error> {
        let Lookups {
            recent,
            waits,
            budget,
            ..
        } = walk.lookups();
        let Some(last) = recent.last() else {
            return Err(Error::NotFound);
        };
        let section = last.found.section;
        let Some(table) = section.table(format) else {
            return Err(Error::NotFound);
        };
        let known = match format.of(&last.found.verdicts) {
            None => self.verdict(&section, format, &rcu::read_lock()),
            known => *known,
        };
        let verdict = match known {
            Some(verdict) => verdict,
            None => {
                budget.spend(Budget::FIND)?;
                let header = Header::read(format, table, &UserMemory::new(table.start(), waits));

                self.judge_header(header, &section, format, walk)?
            }
        };

        walk.lookups().recent.set_verdict(format, verdict);
        match verdict {
            Verdict::Good(_) => Ok(()),
            Verdict::Disabled(malformed) => Err(Error::Malformed(malformed)),
        }
    }

    /// The verdict on a table of which nothing was known, whose header has been read.
    fn judge_header(
        &self,
        header: Result<Header, Error>,
        section: &Section,
        format: Format,
        walk: &mut Walk<'_>,
    ) -> Result<Verdict, Error> {
        match header {
            Ok(header) => {
                let good = Verdict::Good(header);

                // If this fails, the next stack reads the header again.
                let _ = self.try_to_judge(section, format, good, walk);
                Ok(good)
            }
            Err(Error::Malformed(malformed)) => {
                self.disable(section, format, malformed, walk);
                Ok(Verdict::Disabled(malformed))
            }
            Err(error) => Err(error),
        }
    }

    /// Lets nobody use the table of `format` of `section` any more.
    #[cold]
    #[inline(never)]
    fn disable(
        &self,
        section: &Section,
        format: Format,
        malformed: Malformed,
        walk: &mut Walk<'_>,
    ) {
        let disabled = Verdict::Disabled(malformed);

        // If this fails, the next stack tries again.
        if let Ok(true) = self.try_to_judge(section, format, disabled, walk) {
            let mut found = Found::new(*section);

            *format.of_mut(&mut found.verdicts) = Some(disabled);
            if let Some(info) = found.info(format) {
                // SAFETY: It only looks at what it is given.
                unsafe { bindings::unwind_tables_disabled(&info) };
            }
        }
    }

    /// The same as [`Registry::judge`], unless the walk has found before that there is no memory:
    /// to look for some takes long.
    fn try_to_judge(
        &self,
        section: &Section,
        format: Format,
        verdict: Verdict,
        walk: &mut Walk<'_>,
    ) -> Result<bool> {
        if walk.lacks_memory() {
            return Err(ENOMEM);
        }
        self.judge(section, format, verdict)
            .inspect_err(|_| walk.set_lacks_memory())
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
        let entry = rcu::Counted::new(judged, walk_flags())?;
        let mut locked = self.lock_in_walk()?;
        let Some(now) = locked.exact(section.text_start, section.text_end) else {
            return Ok(false);
        };

        // Not the addresses: another section may have them by now.
        let is_disabled = matches!(format.of(&now.verdicts), Some(Verdict::Disabled(_)));
        if now.section.id != section.id || is_disabled {
            return Ok(false);
        }
        let at = section.text_start;
        locked.verdicts(format).put(at, at, entry, walk_flags())?;
        if matches!(verdict, Verdict::Disabled(_)) {
            locked.raise_generation();
        }
        Ok(true)
    }
}
