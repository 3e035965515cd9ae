// SPDX-License-Identifier: GPL-2.0
/*
 * prctl(PR_UNWIND_TABLES) and /proc/PID/unwind_tables: what the call refuses, what it
 * takes, and what the file says, and to whom.
 */
#include "harness.h"

FIXTURE(registration) {
	struct layout layout;
	struct unwind_table good;
};

FIXTURE_SETUP(registration)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	self->good = self->layout.good;
}

FIXTURE_TEARDOWN(registration)
{
}

/* --- What the call refuses --- */

static const unsigned long operations[] = {
	PR_UNWIND_TABLES_REGISTER,
	PR_UNWIND_TABLES_UNREGISTER,
};

TEST_F(registration, elements_that_cannot_be)
{
	static const unsigned long ends[] = { 0, 1UL << 63, -1UL };
	struct unwind_table table = self->good;

	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		table.text_end = ends[i];
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("text to %lx", ends[i]);
		table = self->good;
		table.table_end = ends[i];
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("table to %lx", ends[i]);
		table = self->good;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		static const __u32 formats[] = { 0, UNWIND_TABLE_EH_FRAME + 1 };
		static const __u32 flags[] = { 1, 1U << 31 };

		for (int nth = 0; nth < 2; nth++) {
			table.format = formats[nth];
			EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
			table = self->good;
			table.flags = flags[nth];
			EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
			table = self->good;
		}
	}
	EXPECT_FALSE(registered(&self->good));
}

TEST_F(registration, table_above_4_gib)
{
	size_t size = (4UL << 30) + PAGE;
	void *large = mmap(NULL, size, PROT_READ, ANON | MAP_NORESERVE, -1, 0);
	struct unwind_table table;

	if (large == MAP_FAILED)
		SKIP(return, "no 4 GiB of addresses: errno %d", errno);
	table = ranges(self->layout.text, PAGE, large, 1UL << 32);
	EXPECT_EQ(-EINVAL, do_register(&table));
	table = ranges(self->layout.text, PAGE, large, (1UL << 32) - 1);
	EXPECT_EQ(0, do_register(&table));
}

TEST_F(registration, unknown_operations)
{
	static const unsigned long unknown[] = { 2, 3, 4, 82, 1UL << 32, -1UL };

	for (unsigned int i = 0; i < ARRAY_SIZE(unknown); i++) {
		for (int count = 0; count < 2; count++)
			EXPECT_EQ(-EINVAL, tables_call(unknown[i], &self->good, count,
						       sizeof(self->good)));
		EXPECT_EQ(-EINVAL, tables_call(unknown[i], NULL, 1, sizeof(self->good)));
	}
	EXPECT_FALSE(registered(&self->good));
}

static_assert(sizeof(struct unwind_table) == UNWIND_TABLE_SIZE_VER0, "size");
static_assert(UNWIND_TABLE_SIZE_VER0 == 48, "size");
static_assert(offsetof(struct unwind_table, text_end) == 8, "layout");
static_assert(offsetof(struct unwind_table, table_start) == 16, "layout");
static_assert(offsetof(struct unwind_table, table_end) == 24, "layout");
static_assert(offsetof(struct unwind_table, header) == 32, "layout");
static_assert(offsetof(struct unwind_table, format) == 40, "layout");
static_assert(offsetof(struct unwind_table, flags) == 44, "layout");

TEST_F(registration, sizes_of_an_element)
{
	static unsigned char element[2 * PAGE];
	const unsigned long page = getpagesize();

	memcpy(element, &self->good, sizeof(self->good));
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		EXPECT_EQ(-EINVAL, tables_call(operations[i], element, 1, 0));
		EXPECT_EQ(-EINVAL, tables_call(operations[i], element, 1,
					       UNWIND_TABLE_SIZE_VER0 - 1));
		EXPECT_EQ(-E2BIG, tables_call(operations[i], element, 1, page + 1));
		EXPECT_EQ(-E2BIG, tables_call(operations[i], element, 1, -1UL));
	}

	/* What this kernel does not know is refused, unless it is 0. */
	for (unsigned long size = UNWIND_TABLE_SIZE_VER0; size <= page; size = 2 * size - 1) {
		EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, element, 1, size));
		EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_UNREGISTER, element, 1, size));
	}
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, element, 1, page));
	element[page - 1] = 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++)
		EXPECT_EQ(-E2BIG, tables_call(operations[i], element, 1, page));
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_UNREGISTER, element, 1, page - 1));
}

TEST_F(registration, larger_elements_of_an_array)
{
	static unsigned char array[4 * 100];
	struct unwind_table table;

	if (tables_count())
		SKIP(return, "this program has tables of its own");
	for (int i = 0; i < 4; i++) {
		table = page_of(&self->layout, i);
		memcpy(array + i * 100, &table, sizeof(table));
	}
	EXPECT_EQ(4, tables_call(PR_UNWIND_TABLES_REGISTER, array, 4, 100));
	for (int i = 0; i < 4; i++) {
		table = page_of(&self->layout, i);
		EXPECT_TRUE(registered(&table));
	}
}

static struct unwind_table *last_element(const struct unwind_table *element)
{
	unsigned char *pages = mmap(NULL, 2 * PAGE, RW, ANON, -1, 0);
	struct unwind_table *last = (struct unwind_table *)(pages + PAGE) - 1;

	if (pages == MAP_FAILED || munmap(pages + PAGE, PAGE))
		return NULL;
	*last = *element;
	return last;
}

TEST_F(registration, unmapped_arrays)
{
	struct unwind_table *last = last_element(&self->good);

	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		EXPECT_EQ(-EFAULT, tables_call(operations[i], NULL, 1, sizeof(self->good)));
		EXPECT_EQ(-EFAULT, tables_call(operations[i], self->layout.area, 1,
					       sizeof(self->good)));
	}

	/* The second element is behind the end of what is mapped. */
	ASSERT_NE(NULL, last);
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, last, 2, sizeof(*last)));
	EXPECT_TRUE(registered(&self->good));
	EXPECT_EQ(-EFAULT, tables_call(PR_UNWIND_TABLES_REGISTER, last, 1, sizeof(*last) + 1));
}

TEST_F(registration, counts)
{
	static const unsigned long counts[] = { UNWIND_TABLE_MAX_COUNT + 1, 1UL << 31, -1UL };

	/* How programs find out whether there is this system call. */
	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_REGISTER, NULL, 0, sizeof(self->good)));
	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_UNREGISTER, NULL, 0, sizeof(self->good)));
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		for (unsigned int nth = 0; nth < ARRAY_SIZE(counts); nth++)
			EXPECT_EQ(-EINVAL, tables_call(operations[i], &self->good, counts[nth],
						       sizeof(self->good)));
	}
	EXPECT_FALSE(registered(&self->good));

	/* As many as that may be asked for, though there are not so many. */
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, last_element(&self->good),
				 UNWIND_TABLE_MAX_COUNT, sizeof(self->good)));
	EXPECT_TRUE(registered(&self->good));
}

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
	struct unwind_table *batch = mmap(NULL, LONG_CALL * sizeof(*batch), RW, ANON, -1, 0);

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

TEST_F(registration, signal_ends_long_call)
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

TEST_F(registration, text_not_executable)
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
	ASSERT_EQ(0, mprotect(self->layout.text + 2 * PAGE, PAGE, RW | PROT_EXEC));
	text = ranges(self->layout.text + 2 * PAGE, 2 * PAGE, self->layout.table, PAGE);
	EXPECT_EQ(0, do_register(&text));
}

TEST_F(registration, table_in_device_memory)
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

TEST_F(registration, table_in_unreadable_memory)
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

TEST_F(registration, unregister_ignores_the_table)
{
	struct unwind_table other = self->good;

	ASSERT_EQ(0, do_register(&self->good));
	other.table_start = 0;
	other.table_end = 0;
	EXPECT_EQ(0, do_unregister(&other));
	EXPECT_FALSE(registered(&self->good));
}

TEST_F(registration, limit_is_enforced)
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

TEST_F(registration, default_limit)
{
	static struct unwind_table many[4096 + 1];
	unsigned char *text = mmap(NULL, 2 * (4096 + 1), RX, ANON, -1, 0);
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

TEST_F(registration, batch_stops_at_first_failure)
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
TEST_F(registration, the_list_says_what_register_takes)
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

/* --- /proc/PID/unwind_tables --- */

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

static bool register_lines(const struct layout *layout)
{
	static struct unwind_table tables[LINES];

	for (int i = 0; i < LINES; i++)
		tables[i] = ranges(layout->text + 16 * i, 2, layout->table, PAGE);
	return batch_call(PR_UNWIND_TABLES_REGISTER, tables, LINES) == LINES;
}

TEST_F(registration, short_reads)
{
	static char all[LINES_SIZE], part[LINES_SIZE];
	static const size_t steps[] = { 1, 77, 100, 4095, 4097 };
	ssize_t len, at;
	int fd;

	ASSERT_TRUE(register_lines(&self->layout));
	len = read_file("/proc/self/unwind_tables", all, sizeof(all), sizeof(all));
	ASSERT_LT(4 * 4096, len);
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

TEST_F(registration, reads_during_changes)
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

TEST_F(registration, names_the_file)
{
	static char text[LINES_SIZE];
	struct unwind_table table;
	void *mapped;
	int fd = memfd_create("a b\nc", MFD_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	mapped = mmap(NULL, PAGE, RX, MAP_PRIVATE, fd, 0);
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

static void *read_as_thread(void *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/unwind_tables", syscall(__NR_gettid));
	return (void *)read_file(path, text, LINES_SIZE, LINES_SIZE);
}

TEST_F(registration, thread_file)
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

TEST_F(registration, tasks_without_memory)
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

TEST_F(registration, permissions)
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
