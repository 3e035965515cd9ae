// SPDX-License-Identifier: GPL-2.0
/*
 * The step from a frame to its caller's by a rule.
 */
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include "user.h"

/* What a register holds in the current frame, if that is known. */
int unwind_user_register(const struct unwind_user_state *state, unsigned int reg,
			 unsigned long *value)
{
	switch (reg) {
	case UNWIND_USER_SP:
		*value = state->sp;
		return 0;
	case UNWIND_USER_FP:
		*value = state->fp;
		return state->fp == UNWIND_USER_FP_UNKNOWN ? -ENOENT : 0;
	}
	if (state->topmost)
		return arch_unwind_user_register(task_pt_regs(current), reg, value);
	if (state->context)
		return arch_unwind_user_saved_register(state->context, reg, value);
	if (state->tracked_known && reg == state->tracked) {
		*value = state->tracked_value;
		return 0;
	}
	return -ENOENT;
}

/* A value of a rule. All that it refers to is the current frame's. */
static int unwind_user_value(const struct unwind_user_state *state, u8 from, s32 off,
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

static bool unwind_user_is_near(const struct unwind_user_state *state,
				unsigned long cfa, u8 from, s32 off)
{
	return from == UNWIND_USER_AT_CFA && off <= -(s32)sizeof(long) &&
	       off >= -UNWIND_USER_NEAR && cfa + off >= state->stack_start;
}

/*
 * The usual case, at the price of one user access: the return address, the
 * frame pointer if it was saved, and the word above the frame, all within a few
 * bytes of the CFA. The caller has checked that they are in the stack.
 */
static int unwind_user_read_near(const struct unwind_user_state *state,
				 const struct unwind_user_frame *frame, unsigned long cfa,
				 unsigned long *ra, unsigned long *fp, unsigned long *above)
{
	const void __user *from = (void __user *)(cfa - UNWIND_USER_NEAR);

	scoped_user_read_access_size(from, UNWIND_USER_NEAR + sizeof(long), fault) {
		const void __user *top = from + UNWIND_USER_NEAR;

		unsafe_get_user(*ra, (unsigned long __user *)(top + frame->ra_off), fault);
		if (frame->fp_from)
			unsafe_get_user(*fp, (unsigned long __user *)(top + frame->fp_off), fault);
		if (cfa < state->stack_end)
			unsafe_get_user(*above, (unsigned long __user *)top, no_word_above);
	}
no_word_above:
	return 0;
fault:
	return -EFAULT;
}

static int unwind_user_read_far(const struct unwind_user_state *state,
				const struct unwind_user_frame *frame, unsigned long cfa,
				unsigned long *ra, unsigned long *fp, unsigned long *above)
{
	int ret;

	/* Calls store it on all architectures that have tables. */
	if (frame->ra_from == UNWIND_USER_UNCHANGED)
		return -EINVAL;

	ret = unwind_user_value(state, frame->ra_from, frame->ra_off, cfa, ra);
	if (!ret && frame->fp_from != UNWIND_USER_UNCHANGED) {
		ret = unwind_user_value(state, frame->fp_from, frame->fp_off, cfa, fp);
		/* The stack ends only where a caller's rule needs it. */
		if (ret == -ENOENT) {
			*fp = UNWIND_USER_FP_UNKNOWN;
			ret = 0;
		}
	}
	/* Signal frames are known of 64-bit tasks only. */
	if (ret || state->ws != sizeof(long) || unwind_user_read(state, cfa, above))
		*above = 0;
	return ret;
}

/*
 * Whether a rule says itself that the caller may have another stack: its stack
 * pointer was stored, or put into a register that is for anything.
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
	int ret = -EINVAL;

	if (state->stack_end && unwind_user_find_other_stack(state, cfa)) {
		if (guess)
			pagefault_disable();
		ret = unwind_user_read_far(state, frame, cfa, ra, fp, above);
		if (guess)
			pagefault_enable();
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
	bool across = false;
	int ret;

	/* Get the Canonical Frame Address (CFA) */
	if (frame->cfa_from == UNWIND_USER_REG(UNWIND_USER_SP)) {
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
	if (likely(!across && state->ws == sizeof(long) &&
		   unwind_user_is_near(state, cfa, frame->ra_from, frame->ra_off) &&
		   (frame->fp_from == UNWIND_USER_UNCHANGED ||
		    unwind_user_is_near(state, cfa, frame->fp_from, frame->fp_off)))) {
		ret = unwind_user_read_near(state, frame, cfa, &ra, &fp, &above);
		if (ret)
			return ret;
	} else {
		unsigned long far_ra, far_fp = fp, far_above;

		if (across)
			ret = unwind_user_read_across(state, frame, cfa, &far_ra, &far_fp,
						      &far_above);
		else
			ret = unwind_user_read_far(state, frame, cfa, &far_ra, &far_fp,
						   &far_above);
		if (ret)
			return ret;
		ra = far_ra;
		fp = far_fp;
		above = far_above;
	}
	ra = uprobe_return_address(ra, cfa);

	/* What is no user address could be taken for PERF_CONTEXT_... */
	if (!ra || ra >= TASK_SIZE_MAX)
		return -EINVAL;

	state->ip = ra;
	state->sp = cfa;
	state->fp = fp;
	state->topmost = false;
	state->context = 0;
	state->exact = frame->flags & UNWIND_USER_SIGNAL;
	state->maybe_signal = arch_unwind_user_maybe_signal(above);
	return 0;
}
