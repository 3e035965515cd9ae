// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that are taken at once, in the context of an event, and what brings in what they lack.
 * walk_test has such stacks of all shapes.
 */
#include "nolibc.h"

#include <linux/elf.h>

#include "kselftest_harness.h"
#include "scenario.h"
#include "sysctl.h"

#define DEPTH		100

/* Functions whose CFA is relative to the stack pointer; the frame pointer is of no use. */
static const struct scenario by_sp = {
	chain_sp, 0, { leaf_bad_fp_ip, sp_inner_return, sp_middle_return, chain_sp_return }
};

static const struct scenario deep = { chain_deep, DEPTH, { leaf_ip, chain_deep_last_return } };

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
	int error;

	if (!HAS_TABLE)
		SKIP(return, OLD_ASSEMBLER);
	if (sysctl_set(SYSCTL_TABLES, 3))
		SKIP(return, "no stacks that are taken at once by tables");
	error = sampler_open_at_once(&at_once, "getppid");
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, "getppid()", error);
	ASSERT_EQ(0, error);
}

FIXTURE_TEARDOWN(immediate)
{
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

/* The program's own table. */
static const struct elf64_phdr *sframe(void)
{
	const struct elf64_hdr *elf = (const void *)__ehdr_start;
	const struct elf64_phdr *header = (const void *)(__ehdr_start + elf->e_phoff);

	for (int i = 0; i < elf->e_phnum; i++) {
		if (header[i].p_type == PT_GNU_SFRAME)
			return &header[i];
	}
	return NULL;
}

/* Where the table is not in memory, the stack ends, and does not go on by a frame pointer. */
TEST_F(immediate, without_the_pages_of_the_table)
{
	const struct elf64_phdr *table = sframe();
	unsigned long start;

	ASSERT_NE(NULL, table);
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

TEST_HARNESS_MAIN
