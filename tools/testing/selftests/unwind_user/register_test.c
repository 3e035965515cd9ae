// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that are registered, updated and unregistered, one or many at a time.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prctl_fixture.h"

/* --- Signals --- */

/* A call for the same text again and again, which takes long, if nothing ends it. */
#define LONG_CALL	500000

struct long_call {
	const struct unwind_table *table;
	bool began;
	long result;
};

static void *make_long_call(void *argument)
{
	struct long_call *call = argument;
	struct unwind_table *batch = mmap(NULL, LONG_CALL * sizeof(*batch),
					  PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (batch == MAP_FAILED)
		return NULL;
	for (int i = 0; i < LONG_CALL; i++)
		batch[i] = *call->table;
	__atomic_store_n(&call->began, true, __ATOMIC_RELEASE);
	call->result = tables_call(PR_UNWIND_TABLES_REGISTER, batch, LONG_CALL, sizeof(*batch));
	return NULL;
}

static void ignore(int number)
{
}

TEST_F(prctl, signal_ends_long_call)
{
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	struct long_call call = { .table = &self->good, .result = -1 };
	pthread_t thread;

	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, make_long_call, &call));
	while (!__atomic_load_n(&call.began, __ATOMIC_ACQUIRE))
		sched_yield();
	/* Those that come before the call has begun end nothing. */
	while (pthread_tryjoin_np(thread, NULL)) {
		pthread_kill(thread, SIGUSR1);
		usleep(1000);
	}
	/* What was done is what it says: at least one, and not all. */
	EXPECT_LE(1, call.result);
	EXPECT_GT(LONG_CALL, call.result);
	EXPECT_TRUE(registered(&self->good));
}

TEST_F(prctl, overlapping_texts)
{
	/* In bytes, around the second and third page of the text. */
	static const long overlaps[][2] = {
		{ 0, 0 },		/* the same */
		{ 1, -1 },		/* inside */
		{ 0, -1 }, { 1, 0 },
		{ -1, 1 },		/* around */
		{ -1, 0 }, { 0, 1 },
		{ -PAGE, 1 - 2 * (long)PAGE },	/* its first byte */
		{ 2 * PAGE - 1, PAGE },		/* its last byte */
	};
	struct unwind_table middle = ranges(self->layout.text + PAGE, 2 * PAGE,
					    self->layout.table, PAGE);
	struct unwind_table first = page_of(&self->layout, 0), last = page_of(&self->layout, 3);

	/* What is registered last counts, and takes the others away whole. */
	for (unsigned int i = 0; i < ARRAY_SIZE(overlaps); i++) {
		struct unwind_table other = middle;
		long others = tables_count();

		ASSERT_EQ(0, do_register(&middle));
		other.text_start += overlaps[i][0];
		other.text_end += overlaps[i][1];
		other.table_end -= 1;
		EXPECT_EQ(0, do_register(&other)) TH_LOG("overlap %u", i);
		EXPECT_TRUE(registered(&other));
		EXPECT_FALSE(registered(&middle)) TH_LOG("overlap %u", i);
		EXPECT_EQ(others + 1, tables_count());
		ASSERT_EQ(0, do_unregister(&other));
	}

	/* Those next to it stay. */
	EXPECT_EQ(0, do_register(&middle));
	EXPECT_EQ(0, do_register(&first));
	EXPECT_EQ(0, do_register(&last));
	EXPECT_TRUE(registered(&first) && registered(&middle) && registered(&last));
	/* Over all of them. */
	EXPECT_EQ(0, do_register(&self->good));
	EXPECT_TRUE(registered(&self->good));
	EXPECT_FALSE(registered(&first) || registered(&middle) || registered(&last));
}

TEST_F(prctl, text_not_executable)
{
	struct unwind_table text = self->good;

	/* A page before the text, and one behind. */
	text.text_start -= PAGE;
	EXPECT_EQ(-EACCES, do_register(&text));
	text = self->good;
	text.text_end += 1;
	EXPECT_EQ(-EACCES, do_register(&text));
	text = ranges(self->layout.table, PAGE, self->layout.table, PAGE);
	EXPECT_EQ(-EACCES, do_register(&text));

	/* A page in it. */
	ASSERT_EQ(0, mprotect(self->layout.text + PAGE, PAGE, PROT_READ));
	EXPECT_EQ(-EACCES, do_register(&self->good));
	text = page_of(&self->layout, 0);
	EXPECT_EQ(0, do_register(&text));
	ASSERT_EQ(0, munmap(self->layout.text + PAGE, PAGE));
	EXPECT_EQ(-EACCES, do_register(&self->good));
	text = page_of(&self->layout, 1);
	EXPECT_EQ(-EACCES, do_register(&text));
	/* At two mappings there is no hole. */
	ASSERT_EQ(0, mprotect(self->layout.text + 2 * PAGE, PAGE,
			      PROT_READ | PROT_WRITE | PROT_EXEC));
	text = ranges(self->layout.text + 2 * PAGE, 2 * PAGE, self->layout.table, PAGE);
	EXPECT_EQ(0, do_register(&text));
}

TEST_F(prctl, table_in_device_memory)
{
	/* A clock that the vDSO reads. */
	void *device = (void *)find_mapping("[vvar_vclock]", NULL);
	struct unwind_table other = ranges(self->layout.text, PAGE, device, PAGE);

	if (!device)
		SKIP(return, "no [vvar_vclock], which is memory of a device");
	EXPECT_EQ(-EACCES, do_register(&other));
	other = ranges(self->layout.text, PAGE, self->layout.table, PAGE);
	EXPECT_EQ(0, do_register(&other));
	other = ranges(self->layout.text, PAGE, device, PAGE);
	EXPECT_EQ(-EACCES, do_register(&other));
	other = ranges(self->layout.text, PAGE, self->layout.table, PAGE);
	EXPECT_TRUE(registered(&other));
}

TEST_F(prctl, table_in_unreadable_memory)
{
	unsigned char *table = (unsigned char *)self->layout.table;
	struct unwind_table other = self->good;

	other.table_start -= 1;
	EXPECT_EQ(-EACCES, do_register(&other));
	other = self->good;
	other.table_end += 1;
	EXPECT_EQ(-EACCES, do_register(&other));
	ASSERT_EQ(0, mprotect(table + PAGE, PAGE, PROT_NONE));
	EXPECT_EQ(-EACCES, do_register(&self->good));
	ASSERT_EQ(0, munmap(table + PAGE, PAGE));
	EXPECT_EQ(-EACCES, do_register(&self->good));
	other = ranges(self->layout.text, PAGE, table + PAGE, PAGE);
	EXPECT_EQ(-EACCES, do_register(&other));
	other = ranges(self->layout.text, PAGE, table, PAGE);
	EXPECT_EQ(0, do_register(&other));
	/* One that is refused takes nothing away. */
	other.table_end += PAGE;
	EXPECT_EQ(-EACCES, do_register(&other));
	other.table_end -= PAGE;
	EXPECT_TRUE(registered(&other));
}

TEST_F(prctl, unregister_unknown)
{
	static const long others[][2] = {
		{ 0, -1 }, { 1, 0 }, { 1, -1 }, { 0, -PAGE }, { PAGE, 0 },
	};

	EXPECT_EQ(-ENOENT, do_unregister(&self->good));
	ASSERT_EQ(0, do_register(&self->good));
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		struct unwind_table other = self->good;

		other.text_start += others[i][0];
		other.text_end += others[i][1];
		EXPECT_EQ(-ENOENT, do_unregister(&other)) TH_LOG("range %u", i);
	}
	EXPECT_TRUE(registered(&self->good));
	EXPECT_EQ(0, do_unregister(&self->good));
	EXPECT_EQ(-ENOENT, do_unregister(&self->good));
}

TEST_F(prctl, unregister_ignores_the_table)
{
	struct unwind_table other = self->good;

	ASSERT_EQ(0, do_register(&self->good));
	other.table_start = 0;
	other.table_end = 0;
	EXPECT_EQ(0, do_unregister(&other));
	EXPECT_FALSE(registered(&self->good));
}

TEST_F(prctl, register_replaces_the_table)
{
	struct unwind_table other = self->good;
	long count;

	ASSERT_EQ(0, do_register(&self->good));
	count = tables_count();
	other.table_start += PAGE;
	EXPECT_EQ(0, do_register(&other));
	EXPECT_TRUE(registered(&other));
	EXPECT_FALSE(registered(&self->good));
	EXPECT_EQ(count, tables_count());
}

TEST_F(prctl, limit_is_enforced)
{
	struct unwind_table pages[3];
	long others = tables_count(), before = read_number(SYSCTL_MAX), low;
	int results[3], error;

	for (int i = 0; i < 3; i++)
		pages[i] = page_of(&self->layout, i);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, do_register(&pages[0]));

	error = sysctl_set(SYSCTL_MAX, others + 2);
	if (error)
		SKIP(return, "cannot write " SYSCTL_MAX ": errno %d", -error);
	results[0] = do_register(&pages[1]);
	results[1] = do_register(&pages[2]);
	/* To replace is not to add. */
	results[2] = do_register(&pages[1]);
	/* Below what there is: nothing is lost. */
	error = sysctl_set(SYSCTL_MAX, 0);
	low = tables_count();
	sysctl_restore();

	EXPECT_EQ(0, error);
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(-ENOSPC, results[1]);
	EXPECT_EQ(0, results[2]);
	EXPECT_EQ(others + 2, low);
	EXPECT_EQ(0, do_register(&pages[2]));
	EXPECT_EQ(before, read_number(SYSCTL_MAX));
}

/* What a test has set is not left so, however the test ends. */
TEST_F(prctl, killed_while_a_sysctl_is_set)
{
	long before = read_number(SYSCTL_MAX);
	int status, error;
	pid_t pid = fork();

	if (!pid) {
		error = sysctl_set(SYSCTL_MAX, before + 1);
		if (error || read_number(SYSCTL_MAX) != before + 1)
			_exit(error == -EACCES ? KSFT_SKIP : KSFT_FAIL);
		raise(SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == KSFT_SKIP)
		SKIP(return, "cannot write " SYSCTL_MAX);
	ASSERT_TRUE(WIFSIGNALED(status));
	/* It waits until the other value is gone. */
	ASSERT_EQ(0, sysctl_set(SYSCTL_MAX, before + 2));
	sysctl_restore();
	EXPECT_EQ(before, read_number(SYSCTL_MAX));
}

TEST_F(prctl, default_limit)
{
	static struct unwind_table many[4096 + 1];
	unsigned char *text = mmap(NULL, 2 * (4096 + 1), PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long others = tables_count(), room = 4096 - others;

	ASSERT_NE(MAP_FAILED, text);
	if (read_number(SYSCTL_MAX) != 4096)
		SKIP(return, SYSCTL_MAX " is not what a kernel starts with");
	for (int i = 0; i <= room; i++)
		many[i] = ranges(text + 2 * i, 1, self->layout.table, PAGE);
	EXPECT_EQ(room, tables_call(PR_UNWIND_TABLES_REGISTER, many, room + 1,
				    sizeof(*many)));
	EXPECT_EQ(-ENOSPC, do_register(&many[room]));
	EXPECT_EQ(4096, tables_count());
	ASSERT_EQ(0, do_unregister(&many[0]));
	EXPECT_EQ(0, do_register(&many[room]));
}

TEST_F(prctl, batch_stops_at_first_failure)
{
	struct unwind_table batch[PART_PAGES];
	long others = tables_count();

	for (int i = 0; i < PART_PAGES; i++)
		batch[i] = page_of(&self->layout, i);
	batch[2].flags = 1;
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_REGISTER, batch, PART_PAGES));
	EXPECT_EQ(others + 2, tables_count());
	EXPECT_TRUE(registered(&batch[0]) && registered(&batch[1]));
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_REGISTER, batch, PART_PAGES));
	EXPECT_EQ(-EINVAL, batch_call(PR_UNWIND_TABLES_REGISTER, batch + 2, 2));

	batch[2].flags = 0;
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_UNREGISTER, batch, PART_PAGES));
	EXPECT_EQ(-ENOENT, batch_call(PR_UNWIND_TABLES_UNREGISTER, batch, PART_PAGES));
	EXPECT_EQ(PART_PAGES, batch_call(PR_UNWIND_TABLES_REGISTER, batch, PART_PAGES));

	EXPECT_EQ(0, do_unregister(&batch[2]));
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_UNREGISTER, batch, PART_PAGES));
	EXPECT_TRUE(registered(&batch[3]));
	EXPECT_EQ(others + 1, tables_count());
}

#define MANY	200

/* So a program can be restored from its list. */
TEST_F(prctl, the_list_says_what_register_takes)
{
	struct unwind_table made[MANY], again[MANY];
	struct listed seen[MANY];
	long others = tables_count();

	if (others)
		SKIP(return, "this program has tables of its own");
	/* In no order; 7 and MANY have no common factor. */
	for (int i = 0; i < MANY; i++)
		made[i] = ranges(self->layout.text + i * 7 % MANY * 16, 1 + i % 16,
				 (char *)self->layout.table + i, 100 + i);
	ASSERT_EQ(MANY, batch_call(PR_UNWIND_TABLES_REGISTER, made, MANY));

	ASSERT_EQ(MANY, tables_list(seen, MANY));
	for (int i = 0; i < MANY; i++) {
		again[i] = seen[i].table;
		EXPECT_TRUE(i == 0 || again[i - 1].text_end <= again[i].text_start);
		EXPECT_EQ(TABLE_BY_PRCTL, seen[i].origin);
		EXPECT_TRUE(registered(&made[i]));
	}

	ASSERT_EQ(MANY, batch_call(PR_UNWIND_TABLES_UNREGISTER, again, MANY));
	EXPECT_EQ(0, tables_count());
	ASSERT_EQ(MANY, batch_call(PR_UNWIND_TABLES_REGISTER, again, MANY));
	ASSERT_EQ(MANY, tables_list(seen, MANY));
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(0, memcmp(&seen[i].table, &again[i], sizeof(again[i])));
}

TEST_HARNESS_MAIN
