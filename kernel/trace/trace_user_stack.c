// SPDX-License-Identifier: GPL-2.0
/*
 * Whole user stacks of events: the option deferred-userstack.
 *
 * What the user stack is like is found out on the way back to user space, where pages can be
 * waited for. Until then an event has the cookie of its stack.
 */
#include <linux/preempt.h>
#include <linux/unwind_deferred.h>

#include "trace.h"

/* A ring buffer's page has room for so many frames of a stack. */
#define MAX_FRAMES	500

/**
 * __trace_user_stack_request - Request the user stack of the event that was written last
 * @tr:	       The instance
 * @buffer:    Where the event is
 * @trace_ctx: Its context
 *
 * Writes the stack's cookie behind the event, unless the task has no user stack.
 *
 * Context: Any, also NMI.
 */
void __trace_user_stack_request(struct trace_array *tr, struct trace_buffer *buffer,
				unsigned int trace_ctx)
{
	struct userstack_cookie_entry *entry;
	struct ring_buffer_event *event;
	u64 cookie;

	if (in_nmi() && !IS_ENABLED(CONFIG_ARCH_HAVE_NMI_SAFE_CMPXCHG))
		return;

	/* Whoever switches the option off waits for this, before the work is used again. */
	guard(preempt_notrace)();
	if (!(READ_ONCE(tr->trace_flags) & TRACE_ITER(DEFERRED_USERSTACK)) ||
	    unwind_deferred_request(&tr->unwind_work, &cookie) < 0)
		return;
	event = trace_buffer_lock_reserve(buffer, TRACE_USER_STACK_COOKIE, sizeof(*entry),
					  trace_ctx);
	if (!event)
		return;
	entry = ring_buffer_event_data(event);
	entry->cookie = cookie;
	trace_buffer_unlock_commit_nostack(buffer, event);
}

/* Write a stack. The buffer may be another one than that of the events, after a snapshot. */
static void write_stack(struct unwind_work *work, struct unwind_stacktrace *trace, u64 cookie)
{
	struct trace_array *tr = container_of(work, struct trace_array, unwind_work);
	const unsigned int nr = min(trace->nr, MAX_FRAMES);
	struct deferred_userstack_entry *entry;
	struct ring_buffer_event *event;
	struct trace_buffer *buffer;

	guard(preempt_notrace)();
	buffer = tr->array_buffer.buffer;
	event = trace_buffer_lock_reserve(buffer, TRACE_DEFERRED_USER_STACK,
					  struct_size(entry, caller, nr), tracing_gen_ctx());
	if (!event)
		return;
	entry = ring_buffer_event_data(event);
	entry->cookie = cookie;
	entry->tgid = current->tgid;
	entry->end = nr < trace->nr ? UNWIND_USER_END_DEPTH : trace->end;
	entry->guessed = trace->guessed;
	entry->size = nr;
	memcpy(&entry->caller, trace->entries, flex_array_size(entry, caller, nr));
	trace_buffer_unlock_commit_nostack(buffer, event);
}

/**
 * trace_user_stack_enable - Get an instance ready for requests
 * @tr: The instance, whose option is off
 *
 * Return: 0, or -EBUSY if there are too many users of deferred stacks.
 */
int trace_user_stack_enable(struct trace_array *tr)
{
	return unwind_deferred_init(&tr->unwind_work, write_stack);
}

/**
 * trace_user_stack_disable - Let an instance make no more requests
 * @tr: The instance, whose option was switched off
 *
 * When this returns, nothing that is pending uses @tr. Stacks that events have a cookie of
 * may be lost.
 */
void trace_user_stack_disable(struct trace_array *tr)
{
	unwind_deferred_cancel(&tr->unwind_work);
}
