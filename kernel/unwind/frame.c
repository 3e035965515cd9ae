// SPDX-License-Identifier: GPL-2.0
/*
 * Applies a rule: the step from a frame to its caller's.
 */
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include "user.h"

/* Say how a stack ends where a lookup, a rule, or what a signal has saved, leads nowhere. */
enum unwind_user_end unwind_user_end_of(int error)
{
	switch (error) {
	case -EFAULT:
		return UNWIND_USER_END_FAULT;
	case -ENOENT:
		/* There is no rule, or it needs a register that is not known. */
		return UNWIND_USER_END_NO_INFO;
	case -EBADMSG:
		return UNWIND_USER_END_MALFORMED;
	case -EOPNOTSUPP:
		return UNWIND_USER_END_RULE;
	case -E2BIG:
		return UNWIND_USER_END_BUDGET;
	default:
		return UNWIND_USER_END_BAD_FRAME;
	}
}

/* Get the value of a register in the current frame, or -ENOENT. */
int unwind_user_register(struct unwind_user_state *state, unsigned int reg,
			 unsigned long *value)
{
	switch (reg) {
	case UNWIND_USER_SP:
		*value = state->sp;
		return state->sp_unknown ? -ENOENT : 0;
	case UNWIND_USER_FP:
		*value = state->fp;
		return state->fp == UNWIND_USER_FP_UNKNOWN ? -ENOENT : 0;
	}
	if (state->topmost)
		return arch_unwind_user_register(state->regs, reg, value);
	if (state->context)
		return arch_unwind_user_saved_register(state, reg, value);
	if (state->tracked_known && reg == state->tracked) {
		*value = state->tracked_value;
		return 0;
	}
	return -ENOENT;
}

/* Compute a value of a rule. All registers are those of the current frame. */
static int unwind_user_value(struct unwind_user_state *state, u8 from, s32 off,
			     unsigned long cfa, unsigned long *value)
{
	unsigned long base;
	int ret;

	if (from == UNWIND_USER_AT_CFA)
		return unwind_user_read(state, cfa + off, value);
	if (from == UNWIND_USER_UNKNOWN)
		return -ENOENT;

	ret = unwind_user_register(state, from & UNWIND_USER_REG_MASK, &base);
	if (ret)
		return ret;
	if (from & UNWIND_USER_AT_REG)
		return unwind_user_read(state, base + off, value);
	*value = base + off;
	return 0;
}

/* Get the return address. A frame that has called does not have it in a register any more. */
static int unwind_user_return_address(struct unwind_user_state *state,
				      const struct unwind_user_frame *frame, unsigned long cfa,
				      unsigned long *ra)
{
	int ret;

	if (frame->ra_from != UNWIND_USER_UNCHANGED)
		ret = unwind_user_value(state, frame->ra_from, frame->ra_off, cfa, ra);
	else if (ARCH_UNWIND_USER_RA && state->exact)
		ret = unwind_user_register(state, ARCH_UNWIND_USER_RA, ra);
	else
		ret = -EINVAL;
	if (!ret)
		*ra = arch_unwind_user_return_address(*ra);
	return ret;
}

/* Read the caller's return address and frame pointer, and the word above the frame. */
static int unwind_user_read_frame(struct unwind_user_state *state,
				  const struct unwind_user_frame *frame, unsigned long cfa,
				  unsigned long *ra, unsigned long *fp, unsigned long *above)
{
	int ret;

	ret = unwind_user_return_address(state, frame, cfa, ra);
	if (!ret && frame->fp_from != UNWIND_USER_UNCHANGED) {
		ret = unwind_user_value(state, frame->fp_from, frame->fp_off, cfa, fp);
		/* The stack goes on: perhaps no rule needs it. */
		if (ret == -ENOENT) {
			*fp = UNWIND_USER_FP_UNKNOWN;
			ret = 0;
		}
	}
	/* Signal frames are known of 64-bit tasks only, and behind a stored return address. */
	if (ARCH_UNWIND_USER_RA || ret || state->ws != sizeof(long) ||
	    unwind_user_read(state, cfa, above))
		*above = 0;
	return ret;
}

/*
 * Say whether a rule itself says that the caller may have another stack: the CFA is a
 * stored value, or in a register other than the stack pointer and the frame pointer.
 */
static bool unwind_user_changes_stack(const struct unwind_user_frame *frame)
{
	return frame->cfa_from != UNWIND_USER_REG(UNWIND_USER_SP) &&
	       frame->cfa_from != UNWIND_USER_REG(UNWIND_USER_FP);
}

/*
 * The caller's frame is in another mapping: a coroutine may have been called from
 * another stack there. If the other stack has a return address, go on in it. A guess
 * waits for nothing: that memory may be swapped out.
 */
static int
unwind_user_read_across(struct unwind_user_state *state,
			const struct unwind_user_frame *frame, unsigned long cfa,
			unsigned long *ra, unsigned long *fp, unsigned long *above)
{
	const unsigned long start = state->stack_start, end = state->stack_end;
	const bool guess = !unwind_user_changes_stack(frame);
	const unsigned int waits = state->tables.waits;
	int ret = -EINVAL;

	if (state->stack_end && unwind_user_find_other_stack(state, cfa)) {
		if (guess)
			state->tables.waits = 0;
		ret = unwind_user_read_frame(state, frame, cfa, ra, fp, above);
		if (guess)
			state->tables.waits = waits;
		if (!ret && !unwind_user_is_text(state, uprobe_return_address(*ra, cfa)))
			ret = -EINVAL;
	}
	if (ret) {
		state->stack_start = start;
		state->stack_end = end;
		return ret;
	}
	if (guess)
		state->guessed = true;
	return 0;
}

/*
 * Go to the caller's frame by a rule, or leave the frame as it is. The CFA is
 * @cfa_above above where the rule says, if it is in memory.
 */
int unwind_user_apply(struct unwind_user_state *state, const struct unwind_user_frame *frame,
		      s32 cfa_above)
{
	unsigned long cfa, ra, fp = state->fp, above = 0;
	bool across = false, guess = false;
	int ret;

	/* Get the Canonical Frame Address (CFA) */
	if (frame->cfa_from == UNWIND_USER_REG(UNWIND_USER_SP) && state->sp_unknown) {
		/* After a call, the frame pointer points to where its caller's is saved. */
		if (state->exact || frame->fp_from != UNWIND_USER_AT_CFA ||
		    state->fp == UNWIND_USER_FP_UNKNOWN)
			return -ENOENT;
		cfa = state->fp - frame->fp_off;
		guess = true;
	} else if (frame->cfa_from == UNWIND_USER_REG(UNWIND_USER_SP)) {
		cfa = state->sp + frame->cfa_off;
	} else if (frame->cfa_from == UNWIND_USER_REG(UNWIND_USER_FP)) {
		if (state->fp == UNWIND_USER_FP_UNKNOWN)
			return -ENOENT;
		cfa = state->fp + frame->cfa_off;
	} else {
		unsigned long value;

		ret = unwind_user_value(state, frame->cfa_from, frame->cfa_off, 0, &value);
		if (ret)
			return ret;
		cfa = value + cfa_above;
	}
	cfa = arch_unwind_user_untag(cfa);

	/*
	 * Make sure that stack is not going in wrong direction. It may stay for
	 * a step, where a function has taken its return address off the stack. It
	 * may be anywhere else if a rule leads to another mapping, but by the stack
	 * pointer: whoever writes a circle of those has a stack as long as the
	 * kernel stores.
	 */
	if (cfa < state->sp || (cfa == state->sp && !state->exact)) {
		if (frame->cfa_from == UNWIND_USER_REG(UNWIND_USER_SP) ||
		    (cfa > state->stack_start && cfa <= state->stack_end))
			return -EINVAL;
		across = true;
	}

	/* Make sure that the address is word aligned */
	if (cfa & (state->ws - 1))
		return -EINVAL;

	if (cfa > state->stack_end && !unwind_user_extend_stack(state, cfa))
		across = true;

	/* Get the Return Address (RA) and the Frame Pointer (FP) */
	if (across)
		ret = unwind_user_read_across(state, frame, cfa, &ra, &fp, &above);
	else
		ret = unwind_user_read_frame(state, frame, cfa, &ra, &fp, &above);
	if (ret)
		return ret;
	/* The linker's stub before the resolver has pushed it, and the rule does not say so. */
	if (ARCH_UNWIND_USER_RA && frame->ra_from == UNWIND_USER_AT_CFA && frame->ra_off >= 0)
		cfa += frame->ra_off + state->ws;
	ra = uprobe_return_address(ra, cfa);

	/* perf could take a kernel address for PERF_CONTEXT_... */
	if (!ra || ra >= TASK_SIZE_MAX)
		return -EINVAL;

	state->ip = ra;
	state->sp = cfa;
	state->fp = fp;
	state->sp_unknown = false;
	state->guessed |= guess;
	state->topmost = false;
	state->context = 0;
	state->exact = frame->flags & UNWIND_USER_SIGNAL;
	state->maybe_signal = arch_unwind_user_maybe_signal(ra, above);
	return 0;
}
