// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks of all shapes that an architecture has, compared with what is known to be on the
 * stack, once and at each instruction. The program is one with tables, as in chain_test.c.
 */
#include "nolibc.h"

#include <linux/hw_breakpoint.h>

#include "kselftest_harness.h"
#include "scenario.h"
#include "sysctl.h"
#include "walk.h"

/* The kernel's, not a library's. */
#define SA_RESTORER_FLAG	0x04000000
#define SA_SIGINFO_FLAG		0x00000004
#define SA_ONSTACK_FLAG		0x08000000
#define SA_NODEFER_FLAG		0x40000000
#define SIGNAL_ILL		4

struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	const void *restorer;
	unsigned long mask;
};

struct kernel_stack {
	void *sp;
	int flags;
	size_t size;
};

/* How a scenario's signals are taken. */
enum how {
	ON_THIS_STACK,
	ON_A_LOWER_STACK,
	ON_A_HIGHER_STACK,
};

struct walk {
	struct scenario scenario;
	/* Not NULL if there is a signal. */
	const char *restorer;
	enum how how;
	/* Functions that are on top at times, in place of the topmost one. */
	void (*instead[2])(void);
	/* Its stack goes on in another mapping at times, which is a guess. */
	bool crosses;
};

/* A table describes all code of these stacks, so each instruction can be sampled. */
FIXTURE(described)
{
	__int128 high[4096];
	struct walk walk;
};

FIXTURE_VARIANT(described)
{
	struct walk walk;
};

FIXTURE(undescribed)
{
	__int128 high[4096];
	struct walk walk;
};

FIXTURE_VARIANT(undescribed)
{
	struct walk walk;
};

static int take(int number, void *handler, unsigned long flags, const void *restorer);

#include "walks.h"

FIXTURE_VARIANT_ADD(described, tail_call)
	{ { { chain_tail, 0, { leaf_bad_fp_ip, chain_tail_return } }, .instead = { tail_inner } } };
FIXTURE_VARIANT_ADD(undescribed, called_through_a_register)
	{ { { asm_alone, 0, { asm_alone_ip }, .guessed = true } } };
FIXTURE_VARIANT_ADD(described, signal)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, USUAL_RESTORER,
	    chain_signal_fault } }, USUAL_RESTORER } };
FIXTURE_VARIANT_ADD(described, signal_on_a_lower_stack)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, USUAL_RESTORER,
	    chain_signal_fault } }, USUAL_RESTORER, ON_A_LOWER_STACK } };
FIXTURE_VARIANT_ADD(described, signal_in_a_signal)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, USUAL_RESTORER, handler_fault,
	    USUAL_RESTORER, chain_signal_fault } }, USUAL_RESTORER } };
FIXTURE_VARIANT_ADD(described, signal_at_the_first_instruction)
	{ { { chain_signal_first, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    signal_first_fault, chain_signal_first_return } }, restorer } };
FIXTURE_VARIANT_ADD(described, coroutine)
	{ { { chain_coroutine, 0, { leaf_bad_fp_ip, handler_return, restorer, coroutine_fault },
	    true }, restorer, .crosses = true } };
FIXTURE_VARIANT_ADD(described, coroutine_with_signal_on_a_higher_stack)
	{ { { chain_coroutine, 0, { leaf_bad_fp_ip, handler_return, restorer, coroutine_fault },
	    true }, restorer, ON_A_HIGHER_STACK, .crosses = true } };

static int take(int number, void *handler, unsigned long flags, const void *restorer)
{
	struct kernel_sigaction action = {
		.handler = handler,
		.flags = flags | (restorer ? SA_RESTORER_FLAG : 0) | SA_NODEFER_FLAG,
		.restorer = restorer,
	};

	return syscall(__NR_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

/* Take SIGILL as a walk wants it, with @high as the higher stack. */
static int take_signal(const struct walk *walk, void *high, size_t size)
{
	static __int128 low[4096];
	struct kernel_stack stack = { low, 0, sizeof(low) };
	unsigned long flags = SA_SIGINFO_FLAG;

	if (!walk->restorer)
		return 0;
	if (walk->how == ON_A_LOWER_STACK || walk->how == ON_A_HIGHER_STACK)
		flags |= SA_ONSTACK_FLAG;
	if (walk->how == ON_A_HIGHER_STACK) {
		stack.sp = high;
		stack.size = size;
	}
	return syscall(__NR_sigaltstack, &stack, NULL) ?:
	       take(SIGNAL_ILL, handler, flags, restorer_of(walk));
}

static void set_up(struct __test_metadata *_metadata, struct walk *walk, void *high, size_t size)
{
	const char *missing = table_missing();
	int error;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, take_signal(walk, high, size));
	resolve(walk);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
	/* A handler is interrupted itself. */
	nest = walk->scenario.labels[3] == handler_fault;
}

FIXTURE_SETUP(described)
{
	self->walk = variant->walk;
	set_up(_metadata, &self->walk, self->high, sizeof(self->high));
}

FIXTURE_TEARDOWN(described)
{
}

TEST_F(described, once)
{
	EXPECT_EQ(0, sample(&self->walk.scenario, false));
}

/* Once a deferred walk has read the tables, a walk in the event's context finds the stack. */
TEST_F(described, at_once)
{
	const struct walk *walk = &self->walk;
	static struct chain chain, expected;
	const char *error;
	bool nested = nest;

	ASSERT_EQ(0, sample(&walk->scenario, false));
	sampler_close(&sampler);
	ASSERT_EQ(0, sysctl_set(SYSCTL_TABLES, 3));
	ASSERT_EQ(0, sampler_open_at_once(&sampler, "getppid"));
	nest = nested;
	chain_call(walk->scenario.chain, walk->scenario.depth);
	error = sampler_chain_at_once(&sampler, &chain);
	ASSERT_EQ(NULL, error) TH_LOG("%s", error);
	expect_scenario(&walk->scenario, &expected);
	EXPECT_TRUE(same_frames(&chain, 0, &expected))
		print_difference(&chain, 0, &expected);
	sysctl_restore();
}

FIXTURE_SETUP(undescribed)
{
	self->walk = variant->walk;
	set_up(_metadata, &self->walk, self->high, sizeof(self->high));
}

FIXTURE_TEARDOWN(undescribed)
{
}

TEST_F(undescribed, once)
{
	EXPECT_EQ(0, sample(&self->walk.scenario, false));
}

/* The stacks that there may be. */
struct possible {
	const struct walk *walk;
	/* With all of the scenario's functions, and with none of them. */
	struct chain scenario, callers;
};

/* Once its handler is done, what a signal interrupted goes on behind the instruction. */
static bool is_same(unsigned long ip, unsigned long expected)
{
	return ip == expected || (ip == expected + sizeof(fault_code) &&
				  !memcmp((void *)expected, fault_code, sizeof(fault_code)));
}

/* Whether all below the topmost frame is what a whole stack has from @from on. */
static bool has_below(const struct chain *chain, const struct chain *whole, unsigned int from)
{
	unsigned int nr = chain->nr - 1;

	if (nr != whole->nr - from)
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		if (!is_same(chain->ips[1 + i], whole->ips[from + i]))
			return false;
	}
	return true;
}

/* Whether a stack is a whole one from the topmost frame's function on. */
static bool is_part_of(const struct chain *chain, const struct chain *whole)
{
	const struct chain_function *top = chain_function_at(chain->ips[0]);

	for (unsigned int i = 0; i < whole->nr; i++) {
		if (chain_function_at(whole->ips[i]) == top && has_below(chain, whole, i + 1))
			return true;
	}
	return false;
}

static bool has_possible_callers(const struct chain *chain, const struct possible *possible)
{
	const struct chain_function *top = chain_function_at(chain->ips[0]);
	const struct walk *walk = possible->walk;

	/* A function in C, which is that of the test. */
	if (!top)
		return is_from_start(chain);
	if (top->start == (unsigned long)walk->scenario.chain &&
	    has_below(chain, &possible->callers, 0))
		return true;
	for (unsigned int i = 0; i < ARRAY_SIZE(walk->instead); i++) {
		if (top->start == (unsigned long)walk->instead[i] &&
		    has_below(chain, &possible->scenario, 1))
			return true;
	}
	return is_part_of(chain, &possible->scenario) || is_part_of(chain, &possible->callers);
}

static bool is_possible(const struct chain *chain, const void *arg)
{
	const struct possible *possible = arg;

	if (chain->nr && chain->end == PERF_CALLCHAIN_END_COMPLETE &&
	    (!chain->guessed || possible->walk->crosses) && has_possible_callers(chain, possible))
		return true;
	ksft_print_msg("not a stack that there is, %u frames, end %u, guessed %d:\n",
		       chain->nr, chain->end, chain->guessed);
	for (unsigned int i = 0; i < chain->nr; i++)
		ksft_print_msg("%u: 0x%lx\n", i, chain->ips[i]);
	return false;
}

static void expect_possible(const struct walk *walk, struct possible *possible)
{
	possible->walk = walk;
	possible->scenario.nr = 0;
	for (unsigned int i = 0; walk->scenario.labels[i]; i++)
		expect(&possible->scenario, walk->scenario.labels[i]);
	if (!walk->scenario.ends)
		expect(&possible->scenario, chain_call_return);
	possible->callers.nr = 0;
	expect(&possible->callers, chain_call_return);
}

/* --- At each instruction --- */

/* Instructions in assembly, each once. */
static unsigned long steps[MAX_STEPS];

TEST_F(described, at_each_instruction)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_len = BREAKPOINT_LEN,
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	const struct walk *walk = &self->walk;
	unsigned int nr_steps, hits = 0;
	static struct possible possible;
	static struct chain chain;
	bool nested = nest;

	sampler_close(&sampler);
	nr_steps = find_steps(walk, steps);
	/* Those of chain_call(), of the scenario, and of what it calls. */
	ASSERT_LE(7 + 3, nr_steps);
	ASSERT_GT(MAX_STEPS, nr_steps);

	expect_possible(walk, &possible);
	for (unsigned int i = 0; i < nr_steps; i++) {
		int good = 0;

		attr.bp_addr = steps[i];
		ASSERT_EQ(0, sampler_open_stacks(&sampler, attr));
		/* Emulated processors miss a breakpoint, seldom. */
		for (int tries = 0; tries < 3 && !good; tries++) {
			nest = nested;
			chain_call(walk->scenario.chain, walk->scenario.depth);
			good = sampler_each(&sampler, &chain, is_possible, &possible);
		}
		EXPECT_LE(0, good) TH_LOG("at 0x%lx", steps[i]);
		hits += good > 0;
		sampler_close(&sampler);
	}
	EXPECT_LE(MIN_HITS, hits);
}

TEST_HARNESS_MAIN
