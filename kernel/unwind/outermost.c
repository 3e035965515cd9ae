// SPDX-License-Identifier: GPL-2.0
/*
 * Recognises the outermost frame by its frame pointer, which is 0.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/unwind_user.h>

#include "user.h"

/*
 * Say whether the first word of the program's stack is still the number of its arguments:
 * a small number, which no return address is.
 */
static bool has_arguments(struct unwind_user_state *state)
{
	unsigned long word;

	return !unwind_user_read(state, current->mm->start_stack, &word) && word < SZ_64K;
}

/*
 * Say whether the current frame, whose frame pointer is 0, is the one in which the program
 * or a thread began. A program that uses the register for something else may have 0 there
 * by chance, so this looks at the frame's place, too.
 */
bool unwind_user_is_outermost(struct unwind_user_state *state)
{
	/* The program's arguments are there, and the main thread's frames below. */
	long above = state->sp_unknown ? LONG_MIN : state->sp - current->mm->start_stack;
	unsigned long word;
	bool has_pair;

	/* There is no room for a return address in between. */
	if (above >= (state->topmost ? 0 : 1 - (long)state->ws) && above < 2 * (long)state->ws) {
		if (!has_arguments(state))
			state->guessed = true;
		return true;
	}
	if (state->topmost || !unwind_user_is_text(state, state->ip))
		return false;
	/*
	 * Or there are two words, of which the lower one points to the other. Or
	 * rules have led here from a callee, and kept track of the frame pointer:
	 * whoever starts a thread clears it. So does Go, where a goroutine begins.
	 */
	has_pair = above == -2 * (long)state->ws && !unwind_user_read(state, state->sp, &word) &&
		   word == state->sp + state->ws;
	if ((state->guessed || state->exact) && !has_pair &&
	    !unwind_user_keeps_fp(state, state->ip - !state->exact))
		return false;
	state->guessed = true;
	return true;
}
