// SPDX-License-Identifier: GPL-2.0
/*
 * What administrators see: a quiet log, and the memory that registrations cost.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tables.h"

/* --- The kernel's log --- */

/* How many messages there are that say this, from where the log was read to. */
static int messages(int log, const char *what)
{
	char text[2048];
	ssize_t len;
	int n = 0;

	/* EPIPE: messages were overwritten before they were read. */
	while ((len = read(log, text, sizeof(text) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		text[len] = '\0';
		n += !!strstr(text, what);
	}
	return n;
}

/* Users can make tables malformed as often as they like. */
TEST(nothing_is_logged)
{
	int log = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC), error;
	struct sampler sampler;
	struct layout layout;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
	if (log < 0)
		SKIP(return, "cannot open /dev/kmsg: errno %d", errno);
	ASSERT_EQ(0, layout_make(&layout));

	lseek(log, 0, SEEK_END);
	/* A message that is there is found. */
	ASSERT_LT(0, write(log, "a test of unwind tables\n", 24));
	EXPECT_EQ(1, messages(log, "unwind"));
	layout.table->version = 2;
	ASSERT_EQ(0, do_register(&layout.good));
	EXPECT_EQ(LEAF_LOST, call_leaf(&sampler, layout.text));
	ASSERT_EQ(TABLE_DISABLED, tables_find(&layout.good).state);
	EXPECT_EQ(0, messages(log, "unwind"));
}

/* --- What registrations cost --- */

#define TEXTS	32768
/* No more is said of a text: its tree costs as well. */
#define TEXT_BYTES	128
/*
 * What a CPU may have been given before, as MEMCG_CHARGE_BATCH, and charged already:
 * for pages, and for objects.
 */
#define STOCK_BYTES	(2 * 64 * (long)PAGE)

/* What is charged, in bytes; or a negative errno, and LONG_MIN. */
struct charge {
	long registered;	/* for many registrations */
	long forked;		/* for a child that has them, too */
};

/* Register many; returns what this is charged. */
static long charge_of_many(const struct layout *layout, unsigned char *text, const char *current)
{
	static struct unwind_table batch[256];
	long before, after;

	/* All that is needed is in memory from now on. */
	memset(batch, 1, sizeof(batch));
	before = read_number(current);
	for (int n = 0; n < TEXTS; n += ARRAY_SIZE(batch)) {
		long ret;

		for (unsigned int i = 0; i < ARRAY_SIZE(batch); i++)
			batch[i] = ranges(text + 2 * (n + i), 1, layout->table, PAGE);
		ret = tables_call(PR_UNWIND_TABLES_REGISTER, batch, ARRAY_SIZE(batch),
				  sizeof(*batch));
		if (ret != ARRAY_SIZE(batch))
			return ret < 0 ? ret : -EPROTO;
	}
	after = read_number(current);
	if (before < 0 || after < 0)
		return -EIO;
	return after - before;
}

/* Measure both in a process that is in the cgroup. */
static struct charge charges_of(const struct layout *layout, const char *current)
{
	unsigned char *text = mmap(NULL, 2 * TEXTS, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct charge charge = { -ENOMEM, LONG_MIN };
	int go[2], count[2];
	long before, has = 0;
	pid_t pid;

	if (text == MAP_FAILED || pipe(go) || pipe(count))
		return charge;
	charge.registered = charge_of_many(layout, text, current);
	before = read_number(current);
	pid = fork();
	if (!pid) {
		close(go[1]);
		has = tables_count();
		_exit(write(count[1], &has, sizeof(has)) != sizeof(has) || read(go[0], &has, 1));
	}
	close(count[1]);
	/* The child is there, with all of them, until it is told to go. */
	if (read(count[0], &has, sizeof(has)) == sizeof(has) && has == tables_count())
		charge.forked = read_number(current) - before;
	close(go[1]);
	if (!ended_well(pid))
		charge.forked = LONG_MIN;
	return charge;
}

/* A new cgroup below the root of a mount, with its memory counted; 0 or a negative errno. */
static int make_cgroup(const char *root, char *group, size_t size)
{
	char path[128];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("cgroup2", root, "cgroup2", 0, NULL))
		return -errno;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	if (write_string(path, "+memory"))
		return -ENOENT;
	snprintf(group, size, "%s/unwind_user_test.%d", root, getpid());
	return mkdir(group, 0700) ? -errno : 0;
}

static struct charge charges_in_cgroup(struct __test_metadata *_metadata,
				       const struct layout *layout, const char *group)
{
	char procs[192], current[192];
	struct charge *charge = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	snprintf(current, sizeof(current), "%s/memory.current", group);
	ASSERT_NE(MAP_FAILED, charge);
	pid = fork();
	if (!pid) {
		cpu_set_t cpus;

		/* Stay on one CPU: each has memory of its own that is charged in advance. */
		CPU_ZERO(&cpus);
		CPU_SET(sched_getcpu(), &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus) || write_string(procs, "0"))
			_exit(1);
		*charge = charges_of(layout, current);
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	return *charge;
}

FIXTURE(charge)
{
};

FIXTURE_SETUP(charge)
{
}

FIXTURE_TEARDOWN(charge)
{
}

/* Slow where a kernel looks for mistakes. */
TEST_F_TIMEOUT(charge, memory_is_charged_and_shared, 600)
{
	char root[] = "/tmp/unwind_user.XXXXXX", group[128];
	struct charge charge = {};
	struct layout layout;
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&layout));
	ASSERT_NE(NULL, mkdtemp(root));
	error = make_cgroup(root, group, sizeof(group));
	if (error) {
		umount(root);
		rmdir(root);
		SKIP(return, "no cgroup whose memory is counted: errno %d", -error);
	}
	EXPECT_EQ(0, sysctl_set(SYSCTL_MAX, TEXTS + 100));
	charge = charges_in_cgroup(_metadata, &layout, group);
	sysctl_restore();
	EXPECT_EQ(0, rmdir(group));
	umount(root);
	rmdir(root);

	TH_LOG("%d texts: %ld bytes charged, and %ld for a child that has them, too",
	       TEXTS, charge.registered, charge.forked);
	ASSERT_LT(0, charge.registered);
	EXPECT_LE(TEXTS * TEXT_BYTES, charge.registered + STOCK_BYTES);
	/* A child has page tables and pages of its own, and a tree, but no copies of the texts. */
	EXPECT_LE(-STOCK_BYTES, charge.forked);
	EXPECT_GT(TEXTS * TEXT_BYTES / 2, charge.forked);
}

TEST_HARNESS_MAIN
