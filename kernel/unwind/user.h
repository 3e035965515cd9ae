/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations for the files of the walker.
 */
#ifndef _KERNEL_UNWIND_USER_H
#define _KERNEL_UNWIND_USER_H

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

#include "tables/tables.h"

/*
 * Stands for a frame pointer that is not known. No aligned CFA is a whole number of words
 * above it, so unwind_user_follow() needs no test for it.
 */
#define UNWIND_USER_FP_UNKNOWN	(~0UL)

/* memory.c */
bool unwind_user_wait_for(struct unwind_tables_walk *walk, unsigned long addr, unsigned int len);
int unwind_user_read(struct unwind_user_state *state, unsigned long addr, unsigned long *word);

/* stack.c */
void unwind_user_find_first_stack(struct unwind_user_state *state);
void unwind_user_find_stack(struct unwind_user_state *state);
bool unwind_user_extend_stack(struct unwind_user_state *state, unsigned long cfa);
bool unwind_user_find_other_stack(struct unwind_user_state *state, unsigned long cfa);
bool unwind_user_find_text(struct unwind_user_state *state, unsigned long addr);
bool unwind_user_is_text(struct unwind_user_state *state, unsigned long addr);
bool unwind_user_is_no_text(struct unwind_user_state *state, unsigned long addr);
bool unwind_user_is_without_table(struct unwind_user_state *state, unsigned long addr);

/* frame.c */
int unwind_user_register(struct unwind_user_state *state, unsigned int reg,
			 unsigned long *value);
int unwind_user_apply(struct unwind_user_state *state, const struct unwind_user_frame *frame,
		      s32 cfa_above);
enum unwind_user_end unwind_user_end_of(int error);

/* by_tables.c */
int unwind_user_lookup(struct unwind_user_state *state, unsigned long ip,
		       struct unwind_user_frame *frame);
int unwind_user_next_tables(struct unwind_user_state *state);

/* call_site.c */
int unwind_user_next_call_site(struct unwind_user_state *state);

/* signal.c */
void unwind_user_check_signal(struct unwind_user_state *state);
void unwind_user_leave_trampoline(struct unwind_user_state *state);
bool unwind_user_is_signal(struct unwind_user_state *state);
bool unwind_user_is_plain_restorer(struct unwind_user_state *state);
int unwind_user_next_signal(struct unwind_user_state *state);

/* immediate.c */
void unwind_user_warm_up(void);
bool unwind_user_is_warm(const struct unwind_tables *tables);

/* outermost.c */
bool unwind_user_is_outermost(struct unwind_user_state *state);

/* Say whether a walk uses tables. */
static inline bool unwind_user_has_tables(const struct unwind_user_state *state)
{
	return IS_ENABLED(CONFIG_UNWIND_USER_TABLES) &&
	       (state->available_types & UNWIND_USER_TYPE_TABLES);
}

/*
 * Say whether the current frame, at an address that no table covers, is of code that keeps
 * frame pointers, and clears the first one: Go's, or that of an object without any table.
 */
static inline bool unwind_user_keeps_fp(const struct unwind_user_state *state,
					unsigned long addr)
{
	if (unwind_tables_is_skipped(&state->tables, addr))
		return state->tables.skipped.keeps_fp;
	return state->keeps_fp;
}

/* Say whether an address is known to be in text, without a look at the mappings. */
static __always_inline bool unwind_user_is_known_text(const struct unwind_user_state *state,
						      unsigned long addr)
{
	return (addr >= state->text_start && addr < state->text_end) ||
	       unwind_tables_is_skipped(&state->tables, addr);
}

/* Say whether a mapping is memory. A wrong address must not wake a device. */
static inline bool unwind_user_is_memory(const struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

/*
 * Take the mmap lock of the current task for reading. A walk that must not wait takes it
 * only if it is free.
 */
static inline int unwind_user_lock_mappings(void)
{
	if (current->unwind_info.no_wait)
		return mmap_read_trylock(current->mm) ? 0 : -EAGAIN;
	return mmap_read_lock_killable(current->mm);
}

#endif /* _KERNEL_UNWIND_USER_H */
