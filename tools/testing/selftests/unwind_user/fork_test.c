// SPDX-License-Identifier: GPL-2.0
/*
 * Who shares registrations with whom: a child has its own, which start as a copy of the
 * parent's, without those of memory that it does not get. Threads and children that share
 * memory have the same. What registrations cost in memory, also if a child has them, too.
 */
#include "harness.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

FIXTURE(family) {
	struct layout layout, other, third;
	struct unwind_table good, second;
};

FIXTURE_SETUP(family)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->other));
	ASSERT_EQ(0, layout_make(&self->third));
	ASSERT_EQ(0, do_register(&self->layout.good));
	ASSERT_EQ(0, do_register(&self->third.good));
	self->good = self->layout.good;
	self->second = self->other.good;
}

FIXTURE_TEARDOWN(family)
{
}

/* Change what a process has: one table goes, another one is unmapped, and one comes. */
static bool change(FIXTURE_DATA(family) *self)
{
	return !do_unregister(&self->good) &&
	       !munmap(self->third.text, PAGE) && !do_register(&self->other.good);
}

static bool is_unchanged(FIXTURE_DATA(family) *self)
{
	return registered(&self->good) && registered(&self->third.good) &&
	       !registered(&self->other.good);
}

static bool is_changed(FIXTURE_DATA(family) *self)
{
	return !registered(&self->good) && !registered(&self->third.good) &&
	       registered(&self->other.good);
}

/* A child has what its parent has, and neither sees what the other one changes. */
TEST_F(family, fork)
{
	pid_t pid = fork();

	if (!pid) {
		EXPECT_EQ(TABLE_BY_PRCTL, tables_find(&self->good).origin);
		EXPECT_TRUE(is_unchanged(self));
		EXPECT_TRUE(change(self));
		_exit(!is_changed(self));
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_TRUE(is_unchanged(self));
	EXPECT_TRUE(change(self));
	EXPECT_TRUE(is_changed(self));
}

/*
 * Each process of a line makes the next one and is gone before that goes on.
 * Every third adds a range, and so has what its parent, which is dead, had.
 */
TEST_F_TIMEOUT(family, generations, 120)
{
	int result[2], length = 90;
	long others = tables_count();
	char byte = 1;
	pid_t pid;

	ASSERT_EQ(0, pipe(result));
	pid = fork();
	if (!pid) {
		for (int nth = 0; nth < length; nth++) {
			struct unwind_table table = ranges(self->other.text + 16 * nth, 8,
							   self->other.table, PAGE);
			int alive[2];
			pid_t next;

			if (pipe(alive))
				_exit(1);
			next = fork();
			if (next)
				_exit(next < 0);
			close(alive[1]);
			/* Until the parent has no files any more, and no memory before. */
			if (read(alive[0], &byte, 1))
				_exit(1);
			close(alive[0]);
			if (nth % 3 == 0 && do_register(&table))
				_exit(1);
			if (tables_count() != others + 1 + nth / 3 || !registered(&self->good))
				_exit(1);
		}
		byte = 0;
		_exit(write(result[1], &byte, 1) != 1);
	}
	close(result[1]);
	EXPECT_TRUE(ended_well(pid));
	/* Nothing is read if one of them has failed. */
	EXPECT_EQ(1, read(result[0], &byte, 1));
	EXPECT_EQ(others, tables_count());
}

struct work {
	struct unwind_table *add, *take;
	int result;
};

static int do_work(void *argument)
{
	struct work *work = argument;

	work->result = do_register(work->add) ?: do_unregister(work->take);
	return 0;
}

static void *do_work_in_thread(void *argument)
{
	do_work(argument);
	return NULL;
}

/* Whoever shares the memory does something: a child of vfork(), one of clone(), or a thread. */
TEST_F(family, shared_memory)
{
	static char stack[16 * PAGE];

	for (int i = 0; i < 3; i++) {
		static struct work work;
		pthread_t thread;
		pid_t pid = 0;

		work = (struct work){ &self->second, &self->good, -1 };
		if (i == 0) {
			pid = vfork();
			if (!pid)
				_exit(do_work(&work));
		} else if (i == 1) {
			pid = clone(do_work, stack + sizeof(stack), CLONE_VM | SIGCHLD, &work);
		} else {
			ASSERT_EQ(0, pthread_create(&thread, NULL, do_work_in_thread, &work));
			ASSERT_EQ(0, pthread_join(thread, NULL));
		}
		EXPECT_TRUE(i == 2 || ended_well(pid));
		EXPECT_EQ(0, __atomic_load_n(&work.result, __ATOMIC_SEQ_CST));
		EXPECT_TRUE(registered(&self->second));
		EXPECT_FALSE(registered(&self->good));
		ASSERT_EQ(0, do_register(&self->good));
		ASSERT_EQ(0, do_unregister(&self->second));
	}
}

/* --- Memory that children do not get --- */

static bool reaches_child(const struct unwind_table *table)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(registered(table));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status);
}

TEST_F(family, memory_that_is_not_inherited)
{
	static const struct {
		int advice, undo, first, end;
		bool stays;
	} cases[] = {
		{ MADV_DONTFORK, MADV_DOFORK, 1, 5 },		/* text */
		{ MADV_DONTFORK, MADV_DOFORK, 9, 10 },		/* the last page of the table */
		{ MADV_DONTFORK, MADV_DOFORK, 5, 6, true },	/* between text and table */
		{ MADV_WIPEONFORK, MADV_KEEPONFORK, 1, 2 },	/* the first page of text */
		{ MADV_WIPEONFORK, MADV_KEEPONFORK, 6, 10 },	/* the table */
		{ MADV_WIPEONFORK, MADV_KEEPONFORK, 10, 12, true },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned char *start = self->layout.area + cases[i].first * PAGE;
		size_t len = (cases[i].end - cases[i].first) * PAGE;

		ASSERT_EQ(0, madvise(start, len, cases[i].advice));
		EXPECT_EQ(cases[i].stays, reaches_child(&self->good)) TH_LOG("advice %u", i);
		EXPECT_TRUE(reaches_child(&self->third.good));
		ASSERT_EQ(0, madvise(start, len, cases[i].undo));
		EXPECT_TRUE(reaches_child(&self->good)) TH_LOG("advice %u", i);
	}
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
	long left;		/* when both are gone */
};

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
	unsigned char *text = mmap(NULL, 2 * TEXTS, RX, ANON, -1, 0);
	struct charge charge = { -ENOMEM, LONG_MIN };
	int go[2], count[2];
	long before, has = 0;
	pid_t pid;

	if (text == MAP_FAILED || pipe(go) || pipe(count))
		return charge;
	charge.registered = charge_of_many(layout, text, current);
	/* Nodes of the tree that were replaced are freed after a grace period. */
	sleep(1);
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
	struct charge *charge = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
	/* Some is freed after a grace period. */
	sleep(1);
	charge->left = read_number(current);
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

	TH_LOG("%d texts: %ld bytes charged, %ld for a child that has them, too, %ld left behind",
	       TEXTS, charge.registered, charge.forked, charge.left);
	ASSERT_LT(0, charge.registered);
	EXPECT_LE(TEXTS * TEXT_BYTES, charge.registered + STOCK_BYTES);
	/* A child has page tables and pages of its own, and a tree, but no copies of the texts. */
	EXPECT_LE(-STOCK_BYTES, charge.forked);
	EXPECT_GT(TEXTS * TEXT_BYTES / 2, charge.forked);
	EXPECT_LE(0, charge.left);
	EXPECT_GT(TEXTS * TEXT_BYTES / 2, charge.left);
}

TEST_HARNESS_MAIN
