// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/PID/unwind_tables: what it says, and to whom.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tables.h"

/* More lines than most tests need. */
#define MANY	200

FIXTURE(proc) {
	struct layout layout;
	struct unwind_table good;
};

FIXTURE_SETUP(proc)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	self->good = self->layout.good;
}

FIXTURE_TEARDOWN(proc)
{
}

TEST_F(proc, says_what_was_registered)
{
	static struct line lines[MANY];
	struct unwind_table page;
	struct line *line;
	int count;

	for (int i = 0; i < PART_PAGES; i++) {
		page = page_of(&self->layout, i);
		ASSERT_EQ(0, do_register(&page));
	}
	count = proc_lines(getpid(), lines, MANY);
	for (int i = 0; i < PART_PAGES; i++) {
		page = page_of(&self->layout, i);
		line = line_of(lines, count, &page);
		ASSERT_NE(NULL, line) TH_LOG("page %d", i);
		EXPECT_EQ(0, line->table.header);
		EXPECT_STREQ("sframe", line->format);
		EXPECT_STREQ("prctl", line->origin);
		EXPECT_STREQ("unchecked", line->state);
	}
}

/* --- The file as it is read --- */

/* Enough for several pages of the file. */
#define LINES	400
#define LINES_SIZE	(LINES * 128)

/* Read all of a file, so many bytes at a time; returns the length or a negative errno. */
static ssize_t read_file(const char *path, char *text, size_t size, size_t step)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t done = 0, ret = 0;

	if (fd < 0)
		return -errno;
	do {
		done += ret;
		if (step > size - 1 - done)
			step = size - 1 - done;
		ret = read(fd, text + done, step);
	} while (ret > 0);
	if (ret < 0)
		done = -errno;
	else
		text[done] = '\0';
	close(fd);
	return done;
}

/* Register LINES ranges of text, of two bytes each, each 16 bytes behind the last. */
static bool register_lines(const struct layout *layout)
{
	static struct unwind_table tables[LINES];

	for (int i = 0; i < LINES; i++)
		tables[i] = ranges(layout->text + 16 * i, 2, layout->table, PAGE);
	return batch_call(PR_UNWIND_TABLES_REGISTER, tables, LINES) == LINES;
}

TEST_F(proc, short_reads)
{
	static char all[LINES_SIZE], part[LINES_SIZE];
	static const size_t steps[] = { 1, 77, 100, PAGE - 1, PAGE + 1 };
	ssize_t len, at;
	int fd;

	ASSERT_TRUE(register_lines(&self->layout));
	len = read_file("/proc/self/unwind_tables", all, sizeof(all), sizeof(all));
	ASSERT_LT(4 * (ssize_t)PAGE, len);
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++) {
		EXPECT_EQ(len, read_file("/proc/self/unwind_tables", part, sizeof(part),
					 steps[i])) TH_LOG("step %zu", steps[i]);
		EXPECT_STREQ(all, part) TH_LOG("step %zu", steps[i]);
	}

	/* From any place. */
	fd = open("/proc/self/unwind_tables", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	for (off_t from = len - 1; from >= 0; from -= 997) {
		ASSERT_EQ(from, lseek(fd, from, SEEK_SET));
		at = read(fd, part, 200);
		ASSERT_LT(0, at);
		EXPECT_EQ(0, memcmp(all + from, part, at)) TH_LOG("from %ld", (long)from);
		at = pread(fd, part, 50, from / 2);
		ASSERT_LT(0, at);
		EXPECT_EQ(0, memcmp(all + from / 2, part, at)) TH_LOG("from %ld", (long)from / 2);
	}
	EXPECT_EQ(0, pread(fd, part, 50, len));
	close(fd);
}

/* Which of the lines have been seen so far, and whether they were in order. */
static bool take_line(const struct layout *layout, const char *line, bool *seen, int *last)
{
	unsigned long start = strtoul(line, NULL, 16);
	int nth = ((long)start - (long)layout->text) / 16;

	if (nth < 0 || nth >= LINES || nth <= *last)
		return false;
	seen[nth] = true;
	*last = nth;
	return true;
}

TEST_F(proc, reads_during_changes)
{
	char line[256];
	bool seen[LINES] = {};
	struct unwind_table gone;
	int last = -1, n = 0, missing = 0;
	FILE *file;

	ASSERT_TRUE(register_lines(&self->layout));
	file = fopen("/proc/self/unwind_tables", "re");
	ASSERT_NE(NULL, file);
	/* The C library reads a line or more, less than there are. */
	setvbuf(file, NULL, _IOFBF, 128);
	while (fgets(line, sizeof(line), file)) {
		ASSERT_TRUE(take_line(&self->layout, line, seen, &last)) TH_LOG("%s", line);
		if (n++ != LINES / 4)
			continue;
		/* What was read, what is next or soon, and what is not for long. */
		for (int i = 0; i < LINES; i += i < LINES / 2 ? 1 : 2) {
			gone = ranges(self->layout.text + 16 * i, 2, self->layout.table, PAGE);
			ASSERT_EQ(0, do_unregister(&gone));
		}
	}
	fclose(file);
	/* A page was read ahead at most; the rest is what is still there. */
	EXPECT_GT(LINES * 3 / 4, n);
	/* Of those it says each, and those that are gone it does not say. */
	for (int i = LINES / 2; i < LINES; i++)
		missing += i % 2 && !seen[i];
	EXPECT_EQ(0, missing);
	EXPECT_FALSE(seen[LINES - 2]);

	/* Nothing is left while it is read. */
	file = fopen("/proc/self/unwind_tables", "re");
	ASSERT_NE(NULL, file);
	setvbuf(file, NULL, _IOFBF, 128);
	ASSERT_NE(NULL, fgets(line, sizeof(line), file));
	ASSERT_EQ(0, munmap(self->layout.table, PAGE));
	for (n = 0; fgets(line, sizeof(line), file); n++)
		;
	/* What was read ahead, at most. */
	EXPECT_GT(LINES / 8, n);
	fclose(file);
}

TEST_F(proc, names_the_file)
{
	static char text[LINES_SIZE];
	struct unwind_table table;
	void *mapped;
	int fd = memfd_create("a b\nc", MFD_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, mapped);
	table = ranges(mapped, PAGE, self->layout.table, PAGE);
	ASSERT_EQ(0, do_register(&table));
	ASSERT_LT(0, read_file("/proc/self/unwind_tables", text, sizeof(text), sizeof(text)));
	EXPECT_NE(NULL, strstr(text, " sframe prctl unchecked /memfd:a b\\012c (deleted)\n"))
		TH_LOG("%s", text);

	/* Text from nowhere has no name, and nothing in its place. */
	ASSERT_EQ(0, do_unregister(&table));
	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_LT(0, read_file("/proc/self/unwind_tables", text, sizeof(text), sizeof(text)));
	EXPECT_NE(NULL, strstr(text, " sframe prctl unchecked\n")) TH_LOG("%s", text);
}

/* What a thread sees in its own file. */
static void *read_as_thread(void *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/unwind_tables", syscall(__NR_gettid));
	return (void *)read_file(path, text, LINES_SIZE, LINES_SIZE);
}

TEST_F(proc, thread_file)
{
	static char all[LINES_SIZE], text[LINES_SIZE];
	pthread_t thread;
	void *len;

	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_LT(0, read_file("/proc/self/unwind_tables", all, sizeof(all), sizeof(all)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_as_thread, text));
	ASSERT_EQ(0, pthread_join(thread, &len));
	EXPECT_EQ(strlen(all), (long)len);
	EXPECT_STREQ(all, text);
}

TEST_F(proc, tasks_without_memory)
{
	static struct line lines[8];
	siginfo_t info;
	pid_t pid;

	ASSERT_EQ(0, do_register(&self->good));
	pid = fork();
	if (!pid)
		_exit(!registered(&self->good));
	ASSERT_LT(0, pid);
	/* A zombie. */
	ASSERT_EQ(0, waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(0, proc_lines(pid, lines, 8));
	EXPECT_TRUE(ended_well(pid));

	/* kthreadd. */
	EXPECT_EQ(0, proc_lines(2, lines, 8));
}

/* What a child sees that has become another user. */
static int as_nobody(pid_t parent)
{
	static struct line lines[8];

	if (setgid(65534) || setuid(65534))
		return 2;
	/* Or its own files would still be root's. */
	prctl(PR_SET_DUMPABLE, 1);
	if (proc_lines(getpid(), lines, 8) < 1)
		return 3;
	return proc_lines(parent, lines, 8) == -EACCES ? 0 : 4;
}

TEST_F(proc, permissions)
{
	pid_t parent = getpid(), pid;
	int status;

	if (getuid())
		SKIP(return, "not root: cannot become another user");
	ASSERT_EQ(0, do_register(&self->good));
	pid = fork();
	if (!pid)
		_exit(as_nobody(parent));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("2: setuid, 3: own file, 4: the parent's");
}

TEST_HARNESS_MAIN
