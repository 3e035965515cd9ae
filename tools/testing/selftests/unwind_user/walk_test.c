// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks of all shapes: values in any register, signal frames,
 * other stacks. Each is sampled in one place, where it is known exactly, and then
 * wherever a clock strikes, where its callers must be those of the function there.
 */
#include "nolibc.h"

#include "kselftest.h"
#include "scenario.h"
#include "tap.h"
#include "walk.h"

/* The kernel's, not a library's. */
#define SA_RESTORER_FLAG	0x04000000
#define SA_SIGINFO_FLAG		0x00000004
#define SA_ONSTACK_FLAG		0x08000000
#define SA_NODEFER_FLAG		0x40000000
#define SIGNAL_ILL		4

struct kernel_sigaction {
	void (*handler)(int number);
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
	/* Whether all its code is described, so that all its stacks are known. */
	bool described;
	/* At times in the place of the topmost function. */
	void (*instead)(void);
	/* Whether its stack goes on in another mapping at times: that is a guess. */
	bool crosses;
};

static const struct walk walks[] = {
	{ { "CFA on the stack, where rbp points to", chain_aligned, 0,
	    { leaf_bad_fp_ip, chain_aligned_return } }, .described = true },
	{ { "the same on top", chain_aligned_top, 0,
	    { chain_aligned_top_ip } }, .described = true },
	{ { "CFA in another register on top", chain_r10, 0,
	    { chain_r10_ip } }, .described = true },
	{ { "tail call", chain_tail, 0,
	    { leaf_bad_fp_ip, chain_tail_return } }, .described = true, .instead = tail_inner },
	{ { "assembly that is not described", chain_undescribed, 0,
	    { leaf_ip, undescribed_return, chain_undescribed_return },
	    .guessed = true } },

	{ { "signal", chain_signal, 0, { leaf_bad_fp_ip, handler_return,
	      restorer, chain_signal_ud2 } },
	  restorer, .described = true },
	{ { "signal without SA_SIGINFO", chain_signal, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	  restorer, PLAIN, .described = true },
	{ { "signal, restorer of another length", chain_signal, 0,
	    { leaf_bad_fp_ip, handler_return, restorer_short, chain_signal_ud2 } },
	  restorer_short, .described = true },
	{ { "signal, restorer known by its mark", chain_signal, 0,
	    { leaf_bad_fp_ip, handler_return, restorer_marked, chain_signal_ud2 } },
	  restorer_marked },
	{ { "signal on a lower stack", chain_signal, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, chain_signal_ud2 } },
	  restorer, ON_A_LOWER_STACK, .described = true },
	{ { "signal in a signal", chain_signal, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, handler_ud2, restorer, chain_signal_ud2 } },
	  restorer, NESTED, .described = true },
	{ { "signal in a signal on a lower stack", chain_signal, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, handler_ud2, restorer, chain_signal_ud2 } },
	  restorer, ON_A_LOWER_STACK, .described = true },
	{ { "signal at a function's first instruction", chain_signal_first, 0,
	    { leaf_bad_fp_ip, handler_return,
	      restorer, signal_first_ud2, chain_signal_first_return } },
	  restorer, .described = true },
	{ { "signal in a prologue", chain_signal_prologue, 0,
	    { leaf_bad_fp_ip, handler_return,
	      restorer, signal_prologue_ud2, chain_signal_prologue_return } },
	  restorer, .described = true },
	{ { "signal in an epilogue", chain_signal_epilogue, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, chain_signal_epilogue_ud2 } },
	  restorer, .described = true },
	{ { "signal, CFA in another register", chain_signal_r10, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, chain_signal_r10_ud2 } },
	  restorer, .described = true },

	{ { "coroutine", chain_coroutine, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, coroutine_ud2 }, true },
	  restorer, .described = true, .crosses = true },
	{ { "coroutine, signal on a higher stack", chain_coroutine, 0,
	    { leaf_bad_fp_ip, handler_return, restorer, coroutine_ud2 }, true },
	  restorer, ON_A_HIGHER_STACK, .described = true, .crosses = true },
	{ { "frame in another mapping above", chain_left, 0,
	    { leaf_ip, chain_left_return }, .guessed = true },
	  .described = true, .crosses = true },
	{ { "frame pointers in a circle", chain_cycle, 0,
	    { leaf_ip, undescribed_return, cycle_return, undescribed_return, cycle_return },
	    true, PERF_CALLCHAIN_END_NO_INFO, true } },
};

/* Take SIGILL as a walk wants it, with @high as the higher stack. */
static int take_signal(const struct walk *walk, void *high, size_t size)
{
	static __int128 low[2048];
	struct kernel_stack stack = { low, 0, sizeof(low) };
	struct kernel_sigaction action = {
		.handler = handler,
		.flags = SA_RESTORER_FLAG | SA_NODEFER_FLAG,
		.restorer = walk->restorer,
	};

	if (walk->how != PLAIN)
		action.flags |= SA_SIGINFO_FLAG;
	if (walk->how == ON_A_LOWER_STACK || walk->how == ON_A_HIGHER_STACK)
		action.flags |= SA_ONSTACK_FLAG;
	if (walk->how == ON_A_HIGHER_STACK) {
		stack.sp = high;
		stack.size = size;
	}
	if (syscall(__NR_sigaltstack, &stack, NULL))
		return -1;
	return syscall(__NR_rt_sigaction, SIGNAL_ILL, &action, NULL, sizeof(action.mask));
}

static bool is_nested(const struct walk *walk)
{
	return walk->scenario.labels[3] == handler_ud2;
}

static int walk_once(const void *arg)
{
	const struct walk *walk = arg;
	__int128 high[2048];
	int ret;

	ENTER();
	if (walk->restorer && take_signal(walk, high, sizeof(high))) {
		ksft_print_msg("cannot take a signal: errno %d\n", errno);
		ret = NOT_SAMPLED;
	} else {
		nest = is_nested(walk);
		ret = sample(&walk->scenario, false);
	}
	LEAVE();
	return ret == 0;
}

/* The stacks that there may be. */
struct possible {
	const struct walk *walk;
	/* With all of the scenario's functions, and with none of them. */
	struct chain scenario, callers;
};

/* Once its handler is done, what a signal interrupted goes on behind the ud2. */
static bool is_same(unsigned long ip, unsigned long expected)
{
	static const unsigned char ud2[] = { 0x0f, 0x0b };

	return ip == expected ||
	       (ip == expected + sizeof(ud2) && !memcmp((void *)expected, ud2, sizeof(ud2)));
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

	/* No function in C but walk_by_clock() is seen, which has called chain_call(). */
	if (!top)
		return has_below(chain, &possible->callers, 2);
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

/* What is below walk_by_clock(), and on top of that the scenario. */
static void expect_possible(const struct walk *walk, struct possible *possible)
{
	possible->walk = walk;
	possible->scenario.nr = 0;
	for (unsigned int i = 0; walk->scenario.labels[i]; i++)
		expect(&possible->scenario, walk->scenario.labels[i]);
	if (!walk->scenario.ends)
		expect_callers(&possible->scenario);
	possible->callers.nr = 0;
	expect_callers(&possible->callers);
}

#define CLOCK_PERIOD	50000
#define CLOCK_SAMPLES	2000

/*
 * Sample a walk by the clock until there are enough; returns whether all were
 * right. While the clock runs, this function calls nothing but the scenario.
 */
static int walk_by_clock(const void *arg)
{
	const struct walk *walk = arg;
	__int128 high[2048];
	bool nested = is_nested(walk);
	static struct possible possible;
	static struct sampler clock;
	static struct chain chain;
	int samples = 0, more = 0;

	ENTER();
	if (walk->restorer && take_signal(walk, high, sizeof(high))) {
		LEAVE();
		return false;
	}
	/* Nothing else samples this. */
	ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (sampler_open_clock(&clock, CLOCK_PERIOD)) {
		LEAVE();
		return false;
	}
	while (samples < CLOCK_SAMPLES && more >= 0) {
		const unsigned long *head = (void *)&clock.page->data_head;
		unsigned long full = *head + RING_SIZE / 2;

		/* A slow machine takes many samples in each call: stop before any is lost. */
		__nolibc_syscall3(__NR_ioctl, clock.fd, PERF_EVENT_IOC_ENABLE, 0);
		for (int i = 0; i < 10 && __atomic_load_n(head, __ATOMIC_RELAXED) < full; i++) {
			nest = nested;
			chain_call(walk->scenario.chain, walk->scenario.depth);
		}
		__nolibc_syscall3(__NR_ioctl, clock.fd, PERF_EVENT_IOC_DISABLE, 0);
		/* The scenario's caller is known now. */
		expect_possible(walk, &possible);
		more = sampler_each(&clock, &chain, is_possible, &possible);
		samples += more;
	}
	sampler_close(&clock);
	ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
	LEAVE();
	return more >= 0;
}

#define BY_CLOCK	", by the clock"

int main(int argc, char **argv)
{
	static struct tap_test tests[2 * ARRAY_SIZE(walks)];
	static char names[ARRAY_SIZE(walks)][80];
	unsigned int nr = 0;

	ENTER();
	for (unsigned int i = 0; i < ARRAY_SIZE(walks); i++)
		tests[nr++] = (struct tap_test){ walks[i].scenario.name, walk_once, &walks[i] };
	for (unsigned int i = 0; i < ARRAY_SIZE(walks); i++) {
		if (!walks[i].described)
			continue;
		snprintf(names[i], sizeof(names[i]), "%s" BY_CLOCK, walks[i].scenario.name);
		tests[nr++] = (struct tap_test){ names[i], walk_by_clock, &walks[i] };
	}
	tap_start(argc, argv);
	tap_need(sampler_open(&sampler), "getppid()");
	tap_run(tests, nr);
}
