// SPDX-License-Identifier: GPL-2.0
/*
 * The step from a frame to its caller's by the tables.
 */
#include <linux/sched.h>
#include <linux/unwind_user.h>

#include "user.h"

/* Find the rule for an address of the current frame in the tables. */
int unwind_user_lookup(struct unwind_user_state *state, unsigned long ip,
		       struct unwind_user_frame *frame)
{
	state->tables.caller = !state->exact;
	return unwind_tables_unpack(unwind_tables_lookup(ip, &state->tables), frame,
				    &state->tables);
}

/*
 * Find the caller's value of the tracked register: it is still in the register, as in most
 * functions, or saved in the frame. Otherwise it is not known.
 */
static bool find_tracked(struct unwind_user_state *state, struct unwind_user_frame *saved,
			 unsigned long *value)
{
	struct unwind_tables_walk *walk = &state->tables;
	const u64 rule = unwind_tables_find(state->ip - !state->exact, state->tracked, walk);

	if (unwind_tables_unpack(rule, saved, walk))
		return false;
	if (saved->fp_from == UNWIND_USER_UNCHANGED)
		return !unwind_user_register(state, state->tracked, value);
	return saved->fp_from == UNWIND_USER_AT_CFA;
}

/* Apply a rule, and carry the tracked register along to the caller's frame. */
static noinline int apply_tracking(struct unwind_user_state *state,
				   const struct unwind_user_frame *frame, s32 cfa_above)
{
	struct unwind_user_frame saved;
	unsigned long value = 0;
	bool known;
	int ret;

	known = find_tracked(state, &saved, &value);
	ret = unwind_user_apply(state, frame, cfa_above);
	if (ret)
		return ret;
	/* The stack pointer is the CFA now, unless a stub has pushed the return address. */
	if (known && saved.fp_from == UNWIND_USER_AT_CFA)
		known = frame->ra_off < 0 &&
			!unwind_user_read(state, state->sp + saved.fp_off, &value);
	state->tracked_value = value;
	state->tracked_known = known;
	return 0;
}

/* Go to the caller's frame by the tables; -EAGAIN if they have no rule. */
int unwind_user_next_tables(struct unwind_user_state *state)
{
	u64 rule = state->rule;
	struct unwind_user_frame frame;
	s32 cfa_above = 0;
	int ret;

	/*
	 * A caller is where it called, not where the callee returns to: after
	 * a call that never returns there may be another function, or none.
	 */
	if (!rule) {
		state->tables.caller = !state->exact;
		rule = unwind_tables_lookup(state->ip - !state->exact, &state->tables);
	}
	ret = unwind_tables_unpack(rule, &frame, &state->tables);
	if (ret) {
		state->keeps_fp = rule & UNWIND_TABLES_RULE_KEEPS_FP;
		state->end = unwind_user_end_of(ret);
		return ret == -E2BIG ? ret : -EAGAIN;
	}

	if (frame.flags & UNWIND_USER_OUTERMOST) {
		state->end = UNWIND_USER_END_COMPLETE;
		return -ENOENT;
	}
	/* Then the return address is just below the CFA. */
	if (frame.flags & UNWIND_USER_CFA_ABOVE) {
		cfa_above = frame.ra_off;
		frame.ra_off = -(s32)state->ws;
	}
	/*
	 * Where a rule leads nowhere the stack is not what it seems, and a guess would
	 * not be better.
	 */
	if (frame.flags & UNWIND_USER_NO_ROWS)
		ret = unwind_user_next_signal(state);
	else if (unlikely(state->tracked))
		ret = apply_tracking(state, &frame, cfa_above);
	else
		ret = unwind_user_apply(state, &frame, cfa_above);
	if (ret == -ENOENT && state->sp_unknown) {
		/* The frame pointer leads on. */
		state->keeps_fp = false;
		state->end = UNWIND_USER_END_NO_INFO;
		return -EAGAIN;
	}
	/* A program starts with no return address in the register. */
	if (ARCH_UNWIND_USER_RA && ret == -EINVAL && state->topmost && !state->fp &&
	    unwind_user_is_outermost(state)) {
		state->end = UNWIND_USER_END_COMPLETE;
		return -ENOENT;
	}
	if (ret) {
		const u8 reg = frame.cfa_from & UNWIND_USER_REG_MASK;

		/* Functions may change any other register, and no rule says where. */
		if (ret == -ENOENT && arch_unwind_user_is_preserved(reg))
			state->wanted = reg;
		state->end = unwind_user_end_of(ret);
	} else if (!(frame.flags & UNWIND_USER_NO_ROWS)) {
		state->current_type = UNWIND_USER_TYPE_TABLES;
	}
	return ret;
}
