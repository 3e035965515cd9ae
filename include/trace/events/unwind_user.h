/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unwind_user

#if !defined(_TRACE_UNWIND_USER_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_UNWIND_USER_H

#include <linux/tracepoint.h>
#include <linux/unwind_user_types.h>

TRACE_DEFINE_ENUM(UNWIND_USER_END_NONE);
TRACE_DEFINE_ENUM(UNWIND_USER_END_COMPLETE);
TRACE_DEFINE_ENUM(UNWIND_USER_END_NO_INFO);
TRACE_DEFINE_ENUM(UNWIND_USER_END_FAULT);
TRACE_DEFINE_ENUM(UNWIND_USER_END_MALFORMED);
TRACE_DEFINE_ENUM(UNWIND_USER_END_BAD_FRAME);
TRACE_DEFINE_ENUM(UNWIND_USER_END_DEPTH);
TRACE_DEFINE_ENUM(UNWIND_USER_END_BUDGET);
TRACE_DEFINE_ENUM(UNWIND_USER_END_UNSUPPORTED);
TRACE_DEFINE_ENUM(UNWIND_USER_END_RULE);

TRACE_DEFINE_ENUM(UNWIND_USER_TYPE_NONE);
TRACE_DEFINE_ENUM(UNWIND_USER_TYPE_TABLES);
TRACE_DEFINE_ENUM(UNWIND_USER_TYPE_FP);
TRACE_DEFINE_ENUM(UNWIND_USER_TYPE_SIGNAL);
TRACE_DEFINE_ENUM(UNWIND_USER_TYPE_CALL_SITE);

#define UNWIND_USER_END_NAMES						\
	{ UNWIND_USER_END_NONE, "none" },				\
	{ UNWIND_USER_END_COMPLETE, "complete" },			\
	{ UNWIND_USER_END_NO_INFO, "no-information" },			\
	{ UNWIND_USER_END_FAULT, "fault" },				\
	{ UNWIND_USER_END_MALFORMED, "malformed" },			\
	{ UNWIND_USER_END_BAD_FRAME, "bad-frame" },			\
	{ UNWIND_USER_END_DEPTH, "depth" },				\
	{ UNWIND_USER_END_BUDGET, "budget" },				\
	{ UNWIND_USER_END_UNSUPPORTED, "unsupported" },			\
	{ UNWIND_USER_END_RULE, "rule" }

/*
 * A user stack was taken. This is where and how it ended, and how often tables were asked
 * for a rule, and for that of a caller: the others were remembered.
 */
TRACE_EVENT(unwind_user_end,

	TP_PROTO(const struct unwind_stacktrace *trace, enum unwind_user_type last),

	TP_ARGS(trace, last),

	TP_STRUCT__entry(
		__field(unsigned long, ip)
		__field(unsigned int, frames)
		__field(unsigned int, lookups)
		__field(unsigned int, caller_lookups)
		__field(unsigned char, end)
		__field(unsigned char, last)
		__field(unsigned char, guessed)
	),

	TP_fast_assign(
		__entry->frames = trace->nr;
		__entry->ip = trace->nr ? trace->entries[trace->nr - 1] : 0;
		__entry->end = trace->end;
		__entry->last = last;
		__entry->guessed = trace->guessed;
		__entry->lookups = trace->lookups;
		__entry->caller_lookups = trace->caller_lookups;
	),

	TP_printk("frames=%u end=%s ip=%lx by=%s guessed=%u lookups=%u callers=%u",
		  __entry->frames,
		  __print_symbolic(__entry->end, UNWIND_USER_END_NAMES),
		  __entry->ip,
		  __print_symbolic(__entry->last,
				   { UNWIND_USER_TYPE_NONE, "registers" },
				   { UNWIND_USER_TYPE_TABLES, "table" },
				   { UNWIND_USER_TYPE_FP, "frame-pointer" },
				   { UNWIND_USER_TYPE_SIGNAL, "signal" },
				   { UNWIND_USER_TYPE_CALL_SITE, "call-site" }),
		  __entry->guessed, __entry->lookups, __entry->caller_lookups)
);

#endif /* _TRACE_UNWIND_USER_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
