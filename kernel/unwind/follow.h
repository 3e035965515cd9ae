/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loop for usual frames, in few instructions.
 */
#ifndef _KERNEL_UNWIND_FOLLOW_H
#define _KERNEL_UNWIND_FOLLOW_H

#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include "user.h"

/* Pack the rule of a frame with a frame pointer; 0 if that is not a usual rule. */
static __always_inline u64 unwind_user_fp_rule(void)
{
	const struct unwind_user_frame frame = {
		ARCH_INIT_USER_FP_FRAME((int)sizeof(u64))
	};
	const u64 fp = frame.fp_off + UNWIND_USER_NEAR, cfa = frame.cfa_off;

	if (ARCH_UNWIND_USER_FP_LOSES_SP ||
	    frame.cfa_from != UNWIND_USER_REG(UNWIND_USER_FP) ||
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
 * Get the address behind a usual frame's return address. Calls that store it do so just
 * below the CFA.
 */
static __always_inline unsigned long unwind_user_above_ra(u64 rule, unsigned long cfa)
{
	const u64 mask = GENMASK_ULL(UNWIND_TABLES_RULE_RA_BITS - 1, 0);

	if (!ARCH_UNWIND_USER_RA)
		return cfa;
	return cfa - (rule >> UNWIND_TABLES_RULE_RA & mask) * sizeof(u64);
}

/* Say whether skipped text has no table, and the frame pointer may lead on. */
static __always_inline bool unwind_user_has_fp(const struct unwind_user_state *state,
					       unsigned long ip, unsigned long sp,
					       unsigned long fp)
{
	return state->tables.skipped.error == -ENOENT && fp && fp >= sp &&
	       (state->available_types & UNWIND_USER_TYPE_FP);
}

/*
 * Follow the stack as long as the rules are usual: the CFA is a number above the stack
 * pointer or the frame pointer, the return address is in the frame, and the saved frame
 * pointer is near it. Most frames of most stacks are so. The state stays in registers.
 *
 * Addresses without a remembered rule are looked up. The outermost frame ends the stack.
 * All other frames are left to unwind_user_next(), which would do each step of this in the
 * same way, and says why a stack ends early.
 */
static __always_inline unsigned int
unwind_user_follow(struct unwind_user_state *state, unsigned long *entries, unsigned int nr,
		   unsigned int max)
{
	struct unwind_tables_walk *walk = &state->tables;
	/* The lowest address with UNWIND_USER_NEAR bytes of stack below it, and the bytes above. */
	const unsigned long lowest = state->stack_start + UNWIND_USER_NEAR;
	const unsigned long room = state->stack_end - lowest;
	/* A caller is looked up at its call, not at the return address. */
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
	if (!unwind_user_has_tables(state) || state->maybe_signal || state->sp_unknown ||
	    state->tracked || uprobe_is_task_probed() || ip >= TASK_SIZE_MAX ||
	    state->stack_end - state->stack_start < UNWIND_USER_NEAR)
		return nr;

	while (nr < max && !signal) {
		unsigned long cfa, end, ra, caller_fp = fp, above = 0;
		const void __user *near;
		unsigned int saved;
		bool by_fp;
		u64 rule;

		by_fp = unwind_tables_is_skipped(walk, ip);
		if (!by_fp) {
			rule = walk->cache ? unwind_tables_cached(walk, ip) : 0;
			if (unlikely(!(rule & UNWIND_TABLES_RULE_USUAL)) && !rule) {
				walk->caller = nr != first || !state->exact;
				rule = unwind_tables_ask(ip, walk);
				by_fp = unwind_tables_is_skipped(walk, ip);
			}
		}
		if (by_fp) {
			/* The topmost function may have no frame, or none yet. */
			if (nr == first && state->exact && walk->skipped.keeps_fp)
				break;
			rule = unwind_user_has_fp(state, ip, sp, fp) ? fp_rule : 0;
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
		end = unwind_user_above_ra(rule, cfa);
		if (cfa <= sp || cfa & (sizeof(u64) - 1) || cfa - lowest > room ||
		    end - lowest > room)
			break;

		/* Offset of the saved frame pointer from @near. The field counts words. */
		saved = rule * (sizeof(u64) >> UNWIND_TABLES_RULE_FP) &
			(UNWIND_USER_NEAR - sizeof(u64));
		near = (const void __user *)(end - UNWIND_USER_NEAR);
		scoped_user_read_access_size(near, UNWIND_USER_NEAR + sizeof(u64), fault) {
			const void __user *top = near + UNWIND_USER_NEAR;

			unsafe_get_user(ra, (unsigned long __user *)(top - sizeof(u64)), fault);
			if (saved)
				unsafe_get_user(caller_fp, (unsigned long __user *)(near + saved),
						fault);
			/* A signal frame is above the return address that led to its handler. */
			if (!ARCH_UNWIND_USER_RA && cfa < state->stack_end)
				unsafe_get_user(above, (unsigned long __user *)top, no_word_above);
		}
no_word_above:
		ra = arch_unwind_user_return_address(ra);
		/* 0 is no return address. After a frame pointer, it must be in text. */
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

#endif /* _KERNEL_UNWIND_FOLLOW_H */
