// SPDX-License-Identifier: GPL-2.0
/*
 * Where a stack ends whose frame pointer is 0.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/unwind_user.h>

#include "user.h"

/*
 * Whether the first word of the program's stack is still the number of its
 * arguments: not a return address, and most numbers of arguments are none.
 */
static bool has_arguments(struct unwind_user_state *state)
{
	unsigned long word;

	return !unwind_user_read(state, current->mm->start_stack, &word) && word < SZ_64K;
}

/*
 * Whether the current frame, whose frame pointer is 0, is the one that the
 * program or a thread started with. Where a frame pointer alone leads, 0 is a
 * number like any other: it takes the frame's place to know.
 */
bool unwind_user_is_outermost(struct unwind_user_state *state)
{
	/* The program's arguments are there, and the main thread's frames below. */
	long above = state->sp - current->mm->start_stack;
	unsigned long word;

	/* Between that and this is no room for another frame's return address. */
	if (above >= (state->topmost ? 0 : 1 - (long)state->ws) && above < 2 * (long)state->ws) {
		if (!has_arguments(state))
			state->guessed = true;
		return true;
	}
	if (state->topmost || !unwind_user_is_text(state, state->ip))
		return false;
	/*
	 * Or there are two words, of which the lower one points to the other. Or
	 * rules have led here, and kept track of the frame pointer: whoever starts
	 * a thread clears it.
	 */
	if (state->guessed && !(above == -2 * (long)state->ws &&
				!unwind_user_read(state, state->sp, &word) &&
				word == state->sp + state->ws))
		return false;
	state->guessed = true;
	return true;
}
