// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that no call has made: signal frames, and the trampolines of probes.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "user.h"

/* Note whether the word above the frame could be that of a signal frame. */
void unwind_user_check_signal(struct unwind_user_state *state)
{
	unsigned long word;

	state->maybe_signal = state->ws == sizeof(long) &&
			      !unwind_user_read(state, state->sp, &word) &&
			      arch_unwind_user_maybe_signal(state->ip, word);
	/* The address behind a restorer may be another function's, which a table covers. */
	if (ARCH_UNWIND_USER_PLAIN_RESTORER && state->topmost &&
	    syscall_get_nr(current, state->regs) == __NR_rt_sigreturn)
		state->maybe_signal = true;
}

/*
 * In a trampoline of a probe, go to the address where the program will continue. The
 * trampolines are VM_IO, so they are not text. The memory that this reads was just used,
 * so this does not wait for it.
 */
static noinline void __unwind_user_leave_trampoline(struct unwind_user_state *state)
{
	const struct uprobe_stack stack = { state->stack_start, state->stack_end };

	if (!arch_uprobe_leave_trampoline(&state->ip, &state->sp, &stack) &&
	    unwind_user_find_text(state, state->ip))
		arch_uprobe_leave_call(&state->ip, &state->sp, state->text_end);
}

void unwind_user_leave_trampoline(struct unwind_user_state *state)
{
	if (unlikely(uprobe_in_use()))
		__unwind_user_leave_trampoline(state);
}

/* Go to the frame that a signal interrupted. Its registers are in the signal frame. */
int unwind_user_next_signal(struct unwind_user_state *state)
{
	int ret = arch_unwind_user_interrupted(state);

	if (ret)
		return ret;
	if (!state->ip || state->ip >= TASK_SIZE_MAX)
		return -EINVAL;

	state->sp_unknown = false;
	state->topmost = false;
	state->exact = true;
	state->current_type = UNWIND_USER_TYPE_SIGNAL;
	/* The handler may have had a stack of its own. */
	unwind_user_find_stack(state);
	if (!state->tables.immediate)
		unwind_user_leave_trampoline(state);
	unwind_user_check_signal(state);
	return 0;
}

/* Say whether the current frame, which no table covers, is a restorer without another mark. */
bool unwind_user_is_plain_restorer(struct unwind_user_state *state)
{
	return ARCH_UNWIND_USER_PLAIN_RESTORER && !state->sp_unknown &&
	       state->ws == sizeof(long) && unwind_user_find_text(state, state->ip) &&
	       state->text_readable && arch_unwind_user_is_restorer(state);
}

/*
 * Say whether the current frame is a restorer. A restorer starts at the return address, so
 * the code before that is unrelated.
 */
bool unwind_user_is_signal(struct unwind_user_state *state)
{
	struct unwind_user_frame frame;

	if (unwind_user_find_text(state, state->ip) && arch_unwind_user_is_restorer(state))
		return true;

	return unwind_user_has_tables(state) &&
	       !unwind_user_lookup(state, state->ip, &frame) &&
	       (frame.flags & UNWIND_USER_SIGNAL) && (frame.flags & UNWIND_USER_NO_ROWS);
}
