// SPDX-License-Identifier: GPL-2.0
/*
 * How stacks end, as a perf record says it, and a trace event. That code is of another word
 * size is in compat_test.
 */
#include "kselftest_harness.h"

#include <asm/unistd.h>
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "synth_fixture.h"
#include "hostile.h"
#include "tables.h"
#include "sampler.h"

#define CHAIN	(self->synth.chain)

/* How the stack ends of which the callers were looked at last. */
#define EXPECT_END(how, by_frame_pointer) do {				\
	EXPECT_EQ(PERF_CALLCHAIN_END_##how, CHAIN.end);			\
	EXPECT_EQ(by_frame_pointer, CHAIN.guessed);			\
} while (0)

/* --- Complete --- */

TEST_F(synth, complete)
{
	RULE(OUTERMOST);
	EXPECT_NO_CALLERS();
	EXPECT_END(COMPLETE, false);

	NO_RULES();
	RULE(BY_SP(8));
	RULE(OUTERMOST);
	WORD(0x00) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(COMPLETE, false);
}

/* Functions from the first without a rule on are known by frame pointers. */
static void chain_of_frame_pointers(struct synth *synth)
{
	unsigned long *stack = (unsigned long *)synth->stack;

	synth_no_rules(synth);
	synth_rule(synth, BY_SP(8));
	synth->frame.regs.fp = (unsigned long)&stack[0x10];
	stack[0] = synth_return(synth, 1);
	stack[0x10] = (unsigned long)&stack[0x20];
	stack[0x11] = synth_return(synth, 2);
	stack[0x20] = 0;
	stack[0x21] = synth_return(synth, 3);
}

/* Where a frame pointer has led, 0 is a number like any other. */
TEST_F(synth, no_end_by_frame_pointers)
{
	chain_of_frame_pointers(&self->synth);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	EXPECT_END(NO_INFO, true);
}

/* Rules keep track of it: whoever starts a thread clears it. */
TEST_F(synth, complete_by_rules)
{
	RULE(BY_SP(8));
	RULE(BY_SP(16, -16));
	REGS.fp = 1;
	WORD(0x00) = RETURN(1);
	WORD(0x08) = 0;
	WORD(0x10) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(COMPLETE, true);
	/* Another frame pointer says nothing, */
	WORD(0x08) = 1;
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(NO_INFO, false);
	/* nor does any where there is no code. */
	WORD(0x08) = 0;
	WORD(0x10) = AT(0x100);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(BAD_FRAME, false);
}

/* --- Incomplete --- */

TEST_F(synth, no_information)
{
	/* Nothing but registers, and they say nothing. */
	REGS.fp = 0;
	EXPECT_NO_CALLERS();
	EXPECT_END(NO_INFO, false);
	REGS.fp = 0x1238;
	EXPECT_NO_CALLERS();
	EXPECT_END(NO_INFO, false);

	/* A caller that no table describes. */
	RULE(BY_SP(8));
	WORD(0x00) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO, false);

	/* A guess at its caller, and none at that one's. */
	REGS.fp = AT(0x80);
	WORD(0x80) = 0;
	WORD(0x88) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	EXPECT_END(NO_INFO, true);

	/* A guess that is no code. */
	WORD(0x88) = AT(0);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO, false);

	/* A register that is not known in callers. */
	NO_RULES();
	RULE(BY_SP(8));
	RULE(FLEXIBLE(REG(S1), 8));
	REGS.s1 = AT(0x100);
	WORD(0xf8 + 8) = RETURN(2);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(NO_INFO, false);
}

TEST_F(synth, fault_of_the_table)
{
	RULE(OUTERMOST);
	REGS.fp = 0;
	/* As nothing is known of the table yet, it has to be read. */
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, PROT_NONE));
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &CHAIN));
	EXPECT_EQ(1, CHAIN.nr);
	EXPECT_END(FAULT, false);
	/* It is not lost. */
	ASSERT_EQ(0, mprotect(self->synth.table, SYNTH_TABLE, PROT_READ | PROT_WRITE));
	EXPECT_NO_CALLERS();
	EXPECT_END(COMPLETE, false);
}

/* A stack whose next page is beyond the end of its file. */
TEST_F(synth, fault_of_the_stack)
{
	int fd = syscall(__NR_memfd_create, "stack", 0);
	unsigned char *stack;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	stack = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, stack);

	RULE(BY_SP(PAGE + 0x100));
	RULE(OUTERMOST);
	REGS.sp = (unsigned long)stack;
	EXPECT_NO_CALLERS();
	EXPECT_END(FAULT, false);

	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE));
	*(unsigned long *)(stack + PAGE + 0xf8) = RETURN(1);
	EXPECT_CALLERS(RETURN(1));
	EXPECT_END(COMPLETE, false);
}

TEST_F(synth, malformed)
{
	RULE(BY_SP(8));
	REGS.fp = 0;
	WORD(0x00) = RETURN(1);
	self->synth.table[2] = 9;	/* the version */
	EXPECT_NO_CALLERS();
	EXPECT_END(MALFORMED, false);
	/* It is known by now. */
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &CHAIN));
	EXPECT_END(MALFORMED, false);

	/* A guess helps, as far as it goes. */
	REGS.fp = AT(0x80);
	WORD(0x80) = 0;
	WORD(0x88) = RETURN(2);
	EXPECT_CALLERS(RETURN(2));
	EXPECT_END(MALFORMED, true);
}

TEST_F(synth, bad_frame)
{
	unsigned char *restorer = self->synth.text + 20 * FUNCTION_SIZE;

	REGS.fp = AT(0x80);
	WORD(0x80) = 0;
	WORD(0x88) = RETURN(2);

	/* Where nothing is, or no stack. */
	RULE(BY_SP(8));
	WORD(0x00) = 0;
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME, false);
	WORD(0x00) = 0xffffffff81000000UL;
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME, false);
	NO_RULES();
	RULE(BY_SP(9));
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME, false);
	NO_RULES();
	RULE(BY_SP(SYNTH_STACK + 8));
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME, false);
	NO_RULES();
	RULE(BY_SP(-8));
	EXPECT_NO_CALLERS();
	EXPECT_END(BAD_FRAME, false);

	/* A signal that interrupted nothing. */
	NO_RULES();
	RULE(BY_SP(8));
	memcpy(restorer, restorer_code, sizeof(restorer_code));
	WORD(0x00) = (unsigned long)restorer;
	synth_signal((void *)AT(0x08), 0, AT(0x500), 0);
	EXPECT_CALLERS((unsigned long)restorer);
	EXPECT_END(BAD_FRAME, false);
}

/*
 * A thread that began by a system call of its own: the rule there is the parent's, and
 * what is above its first frame is no return address.
 */
TEST_F(synth, return_address_that_is_no_code)
{
	const unsigned long none[] = {
		2, AT(0x40), (unsigned long)self->synth.table,
		(unsigned long)self->synth.text + SYNTH_TEXT + 1,
	};
	unsigned char *restorer = self->synth.text + 20 * FUNCTION_SIZE;

	RULE(BY_SP(8));
	RULE(BY_SP(8));
	WORD(0x00) = RETURN(1);
	for (unsigned int i = 0; i < ARRAY_SIZE(none); i++) {
		WORD(0x08) = none[i];
		/* No frame pointer leads on from there. */
		for (int further = 0; further < 2; further++) {
			REGS.fp = further ? AT(0x80) : 0;
			WORD(0x80) = 0;
			WORD(0x88) = RETURN(2);
			EXPECT_CALLERS(RETURN(1));
			EXPECT_END(BAD_FRAME, false);
		}
	}

	/* The last instruction of the text is a call that never returns. */
	REGS.fp = 0;
	WORD(0x08) = (unsigned long)self->synth.text + SYNTH_TEXT;
	EXPECT_CALLERS(RETURN(1), WORD(0x08));
	EXPECT_END(NO_INFO, false);

	/* What a signal interrupted is where it is. */
	memcpy(restorer, restorer_code, sizeof(restorer_code));
	WORD(0x00) = (unsigned long)restorer;
	synth_signal((void *)AT(0x08), 2, AT(0x500), 0);
	EXPECT_CALLERS((unsigned long)restorer, 2);
	EXPECT_END(NO_INFO, false);
}

TEST_F(synth, depth)
{
	/* A row without words, behind the function that all other frames are of. */
	static const unsigned char outermost[] = { 1, 0, 0, 0, 0, 0, 0 };
	const unsigned long behind = 1 + MAX_CHAIN / FUNCTION_SIZE + 1;
	unsigned long *stack = (unsigned long *)self->synth.stack;

	hostile_frames(&self->synth);
	synth_add(&self->synth, behind * FUNCTION_SIZE, FUNCTION_SIZE, outermost,
		  sizeof(outermost));
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, CHAIN.nr);
	EXPECT_END(DEPTH, false);

	/* One that just fits is complete, */
	stack[MOST_FRAMES - 2] = RETURN(behind);
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, CHAIN.nr);
	EXPECT_EQ(RETURN(behind), CHAIN.ips[MOST_FRAMES - 1]);
	EXPECT_END(COMPLETE, false);

	/* and one frame more does not fit. */
	stack[MOST_FRAMES - 2] = RETURN(1);
	stack[MOST_FRAMES - 1] = RETURN(behind);
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	EXPECT_EQ(MOST_FRAMES, CHAIN.nr);
	EXPECT_END(DEPTH, false);
}

/* --- What administrators see --- */

#define END_EVENT	"unwind_user/unwind_user_end"

/* The event's fields. */
struct end_event {
	unsigned long frames, ip, end, last, guessed, lookups, caller_lookups;
};

/* A field of a record, where the event's format says that it is; returns whether it does. */
static bool get_field(const char *record, const char *name, unsigned long *value)
{
	char line[256], path[EVENT_PATH];
	unsigned int offset, size;
	bool found = false;
	FILE *file;

	*value = 0;
	event_path(path, END_EVENT, "format");
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *end = strstr(line, ";\toffset:");
		size_t len = strlen(name);

		/* field:TYPE NAME;	offset:NUMBER;	size:NUMBER; */
		if (!end || end - line <= (long)len || end[-len - 1] != ' ' ||
		    strncmp(end - len, name, len) ||
		    sscanf(end, ";\toffset:%u;\tsize:%u;", &offset, &size) != 2)
			continue;
		found = size <= sizeof(*value);
		if (found)
			memcpy(value, record + offset, size);
	}
	if (file)
		fclose(file);
	return found;
}

/* The last of the events in the ring; returns how many there were, or -1. */
static int events_in(struct sampler *sampler, struct end_event *event)
{
	int events = 0, type;

	while ((type = sampler_record(sampler))) {
		/* The size, of 32 bits, and the bytes. */
		const char *record = (char *)sampler->words + sizeof(int);

		if (type != PERF_RECORD_SAMPLE)
			continue;
		if (!get_field(record, "frames", &event->frames) ||
		    !get_field(record, "ip", &event->ip) ||
		    !get_field(record, "end", &event->end) ||
		    !get_field(record, "last", &event->last) ||
		    !get_field(record, "guessed", &event->guessed) ||
		    !get_field(record, "lookups", &event->lookups) ||
		    !get_field(record, "caller_lookups", &event->caller_lookups))
			return -1;
		events++;
	}
	return events;
}

TEST_F(synth, trace_event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.sample_period = 1, .sample_type = PERF_SAMPLE_RAW,
	};
	struct end_event event = {};
	struct sampler sampler;
	long id = event_id(END_EVENT);

	ASSERT_LT(0, id);
	attr.config = id;

	RULE(BY_SP(8));
	RULE(OUTERMOST);
	WORD(0x00) = RETURN(1);
	/* The process remembers rules from its first caller on. */
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(0, sampler_open_event(&sampler, &attr));
	EXPECT_CALLERS(RETURN(1));
	ASSERT_EQ(2, events_in(&sampler, &event));
	EXPECT_EQ(2, event.frames);
	EXPECT_EQ(RETURN(1), event.ip);
	EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, event.end);
	EXPECT_EQ(1, event.last);	/* by table */
	EXPECT_EQ(0, event.guessed);
	/* The second stack asks no table. */
	EXPECT_EQ(0, event.lookups);
	ASSERT_EQ(NULL, synth_sample(&self->synth));
	ASSERT_EQ(1, events_in(&sampler, &event));
	EXPECT_EQ(2, event.lookups);
	EXPECT_EQ(1, event.caller_lookups);

	/* Nor where a frame is larger than a slot of the cache has room for. */
	NO_RULES();
	RULE(BY_SP(8));
	RULE(BY_SP(0x9000));
	RULE(OUTERMOST);
	WORD(0x9000) = RETURN(2);
	EXPECT_CALLERS(RETURN(1), RETURN(2));
	ASSERT_EQ(2, events_in(&sampler, &event));
	EXPECT_EQ(3, event.frames);
	EXPECT_EQ(0, event.lookups);

	chain_of_frame_pointers(&self->synth);
	EXPECT_CALLERS(RETURN(1), RETURN(2), RETURN(3));
	ASSERT_EQ(2, events_in(&sampler, &event));
	EXPECT_EQ(4, event.frames);
	EXPECT_EQ(RETURN(3), event.ip);
	EXPECT_EQ(PERF_CALLCHAIN_END_NO_INFO, event.end);
	EXPECT_EQ(2, event.last);	/* by frame pointer */
	EXPECT_EQ(1, event.guessed);
	sampler_close(&sampler);
}

/* A sample of that event asks for the stack that was just taken: it ends. */
TEST_F(synth, trace_event_with_stacks)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	struct sampler other = {};
	long id = event_id(END_EVENT);

	ASSERT_LT(0, id);
	attr.config = id;
	RULE(OUTERMOST);
	sampler_close(&self->synth.sampler);
	ASSERT_EQ(0, sampler_open_stacks(&self->synth.sampler, attr));
	/* There is one when a stack is taken for another. */
	ASSERT_EQ(0, sampler_open(&other));
	synth_enter(&self->synth.frame);
	EXPECT_EQ(NULL, sampler_chain(&self->synth.sampler, &CHAIN));
	EXPECT_EQ(1, CHAIN.nr);
	EXPECT_END(COMPLETE, false);
	sampler_close(&other);
}

TEST_HARNESS_MAIN
