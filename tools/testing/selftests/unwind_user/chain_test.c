// SPDX-License-Identifier: GPL-2.0
/*
 * User stacks, deferred or taken at once, compared with what is known to be on the stack.
 *
 * Built twice: with SFrame tables and without frame pointers, and the other way round.
 * Both are static programs without a C library: all code on the stack is of one kind,
 * down to the entry point in chain.S.
 */
#include "nolibc.h"

#include <linux/elf.h>

#include "kselftest_harness.h"
#include "scenario.h"
#include "sysctl.h"

FIXTURE(chain) {
};

FIXTURE_VARIANT(chain) {
	struct scenario scenario;
};

#ifdef SFRAME

#define BY_SP \
	{ chain_sp, 0, { leaf_bad_fp_ip, sp_inner_return, sp_middle_return, chain_sp_return } }

FIXTURE_VARIANT_ADD(chain, by_stack_pointer)
	{ BY_SP };
FIXTURE_VARIANT_ADD(chain, by_frame_pointer_that_a_callee_saved)
	{ { chain_fp, 0, { leaf_ip, fp_inner_return, chain_fp_return } } };
FIXTURE_VARIANT_ADD(chain, call_that_never_returns_at_the_end_of_a_function)
	{ { chain_noreturn, 0, { never_returns_ip, noreturn_inner_return,
	    chain_noreturn_return } } };

#else

FIXTURE_VARIANT_ADD(chain, by_frame_pointer)
	{ { chain_frames, 0, { leaf_ip, frame_inner_return, chain_frames_return } } };
FIXTURE_VARIANT_ADD(chain, by_its_call_in_a_function_without_a_frame)
	{ { chain_leaf, 0, FRAMELESS_LABELS } };

/* The stack goes on in another mapping, and at a lower address of the same one. */
FIXTURE_VARIANT_ADD(chain, from_another_stack)
	{ { chain_switch, 0, { leaf_ip, frame_inner_return, chain_switch_return } } };
FIXTURE_VARIANT_ADD(chain, from_two_other_stacks)
	{ { chain_switch_twice, 0, { leaf_ip, frame_inner_return, chain_switch_return,
	    chain_switch_twice_return } } };

#endif

FIXTURE_VARIANT_ADD(chain, of_120_frames)
	{ { chain_deep, 120, { leaf_ip, chain_deep_last_return } } };

FIXTURE_SETUP(chain)
{
	const char *missing = table_missing();
	int error;

	if (missing)
		SKIP(return, "%s", missing);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
#ifndef SFRAME
	const size_t size = 0x10000;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, memory);
	switch_to[0] = (unsigned long)memory + size;
	switch_to[1] = (unsigned long)memory + size / 2;
#endif
}

FIXTURE_TEARDOWN(chain)
{
	sysctl_restore();
}

TEST_F(chain, stack)
{
	EXPECT_EQ(0, sample(&variant->scenario, false));
}

/* The stack goes on through functions in C: the harness's, and main(). */
TEST_F(chain, down_to_the_program_s_start)
{
	const struct scenario *scenario = &variant->scenario;
	static struct chain chain, expected;
	const char *error;

	chain_call_on(scenario->chain, scenario->depth);
	error = sampler_chain(&sampler, &chain);
	ASSERT_EQ(NULL, error) TH_LOG("%s", error);
	expect_scenario(scenario, &expected);
	expected.ips[expected.nr - 1] = (unsigned long)chain_call_on_return;
	/* This, the harness's for a test and for all, main() and _start at least. */
	EXPECT_LE(expected.nr + 5, chain.nr);
	EXPECT_EQ(0, memcmp(chain.ips, expected.ips, expected.nr * sizeof(expected.ips[0])))
		print_difference(&chain, 0, &expected);
	EXPECT_TRUE(is_from_start(&chain));
}

#ifdef SFRAME

/* The tests can fail: without the table, the same stacks are not known. */
TEST_F(chain, without_table)
{
	int error = sysctl_set(SYSCTL_TABLES, 0);

	if (error == -EACCES)
		SKIP(return, "only root may switch tables off");
	ASSERT_EQ(0, error);
	EXPECT_EQ(OTHER_STACK, sample(&variant->scenario, true));
}

/* --- Stacks that are taken at once; walk_test has more of them --- */

static const struct scenario by_sp = BY_SP;
static const struct scenario deep = { chain_deep, 100, { leaf_ip, chain_deep_last_return } };

static struct sampler at_once;
static struct chain chain, expected;

/* Whether the stack of a scenario is whole; -1 if it is wrong. */
static int take(const struct scenario *scenario)
{
	const char *error;

	chain_call(scenario->chain, scenario->depth);
	error = sampler_chain_at_once(&at_once, &chain);
	expect_scenario(scenario, &expected);
	if (error || !begins_alike(&chain, &expected)) {
		ksft_print_msg("%s\n", error ?: "another stack");
		print_difference(&chain, 0, &expected);
		return -1;
	}
	return chain.nr == expected.nr;
}

/* How many stacks are not whole until one is; -1 if none is within a second, or one is wrong. */
static int take_until_whole(const struct scenario *scenario)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (int tries = 0; tries < 1000; tries++) {
		int whole = take(scenario);

		if (whole)
			return whole < 0 ? -1 : tries;
		syscall(__NR_nanosleep, &pause, NULL);
	}
	return -1;
}

FIXTURE(immediate) {
};

FIXTURE_SETUP(immediate)
{
	const char *missing = table_missing();
	int error;

	if (missing)
		SKIP(return, "%s", missing);
	if (sysctl_set(SYSCTL_TABLES, 3))
		SKIP(return, "no stacks that are taken at once by tables");
	error = sampler_open_at_once(&at_once, "getppid");
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
}

FIXTURE_TEARDOWN(immediate)
{
	sysctl_restore();
}

/* The first event finds nothing that is known, and nobody but it asks for more. */
TEST_F(immediate, becomes_whole)
{
	EXPECT_LT(0, take_until_whole(&by_sp));
	/* More lookups than one stack may have, until their results are remembered. */
	EXPECT_LT(0, take_until_whole(&deep));
	/* All that these need is there now. */
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(1, take(&by_sp));
		ASSERT_EQ(1, take(&deep));
	}
}

/* A child has the tables, but remembers nothing. */
TEST_F(immediate, becomes_whole_after_fork)
{
	int status;
	pid_t pid;

	ASSERT_LE(0, take_until_whole(&by_sp));
	sampler_close(&at_once);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (sampler_open_at_once(&at_once, "getppid"))
			_exit(NOT_SAMPLED);
		_exit(take_until_whole(&by_sp) < 0 ? OTHER_STACK : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Where the table is not in memory, the stack ends, and does not go on by a frame pointer. */
TEST_F(immediate, without_the_pages_of_the_table)
{
	const struct elf64_hdr *elf = (const void *)__ehdr_start;
	const struct elf64_phdr *table = (const void *)(__ehdr_start + elf->e_phoff);
	unsigned long start;

	while (table->p_type != PT_GNU_SFRAME)
		table++;
	ASSERT_LE(0, take_until_whole(&by_sp));
	start = table->p_vaddr & -getpagesize();
	ASSERT_EQ(0, syscall(__NR_madvise, start, table->p_vaddr + table->p_memsz - start,
			     4 /* MADV_DONTNEED */));
	EXPECT_LT(0, take_until_whole(&deep));
}

/* A level below takes no such stacks: there is no frame pointer that leads to the callers. */
TEST_F(immediate, only_if_enabled)
{
	ASSERT_LE(0, take_until_whole(&by_sp));
	ASSERT_EQ(0, sysctl_set(SYSCTL_TABLES, 2));
	chain_call(by_sp.chain, by_sp.depth);
	ASSERT_EQ(NULL, sampler_chain_at_once(&at_once, &chain));
	expect_scenario(&by_sp, &expected);
	EXPECT_FALSE(same_frames(&chain, 0, &expected));
	ASSERT_EQ(0, sysctl_set(SYSCTL_TABLES, 3));
	EXPECT_EQ(1, take(&by_sp));
}

/* A deferred stack of the same system call, too: the warm-up of the other has no effect. */
TEST_F(immediate, beside_a_deferred_stack)
{
	static struct chain deferred;

	ASSERT_LE(0, take_until_whole(&by_sp));
	ASSERT_EQ(0, sampler_open(&sampler));
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(1, take(&by_sp));
		ASSERT_EQ(NULL, sampler_chain(&sampler, &deferred));
		EXPECT_TRUE(same_frames(&deferred, 0, &expected));
		EXPECT_EQ(PERF_CALLCHAIN_END_COMPLETE, deferred.end);
	}
}

#endif /* SFRAME */

TEST_HARNESS_MAIN
