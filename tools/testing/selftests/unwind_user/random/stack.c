// SPDX-License-Identifier: GPL-2.0
/* Operations at random: tables' contents, stacks, and samples. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "random.h"

static struct rule any_rule(void)
{
	struct rule rule = { .by_sp = one_in(2), .signal = one_in(8), .nr = below(7) };

	switch (below(6)) {
	case 0:
		return BY_SP(8 * (int)below(16));
	case 1:
		return BY_SP(8 * (int)(1 + below(4)), -16);
	case 2:
		return BY_FP(16, -16);
	case 3:
		return FLEXIBLE(REG((int)below(REGISTERS)), 8 * (int)below(64), AT_CFA, -8);
	case 4:
		return FLEXIBLE(AT_REG((int)below(REGISTERS)), 8 * (int)below(8),
				AT_REG((int)below(REGISTERS)), (int)below(4096) - 2048, NO_RULE);
	}
	rule.flexible = one_in(2);
	for (int i = 0; i < rule.nr; i++)
		rule.words[i] = one_in(4) ? any_number() : below(256) - 64;
	return rule;
}

/* The program of an FDE; its length. */
static size_t any_program(unsigned char program[static 12])
{
	static const struct {
		unsigned char len, program[11];
	} usual[] = {
		{ 0 },
		{ 2, { UNDEFINED, RETURN_ADDRESS } },
		{ 6, { DEF_CFA_OFFSET, 16, ADVANCE(4), DEF_CFA_OFFSET, 24, NOP } },
		{ 5, { DEF_CFA, FP, 16, SAVED(FP), 2 } },
		{ 3, { DEF_CFA, S0, 16 } },
		{ 4, { DEF_CFA_OFFSET, 24, SAVED(S0), 2 } },
		{ 5, { DEF_CFA_EXPRESSION, 3, BREG(FP), 0x78, 0x06 } },
		{ 4, { REMEMBER, ADVANCE(1), DEF_CFA_OFFSET, 32 } },
	};
	unsigned int which = below(ARRAY_SIZE(usual) + 1);

	if (which < ARRAY_SIZE(usual)) {
		memcpy(program, usual[which].program, usual[which].len);
		return usual[which].len;
	}
	for (int i = 0; i < 12; i++)
		program[i] = any_number();
	return 1 + below(12);
}

/* Make a table, which may be damaged, in this thread's page. It will be at @target. */
void make_table(unsigned int format, unsigned char *text, unsigned char *target)
{
	/* It says how far the text is. */
	struct synth synth = { .table = me->page, .text = me->page + (text - target) };
	bool eh_frame = format == UNWIND_TABLE_EH_FRAME;
	int functions = 1 + below(SYNTH_FUNCTIONS);
	unsigned char program[12];

	memset(me->page, 0, sizeof(me->page));
	if (eh_frame)
		eh_no_rules(&synth);
	else
		synth_no_rules(&synth);
	while (functions-- > 0) {
		if (eh_frame)
			eh_add(&synth, one_in(8) ? EH_SIGNAL_CIE : EH_CIE, program,
			       any_program(program));
		else
			synth_rule(&synth, any_rule());
	}
	switch (below(6)) {
	case 0:
		me->page[(eh_frame ? EH_HEADER : 0) + below(sizeof(struct table_header))] ^=
			1 << below(8);
		break;
	case 1:
		me->page[below(PAGE)] = any_number();
		break;
	case 2:
		for (unsigned int i = 0; i < sizeof(me->page); i++)
			me->page[i] = any_number();
		break;
	}
}

unsigned int any_format(void)
{
	return one_in(2) ? UNWIND_TABLE_SFRAME : UNWIND_TABLE_EH_FRAME;
}

/* Where a table is to be written. */
static __thread unsigned char *target;

static void copy_page(void)
{
	memcpy(target, me->page, sizeof(me->page));
}

/* Write a table; it is made elsewhere, for others write here, too. */
void act_table(void)
{
	target = part_page(TABLES, below(PAGES - 1));
	make_table(any_format(), any_page(TEXT), target);
	count(TABLE, guarded(copy_page));
}

static unsigned long stack_word(unsigned char *at)
{
	unsigned char *text = any_page(TEXT);

	switch (below(8)) {
	case 0:
		return any_word();
	case 1:
		return (unsigned long)at + 8 * below(32);
	case 2:
		return (unsigned long)text + (20 + below(2)) * FUNCTION_SIZE;
	default:
		return (unsigned long)text + below(SYNTH_FUNCTIONS) * FUNCTION_SIZE + RETURN_OFFSET;
	}
}

static void write_stack(void)
{
	unsigned char *at = (unsigned char *)(me->frame.regs.sp & -8);

	for (unsigned int i = 0; i < 128; i++, at += sizeof(long)) {
		unsigned long word = stack_word(at);

		memcpy(at, &word, sizeof(word));
		/* Behind a restorer there is what a signal has interrupted. */
		if (one_in(32)) {
			synth_signal(at + 8, stack_word(at), stack_word(at), stack_word(at));
			at += SIGNAL_CONTEXT + SIGNAL_CONTEXT_SIZE;
		}
	}
}

static void play_synth(void)
{
	synth_enter(&me->frame);
}

/* Take what is in the ring, and look whether it can be a stack. */
static void drain(void)
{
	const int stack = me->at_once ? PERF_RECORD_SAMPLE : PERF_RECORD_CALLCHAIN_DEFERRED;
	struct sampler *sampler = &me->sampler;
	int type;

	while ((type = sampler_record(sampler)) > 0) {
		unsigned long nr = sampler->words[1], *ips = &sampler->words[2];

		if (type != stack)
			continue;
		count(me->at_once ? AT_ONCE : SAMPLE, nr > 1 + me->at_once);
		if ((!nr && !me->at_once) || nr > MAX_CHAIN) {
			failure("a stack of %lu frames", nr);
			return;
		}
		/* At once, a frame pointer may lead to any word. */
		for (unsigned long i = 0; i < nr && !me->at_once; i++) {
			if (ips[i] >> 56)
				failure("frame %lu of %lu is at 0x%lx", i, nr, ips[i]);
		}
	}
	if (type < 0)
		failure("a record that is too long");
}

static bool open_sampler(struct perf_event_attr attr)
{
	if (!me->at_once)
		return !sampler_open_stacks(&me->sampler, attr);
	/* Also in the middle of what the kernel does. */
	attr.exclude_kernel = one_in(2);
	attr.exclude_callchain_kernel = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	return !sampler_open_event(&me->sampler, &attr);
}

/* From now on this thread is sampled: at each getppid(), or by a counter or the clock. */
static void act_sampler(void)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 50000 + below(1000000),
		.exclude_kernel = 1,
	};
	struct perf_event_attr call = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = common->tracepoint,
		.sample_period = 1,
		.exclude_kernel = 1,
	};

	/* Most machines have it, and its events are NMIs. */
	struct perf_event_attr cycles = clock;

	cycles.type = PERF_TYPE_HARDWARE;
	cycles.config = PERF_COUNT_HW_CPU_CYCLES;
	if (me->sampled)
		sampler_close(&me->sampler);
	me->at_once = one_in(2);
	me->sampled = one_in(4) ? open_sampler(cycles) || open_sampler(clock) : open_sampler(call);
}

/* Sample a stack that starts in a page of text. */
void play_at(unsigned char *text)
{
	struct synth_regs *regs = &me->frame.regs;
	unsigned long *words = (unsigned long *)regs;

	if (!me->sampled || one_in(500))
		act_sampler();
	for (unsigned int i = 0; i < sizeof(*regs) / sizeof(*words); i++)
		words[i] = any_word();
	regs->ip = (unsigned long)text;
	if (!one_in(8)) {
		regs->sp = (unsigned long)any_page(STACK) + 8 * below(PAGE / 8);
		guarded(write_stack);
	}
	if (!one_in(4))
		regs->fp = regs->sp + 8 * below(64);
	count(SYNTH, guarded(play_synth));
	if (me->sampled)
		drain();
}

void act_synth(void)
{
	play_at(any_page(TEXT));
}

void act_signal(void)
{
	pid_t tid = __atomic_load_n(&actors[below(ACTORS)].tid, __ATOMIC_RELAXED);

	if (tid && !me->child)
		syscall(__NR_tgkill, getpid(), tid, SIGUSR1);
}
