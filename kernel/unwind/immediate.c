// SPDX-License-Identifier: GPL-2.0
/*
 * User stacks that are taken at once, in the context of an event. What that needs of a
 * program is brought in by a deferred walk without a consumer, which warms up.
 */
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/unwind_deferred.h>
#include <linux/unwind_user.h>

#include <asm/sections.h>
#include <asm/tlb.h>

#include "user.h"

/*
 * A tenth of a deferred walk's: some 40,000 instructions, and less than 400,000. Nine of ten
 * lookups cost less than an eighth of it.
 */
#define IMMEDIATE_BUDGET	(8 * 1024)

/* A process warms up once in this time; after each one without a gain beyond IDLE, in twice. */
#define WARM_UP_INTERVAL	msecs_to_jiffies(10)
#define WARM_UP_IDLE		8
#define WARM_UP_IDLE_MAX	16

static void warm_up_done(struct unwind_work *work, struct unwind_stacktrace *trace, u64 cookie)
{
	struct unwind_tables *tables = READ_ONCE(current->mm->unwind_tables);
	unsigned int idle;

	/* A walk that must not wait says nothing about what can be brought in. */
	if (!tables || current->unwind_info.no_wait)
		return;
	/* Threads may do this at the same time: then one more or less does not matter. */
	idle = READ_ONCE(tables->idle);
	if (trace->learned)
		WRITE_ONCE(tables->idle, 0);
	else if (idle < WARM_UP_IDLE_MAX)
		WRITE_ONCE(tables->idle, idle + 1);
}

static struct unwind_work warm_up_work;

/**
 * unwind_user_warm_up - Ask for a deferred walk, unless the process has just had one
 *
 * The walk brings in what one that may not wait has missed.
 *
 * Context: Any. The current task has a user stack.
 */
void unwind_user_warm_up(void)
{
	/* Pairs with the cmpxchg() that publishes a new registry. */
	struct unwind_tables *tables = smp_load_acquire(&current->mm->unwind_tables);
	u64 cookie;

	if (tables) {
		const unsigned long after = READ_ONCE(tables->warm_up_after);
		const unsigned int idle = READ_ONCE(tables->idle);
		const unsigned int shift = idle - min(idle, WARM_UP_IDLE);

		/* Another thread may be faster. */
		if (time_before(jiffies, after) ||
		    cmpxchg(&tables->warm_up_after, after,
			    jiffies + (WARM_UP_INTERVAL << shift)) != after)
			return;
	}
	unwind_deferred_request(&warm_up_work, &cookie);
}

/**
 * unwind_user_is_warm - Say whether deferred walks have stopped bringing in anything
 * @tables: The registry of the process
 *
 * Return: Whether what is missing will stay so: a header that cannot be read, for instance.
 */
bool unwind_user_is_warm(const struct unwind_tables *tables)
{
	return READ_ONCE(tables->idle) >= WARM_UP_IDLE;
}

/*
 * Say whether user addresses are those of the current task's address space. This is asked in
 * every context: trace events fire in a switch of address spaces, too.
 */
static bool is_loaded(void)
{
	return nmi_uaccess_okay() && arch_unwind_user_is_loaded();
}

/*
 * Say whether an NMI has come where an interrupt may come, too. Elsewhere it may find the user
 * registers of another kernel entry, or a context switch in its middle.
 */
static bool is_like_interrupt(struct pt_regs *event_regs)
{
	const unsigned long ip = instruction_pointer(event_regs);

	return user_mode(event_regs) ||
	       (!regs_irqs_disabled(event_regs) &&
		(ip < (unsigned long)__entry_text_start || ip >= (unsigned long)__entry_text_end));
}

/*
 * Say whether there is room for a walk, which takes some 3 KiB, and for interrupts. An event may
 * come deep in the kernel. On another stack than the task's, the difference is larger: events come
 * where little of that is used.
 */
static bool has_kernel_stack(void)
{
	const unsigned long here = (unsigned long)__builtin_frame_address(0);

	return here - (unsigned long)task_stack_page(current) >= THREAD_SIZE / 4;
}

/**
 * unwind_user_immediate - Take the user stack of the current task at once
 * @trace: Gets the stack; @trace->entries has room for @max
 * @regs:  The user registers of the topmost frame
 * @event_regs: The registers of the event, which may be those of the kernel
 * @max:   How many frames there is room for
 *
 * The walk uses what is in memory: remembered rules, and tables that a walk before has read.
 * Where something is missing the stack ends early, and the next one gets further: see
 * unwind_user_warm_up().
 *
 * Context: Any.
 * Return: 0; or an errno if the caller has to follow frame pointers, as it did before:
 *	   -EOPNOTSUPP if this is not enabled, the kernel has no per-VMA locks or the program is
 *	   not of 64 bits, an errno of unwind_user_check(), -EAGAIN if user memory or registers
 *	   are not those of the task, its mappings are being changed or little is left of its
 *	   kernel stack, -ENOENT if nothing is known of the program yet.
 */
int unwind_user_immediate(struct unwind_stacktrace *trace, struct pt_regs *regs,
			  struct pt_regs *event_regs, unsigned int max)
{
	const struct unwind_user_params params = {
		.regs = regs,
		.max_entries = max,
		.budget = IMMEDIATE_BUDGET,
		.immediate = true,
	};
	struct unwind_tables *tables;
	int ret;

	/* Without per-VMA locks, mappings cannot be looked up without waiting. */
	if (READ_ONCE(unwind_tables_level) < UNWIND_TABLES_IMMEDIATE ||
	    !IS_ENABLED(CONFIG_PER_VMA_LOCK))
		return -EOPNOTSUPP;
	ret = unwind_user_check();
	if (ret)
		return ret;
	if (unwind_user_word_size(regs) != sizeof(long) || arch_unwind_user_unsupported())
		return -EOPNOTSUPP;
	if (in_nmi() && !is_like_interrupt(event_regs))
		return -EAGAIN;
	if (READ_ONCE(current->unwind_info.flushing) || !is_loaded() || !has_kernel_stack())
		return -EAGAIN;

	/* Pairs with the cmpxchg() that publishes a new registry. */
	tables = smp_load_acquire(&current->mm->unwind_tables);
	if (!tables) {
		unwind_user_warm_up();
		return -ENOENT;
	}
	ret = unwind_user(trace, &params);
	if (!ret && (trace->end == UNWIND_USER_END_FAULT || trace->end == UNWIND_USER_END_BUDGET))
		unwind_user_warm_up();
	return ret;
}

static int __init unwind_user_immediate_init(void)
{
	return unwind_deferred_init(&warm_up_work, warm_up_done);
}
late_initcall(unwind_user_immediate_init);
