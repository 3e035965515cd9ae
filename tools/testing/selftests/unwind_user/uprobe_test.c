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

#include "kselftest_harness.h"
#include "machine.h"
#include "scenario.h"
#include "uprobe.h"

#define MAX_PROBES	5
#define MAX_SAMPLES	16
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
	void (*chain)(int depth);
	int depth;
	int calls;			/* 0: one */
	struct probe probes[MAX_PROBES];
	/* Less what is below the function, of which EMPTY has nothing more. */
	const void *stacks[7][5];
};

#define EMPTY	((const void *)-1)

FIXTURE(uprobe)
{
};

FIXTURE_VARIANT(uprobe)
{
	struct uprobe_case probed;
};

FIXTURE_VARIANT_ADD(uprobe, two_return_probes_in_the_stack)
	{ .probed = { outer, 0, 0, { URET(outer), URET(inner), ENTRY(inner_at), ENTRY(outer_at) },
	    { { outer_at }, { inner_at, outer_return }, { outer_return }, { EMPTY } } } };
FIXTURE_VARIANT_ADD(uprobe, two_return_probes_of_a_function)
	{ .probed = { outer, 0, 0, { URET(outer), URET(outer), ENTRY(inner_at) }, { { inner_at,
	    outer_return }, { EMPTY }, { EMPTY } } } };
FIXTURE_VARIANT_ADD(uprobe, return_probes_around_a_tail_call)
	{ .probed = { tail_caller, 0, 0, { URET(tail_caller), URET(outer), ENTRY(inner_at) },
	    { { inner_at, outer_return }, { EMPTY }, { EMPTY } } } };
FIXTURE_VARIANT_ADD(uprobe, return_probe_in_recursion)
	{ .probed = { recursive, 3, 0, { URET(recursive), ENTRY(inner_at) }, { { inner_at,
	    recursive_last_return, recursive_return, recursive_return }, { recursive_return,
	    recursive_return }, { recursive_return }, { EMPTY } } } };
FIXTURE_VARIANT_ADD(uprobe, return_probe_of_a_function_that_was_left)
	{ .probed = { jumper, 0, 0, { URET(jumper), URET(thrower), ENTRY(inner_at) },
	    { { inner_at, jumper_return }, { EMPTY } } } };

FIXTURE_VARIANT_ADD(uprobe, sub_stepped)
	{ .probed = { probed_sub, 0, 0, { ENTRY(sub_at) }, { { sub_at } } } };
FIXTURE_VARIANT_ADD(uprobe, call_emulated)
	{ .probed = { probed_call, 0, 0, { ENTRY(call_at) }, { { call_at } } } };
#ifdef SFRAME
/* Where the frame pointer is the caller's, and only a table knows. */
FIXTURE_VARIANT_ADD(uprobe, tail_call_emulated)
	{ .probed = { probed_jmp, 0, 0, { ENTRY(jmp_at) }, { { jmp_at } } } };
#endif
#if defined(SFRAME) || defined(__x86_64__)
/* On arm64 a frame pointer leads past what was interrupted. */
FIXTURE_VARIANT_ADD(uprobe, return_probes_around_a_signal)
	{ .probed = { interrupted, 0, 0, { URET(interrupted), URET(handler), ENTRY(inner_at) },
	    { { inner_at, handler_return, restorer, interrupted_at },
	    { restorer, interrupted_behind }, { EMPTY } } } };
#endif

#include "uprobes.h"

/* What was taken out of the ring that all events write to. */
static struct {
	unsigned long cookie;
	struct chain chain;
} samples[MAX_SAMPLES];

static int events[MAX_PROBES];
static int nr_events;

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
		fd = perf_open(attr, 0, -1);
		if (fd < 0)
			return -fd;
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
		.bp_len = BREAKPOINT_LEN,
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
	int nr = 0, type;

	while ((type = sampler_record(&sampler)) > 0) {
		switch (type) {
		case PERF_RECORD_SAMPLE:
			if (nr == MAX_SAMPLES || !sampler_cookie(&sampler)) {
				ksft_print_msg("too many samples, or not deferred\n");
				return -1;
			}
			samples[nr].cookie = sampler_cookie(&sampler);
			samples[nr++].chain.nr = 0;
			break;
		case PERF_RECORD_CALLCHAIN_DEFERRED:
			for (int i = 0; i < nr; i++) {
				if (samples[i].cookie != sampler.words[0])
					continue;
				if (samples[i].chain.nr) {
					ksft_print_msg("two stacks\n");
					return -1;
				}
				sampler_stack(&sampler, &samples[i].chain);
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
static bool compare(const void *const stacks[][5], int times)
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
			expect(&expected, ips[j]);
		expect(&expected, chain_call_return);
		/* On top, chain_call() itself is followed by its call. */
		if (BY_FRAME_POINTER && expected.nr == 1 && samples[i].chain.nr &&
		    samples[i].chain.ips[0] == (unsigned long)chain_call_return)
			continue;
		if (!same_frames(&samples[i].chain, 0, &expected) ||
		    !is_at_end(&samples[i].chain)) {
			print_difference(&samples[i].chain, 0, &expected);
			ksft_print_msg("in sample %d of %d, end %u, guessed %d\n", i + 1, nr,
				       samples[i].chain.end, samples[i].chain.guessed);
			same = false;
		}
	}
	return same;
}

/* Take a signal; no other one is blocked meanwhile. */
static bool take_signal(int number, void (*take)(int number))
{
	/* Handler, SA_RESTORER | SA_SIGINFO, restorer, and the mask. */
	const unsigned long action[] = {
		(unsigned long)take, 0x04000004, (unsigned long)restorer, 0,
	};

	return !syscall(__NR_rt_sigaction, number, action, NULL, sizeof(action[0]));
}

FIXTURE_SETUP(uprobe)
{
	const struct probe probe = ENTRY(inner_at);
	const char *missing = table_missing();
	int error;

	if (missing)
		SKIP(return, "%s", missing);
	error = open_probe(&probe);
	close_events();
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "uprobes", error);
	ASSERT_EQ(0, error);
	ASSERT_TRUE(take_signal(SIGNAL_ILL, handler));
}

FIXTURE_TEARDOWN(uprobe)
{
	close_events();
}

TEST_F(uprobe, stacks)
{
	const struct uprobe_case *probed = &variant->probed;
	int calls = probed->calls ?: 1;

	for (int i = 0; i < MAX_PROBES && probed->probes[i].at; i++)
		ASSERT_EQ(0, open_probe(&probed->probes[i]));
	for (int i = 0; i < calls; i++)
		chain_call(probed->chain, probed->depth);
	EXPECT_TRUE(compare(probed->stacks, calls));
}

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
	int error;

	error = open_probe(probe);
	if (!error) {
		/* So that the mapping is there, and a probe optimised. */
		chain_call(chain, 0);
		error = open_breakpoint(at + (mapping ? find_mapping(mapping, NULL) : 0));
	}
	chain_call(chain, 0);
	for (int missed = 0; !error && nothing_sampled() && missed < MOST_MISSED; missed++) {
		const unsigned char *code = probe->at;

		ksft_print_msg("breakpoint missed at %s 0x%lx + %lu; probe %02x %02x\n",
			       mapping ?: "", mapping ? find_mapping(mapping, NULL) : 0, at,
			       code[0], code[5]);
		chain_call(chain, 0);
	}
	if (!error && !compare(stacks, 1))
		error = -1;
	if (error)
		ksft_print_msg("at %s %lu: error %d\n", mapping ?: "", at, error);
	close_events();
	return !error;
}

FIXTURE(special)
{
};

FIXTURE_SETUP(special)
{
	uprobe_setup(_metadata, NULL, NULL);
}

FIXTURE_TEARDOWN(special)
{
	close_events();
}

/* The copy of the instruction faults, which is sampled. */
TEST_F(special, page_fault_of_a_stepped_instruction)
{
	static const void *const stacks[3][5] = { { fault_at }, { fault_at } };
	const struct probe probe = ENTRY(fault_at);
	struct perf_event_attr faults = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.exclude_kernel = 1,
		.disabled = 1,
	};

	/* Nothing else faults after a first call. */
	fault_page = &probe;
	ASSERT_EQ(0, open_probe(&probe));
	chain_call(probed_fault, 0);
	ASSERT_EQ(1, take_samples());
	fault_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, fault_page);
	ASSERT_EQ(0, open_event(&faults));
	__nolibc_syscall3(__NR_ioctl, events[1], PERF_EVENT_IOC_ENABLE, 0);
	chain_call(probed_fault, 0);
	__nolibc_syscall3(__NR_ioctl, events[1], PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_TRUE(compare(stacks, 1));
}

#include "uprobe_specials.h"

TEST_HARNESS_MAIN
