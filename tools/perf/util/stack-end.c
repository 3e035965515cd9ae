// SPDX-License-Identifier: GPL-2.0
#include "stack-end.h"

#include <linux/perf_event.h>

#include "addr_location.h"
#include "dso.h"
#include "event.h"
#include "map.h"
#include "sample.h"
#include "symbol.h"
#include "thread.h"

/* A kernel that is newer than this tool may have more reasons. */
#define UNKNOWN_REASON(n)	{ "reason-" #n, "unknown reason " #n }

static const struct {
	const char *id;
	const char *name;
} stack_ends[STACK_END_NR] = {
	[PERF_CALLCHAIN_END_UNKNOWN]	 = { "unknown",	    "" },
	[PERF_CALLCHAIN_END_COMPLETE]	 = { "complete",    "complete" },
	[PERF_CALLCHAIN_END_NO_INFO]	 = { "no-info",	    "no information" },
	[PERF_CALLCHAIN_END_FAULT]	 = { "fault",	    "unreadable memory" },
	[PERF_CALLCHAIN_END_MALFORMED]	 = { "malformed",   "malformed table" },
	[PERF_CALLCHAIN_END_BAD_FRAME]	 = { "bad-frame",   "bad frame" },
	[PERF_CALLCHAIN_END_DEPTH]	 = { "depth",	    "too many frames" },
	[PERF_CALLCHAIN_END_BUDGET]	 = { "budget",	    "too much work" },
	[PERF_CALLCHAIN_END_UNSUPPORTED] = { "unsupported", "32-bit or x32 code" },
	[PERF_CALLCHAIN_END_RULE]	 = { "rule",	    "unsupported rule" },
	[10]				 = UNKNOWN_REASON(10),
	[11]				 = UNKNOWN_REASON(11),
	[12]				 = UNKNOWN_REASON(12),
	[13]				 = UNKNOWN_REASON(13),
	[14]				 = UNKNOWN_REASON(14),
	[15]				 = UNKNOWN_REASON(15),
	[STACK_END_MISSING]		 = { "missing",	    "user part missing" },
	[STACK_END_GUESSED]		 = { "complete-guessed", "complete, guessed" },
};

const char *stack_end__id(unsigned int end)
{
	return stack_ends[end < STACK_END_NR ? end : PERF_CALLCHAIN_END_UNKNOWN].id;
}

const char *stack_end__name(unsigned int end)
{
	return stack_ends[end < STACK_END_NR ? end : PERF_CALLCHAIN_END_UNKNOWN].name;
}

bool sample__find_stack_end(struct perf_sample *sample, struct thread *thread,
			    struct addr_location *al)
{
	struct ip_callchain *chain = sample->callchain;
	u64 ip;

	if (!chain || !sample->deferred_nr || sample->deferred_nr > chain->nr)
		return false;

	ip = chain->ips[chain->nr - 1];
	if (ip >= PERF_CONTEXT_MAX)
		return false;

	return thread__find_map(thread, PERF_RECORD_MISC_USER, ip, al);
}

static int fprintf_object(const char *what, struct perf_sample *sample,
			  struct thread *thread, FILE *fp)
{
	const char *name = "[unknown]";
	struct addr_location al;
	int printed;

	addr_location__init(&al);
	if (sample__find_stack_end(sample, thread, &al))
		name = dso__short_name(map__dso(al.map));
	printed = fprintf(fp, "%s %s", what, name);
	addr_location__exit(&al);
	return printed;
}

int sample__fprintf_stack_end(struct perf_sample *sample, struct thread *thread, bool line,
			      FILE *fp)
{
	int printed;

	if (sample->stack_end == PERF_CALLCHAIN_END_UNKNOWN ||
	    sample->stack_end == PERF_CALLCHAIN_END_COMPLETE)
		return 0;

	/* In a line of its own, it is where a frame has its symbol. */
	printed = line ? fprintf(fp, "\t%16s", "") : 0;
	printed += fprintf(fp, " [stack ends: ");

	switch (sample->stack_end) {
	case PERF_CALLCHAIN_END_NO_INFO:
		printed += fprintf_object("no unwind information in", sample, thread, fp);
		break;
	case PERF_CALLCHAIN_END_FAULT:
		printed += fprintf_object("unreadable memory in", sample, thread, fp);
		break;
	case PERF_CALLCHAIN_END_MALFORMED:
		printed += fprintf_object("malformed unwind table of", sample, thread, fp);
		break;
	case PERF_CALLCHAIN_END_RULE:
		printed += fprintf_object("unsupported rule in", sample, thread, fp);
		break;
	case PERF_CALLCHAIN_END_BAD_FRAME:
		printed += fprintf_object("bad frame in", sample, thread, fp);
		break;
	case PERF_CALLCHAIN_END_DEPTH:
		printed += fprintf(fp, "more than %u frames", sample->deferred_nr);
		break;
	default:
		printed += fprintf(fp, "%s", stack_end__name(sample->stack_end));
		break;
	}
	if (sample->stack_guessed && sample->stack_end != STACK_END_GUESSED)
		printed += fprintf(fp, "; frames guessed");
	return printed + fprintf(fp, line ? "]\n" : "]");
}
