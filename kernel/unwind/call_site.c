// SPDX-License-Identifier: GPL-2.0
/*
 * The caller of code that no table covers, by its call site. Such code is assembly, mostly; it
 * has a return address near the top of the stack, and that is behind a call instruction. What
 * else looks so is what calls before have left on the stack, so this looks at few words, and
 * takes the first that passes. Or calls leave it in a register, and it is still there. It is a
 * guess, and marked as one, but for a linker's stub.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/unwind_user.h>
#include <linux/uprobes.h>

#include "user.h"

/*
 * How many words from the stack pointer on may be return addresses. Farther up, one in ten of
 * those that pass was left behind by a call before.
 */
#define CALL_SITE_WORDS		32
/* The same in code that keeps frame pointers: a function without one has no frame. */
#define CALL_SITE_WORDS_LEAF	1
/* How far behind the target of its call the called code may be. */
#define CALL_SITE_REACH		SZ_64K

/*
 * What is called: code at @ip, in text up to @end. Its function starts at @start or behind. With
 * @only_near, a return address is behind a call that says so.
 */
struct callee {
	unsigned long ip;
	unsigned long start;
	unsigned long end;
	bool only_near;
};

/*
 * Say whether an address is in text, and have the bounds of that in the state. A stack and the
 * heap have many addresses of each other, and a walk looks up few mappings.
 */
static bool is_in_text(struct unwind_user_state *state, unsigned long addr)
{
	const struct mm_struct *mm = current->mm;

	if (addr >= state->text_start && addr < state->text_end)
		return true;
	if (addr < PAGE_SIZE || addr >= TASK_SIZE_MAX ||
	    (addr >= state->stack_start && addr < state->stack_end) ||
	    (addr >= mm->start_brk && addr < mm->brk) || !state->text_lookups)
		return false;
	state->text_lookups--;
	return unwind_user_find_text(state, addr);
}

/* Find out whether a call ends at @ra, and its @target; 0 if it does not say where it leads. */
static bool is_call_site(struct unwind_user_state *state, unsigned long ra,
			 unsigned long *target)
{
	u8 code[UNWIND_TABLES_CALL];

	*target = 0;
	return is_in_text(state, ra) && state->text_readable &&
	       ra - state->text_start >= sizeof(code) &&
	       !unwind_user_copy(state, code, ra - sizeof(code), sizeof(code)) &&
	       unwind_tables_is_call(code, ra, target);
}

/* Say whether a call leads near the callee: to it or below, in the same text. */
static bool is_near(const struct callee *callee, unsigned long target)
{
	return target >= callee->start && target < callee->end &&
	       callee->ip - target < CALL_SITE_REACH;
}

/*
 * Say whether what ends at @ra, a word of the stack just below @cfa, is the call of the callee.
 * One that leads near the callee proves it for code without a table. Code that has one may have
 * called through a pointer, or a function that jumps on; but compilers keep the stack aligned.
 */
static bool is_caller(struct unwind_user_state *state, const struct callee *callee,
		      unsigned long cfa, unsigned long ra, unsigned long target)
{
	const bool aligned = IS_ALIGNED(cfa, ARCH_UNWIND_USER_CFA_ALIGN);
	const bool near = is_near(callee, target);
	struct unwind_user_frame frame;

	if (callee->only_near || aligned == near)
		return near;
	return aligned == !unwind_user_lookup(state, ra - 1, &frame);
}

/* Find the return address among @nr words from the stack pointer on. Returns the CFA, or 0. */
static unsigned long find_return_address(struct unwind_user_state *state,
					 const struct callee *callee, unsigned long nr)
{
	unsigned long cfa = state->sp, ra, target;

	if (!IS_ALIGNED(cfa, sizeof(ra)))
		return 0;
	while (nr-- && !unwind_user_read(state, cfa, &ra)) {
		cfa += sizeof(ra);
		ra = uprobe_return_address(ra, cfa);
		if (is_call_site(state, ra, &target) && is_caller(state, callee, cfa, ra, target))
			return cfa;
	}
	return 0;
}

/*
 * Find the CFA of the callee, or 0. Above its frame pointer is its return address if a call
 * there leads near; unless it is that of its caller, and a word below leads nearer.
 */
static unsigned long find_cfa(struct unwind_user_state *state, struct callee *callee)
{
	const unsigned long by_fp = state->fp + 2 * sizeof(long);
	unsigned long nr = callee->only_near ? CALL_SITE_WORDS_LEAF : CALL_SITE_WORDS;
	unsigned long ra, target;

	if (state->fp < state->sp || unwind_user_read(state, state->fp + sizeof(long), &ra) ||
	    !is_call_site(state, uprobe_return_address(ra, by_fp), &target) ||
	    !is_near(callee, target))
		return find_return_address(state, callee, nr);

	callee->start = target + 1;
	callee->only_near = true;
	nr = min(nr, (state->fp - state->sp) / sizeof(long));
	return find_return_address(state, callee, nr) ?: by_fp;
}

/* Go to the caller by a word of the stack. */
static int next_by_word(struct unwind_user_state *state, bool keeps_fp)
{
	struct unwind_user_frame frame = {
		.ra_off = -(int)sizeof(long),
		.cfa_from = UNWIND_USER_REG(UNWIND_USER_SP),
		.ra_from = UNWIND_USER_AT_CFA,
		.fp_from = UNWIND_USER_UNCHANGED,
	};
	struct callee callee = {
		.ip = state->ip,
		.start = state->text_start,
		.end = state->text_end,
		.only_near = keeps_fp,
	};
	unsigned long cfa;

	/* An object without a table has no other callers than its own. */
	if (keeps_fp)
		state->text_lookups = 0;
	cfa = find_cfa(state, &callee);
	if (!cfa)
		return -EAGAIN;
	/* Its frame pointer is where rules of usual frames have it, or still in the register. */
	if (cfa == state->fp + 2 * sizeof(long)) {
		frame.fp_off = -2 * (int)sizeof(long);
		frame.fp_from = UNWIND_USER_AT_CFA;
	}
	frame.cfa_off = cfa - state->sp;
	if (unwind_user_apply(state, &frame, 0))
		return -EAGAIN;
	state->guessed = true;
	return 0;
}

/* Say whether the code of the current frame is a linker's stub, which has no frame. */
static bool is_stub(struct unwind_user_state *state)
{
	u32 code[UNWIND_TABLES_STUB];
	const unsigned long start = state->ip - UNWIND_TABLES_STUB_BEFORE * sizeof(*code);

	return state->text_readable && start >= state->text_start &&
	       state->text_end - start >= sizeof(code) &&
	       !unwind_user_copy(state, code, start, sizeof(code)) &&
	       unwind_tables_is_stub(code);
}

/*
 * Say whether the register in which calls leave the return address still has it. Code without
 * a table that has called another function has an address of its own there, so the caller must
 * have a table. If the code has saved the register in a frame record, the frame pointer leads
 * on.
 */
static bool has_return_address(struct unwind_user_state *state)
{
	struct unwind_user_frame frame;
	unsigned long ra, saved, target;

	if (unwind_user_register(state, ARCH_UNWIND_USER_RA, &ra))
		return false;
	ra = arch_unwind_user_return_address(ra);
	if (!unwind_user_read(state, state->fp + sizeof(long), &saved) &&
	    arch_unwind_user_return_address(saved) == ra)
		return false;
	ra = uprobe_return_address(ra, state->sp);
	return is_call_site(state, ra, &target) && !unwind_user_lookup(state, ra - 1, &frame);
}

/* Go to the caller by the register in which calls leave the return address. */
static int next_by_register(struct unwind_user_state *state)
{
	const struct unwind_user_frame frame = {
		.cfa_from = UNWIND_USER_REG(UNWIND_USER_SP),
		.ra_from = UNWIND_USER_UNCHANGED,
		.fp_from = UNWIND_USER_UNCHANGED,
	};
	const bool guess = !is_stub(state);
	int ret;

	if (guess && !has_return_address(state))
		return -EAGAIN;
	ret = unwind_user_apply(state, &frame, 0);
	if (ret)
		return ret;
	/* Other code than a stub may have moved the stack pointer. */
	state->sp_unknown = guess;
	state->guessed |= guess;
	return 0;
}

/**
 * unwind_user_next_call_site - Go to the caller of code that no table covers
 * @state: The walk, in its topmost frame, in one that a signal interrupted, or in one that was
 *	   found like this
 *
 * The frame pointer comes first if a call proves it. Code of an object without any table is by
 * a compiler that keeps frame pointers, so only a call that leads near the code is better than
 * that. Code without a file is generated by the program itself, and nothing is known of it.
 *
 * Return: 0; -EAGAIN if there is no such caller; -ENOENT if the stack is complete.
 */
int unwind_user_next_call_site(struct unwind_user_state *state)
{
	const bool keeps_fp = unwind_user_keeps_fp(state, state->ip);

	if ((!ARCH_UNWIND_USER_CFA_ALIGN && !ARCH_UNWIND_USER_RA) || !state->call_sites ||
	    state->tables.immediate ||
	    (unwind_tables_is_skipped(&state->tables, state->ip) && !keeps_fp) ||
	    !unwind_user_find_text(state, state->ip))
		return -EAGAIN;
	/* The child of a fork is a leader, and has its parent's callers. */
	if (state->topmost && !thread_group_leader(current) &&
	    arch_unwind_user_is_new_thread(state->regs)) {
		state->guessed = true;
		state->end = UNWIND_USER_END_COMPLETE;
		return -ENOENT;
	}

	state->call_sites--;
	if (ARCH_UNWIND_USER_RA ? next_by_register(state) : next_by_word(state, keeps_fp))
		return -EAGAIN;
	state->current_type = UNWIND_USER_TYPE_CALL_SITE;
	state->tracked_known = false;
	return 0;
}
