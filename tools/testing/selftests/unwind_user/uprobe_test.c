// SPDX-License-Identifier: GPL-2.0
/*
 * Deferred user stacks where uprobes are, and where they have changed the stack.
 *
 * Built twice, as chain_test.c is. A probe that samples has to give the stack as
 * it was at the probe, however the kernel executes the instruction that it has
 * replaced; and return addresses that return probes have replaced are not seen.
 */
#include "nolibc.h"

#include <linux/elf.h>
#include <linux/hw_breakpoint.h>

#include "kselftest.h"
#include "callers.h"
#include "tap.h"
#include "uprobe.h"

#define MAX_PROBES	5
#define MAX_SAMPLES	16
#define CLOCK_SAMPLES	2000

#define SIGNAL_ILL	4
#define SIGNAL_TRAP	5
#define SIGNAL_SEGV	11

/* No program has addresses from here on, with five levels of page tables either. */
#define TASK_END	0x100000000000000UL

struct probe {
	const void *at;
	bool ret;
	bool quiet;	/* is hit and has no samples */
};

#define ENTRY(label)		{ .at = label }
#define URET(label)		{ .at = label, .ret = true }
#define QUIET_ENTRY(label)	{ .at = label, .quiet = true }
#define QUIET_URET(label)	{ .at = label, .ret = true, .quiet = true }

/* Functions to be called, where they are probed, and the stacks of the samples. */
struct uprobe_case {
	const char *name;
	void (*chain)(int depth);
	int depth;
	int calls;			/* 0: one */
	struct probe probes[MAX_PROBES];
	/* Less what is below the function, of which EMPTY has nothing more. */
	const void *stacks[7][5];
};

#define EMPTY	((const void *)-1)

static const struct uprobe_case cases[] = {
	{ "first instruction, push, emulated", probed_push, 0, 0, { ENTRY(probed_push) },
	  { { probed_push } } },
	{ "sub, stepped", probed_sub, 0, 0, { ENTRY(sub_at) }, { { sub_at } } },
	{ "relative to the instruction, stepped", probed_sub, 0, 0, { ENTRY(middle_at) },
	  { { middle_at } } },
	{ "call, emulated", probed_call, 0, 0, { ENTRY(call_at) }, { { call_at } } },
	{ "indirect call, stepped", probed_call, 0, 0, { ENTRY(call_indirect_at) },
	  { { call_indirect_at } } },
	{ "jump, emulated", probed_jmp, 0, 0, { ENTRY(jmp_inside_at) }, { { jmp_inside_at } } },
#ifdef SFRAME
	/* Where the frame pointer is the caller's, and only a table knows. */
	{ "first instruction, endbr64", probed_endbr, 0, 0, { ENTRY(probed_endbr) },
	  { { probed_endbr } } },
	{ "tail call, emulated", probed_jmp, 0, 0, { ENTRY(jmp_at) }, { { jmp_at } } },
	{ "return, stepped", outer, 0, 0, { ENTRY(ret_at) }, { { ret_at } } },
#endif
	{ "two probes", outer, 0, 0, { ENTRY(outer), ENTRY(inner) },
	  { { outer }, { inner, outer_return } } },
	{ "return", inner, 0, 0, { URET(inner) }, { { EMPTY } } },
	{ "return in the stack", outer, 0, 0, { URET(outer), ENTRY(inner) },
	  { { inner, outer_return }, { EMPTY } } },
	{ "two returns in the stack", outer, 0, 0,
	  { URET(outer), URET(inner), ENTRY(inner), ENTRY(outer) },
	  { { outer }, { inner, outer_return }, { outer_return }, { EMPTY } } },
	{ "two return probes of a function", outer, 0, 0,
	  { URET(outer), URET(outer), ENTRY(inner) },
	  { { inner, outer_return }, { EMPTY }, { EMPTY } } },
	{ "return probes before and after a tail call", tail_caller, 0, 0,
	  { URET(tail_caller), URET(outer), ENTRY(inner) },
	  { { inner, outer_return }, { EMPTY }, { EMPTY } } },
	{ "return probe in recursion", recursive, 3, 0, { URET(recursive), ENTRY(inner) },
	  { { inner, recursive_last_return, recursive_return, recursive_return },
	    { recursive_return, recursive_return }, { recursive_return }, { EMPTY } } },
	{ "return probe of a function that was left", jumper, 0, 0,
	  { URET(jumper), URET(thrower), ENTRY(inner) },
	  { { inner, jumper_return }, { EMPTY } } },
	{ "return probes of a signal's handler and what it interrupted", interrupted, 0, 0,
	  { URET(interrupted), URET(handler), ENTRY(inner) },
	  { { inner, handler_return, restorer, interrupted_ud2 },
	    { restorer, interrupted_behind }, { EMPTY } } },
	/* Optimised after the first time. */
	{ "no-operation of ten bytes", probed_nop10, 0, 4, { ENTRY(nop10_at) }, { { nop10_at } } },
};

/* The ring that all events write to. */
static struct sampler sampler;

/* What was taken out of it. */
static struct {
	unsigned long ip, cookie;
	struct chain chain;
} samples[MAX_SAMPLES];

static int events[MAX_PROBES];
static int nr_events;

/* Where in the program's file an address is. */
static unsigned long file_offset(const void *at)
{
	const struct elf64_hdr *ehdr = (const void *)__ehdr_start;
	const struct elf64_phdr *phdr = (const void *)(__ehdr_start + ehdr->e_phoff);
	unsigned long addr = (unsigned long)at;

	for (int i = 0; i < ehdr->e_phnum; i++, phdr++) {
		if (phdr->p_type == PT_LOAD && addr - phdr->p_vaddr < phdr->p_filesz)
			return addr - phdr->p_vaddr + phdr->p_offset;
	}
	return -1UL;
}

/* Open one more event. The first one gets the stacks and has the ring. */
static int open_event(struct perf_event_attr *attr)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	attr->exclude_callchain_kernel = 1;
	attr->defer_callchain = 1;
	attr->defer_output = !nr_events;
	if (!nr_events) {
		int error = sampler_open_event(&sampler, attr);

		if (error)
			return error;
		fd = sampler.fd;
	} else {
		fd = syscall(__NR_perf_event_open, attr, 0, -1, -1, 0);
		if (fd < 0)
			return errno;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sampler.fd)) {
			close(fd);
			return errno;
		}
	}
	events[nr_events++] = fd;
	return 0;
}

static int open_probe(const struct probe *probe)
{
	long type = read_number("/sys/bus/event_source/devices/uprobe/type");
	struct perf_event_attr attr = {
		.type = type,
		.config = probe->ret,
		.uprobe_path = (unsigned long)"/proc/self/exe",
		.probe_offset = file_offset(probe->at),
		.sample_period = probe->quiet ? 1UL << 60 : 1,
	};

	if (type < 0)
		return -type;
	return open_event(&attr);
}

static int open_breakpoint(unsigned long at)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = at,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};

	return open_event(&attr);
}

static void close_events(void)
{
	if (!nr_events)
		return;
	while (nr_events > 1)
		close(events[--nr_events]);
	sampler_close(&sampler);
	nr_events = 0;
}

/* Take the samples out of the ring, each with its stack; returns their number or -1. */
static int take_samples(void)
{
	unsigned long *words = sampler.words;
	int nr = 0, type;

	while ((type = sampler_record(&sampler)) > 0) {
		switch (type) {
		case PERF_RECORD_SAMPLE:
			/* ip, nr, entries */
			if (nr == MAX_SAMPLES || words[1] < 2 ||
			    words[words[1]] != (unsigned long)PERF_CONTEXT_USER_DEFERRED) {
				ksft_print_msg("too many samples, or not deferred\n");
				return -1;
			}
			samples[nr].ip = words[0];
			samples[nr].cookie = words[words[1] + 1];
			samples[nr++].chain.nr = 0;
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			/* cookie, nr, entries */
			for (int i = 0; i < nr; i++) {
				struct chain *chain = &samples[i].chain;

				if (samples[i].cookie != words[0])
					continue;
				for (unsigned long j = 0; j < words[1]; j++)
					chain->ips[chain->nr++] = words[2 + j];
			}
			break;
		default:
			ksft_print_msg("record of type %d\n", type);
			return -1;
		}
	}
	return type < 0 ? -1 : nr;
}

/* Compare the samples with stacks, which came that many times over. */
static bool compare(const void *const stacks[][5], int times, const struct chain *below)
{
	static struct chain expected;
	int per_call = 0, nr = take_samples();
	bool same = true;

	while (stacks[per_call][0])
		per_call++;
	if (nr != per_call * times) {
		ksft_print_msg("%d samples, expected %d\n", nr, per_call * times);
		return false;
	}
	for (int i = 0; i < nr; i++) {
		const void *const *ips = stacks[i % per_call];

		expected.nr = 0;
		for (int j = 0; j < 5 && ips[j] && ips[j] != EMPTY; j++)
			expected.ips[expected.nr++] = (unsigned long)ips[j];
		for (unsigned int j = 0; j < below->nr; j++)
			expected.ips[expected.nr++] = below->ips[j];
		if (!same_frames(&samples[i].chain, 0, &expected)) {
			print_difference(&samples[i].chain, 0, &expected);
			ksft_print_msg("in sample %d of %d\n", i + 1, nr);
			same = false;
		}
	}
	return same;
}

/* What is below a function that chain_call() calls, topmost first. */
static void get_below(struct chain *below)
{
	below->nr = 0;
	expect_callers(below);
}

static int run_case(const void *arg)
{
	const struct uprobe_case *probed = arg;
	static struct chain below;
	bool same = false;

	ENTER();
	for (int i = 0; i < MAX_PROBES && probed->probes[i].at; i++) {
		int error = open_probe(&probed->probes[i]);

		if (error) {
			ksft_print_msg("cannot open probe %d: errno %d\n", i, error);
			goto out;
		}
	}
	for (int i = 0; i < (probed->calls ?: 1); i++)
		chain_call(probed->chain, probed->depth);
	get_below(&below);
	same = compare(probed->stacks, probed->calls ?: 1, &below);
out:
	close_events();
	LEAVE();
	return same;
}

/* The start of a mapping by its name, or 0. */
static unsigned long find_mapping(const char *name)
{
	static char maps[16384];
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t len = 0, at;
	ssize_t got;

	if (fd < 0)
		return 0;
	while ((got = read(fd, maps + len, sizeof(maps) - 1 - len)) > 0)
		len += got;
	close(fd);
	maps[len] = '\0';

	for (at = 0; at < len; at += strlen(maps + at) + 1) {
		char *end = strchr(maps + at, '\n');

		if (end)
			*end = '\0';
		if (strstr(maps + at, name))
			return strtoul(maps + at, NULL, 16);
	}
	return 0;
}

/* Whether nothing was sampled since the samples were taken. */
static bool nothing_sampled(void)
{
	return __atomic_load_n(&sampler.page->data_head, __ATOMIC_ACQUIRE) ==
	       sampler.page->data_tail;
}

/*
 * So often it may be tried again where no breakpoint was hit. Of some ten thousand
 * stops on emulated processors one was missed. That says nothing about stacks.
 */
enum { MOST_MISSED = 3 };

/*
 * Stop at an address that the kernel has put the program to, with a probe set,
 * and see what the stack is there.
 */
static bool stop_at(const char *mapping, unsigned long at, const struct probe *probe,
		    void (*chain)(int depth), const void *ip)
{
	const void *const stacks[2][5] = { { ip } };
	static struct chain below;
	int error;

	ENTER();
	error = open_probe(probe);
	if (!error) {
		/* So that the mapping is there, and a probe optimised. */
		chain_call(chain, 0);
		error = open_breakpoint(at + (mapping ? find_mapping(mapping) : 0));
	}
	chain_call(chain, 0);
	get_below(&below);
	for (int missed = 0; !error && nothing_sampled() && missed < MOST_MISSED; missed++) {
		const unsigned char *code = probe->at;

		ksft_print_msg("breakpoint missed at %s 0x%lx + %lu; probe %02x %02x\n",
			       mapping ?: "", mapping ? find_mapping(mapping) : 0, at,
			       code[0], code[5]);
		chain_call(chain, 0);
	}
	if (!error && !compare(stacks, 1, &below))
		error = -1;
	if (error)
		ksft_print_msg("at %s %lu: error %d\n", mapping ?: "", at, error);
	close_events();
	LEAVE();
	return !error;
}

/* Behind the first instruction of an optimised probe, which moves rsp. */
static int test_stop_in_probe(const void *unused)
{
	const struct probe probe = QUIET_ENTRY(nop10_at);
	bool same;

	ENTER();
	same = stop_at(NULL, (unsigned long)nop10_at + 5, &probe, probed_nop10, nop10_at);
	LEAVE();
	return same;
}

/* At each instruction of the trampoline of optimised probes. */
static int test_stop_in_trampoline(const void *unused)
{
	static const unsigned char at[] = { 0, 1, 3, 4, 11, 13, 14, 16, 17 };
	const struct probe probe = QUIET_ENTRY(nop10_at);
	bool same = true;

	ENTER();
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++)
		same &= stop_at("[uprobes-trampoline]", at[i], &probe, probed_nop10,
				at[i] < 13 ? nop10_at : nop10_at + 10);
	LEAVE();
	return same;
}

/* And in that of return probes. */
static int test_stop_in_return(const void *unused)
{
	static const unsigned char at[] = { 0, 1, 2, 4, 11, 13, 15, 16 };
	const struct probe probe = QUIET_URET(inner);
	bool same = true;

	ENTER();
	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++)
		same &= stop_at("[uprobes]", at[i], &probe, inner, EMPTY);
	LEAVE();
	return same;
}

/* Take a signal; no other one is blocked meanwhile. */
static bool take_signal(int number, void (*take)(int number))
{
	/* Handler, SA_RESTORER, restorer, and the mask. */
	const unsigned long action[] = {
		(unsigned long)take, 0x04000000, (unsigned long)restorer, 0,
	};

	return !syscall(__NR_rt_sigaction, number, action, NULL, sizeof(action[0]));
}

/* Whether there was one sample, whose addresses are all of user space. */
static bool is_user_stack(unsigned long first)
{
	const struct chain *chain = &samples[0].chain;
	int nr = take_samples();
	bool user = nr == 1 && chain->nr && chain->ips[0] == first;

	for (unsigned int i = 0; user && i < chain->nr; i++)
		user = chain->ips[i] < TASK_END;
	if (!user)
		ksft_print_msg("%d samples, %u frames: 0x%lx instead of 0x%lx\n", nr, chain->nr,
			       chain->ips[0], first);
	return user;
}

/* Whoever jumps to that trampoline may put any word where its return address is expected. */
static int test_lie_to_trampoline(const void *unused)
{
	static const unsigned long words[] = {
		0, 1, 9, 10, 11, 0x1000, TASK_END, 1UL << 63, -4096UL, -10UL, -1UL,
	};
	/* The trampoline returns behind what a probe has replaced. */
	enum { REPLACED = 10 };
	const struct probe probe = QUIET_ENTRY(nop10_at);
	bool same = false;
	unsigned long at;

	ENTER();
	if (open_probe(&probe) || !take_signal(SIGNAL_SEGV, return_to_handler) ||
	    !take_signal(SIGNAL_ILL, return_to_handler))
		goto out;
	/* So that the mapping is there. */
	chain_call(probed_nop10, 0);
	at = find_mapping("[uprobes-trampoline]");
	same = at && !open_breakpoint(at);
	for (unsigned int i = 0; same && i < ARRAY_SIZE(words); i++) {
		bool taken = words[i] > REPLACED && words[i] < TASK_END;

		for (int missed = 0; missed <= MOST_MISSED && nothing_sampled(); missed++)
			return_to(at, words[i]);
		same = is_user_stack(taken ? words[i] - REPLACED : at);
		if (!same)
			ksft_print_msg("with the word 0x%lx\n", words[i]);
	}
out:
	take_signal(SIGNAL_ILL, handler);
	take_signal(SIGNAL_SEGV, NULL);
	close_events();
	LEAVE();
	return same;
}

/* A signal interrupts that, at each instruction. */
static int test_signal_in_return(const void *unused)
{
	static const void *const stacks[2][5] = {
		{ inner, step_handler_return, restorer, EMPTY },
	};
	const struct probe quiet = QUIET_URET(stepped), probe = ENTRY(inner);
	static struct chain below;
	bool same = false;

	ENTER();
	steps_elsewhere = 0;
	if (take_signal(SIGNAL_TRAP, step_handler) && !open_probe(&probe) && !open_probe(&quiet)) {
		chain_call(stepped, 0);
		get_below(&below);
		/* There are eight, and one of them may be stepped together with the next. */
		same = steps_elsewhere >= 7 && compare(stacks, steps_elsewhere, &below);
	}
	close_events();
	ksft_print_msg("%lu signals in the trampoline\n", steps_elsewhere);
	LEAVE();
	return same;
}

static int test_signal_in_trampoline(const void *unused)
{
	enum { BEFORE = 5, MOST = 9 };
	const struct probe quiet = QUIET_ENTRY(stepped_nop10_at), probe = ENTRY(inner);
	static const void *stacks[MOST + 1][5];
	static struct chain below;
	bool same = false;

	ENTER();
	steps_elsewhere = 0;
	if (take_signal(SIGNAL_TRAP, step_handler) && !open_probe(&probe) && !open_probe(&quiet)) {
		/* So that the probe is optimised. */
		for (int i = 0; i < 4; i++)
			chain_call(stepped_nop10, i == 3);
		get_below(&below);
		/* One behind the system call may be stepped together with the next. */
		same = steps_elsewhere >= MOST - 1 && steps_elsewhere <= MOST;
		for (unsigned int i = 0; same && i < steps_elsewhere; i++) {
			stacks[i][0] = inner;
			stacks[i][1] = step_handler_return;
			stacks[i][2] = restorer;
			stacks[i][3] = stepped_nop10_at + (i < BEFORE ? 0 : 10);
		}
		same = same && compare(stacks, 1, &below);
	}
	close_events();
	ksft_print_msg("%lu signals in the trampoline\n", steps_elsewhere);
	LEAVE();
	return same;
}

/* Where a copy of the instruction is stepped: the first slot is the trampoline. */
static int test_stop_in_slot(const void *unused)
{
	const struct probe probe = QUIET_ENTRY(sub_at);
	bool same;

	ENTER();
	same = stop_at("[uprobes]", 128, &probe, probed_sub, sub_at);
	LEAVE();
	return same;
}

/* The copy of the instruction faults, which is sampled. */
static int test_fault(const void *unused)
{
	static const void *const stacks[3][5] = { { fault_at }, { fault_at } };
	static struct chain below;
	const struct probe probe = ENTRY(fault_at);
	struct perf_event_attr faults = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.exclude_kernel = 1,
	};
	bool same = false;

	ENTER();
	fault_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fault_page != MAP_FAILED && !open_probe(&probe) && !open_event(&faults)) {
		chain_call(probed_fault, 0);
		ioctl(events[1], PERF_EVENT_IOC_DISABLE, 0);
		get_below(&below);
		same = compare(stacks, 1, &below);
	}
	close_events();
	LEAVE();
	return same;
}

/* Whether a stack has these addresses below the topmost one, @caller first, if any. */
static bool has_below(const unsigned long *ips, unsigned long nr, const void *caller,
		      const struct chain *below, unsigned int from)
{
	if (caller && (nr < 2 || ips[1] != (unsigned long)caller))
		return false;
	ips += caller ? 2 : 1;
	nr -= caller ? 2 : 1;
	return nr == below->nr - from && !memcmp(ips, &below->ips[from], nr * sizeof(*ips));
}

/* Whether a stack is the one that the program has in the function on top. */
static bool is_legal(const unsigned long *ips, unsigned long nr, const struct chain *below)
{
	const struct chain_function *top = chain_function_at(ips[0]);
	const void *caller = NULL;
	unsigned int from = 0;

	/* Of C functions test_clock() alone is seen; it calls chain_call(). */
	if (!nr || (!top && (ips[0] < (unsigned long)__executable_start ||
			     ips[0] >= (unsigned long)etext)))
		return false;
	if (!top)
		from = 2;
	else if (top->start == (unsigned long)chain_call)
		from = 1;
	else if (top->start == (unsigned long)inner)
		caller = outer_return;
	if (has_below(ips, nr, caller, below, from))
		return true;
#ifdef SFRAME
	return false;
#else
	/* Where a function has no frame yet, or no more, its caller is not seen. */
	return has_below(ips, nr, NULL, below, caller ? 0 : from + 1);
#endif
}

/* Samples at any place of probed functions and of what the kernel adds to them. */
static int test_clock(const void *unused)
{
	const struct probe probes[] = {
		QUIET_URET(outer), QUIET_URET(inner),
		QUIET_ENTRY(nop10_at), QUIET_ENTRY(sub_at),
	};
	void (*const functions[])(int depth) = { outer, probed_nop10, probed_sub };
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 50000,
		.disabled = 1,
	};
	unsigned long *words = sampler.words;
	unsigned int nr = 0, bad = 0, elsewhere = 0, lost = 0;
	static struct chain below;
	int error;

	ENTER();
	error = open_event(&clock);
	for (unsigned int i = 0; !error && i < ARRAY_SIZE(probes); i++)
		error = open_probe(&probes[i]);
	/* Few samples are outside, and it is about those. */
	while (!error && (nr < CLOCK_SAMPLES || (!elsewhere && nr < 20 * CLOCK_SAMPLES))) {
		const unsigned long *head = (void *)&sampler.page->data_head;
		unsigned long full = *head + RING_SIZE / 2;
		int type;

		/*
		 * Nothing else is called while the clock runs, but in one place. A
		 * slow machine takes many samples in each call: stop before any is lost.
		 */
		__nolibc_syscall3(__NR_ioctl, events[0], PERF_EVENT_IOC_ENABLE, 0);
		for (int i = 0; i < 300 && __atomic_load_n(head, __ATOMIC_RELAXED) < full; i++)
			chain_call(functions[i % ARRAY_SIZE(functions)], 0);
		__nolibc_syscall3(__NR_ioctl, events[0], PERF_EVENT_IOC_DISABLE, 0);
		get_below(&below);
		while ((type = sampler_record(&sampler)) > 0) {
			if (type == PERF_RECORD_SAMPLE) {
				elsewhere += words[0] < 1UL << 47 &&
					     (words[0] < (unsigned long)__executable_start ||
					      words[0] >= (unsigned long)etext);
			} else if (type == PERF_RECORD_CALLCHAIN_DEFERRED) {
				nr++;
				if (!is_legal(&words[2], words[1], &below) && !bad++) {
					for (unsigned long i = 0; i < words[1]; i++)
						ksft_print_msg("%lu: 0x%lx\n", i, words[2 + i]);
				}
			} else if (type == PERF_RECORD_LOST) {
				lost += words[1];
			}
		}
	}
	close_events();
	ksft_print_msg("%u stacks, %u of them not legal; %u samples outside of the program; "
		       "%u records lost\n", nr, bad, elsewhere, lost);
	LEAVE();
	return !error && nr >= CLOCK_SAMPLES && !bad && elsewhere && !lost;
}

int main(int argc, char **argv)
{
	static const struct tap_test others[] = {
		{ "stop inside an optimised probe", test_stop_in_probe },
		{ "stop in the trampoline of optimised probes", test_stop_in_trampoline },
		{ "lies about where that trampoline returns to", test_lie_to_trampoline },
		{ "stop in the trampoline of return probes", test_stop_in_return },
		{ "signals in the trampoline of return probes", test_signal_in_return },
		{ "signals in the trampoline of optimised probes", test_signal_in_trampoline },
		{ "stop where an instruction is stepped", test_stop_in_slot },
		{ "page fault of a stepped instruction", test_fault },
		{ "stacks at any place", test_clock },
	};
	static struct tap_test tests[ARRAY_SIZE(cases) + ARRAY_SIZE(others)];
	const struct probe probe = ENTRY(inner);
	int error;

	ENTER();
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		tests[i] = (struct tap_test){ cases[i].name, run_case, &cases[i] };
	memcpy(&tests[ARRAY_SIZE(cases)], others, sizeof(others));
	tap_start(argc, argv);
	error = open_probe(&probe);
	close_events();
	tap_need(error, "uprobes");
	if (!take_signal(SIGNAL_ILL, handler))
		ksft_exit_fail_msg("cannot take a signal: errno %d\n", errno);
	tap_run(tests, ARRAY_SIZE(tests));
}
