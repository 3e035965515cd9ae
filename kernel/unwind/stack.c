// SPDX-License-Identifier: GPL-2.0
/*
 * Looks up mappings for the walker: of the stack, and of text.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_user.h>

#include "user.h"

/*
 * Look up the mapping of an address. Returns 1 if there is one that @use remembers, 0 if
 * there is none, or an errno if that cannot be looked up. With @grows, there may also be a
 * mapping above that has yet to grow down to the address.
 */
static __always_inline
int unwind_user_use_mapping(struct unwind_user_state *state, unsigned long addr, bool grows,
			    bool (*use)(struct unwind_user_state *state,
					const struct vm_area_struct *vma))
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int found;

	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		found = use(state, vma);
		vma_end_read(vma);
		return found;
	}

	found = unwind_user_lock_mappings();
	if (found)
		return found;
	vma = find_vma(mm, addr);
	found = vma && (vma->vm_start <= addr || (grows && vma->vm_flags & VM_GROWSDOWN)) &&
		use(state, vma);
	mmap_read_unlock(mm);

	return found;
}

static bool unwind_user_use_stack(struct unwind_user_state *state,
				  const struct vm_area_struct *vma)
{
	if (!unwind_user_is_memory(vma))
		return false;
	state->stack_start = vma->vm_start;
	state->stack_end = vma->vm_end;
	return true;
}

/*
 * Look up the mapping that the stack is in. Words of the stack are read only
 * there, and where the stack goes on in another mapping. So neither a wrong rule
 * nor a guess can wake a device or let a mapping grow. Without a mapping nothing
 * is read.
 */
void unwind_user_find_stack(struct unwind_user_state *state)
{
	state->stack_start = 0;
	state->stack_end = 0;
	unwind_user_use_mapping(state, state->sp, true, unwind_user_use_stack);
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
 * A stack may be in several mappings, for instance if part of it was locked. It
 * does not go on behind a guard, where there is another stack, nor in the memory
 * of a file that happens to be mapped next to it.
 */
bool unwind_user_extend_stack(struct unwind_user_state *state, unsigned long cfa)
{
	struct vm_area_struct *last, *vma;
	bool extends;

	if (!state->stack_end || unwind_user_lock_mappings())
		return false;
	last = vma_lookup(current->mm, state->stack_end - 1);
	vma = vma_lookup(current->mm, state->stack_end);
	extends = last && vma && vma->vm_file == last->vm_file &&
		  unwind_user_is_memory(vma) && (vma->vm_flags & VM_READ) &&
		  cfa <= vma->vm_end;
	if (extends)
		state->stack_end = vma->vm_end;
	mmap_read_unlock(current->mm);

	return extends;
}

/*
 * Use a mapping as the stack, if it may be another stack. This is a guess. So it must not
 * be a file, whose pages may take long; nor memory that this task may have to provide
 * itself by userfaultfd; nor memory that the program cannot write to.
 */
static bool unwind_user_use_other_stack(struct unwind_user_state *state,
					const struct vm_area_struct *vma)
{
	const vm_flags_t needed = VM_READ | VM_WRITE;

	return vma_is_anonymous(vma) && (vma->vm_flags & needed) == needed &&
	       !(vma->vm_flags & VM_UFFD_MISSING) && unwind_user_use_stack(state, vma);
}

/* Go to the stack that holds the word below an address, if there is one. */
bool unwind_user_find_other_stack(struct unwind_user_state *state, unsigned long cfa)
{
	return unwind_user_use_mapping(state, cfa - state->ws, false,
				       unwind_user_use_other_stack) > 0;
}

static bool unwind_user_use_text(struct unwind_user_state *state,
				 const struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_EXEC) || !unwind_user_is_memory(vma))
		return false;
	state->text_start = vma->vm_start;
	state->text_end = vma->vm_end;
	state->text_readable = (vma->vm_flags & VM_READ) &&
			       !(vma->vm_flags & (VM_UFFD_MISSING | VM_UFFD_MINOR));
	return true;
}

/*
 * Say whether an address is in text. If it is, the state has the bounds of the mapping, and
 * whether a guess may read the code: no task has to provide it by userfaultfd.
 */
noinline bool unwind_user_find_text(struct unwind_user_state *state, unsigned long addr)
{
	return (addr >= state->text_start && addr < state->text_end) ||
	       unwind_user_use_mapping(state, addr, false, unwind_user_use_text) > 0;
}

/* A device may have code, too; nobody reads it here. */
static bool unwind_user_is_executable(struct unwind_user_state *state,
				      const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_EXEC;
}

/* Say whether it is certain that there is no code at an address. */
bool unwind_user_is_no_text(struct unwind_user_state *state, unsigned long addr)
{
	return !(addr >= state->text_start && addr < state->text_end) &&
	       !unwind_user_use_mapping(state, addr, false, unwind_user_is_executable);
}

/* Say whether an address is in text. The state may have the bounds of another text. */
bool unwind_user_is_text(struct unwind_user_state *state, unsigned long addr)
{
	return unwind_user_is_known_text(state, addr) || unwind_user_find_text(state, addr);
}
