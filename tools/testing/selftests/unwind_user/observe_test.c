// SPDX-License-Identifier: GPL-2.0
/*
 * What administrators see: trace events, a message for who enabled it, and the
 * memory that registrations cost.
 */
#include "../kselftest_harness.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tables.h"

#define INSTANCE	"/sys/kernel/tracing/instances/unwind_user_test"

/* --- Trace events --- */

FIXTURE(trace) {
	struct place place;
	struct unwind_table good;
	bool instance;
};

FIXTURE_SETUP(trace)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	if (mkdir(INSTANCE, 0700) && errno != EEXIST)
		SKIP(return, "cannot make an instance of tracefs: errno %d", errno);
	self->instance = true;
	ASSERT_EQ(0, write_string(INSTANCE "/events/unwind_tables/enable", "1"));
	ASSERT_EQ(0, place_make(&self->place));
	self->good = self->place.good;
}

FIXTURE_TEARDOWN(trace)
{
	EXPECT_EQ(0, write_string(INSTANCE "/events/unwind_tables/enable", "0"));
	EXPECT_EQ(0, rmdir(INSTANCE));
}

/* How many lines of the trace are this process' and say this. */
static int traced(const char *event, const char *what)
{
	FILE *file = fopen(INSTANCE "/trace", "re");
	char line[512], process[24], wanted[256];
	int n = 0;

	snprintf(process, sizeof(process), "-%d ", getpid());
	snprintf(wanted, sizeof(wanted), ": unwind_tables_%s: %s\n", event, what);
	while (file && fgets(line, sizeof(line), file))
		n += strstr(line, process) && strstr(line, wanted);
	if (file)
		fclose(file);
	return n;
}

static const char *said(const struct unwind_table *table, const char *more)
{
	static char text[128];

	snprintf(text, sizeof(text), "text=%llx-%llx table=%llx-%llx %s",
		 table->text_start, table->text_end, table->table_start, table->table_end, more);
	return text;
}

TEST_F(trace, registrations)
{
	struct unwind_table other = self->good;
	const char *old = strdup(said(&self->good, "by=prctl")), *new;

	other.table_start += PAGE;
	new = said(&other, "by=prctl");
	EXPECT_EQ(0, do_register(&self->good));
	EXPECT_EQ(1, traced("register", old));
	EXPECT_EQ(0, traced("register", new));
	EXPECT_EQ(0, do_update(&other));
	EXPECT_EQ(1, traced("update", new));
	EXPECT_EQ(0, traced("unregister", new));
	/* What is named is what was registered, not what the call said. */
	EXPECT_EQ(0, do_unregister(&self->good));
	EXPECT_EQ(1, traced("unregister", new));
	EXPECT_EQ(0, traced("unregister", old));
	EXPECT_EQ(0, traced("drop", new));

	/* What fails leaves no trace. */
	EXPECT_EQ(-ENOENT, do_unregister(&self->good));
	EXPECT_EQ(-ENOENT, do_update(&self->good));
	EXPECT_EQ(1, traced("unregister", new));
	EXPECT_EQ(0, traced("update", old));
}

TEST_F(trace, drop)
{
	const char *good = said(&self->good, "by=prctl");
	pid_t pid;

	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_EQ(0, madvise(self->place.text, PAGE, MADV_DONTFORK));
	pid = fork();
	if (!pid)
		_exit(registered(&self->good));
	EXPECT_TRUE(ended_well(pid));
	EXPECT_EQ(1, traced("drop", good));
	ASSERT_EQ(0, munmap(self->place.table, PAGE));
	EXPECT_EQ(2, traced("drop", good));
	EXPECT_EQ(0, traced("unregister", good));
}

TEST_F(trace, disable)
{
	struct sampler sampler;
	char what[64];
	int error;

	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
	snprintf(what, sizeof(what), "reason=Version(%d) offset=0x%x", VERSION_REASON,
		 VERSION_OFFSET);
	self->place.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_EQ(WALK_LOST, walk(&sampler, self->place.text));
	EXPECT_EQ(1, traced("disable", said(&self->good, what)));
	/* Once, however often it is sampled. */
	EXPECT_EQ(WALK_LOST, walk(&sampler, self->place.text));
	EXPECT_EQ(1, traced("disable", said(&self->good, what)));
}

/* --- The message --- */

#define CONTROL	"dynamic_debug/control"

/* What dynamic debug is told; returns 0 or a negative errno. */
static int dynamic_debug(const char *query)
{
	static const char * const controls[] = {
		"/proc/" CONTROL,
		"/sys/kernel/debug/" CONTROL,
	};
	int error = -ENOENT;

	for (unsigned int i = 0; i < ARRAY_SIZE(controls) && error == -ENOENT; i++)
		error = write_string(controls[i], query);
	return error;
}

/* How many messages there are that have both, from where the log was read to. */
static int messages(int log, const char *a, const char *b)
{
	char text[2048];
	ssize_t len;
	int n = 0;

	/* EPIPE: messages were overwritten before they were read. */
	while ((len = read(log, text, sizeof(text) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		if (len < 0)
			continue;
		text[len] = '\0';
		n += strstr(text, a) && strstr(text, b);
	}
	return n;
}

/* Register a malformed table and sample; returns what the walk said. */
static enum walk disable(struct sampler *sampler, struct place *place)
{
	do_unregister(&place->good);
	place->table->version = 2;
	if (do_register(&place->good))
		return WALK_NONE;
	return walk(sampler, place->text);
}

/* Map the text, as it is, from a file of this name; returns 0 or a negative errno. */
static int text_from_file(struct place *place, const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	size_t len = PART_PAGES * PAGE;

	if (fd < 0 || write(fd, place->text, len) != (ssize_t)len)
		return -errno;
	if (mmap(place->text, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return -errno;
	close(fd);
	return 0;
}

TEST(message)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), error, quiet, loud[2];
	struct sampler sampler;
	struct place place;
	enum walk walks[3];
	char who[64];

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = sampler_open(&sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
	if (log < 0)
		SKIP(return, "cannot read /dev/kmsg: errno %d", errno);
	ASSERT_EQ(0, place_make(&place));
	snprintf(who, sizeof(who), "unwind_tables: observe_test[%d]: table at %lx ", getpid(),
		 (unsigned long)place.table);

	/* Nothing is printed that nobody asked for. */
	lseek(log, 0, SEEK_END);
	walks[0] = disable(&sampler, &place);
	quiet = messages(log, "unwind_tables: ", "");

	error = dynamic_debug("file kernel/unwind/tables/register.c +p");
	if (error)
		SKIP(return, "no dynamic debug: errno %d", -error);
	walks[1] = disable(&sampler, &place);
	loud[0] = messages(log, who, " (no file) disabled: Version at 0x2");
	error = text_from_file(&place, "observed");
	walks[2] = disable(&sampler, &place);
	loud[1] = messages(log, who, " (memfd:observed) disabled: Version at 0x2");

	EXPECT_EQ(0, error);
	EXPECT_EQ(0, dynamic_debug("file kernel/unwind/tables/register.c -p"));
	EXPECT_EQ(WALK_LOST, walks[0]);
	EXPECT_EQ(0, quiet);
	EXPECT_EQ(WALK_LOST, walks[1]);
	EXPECT_EQ(1, loud[0]);
	EXPECT_EQ(WALK_LOST, walks[2]);
	EXPECT_EQ(1, loud[1]);
}

/* --- What registrations cost --- */

#define MAX_SYSCTL	"/proc/sys/kernel/unwind_tables_max"
#define SECTIONS	32768
/* No more is said of a section: its tree costs as well. */
#define SECTION_BYTES	64
/* What each CPU may have been given before, as MEMCG_CHARGE_BATCH: charged already. */
#define STOCK_BYTES	(64 * PAGE)

/* Register many; returns the bytes that this is charged, or a negative errno. */
static long charge_of(const struct place *place, const char *current)
{
	static struct unwind_table batch[256];
	long before, after;
	unsigned char *text = mmap(NULL, 2 * SECTIONS, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (text == MAP_FAILED)
		return -errno;
	/* All that is needed is in memory from now on. */
	memset(batch, 1, sizeof(batch));
	before = read_number(current);
	for (int n = 0; n < SECTIONS; n += ARRAY_SIZE(batch)) {
		long ret;

		for (unsigned int i = 0; i < ARRAY_SIZE(batch); i++)
			batch[i] = ranges(text + 2 * (n + i), 1, place->table, PAGE);
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

static long charge_in_cgroup(struct __test_metadata *_metadata, const struct place *place,
			     const char *group)
{
	char procs[192], current[192];
	long *charge = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	snprintf(current, sizeof(current), "%s/memory.current", group);
	ASSERT_NE(MAP_FAILED, charge);
	pid = fork();
	if (!pid) {
		EXPECT_EQ(0, write_string(procs, "0"));
		*charge = charge_of(place, current);
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
TEST_F_TIMEOUT(charge, memory_is_charged, 600)
{
	char root[] = "/tmp/unwind_user.XXXXXX", group[128];
	long limit = read_number(MAX_SYSCTL), charge = -1;
	struct place place;
	char text[24];
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, place_make(&place));
	ASSERT_NE(NULL, mkdtemp(root));
	error = make_cgroup(root, group, sizeof(group));
	if (!error) {
		snprintf(text, sizeof(text), "%d", SECTIONS + 100);
		error = write_string(MAX_SYSCTL, text);
		if (!error)
			charge = charge_in_cgroup(_metadata, &place, group);
		snprintf(text, sizeof(text), "%ld", limit);
		EXPECT_EQ(0, write_string(MAX_SYSCTL, text));
		EXPECT_EQ(0, rmdir(group));
	}
	umount(root);
	rmdir(root);
	if (error)
		SKIP(return, "no cgroup whose memory is counted: errno %d", -error);
	TH_LOG("%d sections: %ld bytes charged", SECTIONS, charge);
	EXPECT_LE(SECTIONS * SECTION_BYTES, charge + sysconf(_SC_NPROCESSORS_ONLN) * STOCK_BYTES);
}

TEST_HARNESS_MAIN
