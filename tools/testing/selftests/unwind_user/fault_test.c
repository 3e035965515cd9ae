// SPDX-License-Identifier: GPL-2.0
/*
 * Each operation with each allocation and each copy failing on its way: what is
 * registered afterwards is what the operation says, entirely.
 */
#include "harness.h"

#include "faults.h"

#define ALL	((1U << PART_PAGES) - 1)

FIXTURE(fault) {
	/* The pages of text that the operations change. They share a table. */
	struct layout layout;
	struct unwind_table texts[PART_PAGES];
	/* A table that no operation changes. */
	struct layout calm;
	int fd;
	/* An operation has failed for want of memory, or of a copy. */
	bool no_memory, no_copy;
};

FIXTURE_SETUP(fault)
{
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	error = self->fd < 0 ? -errno : faults_on("0");
	if (error)
		SKIP(return, NO_FAULTS, -error);
	ASSERT_EQ(0, tables_count());
	/* A page fault that fails would take the place of what the operation does. */
	mlockall(MCL_CURRENT);
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->calm));
	for (int i = 0; i < PART_PAGES; i++)
		self->texts[i] = ranges(self->layout.text + i * PAGE, PAGE, self->layout.table,
					PAGE);
}

FIXTURE_TEARDOWN(fault)
{
	if (self->fd >= 0)
		faults_off();
}

static bool failing(FIXTURE_DATA(fault) *self, int n,
		    long (*operation)(FIXTURE_DATA(fault) *),
		    long *ret)
{
	bool happened;

	fault_arm(self->fd, n);
	*ret = operation(self);
	happened = fault_happened(self->fd);
	self->no_memory |= *ret == -ENOMEM;
	self->no_copy |= *ret == -EFAULT;
	return happened;
}

/* Whether a process has these texts and the calm one, and no other, by its file. */
static bool file_says(FIXTURE_DATA(fault) *self, pid_t pid, unsigned int texts)
{
	static struct line lines[PART_PAGES + 8];
	int wanted = 1 + __builtin_popcount(texts);

	if (proc_lines(pid, lines, ARRAY_SIZE(lines)) != wanted ||
	    !line_of(lines, wanted, &self->calm.good))
		return false;
	for (int i = 0; i < PART_PAGES; i++) {
		if ((texts >> i & 1) && !line_of(lines, wanted, &self->texts[i]))
			return false;
	}
	return true;
}

/* The same for this process, as all say. */
static bool state_is(FIXTURE_DATA(fault) *self, unsigned int texts)
{
	int wanted = 1 + __builtin_popcount(texts);

	if (tables_count() != wanted || !file_says(self, getpid(), texts) ||
	    !registered(&self->calm.good))
		return false;
	for (int i = 0; i < PART_PAGES; i++) {
		if ((texts >> i & 1) && !registered(&self->texts[i]))
			return false;
	}
	return true;
}

static long register_texts(FIXTURE_DATA(fault) *self)
{
	return tables_call(PR_UNWIND_TABLES_REGISTER, self->texts, PART_PAGES,
			   sizeof(*self->texts));
}

static long unregister_texts(FIXTURE_DATA(fault) *self)
{
	return tables_call(PR_UNWIND_TABLES_UNREGISTER, self->texts, PART_PAGES,
			   sizeof(*self->texts));
}

static void start_with_all(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self)
{
	ASSERT_EQ(0, do_register(&self->calm.good));
	ASSERT_EQ(PART_PAGES, register_texts(self));
}

/* The first ever, for which there is no registry yet. */
static int first_registration(FIXTURE_DATA(fault) *self, int n)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC), ret;
	bool happened;

	fault_arm(fd, n);
	ret = do_register(&self->calm.good);
	happened = fault_happened(fd);
	if (ret && ret != -ENOMEM && ret != -EFAULT)
		return 1;
	if (tables_count() != !ret || (ret && do_register(&self->calm.good)) ||
	    !state_is(self, 0))
		return 2;
	return happened ? 3 : 4;
}

TEST_F(fault, first_registration)
{
	int n = 0, result, status;

	do {
		pid_t pid = fork();

		if (!pid)
			_exit(first_registration(self, n + 1));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		result = WEXITSTATUS(status);
		n += result == 3;
	} while (result == 3);
	EXPECT_EQ(4, result);
	/* The copy, the registry, and the text. */
	EXPECT_LE(3, n);
	EXPECT_EQ(0, tables_count());
}

TEST_F(fault, register)
{
	long ret;

	ASSERT_EQ(0, do_register(&self->calm.good));
	for (int n = 1; failing(self, n, register_texts, &ret); n++) {
		ASSERT_TRUE(ret > 0 || ret == -ENOMEM || ret == -EFAULT);
		if (ret < 0)
			ret = 0;
		ASSERT_TRUE(state_is(self, (1U << ret) - 1)) TH_LOG("%ld, fault %d", ret, n);
		while (ret)
			ASSERT_EQ(0, do_unregister(&self->texts[--ret]));
	}
	EXPECT_EQ(PART_PAGES, ret);
	EXPECT_TRUE(state_is(self, ALL));
	EXPECT_TRUE(self->no_memory && self->no_copy);
}

TEST_F(fault, unregister)
{
	long ret;

	start_with_all(_metadata, self);
	for (int n = 1; failing(self, n, unregister_texts, &ret); n++) {
		/* No memory is no excuse. */
		ASSERT_TRUE(ret > 0 || ret == -EFAULT);
		if (ret < 0)
			ret = 0;
		ASSERT_TRUE(state_is(self, ALL & ~((1U << ret) - 1)))
			TH_LOG("%ld, fault %d", ret, n);
		while (ret)
			ASSERT_EQ(0, do_register(&self->texts[--ret]));
	}
	EXPECT_EQ(PART_PAGES, ret);
	EXPECT_TRUE(state_is(self, 0));
	EXPECT_TRUE(self->no_copy);
}

/* The first text gets another table. */
static long replace_table(FIXTURE_DATA(fault) *self)
{
	struct unwind_table other = self->texts[0];

	other.table_end += PAGE;
	return do_register(&other);
}

TEST_F(fault, replace)
{
	struct unwind_table old, new;
	long ret;

	start_with_all(_metadata, self);
	old = self->texts[0];
	new = old;
	new.table_end += PAGE;
	for (int n = 1; failing(self, n, replace_table, &ret); n++) {
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM || ret == -EFAULT);
		self->texts[0] = ret ? old : new;
		ASSERT_TRUE(state_is(self, ALL)) TH_LOG("%ld, fault %d", ret, n);
		self->texts[0] = old;
		ASSERT_EQ(0, do_register(&old));
	}
	EXPECT_EQ(0, ret);
	self->texts[0] = new;
	EXPECT_TRUE(state_is(self, ALL));
	EXPECT_TRUE(self->no_memory && self->no_copy);
}

/* The second text, on a page of its own. */
static long unmap_text(FIXTURE_DATA(fault) *self)
{
	return munmap(self->layout.text + PAGE, PAGE) ? -errno : 0;
}

/* The same with other memory in its place. */
static long replace_text(FIXTURE_DATA(fault) *self)
{
	return mmap(self->layout.text + PAGE, PAGE, RX,
		    ANON | MAP_FIXED, -1, 0) == MAP_FAILED ? -errno : 0;
}

static void unmap_failing(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self,
			  long (*unmap)(FIXTURE_DATA(fault) *))
{
	bool stayed = false;
	long ret;

	start_with_all(_metadata, self);
	for (int n = 1; failing(self, n, unmap, &ret); n++) {
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM);
		/* What could not be replaced may be gone all the same. */
		if (ret && state_is(self, ALL)) {
			stayed = true;
			continue;
		}
		ASSERT_TRUE(state_is(self, ALL & ~2)) TH_LOG("%ld, fault %d", ret, n);
		ASSERT_EQ(0, replace_text(self));
		ASSERT_EQ(0, do_register(&self->texts[1]));
	}
	EXPECT_EQ(0, ret);
	EXPECT_TRUE(state_is(self, ALL & ~2));
	EXPECT_TRUE(stayed);
}

TEST_F(fault, munmap)
{
	unmap_failing(_metadata, self, unmap_text);
}

TEST_F(fault, mmap_over_it)
{
	unmap_failing(_metadata, self, replace_text);
}

/* The texts that a child has. */
static unsigned int inherited;

/* Without what the C library does at fork(), which makes system calls too. */
static long make_child(FIXTURE_DATA(fault) *self)
{
	pid_t pid = syscall(__NR_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		_exit(state_is(self, inherited) ? 0 : tables_count() ? 2 : 1);
	return pid < 0 ? -errno : pid;
}

static void fork_failing(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self)
{
	int complete = 0, none = 0, failed = 0, status;
	bool more = true;

	for (int n = 1; more; n++) {
		long ret;

		more = failing(self, n, make_child, &ret);
		ASSERT_TRUE(state_is(self, ALL)) TH_LOG("fault %d", n);
		if (ret < 0) {
			failed++;
			continue;
		}
		ASSERT_EQ(ret, waitpid(ret, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		ASSERT_GT(2, WEXITSTATUS(status));
		if (WEXITSTATUS(status))
			none++;
		else
			complete++;
	}
	TH_LOG("children with their tables %d, with none %d, not at all %d", complete, none,
	       failed);
	/* The last had no fault. */
	EXPECT_EQ(0, WEXITSTATUS(status));
	/* No memory for the registry, or for its copy, and a child all the same. */
	EXPECT_LT(0, none);
}

/* Slow where a kernel looks for mistakes. */
TEST_F_TIMEOUT(fault, fork, 900)
{
	start_with_all(_metadata, self);
	inherited = ALL;
	fork_failing(_metadata, self);
}

/* The second text is not in the child, whose registry is another for that. */
TEST_F_TIMEOUT(fault, fork_without_a_text, 900)
{
	start_with_all(_metadata, self);
	ASSERT_EQ(0, madvise(self->layout.text + PAGE, PAGE, MADV_DONTFORK));
	inherited = ALL & ~2;
	fork_failing(_metadata, self);
}

/* There is no stack if it is perf that has no memory. */
static struct sampler sampler;

static long walk_text(FIXTURE_DATA(fault) *self)
{
	return call_leaf(&sampler, self->layout.text);
}

/* Walks through the first text: where its stack goes on, and what is known then. */
static void walk_failing(struct __test_metadata *_metadata, FIXTURE_DATA(fault) *self,
			 enum leaf_stack goes_on, __u32 state)
{
	bool late = false, lost = false;
	long ret;

	start_with_all(_metadata, self);
	ASSERT_EQ(goes_on, walk_text(self));
	ASSERT_EQ(0, do_register(&self->texts[0]));
	for (int n = 1; failing(self, n, walk_text, &ret); n++) {
		__u32 now = tables_find(&self->texts[0]).state;

		ASSERT_TRUE(state_is(self, ALL));
		ASSERT_TRUE(now == state || now == TABLE_UNCHECKED)
			TH_LOG("state %u, fault %d", now, n);
		late |= ret == goes_on && now == TABLE_UNCHECKED;
		lost |= ret == LEAF_LOST;
		ASSERT_EQ(0, do_register(&self->texts[0]));
	}
	EXPECT_EQ(goes_on, ret);
	EXPECT_EQ(state, tables_find(&self->texts[0]).state);
	/* No memory for the state, and an unreadable table. */
	EXPECT_TRUE(late && lost);
}

TEST_F(fault, walk)
{
	if (!open_sampler(_metadata, &sampler))
		return;
	walk_failing(_metadata, self, LEAF_FOUND, TABLE_GOOD);
}

TEST_F(fault, walk_by_a_malformed_table)
{
	if (!open_sampler(_metadata, &sampler))
		return;
	self->layout.table->version = 2;
	walk_failing(_metadata, self, LEAF_LOST, TABLE_DISABLED);
}

TEST_HARNESS_MAIN
