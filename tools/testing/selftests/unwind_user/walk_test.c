// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks of all shapes: values in any register, signal frames,
 * other stacks. Each is sampled in one place, where it is known exactly, then at each
 * instruction, and wherever a clock strikes, where its callers must be those of the
 * function there.
 */
#include "nolibc.h"

#include <linux/hw_breakpoint.h>

#include "kselftest_harness.h"
#include "scenario.h"
#include "walk.h"

/* The kernel's, not a library's. */
#define SA_RESTORER_FLAG	0x04000000
#define SA_SIGINFO_FLAG		0x00000004
#define SA_ONSTACK_FLAG		0x08000000
#define SA_NODEFER_FLAG		0x40000000
#define SIGNAL_ILL		4
#define SIGNAL_TRAP		5
/* Where a struct ucontext has the instruction pointer. */
#define UCONTEXT_IP		168
#define TRAP_FLAG		0x100UL

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
	NESTED,
	PLAIN,		/* without SA_SIGINFO */
};

struct walk {
	struct scenario scenario;
	/* Not NULL if there is a signal. */
	const char *restorer;
	enum how how;
	/* At times in the place of the topmost function. */
	void (*instead)(void);
	/* Whether its stack goes on in another mapping at times: that is a guess. */
	bool crosses;
};

/* All code of these is described, so that all their stacks are known. */
FIXTURE(described)
{
	__int128 high[2048];
};

FIXTURE_VARIANT(described)
{
	struct walk walk;
};

FIXTURE(undescribed)
{
	__int128 high[2048];
};

FIXTURE_VARIANT(undescribed)
{
	struct walk walk;
};

FIXTURE_VARIANT_ADD(described, cfa_on_the_stack)
{
	{ { chain_aligned, 0, { leaf_bad_fp_ip, chain_aligned_return } } }
};

FIXTURE_VARIANT_ADD(described, cfa_on_the_stack_on_top)
{
	{ { chain_aligned_top, 0, { chain_aligned_top_ip } } }
};

FIXTURE_VARIANT_ADD(described, cfa_in_another_register)
{
	{ { chain_r10, 0, { chain_r10_ip } } }
};

FIXTURE_VARIANT_ADD(described, tail_call)
{
	{ { chain_tail, 0, { leaf_bad_fp_ip, chain_tail_return } }, .instead = tail_inner }
};

FIXTURE_VARIANT_ADD(undescribed, assembly)
{
	{ { chain_undescribed, 0, { leaf_ip, undescribed_return, chain_undescribed_return },
	    .guessed = true } }
};

FIXTURE_VARIANT_ADD(described, signal)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	    restorer }
};

FIXTURE_VARIANT_ADD(described, signal_without_siginfo)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	    restorer, PLAIN }
};

FIXTURE_VARIANT_ADD(described, short_restorer)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer_short,
	    chain_signal_ud2 } }, restorer_short }
};

FIXTURE_VARIANT_ADD(undescribed, restorer_by_its_mark)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer_marked,
	    chain_signal_ud2 } }, restorer_marked }
};

FIXTURE_VARIANT_ADD(described, signal_on_a_lower_stack)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	    restorer, ON_A_LOWER_STACK }
};

FIXTURE_VARIANT_ADD(described, signal_in_a_signal)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, handler_ud2, restorer,
	    chain_signal_ud2 } }, restorer, NESTED }
};

FIXTURE_VARIANT_ADD(described, signal_in_a_signal_on_a_lower_stack)
{
	{ { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, handler_ud2, restorer,
	    chain_signal_ud2 } }, restorer, ON_A_LOWER_STACK }
};

FIXTURE_VARIANT_ADD(described, signal_at_the_first_instruction)
{
	{ { chain_signal_first, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    signal_first_ud2, chain_signal_first_return } }, restorer }
};

FIXTURE_VARIANT_ADD(described, signal_in_a_prologue)
{
	{ { chain_signal_prologue, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    signal_prologue_ud2, chain_signal_prologue_return } }, restorer }
};

FIXTURE_VARIANT_ADD(described, signal_in_an_epilogue)
{
	{ { chain_signal_epilogue, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    chain_signal_epilogue_ud2 } }, restorer }
};

FIXTURE_VARIANT_ADD(described, signal_with_cfa_in_another_register)
{
	{ { chain_signal_r10, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    chain_signal_r10_ud2 } }, restorer }
};

FIXTURE_VARIANT_ADD(described, coroutine)
{
	{ { chain_coroutine, 0, { leaf_bad_fp_ip, handler_return, restorer, coroutine_ud2 },
	    true }, restorer, .crosses = true }
};

FIXTURE_VARIANT_ADD(described, coroutine_with_signal_on_a_higher_stack)
{
	{ { chain_coroutine, 0, { leaf_bad_fp_ip, handler_return, restorer, coroutine_ud2 },
	    true }, restorer, ON_A_HIGHER_STACK, .crosses = true }
};

FIXTURE_VARIANT_ADD(described, frame_in_another_mapping_above)
{
	{ { chain_left, 0, { leaf_ip, chain_left_return }, .guessed = true }, .crosses = true }
};

FIXTURE_VARIANT_ADD(undescribed, circle)
{
	{ { chain_cycle, 0, { leaf_ip, undescribed_return, cycle_return, undescribed_return,
	    cycle_return }, true, PERF_CALLCHAIN_END_NO_INFO, true } }
};

static int take(int number, void *handler, unsigned long flags, const void *restorer)
{
	struct kernel_sigaction action = {
		.handler = handler,
		.flags = flags | SA_RESTORER_FLAG | SA_NODEFER_FLAG,
		.restorer = restorer,
	};

	return syscall(__NR_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

/* Take SIGILL as a walk wants it, with @high as the higher stack. */
static int take_signal(const struct walk *walk, void *high, size_t size)
{
	static __int128 low[2048];
	struct kernel_stack stack = { low, 0, sizeof(low) };
	unsigned long flags = 0;

	if (!walk->restorer)
		return 0;
	if (walk->how != PLAIN)
		flags |= SA_SIGINFO_FLAG;
	if (walk->how == ON_A_LOWER_STACK || walk->how == ON_A_HIGHER_STACK)
		flags |= SA_ONSTACK_FLAG;
	if (walk->how == ON_A_HIGHER_STACK) {
		stack.sp = high;
		stack.size = size;
	}
	return syscall(__NR_sigaltstack, &stack, NULL) ?:
	       take(SIGNAL_ILL, handler, flags, walk->restorer);
}

static void set_up(struct __test_metadata *_metadata, const struct walk *walk, void *high,
		   size_t size)
{
	int error;

	if (!HAS_TABLE)
		SKIP(return, OLD_ASSEMBLER);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, take_signal(walk, high, size));
	/* A handler is interrupted itself. */
	nest = walk->scenario.labels[3] == handler_ud2;
}

FIXTURE_SETUP(described)
{
	set_up(_metadata, &variant->walk, self->high, sizeof(self->high));
}

FIXTURE_TEARDOWN(described)
{
}

TEST_F(described, once)
{
	EXPECT_EQ(0, sample(&variant->walk.scenario, false));
}

FIXTURE_SETUP(undescribed)
{
	set_up(_metadata, &variant->walk, self->high, sizeof(self->high));
}

FIXTURE_TEARDOWN(undescribed)
{
}

TEST_F(undescribed, once)
{
	EXPECT_EQ(0, sample(&variant->walk.scenario, false));
}

/* The stacks that there may be. */
struct possible {
	const struct walk *walk;
	/* With all of the scenario's functions, and with none of them. */
	struct chain scenario, callers;
};

/* Once its handler is done, what a signal interrupted goes on behind the ud2. */
#define UD2_SIZE	2

static bool is_same(unsigned long ip, unsigned long expected)
{
	static const unsigned char ud2[UD2_SIZE] = { 0x0f, 0x0b };

	return ip == expected ||
	       (ip == expected + UD2_SIZE && !memcmp((void *)expected, ud2, UD2_SIZE));
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
	if (top->start == (unsigned long)walk->instead && has_below(chain, &possible->scenario, 1))
		return true;
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

#define MAX_STEPS	128

/* The instructions in assembly that a scenario executes, each once. */
static unsigned long steps[MAX_STEPS];
static unsigned int nr_steps;

static void add_step(unsigned long ip)
{
	if (!chain_function_at(ip))
		return;
	for (unsigned int i = 0; i < nr_steps; i++) {
		if (steps[i] == ip)
			return;
	}
	if (nr_steps < MAX_STEPS)
		steps[nr_steps++] = ip;
}

/* Handler of SIGTRAP, which comes before each instruction. */
static void note_step(int number, void *info, const char *context)
{
	/* Less what SIGILL's handler returns to: the next trap and breakpoints come behind it. */
	add_step(*(const unsigned long *)(context + UCONTEXT_IP));
}

TEST_F(described, at_each_instruction)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	const struct walk *walk = &variant->walk;
	static struct possible possible;
	static struct chain chain;
	bool nested = nest;

	sampler_close(&sampler);
	ASSERT_EQ(0, take(SIGNAL_TRAP, note_step, SA_SIGINFO_FLAG, restorer));
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	chain_call(walk->scenario.chain, walk->scenario.depth);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
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
		EXPECT_LT(0, good) TH_LOG("at 0x%lx", steps[i]);
		sampler_close(&sampler);
	}
}

/* --- By a clock --- */

#define CLOCK_PERIOD	50000
#define CLOCK_SAMPLES	500

/* While the clock runs, this function calls nothing but the scenario. */
TEST_F_TIMEOUT(described, by_a_clock, 300)
{
	const struct walk *walk = &variant->walk;
	static struct possible possible;
	static struct chain chain;
	bool nested = nest;
	int samples = 0;

	/* Nothing else samples this. */
	sampler_close(&sampler);
	ASSERT_EQ(0, sampler_open_clock(&sampler, CLOCK_PERIOD));
	expect_possible(walk, &possible);
	while (samples < CLOCK_SAMPLES) {
		const unsigned long *head = (void *)&sampler.page->data_head;
		unsigned long full = *head + RING_SIZE / 2;
		int more;

		/* A slow machine takes many samples in each call: stop before any is lost. */
		__nolibc_syscall3(__NR_ioctl, sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		for (int i = 0; i < 10 && __atomic_load_n(head, __ATOMIC_RELAXED) < full; i++) {
			nest = nested;
			chain_call(walk->scenario.chain, walk->scenario.depth);
		}
		__nolibc_syscall3(__NR_ioctl, sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
		more = sampler_each(&sampler, &chain, is_possible, &possible);
		ASSERT_LE(0, more);
		samples += more;
	}
}

TEST_HARNESS_MAIN
