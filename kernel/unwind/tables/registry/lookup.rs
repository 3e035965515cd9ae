// SPDX-License-Identifier: GPL-2.0

//! What a walk does with a registry: it looks up rules, and says what it found out about tables.

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
    sync::atomic::Acquire, //
};

use super::Registry;

use crate::{
    entry::Entry,
    parse::{
        Budget,
        Error,
        Malformed,
        Rule, //
    },
    section::{
        Content,
        Found,
        Header,
        Judged,
        Section,
        Verdict, //
    },
    user_memory::UserMemory,
    walk::Walk, //
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

impl Registry {
    /// The rule that holds at address `pc`, from the table of the text that this is in. If the
    /// current process has not registered one, it is looked for.
    ///
    /// Looks first at what `walk` has found last, and leaves there what it found. Reads user
    /// memory.
    pub(crate) fn rule(
        &self,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Rule, Error> {
        // What was removed before the generation was raised is not found after this: `Acquire`.
        let generation = self.generation.load(Acquire);

        if walk.recent.at(generation, pc).is_none() {
            self.open(generation, pc, walk, budget)?;
        }
        let (section, header) = walk.recent.at(generation, pc).ok_or(Error::NotFound)?;
        let memory = UserMemory::new(section.table, walk.waits);
        let rule = header.rule(&memory, section.table as u64, pc as u64, budget);

        if let Err(Error::Malformed(malformed)) = rule {
            self.disable(section, malformed);
        }
        rule
    }

    /// Finds the section whose text holds address `pc`, and its table's header.
    #[inline(never)]
    fn open(
        &self,
        generation: u64,
        pc: usize,
        walk: &mut Walk<'_>,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        let Found { section, verdict } = match self.find(pc) {
            Some(found) => found,
            None => self.discover(pc, walk, budget)?,
        };

        if let Content::Absent(_) = section.content {
            walk.nothing.set_absent(&section);
            return Err(Error::NotFound);
        }
        let header = self.header(&section, verdict, walk, budget)?;

        walk.recent.set(generation, section, header);
        Ok(())
    }

    /// The header of the table of `section`, read if it was not yet.
    fn header(
        &self,
        section: &Section,
        verdict: Option<Verdict>,
        walk: &Walk<'_>,
        budget: &mut Budget,
    ) -> Result<Header, Error> {
        match verdict {
            Some(Verdict::Good(header)) => Ok(header),
            Some(Verdict::Disabled(malformed)) => Err(Error::Malformed(malformed)),
            None => {
                budget.spend(Budget::FIND)?;
                let memory = UserMemory::new(section.table, walk.waits);
                let header =
                    Header::read(&memory, section.table_len.into()).inspect_err(|error| {
                        if let Error::Malformed(malformed) = error {
                            self.disable(section, *malformed);
                        }
                    })?;
                // If this fails, the next lookup reads the header again.
                let _ = self.judge(section, Verdict::Good(header));
                Ok(header)
            }
        }
    }

    /// Lets nobody use the table of `section` any more.
    #[cold]
    fn disable(&self, section: &Section, malformed: Malformed) {
        // If this fails, the next lookup tries again.
        if let Ok(true) = self.judge(section, Verdict::Disabled(malformed)) {
            let found = Found {
                section: *section,
                verdict: Some(Verdict::Disabled(malformed)),
            };
            // SAFETY: It only looks at what it is given.
            unsafe { bindings::unwind_tables_disabled(&found.info()) };
        }
    }

    /// Adds a verdict to a section, if it is still registered. Says whether it did.
    ///
    /// What is known to be malformed stays so, whoever read something else before or after.
    pub(crate) fn judge(&self, section: &Section, verdict: Verdict) -> Result<bool> {
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
        if now.section.id != section.id || matches!(now.verdict, Some(Verdict::Disabled(_))) {
            return Ok(false);
        }
        let at = section.text_start;
        locked.verdicts().put(at, at, entry, locked_walk_flags())?;
        if matches!(verdict, Verdict::Disabled(_)) {
            locked.raise_generation();
        }
        Ok(true)
    }
}
