// SPDX-License-Identifier: GPL-2.0
/*
 * Looks up mappings for the walker: of the stack, and of text.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

#include "user.h"

/* What the walker has to know of a mapping. It is a copy, for which no lock is held. */
struct unwind_user_mapping {
	unsigned long	start;
	unsigned long	end;
	vm_flags_t	flags;
	/* To be compared only: nothing holds it. */
	const struct file *file;
	bool		memory;
	bool		anonymous;
};

static void unwind_user_copy_mapping(const struct vm_area_struct *vma,
				     struct unwind_user_mapping *mapping)
{
	*mapping = (struct unwind_user_mapping) {
		.start = vma->vm_start,
		.end = vma->vm_end,
		.flags = vma->vm_flags,
		.file = vma->vm_file,
		.memory = unwind_user_is_memory(vma),
		.anonymous = vma_is_anonymous(vma),
	};
}

/*
 * Look up the mapping of an address without a lock. Returns 1, 0 if there is none, or -EAGAIN
 * if somebody changes the mappings of the address space at this moment.
 */
static int unwind_user_peek_mapping(unsigned long addr, struct unwind_user_mapping *mapping)
{
	struct mm_struct *mm = current->mm;
	const struct vm_area_struct *vma;
	unsigned int seq;

	guard(rcu)();
	if (!mmap_lock_speculate_try_begin(mm, &seq))
		return -EAGAIN;
	vma = vma_lookup(mm, addr);
	if (vma)
		unwind_user_copy_mapping(vma, mapping);
	return mmap_lock_speculate_retry(mm, seq) ? -EAGAIN : !!vma;
}

/*
 * Look up the mapping of an address. Returns 1, 0 if there is none, or an errno if that cannot
 * be looked up. With @grows, there may also be a mapping above that has yet to grow down to the
 * address.
 */
static int unwind_user_find_mapping(struct unwind_user_state *state, unsigned long addr,
				    bool grows, struct unwind_user_mapping *mapping)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int found;

	found = unwind_user_peek_mapping(addr, mapping);
	if (found > 0 || (!found && !grows))
		return found;
	if (state->tables.immediate) {
		state->mappings_change |= found < 0;
		return found;
	}

	found = unwind_user_lock_mappings();
	if (found)
		return found;
	vma = find_vma(mm, addr);
	found = vma && (vma->vm_start <= addr || (grows && vma->vm_flags & VM_GROWSDOWN));
	if (found)
		unwind_user_copy_mapping(vma, mapping);
	mmap_read_unlock(mm);

	return found;
}

/*
 * Look up the mapping that the stack is in. Words of the stack are read only
 * there, and where the stack goes on in another mapping. So neither a wrong rule
 * nor a guess can wake a device or let a mapping grow. Without a mapping nothing
 * is read.
 */
void unwind_user_find_stack(struct unwind_user_state *state)
{
	struct unwind_user_mapping stack;

	state->stack_start = 0;
	state->stack_end = 0;
	if (unwind_user_find_mapping(state, state->sp, true, &stack) <= 0 || !stack.memory)
		return;
	state->stack_start = stack.start;
	state->stack_end = stack.end;
}

/*
 * Look up the mapping of the stack at the start of a walk. Most often it is the mapping of
 * the task's last stack, and no mapping has changed since: mmap_lock was not taken for
 * writing. A task that lets the 32 bits of the sequence come round between two stacks reads
 * its own memory at a wrong place.
 */
void unwind_user_find_first_stack(struct unwind_user_state *state)
{
	struct unwind_task_info *info = &current->unwind_info;
	struct mm_struct *mm = current->mm;
	unsigned int seq;
	bool quiet;

	/* A walk that this one has interrupted may be at the lines below. */
	if (state->tables.immediate) {
		unwind_user_find_stack(state);
		return;
	}

	quiet = mmap_lock_speculate_try_begin(mm, &seq);
	if (quiet && seq == info->stack_seq && state->sp >= info->stack_start &&
	    state->sp < info->stack_end) {
		state->stack_start = info->stack_start;
		state->stack_end = info->stack_end;
		return;
	}

	unwind_user_find_stack(state);
	if (!quiet || mmap_lock_speculate_retry(mm, seq))
		return;
	info->stack_start = state->stack_start;
	info->stack_end = state->stack_end;
	info->stack_seq = seq;
}

/*
 * A stack may be in several mappings, for instance if part of it was locked, or if
 * it is a variable that begins in .data's last page and goes on in .bss. It does not
 * go on behind a guard, where there is another stack, nor in the memory of a file
 * that happens to be mapped next to it.
 */
bool unwind_user_extend_stack(struct unwind_user_state *state, unsigned long cfa)
{
	struct unwind_user_mapping last, next;

	if (!state->stack_end ||
	    unwind_user_find_mapping(state, state->stack_end - 1, false, &last) <= 0 ||
	    unwind_user_find_mapping(state, state->stack_end, false, &next) <= 0)
		return false;
	if ((next.file && next.file != last.file) || !next.memory ||
	    !(next.flags & VM_READ) || cfa > next.end)
		return false;
	state->stack_end = next.end;
	return true;
}

/**
 * unwind_user_is_on_stack - Say whether the stack has so many bytes from the stack pointer on
 * @state: The walk, with the bounds of the stack, which may go on in the next mapping
 * @len:   How many bytes
 *
 * Return: Whether it has.
 */
bool unwind_user_is_on_stack(struct unwind_user_state *state, unsigned int len)
{
	const unsigned long end = state->sp + len;

	return state->sp >= state->stack_start && state->sp < state->stack_end &&
	       (end <= state->stack_end || unwind_user_extend_stack(state, end));
}

/*
 * Go to the stack that holds the word below an address, if there is one. This is a guess. So it
 * must not be a file, whose pages may take long; nor memory that this task may have to provide
 * itself by userfaultfd; nor memory that the program cannot write to.
 */
bool unwind_user_find_other_stack(struct unwind_user_state *state, unsigned long cfa)
{
	const vm_flags_t needed = VM_READ | VM_WRITE;
	struct unwind_user_mapping stack;

	if (unwind_user_find_mapping(state, cfa - state->ws, false, &stack) <= 0 ||
	    !stack.memory || !stack.anonymous || (stack.flags & needed) != needed ||
	    (stack.flags & VM_UFFD_MISSING))
		return false;
	state->stack_start = stack.start;
	state->stack_end = stack.end;
	return true;
}

/*
 * Say whether an address is in text. If it is, the state has the bounds of the mapping, and
 * whether a guess may read the code: no task has to provide it by userfaultfd.
 */
noinline bool unwind_user_find_text(struct unwind_user_state *state, unsigned long addr)
{
	struct unwind_user_mapping text;

	if (addr >= state->text_start && addr < state->text_end)
		return true;
	if (unwind_user_find_mapping(state, addr, false, &text) <= 0 || !text.memory ||
	    !(text.flags & VM_EXEC))
		return false;
	state->text_start = text.start;
	state->text_end = text.end;
	state->text_readable = (text.flags & VM_READ) &&
			       !(text.flags & (VM_UFFD_MISSING | VM_UFFD_MINOR));
	return true;
}

/*
 * Say whether it is certain that there is no code at an address. A device may have code, too;
 * nobody reads it here.
 */
bool unwind_user_is_no_text(struct unwind_user_state *state, unsigned long addr)
{
	struct unwind_user_mapping text;
	int found;

	if (addr >= state->text_start && addr < state->text_end)
		return false;
	found = unwind_user_find_mapping(state, addr, false, &text);
	return !found || (found > 0 && !(text.flags & VM_EXEC));
}

/*
 * Say whether it is certain that discovery would find no table for an address: there is no code,
 * or it is that of a JIT compiler or of a probe's trampoline, which is no memory for a walk.
 */
bool unwind_user_is_without_table(struct unwind_user_state *state, unsigned long addr)
{
	struct unwind_user_mapping text;
	int found = unwind_user_find_mapping(state, addr, false, &text);

	return !found || (found > 0 && (!(text.flags & VM_EXEC) || !text.memory || text.anonymous));
}

/* Say whether an address is in text. The state may have the bounds of another text. */
bool unwind_user_is_text(struct unwind_user_state *state, unsigned long addr)
{
	return unwind_user_is_known_text(state, addr) || unwind_user_find_text(state, addr);
}
