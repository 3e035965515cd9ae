/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The usual frames of a user stack, in as few instructions as that takes.
 */
#ifndef _KERNEL_UNWIND_FOLLOW_H
#define _KERNEL_UNWIND_FOLLOW_H

#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_tables.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#ifdef CONFIG_UNWIND_USER_TABLES

/* The rule of a frame with a frame pointer, in a word; 0 if it is not a usual one. */
static __always_inline u64 unwind_user_fp_rule(void)
{
	const struct unwind_user_frame frame = {
		ARCH_INIT_USER_FP_FRAME((int)sizeof(u64))
	};
	const u64 fp = frame.fp_off + UNWIND_USER_NEAR, cfa = frame.cfa_off;

	if (frame.cfa_from != UNWIND_USER_REG(UNWIND_USER_FP) ||
	    frame.ra_from != UNWIND_USER_AT_CFA || frame.ra_off != -(int)sizeof(u64) ||
	    frame.fp_from != UNWIND_USER_AT_CFA || !fp || fp >= UNWIND_USER_NEAR ||
	    fp % sizeof(u64) || cfa % sizeof(u64) ||
	    cfa / sizeof(u64) >> UNWIND_TABLES_RULE_CFA_BITS)
		return 0;
	return UNWIND_TABLES_RULE_USUAL | UNWIND_TABLES_RULE_FROM_FP |
	       fp / sizeof(u64) << UNWIND_TABLES_RULE_FP |
	       cfa / sizeof(u64) << UNWIND_TABLES_RULE_CFA;
}

/*
 * Whether a return address that a frame pointer has led to is in text: without
 * looking at mappings.
 */
static __always_inline bool unwind_user_is_known_text(const struct unwind_user_state *state,
						      unsigned long addr)
{
	return (addr >= state->text_start && addr < state->text_end) ||
	       unwind_tables_is_nothing(&state->tables, addr);
}

/* Whether there is no table, and a frame pointer that may lead on. */
static __always_inline bool unwind_user_has_fp(const struct unwind_user_state *state,
					       unsigned long ip, unsigned long sp,
					       unsigned long fp)
{
	return state->tables.nothing.error == -ENOENT && fp && fp >= sp &&
	       (state->available_types & UNWIND_USER_TYPE_FP);
}

/*
 * Go from frame to frame as long as the rule is known and usual: the CFA is a
 * register's, and the return address and the frame pointer are just below it. That is
 * so with most frames of most stacks. What changes from one to the next stays in
 * registers.
 *
 * Tables are asked about an address of which nothing is remembered. The outermost frame
 * ends the stack. Any other frame that is not usual is left to
 * unwind_user_next(), and so is one whose caller is not found here: only there it is said
 * why a stack ends early. Each step here is one that unwind_user_next() would do alike.
 */
static __always_inline unsigned int
unwind_user_follow(struct unwind_user_state *state, unsigned long *entries, unsigned int nr,
		   unsigned int max)
{
	struct unwind_tables_walk *walk = &state->tables;
	/* The lowest CFA below which all words are in the stack, and how much is above. */
	const unsigned long lowest = state->stack_start + UNWIND_USER_NEAR;
	const unsigned long room = state->stack_end - lowest;
	/* A caller is where it called, not where the callee returns to. */
	unsigned long ip = state->ip - !state->exact;
	unsigned long sp = state->sp, fp = state->fp;
	const u64 fp_rule = unwind_user_fp_rule();
	bool guess = false, guessed = false, signal = false;
	const unsigned int first = nr;

	state->rule = 0;
	/*
	 * A probed task may be at the start of a function: unwind_user_next_fp() knows
	 * what to do there.
	 */
	if (!(state->available_types & UNWIND_USER_TYPE_TABLES) || state->maybe_signal ||
	    state->tracked || uprobe_is_task_probed() || ip >= TASK_SIZE_MAX ||
	    state->stack_end - state->stack_start < UNWIND_USER_NEAR)
		return nr;

	while (nr < max && !signal) {
		unsigned long cfa, ra, caller_fp = fp, above = 0;
		const void __user *near;
		unsigned int saved;
		bool by_fp;
		u64 rule;

		by_fp = unwind_tables_is_nothing(walk, ip);
		if (by_fp) {
			rule = unwind_user_has_fp(state, ip, sp, fp) ? fp_rule : 0;
		} else {
			rule = walk->cache ? unwind_tables_cached(walk, ip) : 0;
			if (unlikely(!(rule & UNWIND_TABLES_RULE_USUAL)) && !rule) {
				walk->caller = nr != first || !state->exact;
				rule = unwind_tables_ask(ip, walk);
			}
		}
		if (!(rule & UNWIND_TABLES_RULE_USUAL)) {
			if (rule & UNWIND_TABLES_RULE_OUTERMOST) {
				state->end = UNWIND_USER_END_COMPLETE;
				state->done = true;
			}
			state->rule = rule;
			break;
		}

		cfa = (rule & UNWIND_TABLES_RULE_FROM_FP ? fp : sp) +
		      (rule >> UNWIND_TABLES_RULE_CFA) * sizeof(u64);
		if (cfa <= sp || cfa & (sizeof(u64) - 1) || cfa - lowest > room)
			break;

		/* In bytes from @near: a number of words, shifted by less than these are. */
		saved = rule * (sizeof(u64) >> UNWIND_TABLES_RULE_FP) &
			(UNWIND_USER_NEAR - sizeof(u64));
		near = (const void __user *)(cfa - UNWIND_USER_NEAR);
		scoped_user_read_access_size(near, UNWIND_USER_NEAR + sizeof(u64), fault) {
			const void __user *top = near + UNWIND_USER_NEAR;

			unsafe_get_user(ra, (unsigned long __user *)(top - sizeof(u64)), fault);
			if (saved)
				unsafe_get_user(caller_fp, (unsigned long __user *)(near + saved),
						fault);
			if (cfa < state->stack_end)
				unsafe_get_user(above, (unsigned long __user *)top, no_word_above);
		}
no_word_above:
		ra = arch_unwind_user_return_address(ra);
		/* Neither 0, nor what is no user address; and where a guess leads to is text. */
		if (ra - 1 >= TASK_SIZE_MAX - 1 ||
		    (by_fp && !unwind_user_is_known_text(state, ra)))
			break;

		entries[nr++] = ra;
		ip = ra - 1;
		sp = cfa;
		fp = caller_fp;
		guess = by_fp;
		guessed |= by_fp;
		signal = arch_unwind_user_maybe_signal(ra, above);
	}
fault:
	if (nr == first)
		return nr;

	state->ip = ip + 1;
	state->sp = sp;
	state->fp = fp;
	state->topmost = false;
	state->context = 0;
	state->exact = false;
	state->maybe_signal = signal;
	state->guessed |= guessed;
	state->current_type = guess ? UNWIND_USER_TYPE_FP : UNWIND_USER_TYPE_TABLES;
	return nr;
}

#else /* !CONFIG_UNWIND_USER_TABLES */

static inline unsigned int
unwind_user_follow(struct unwind_user_state *state, unsigned long *entries, unsigned int nr,
		   unsigned int max)
{
	return nr;
}

#endif /* !CONFIG_UNWIND_USER_TABLES */

#endif /* _KERNEL_UNWIND_FOLLOW_H */
