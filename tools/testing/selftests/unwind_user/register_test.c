// SPDX-License-Identifier: GPL-2.0
/*
 * prctl(PR_UNWIND_TABLES): what it refuses, and what it says of what it took.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tables.h"

#define MAX_SYSCTL	"/proc/sys/kernel/unwind_tables_max"
#define USED_SYSCTL	"/proc/sys/kernel/unwind_tables"

static const unsigned long operations[] = {
	PR_UNWIND_TABLES_REGISTER,
	PR_UNWIND_TABLES_UNREGISTER,
	PR_UNWIND_TABLES_UPDATE,
	PR_UNWIND_TABLES_ENUMERATE,
};

FIXTURE(prctl) {
	struct layout layout;
	struct unwind_table good;
};

FIXTURE_SETUP(prctl)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	self->good = self->layout.good;
}

FIXTURE_TEARDOWN(prctl)
{
}

TEST_F(prctl, registers_and_unregisters)
{
	EXPECT_EQ(0, do_register(&self->good));
	EXPECT_TRUE(registered(&self->good));
	EXPECT_EQ(0, do_unregister(&self->good));
	EXPECT_FALSE(registered(&self->good));
	EXPECT_EQ(0, do_register(&self->good));
	EXPECT_TRUE(registered(&self->good));
}

TEST_F(prctl, empty_or_reversed_ranges)
{
	const struct {
		long start, end;
	} odd[] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { PAGE, 0 }, { PAGE, PAGE - 1 } };

	for (unsigned int i = 0; i < ARRAY_SIZE(odd); i++) {
		struct unwind_table text = self->good, table = self->good;

		text.text_end = text.text_start + odd[i].end;
		text.text_start += odd[i].start;
		table.table_end = table.table_start + odd[i].end;
		table.table_start += odd[i].start;
		EXPECT_EQ(-EINVAL, do_register(&text)) TH_LOG("text %u", i);
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("table %u", i);
		EXPECT_EQ(-EINVAL, do_update(&text)) TH_LOG("text %u", i);
		EXPECT_EQ(-EINVAL, do_update(&table)) TH_LOG("table %u", i);
	}
	EXPECT_EQ(0, do_register(&self->good));
}

TEST_F(prctl, ranges_beyond_user_space)
{
	static const unsigned long ends[] = { 1UL << 63, -PAGE, -1UL, 0xffffffff80000000 };

	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++) {
		struct unwind_table table = self->good;

		table.text_end = ends[i];
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("text to %lx", ends[i]);
		table.text_start = ends[i] - PAGE;
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("text below %lx", ends[i]);
		table = self->good;
		table.table_end = ends[i];
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("table to %lx", ends[i]);
		table.table_start = ends[i] - PAGE;
		EXPECT_EQ(-EINVAL, do_register(&table)) TH_LOG("table below %lx", ends[i]);
	}
}

TEST_F(prctl, table_above_4_gib)
{
	size_t size = (4UL << 30) + PAGE;
	void *large = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	struct unwind_table table;

	if (large == MAP_FAILED)
		SKIP(return, "no 4 GiB of addresses: errno %d", errno);
	table = ranges(self->layout.text, PAGE, large, 1UL << 32);
	EXPECT_EQ(-EINVAL, do_register(&table));
	table = ranges(self->layout.text, PAGE, large, (1UL << 32) - 1);
	EXPECT_EQ(0, do_register(&table));
}

TEST_F(prctl, unknown_operations)
{
	static const unsigned long unknown[] = { 4, 5, 82, 1UL << 32, -1UL };

	for (unsigned int i = 0; i < ARRAY_SIZE(unknown); i++) {
		EXPECT_EQ(-EINVAL, tables_call(unknown[i], &self->good, 1, sizeof(self->good)));
		EXPECT_EQ(-EINVAL, tables_call(unknown[i], &self->good, 0, sizeof(self->good)));
		EXPECT_EQ(-EINVAL, tables_call(unknown[i], NULL, 1, sizeof(self->good)));
	}
	EXPECT_FALSE(registered(&self->good));
}

TEST_F(prctl, unknown_formats_and_flags)
{
	struct unwind_table table;

	for (unsigned int i = 0; i < 3; i++) {
		table = self->good;
		table.format = 0;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		table.format = UNWIND_TABLE_EH_FRAME + 1;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		table = self->good;
		table.flags = 1;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		table.flags = 1U << 31;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
	}
}

static_assert(sizeof(struct unwind_table) == UNWIND_TABLE_SIZE_VER0, "size");
static_assert(UNWIND_TABLE_SIZE_VER0 == 56, "size");
static_assert(offsetof(struct unwind_table, text_end) == 8, "layout");
static_assert(offsetof(struct unwind_table, table_start) == 16, "layout");
static_assert(offsetof(struct unwind_table, table_end) == 24, "layout");
static_assert(offsetof(struct unwind_table, header) == 32, "layout");
static_assert(offsetof(struct unwind_table, format) == 40, "layout");
static_assert(offsetof(struct unwind_table, flags) == 44, "layout");
static_assert(offsetof(struct unwind_table, state) == 48, "layout");
static_assert(offsetof(struct unwind_table, origin) == 52, "layout");

TEST_F(prctl, fields_of_enumerate_must_be_zero)
{
	struct unwind_table table;

	/* The text is registered for UPDATE and UNREGISTER, and not for REGISTER. */
	for (unsigned int i = 0; i < 3; i++) {
		table = self->good;
		table.state = UNWIND_TABLE_GOOD;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		table.state = 1U << 31;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		table = self->good;
		table.origin = UNWIND_TABLE_BY_PRCTL;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		table.origin = 1U << 31;
		EXPECT_EQ(-EINVAL, tables_one(operations[i], &table));
		EXPECT_EQ(i > 0, registered(&self->good));
		if (i == 0)
			ASSERT_EQ(0, do_register(&self->good));
	}
	table = tables_find(&self->good);
	EXPECT_EQ(UNWIND_TABLE_UNCHECKED, table.state);
	EXPECT_EQ(UNWIND_TABLE_BY_PRCTL, table.origin);
}

TEST_F(prctl, sizes_of_an_element)
{
	static unsigned char element[2 * PAGE];

	memcpy(element, &self->good, sizeof(self->good));
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		EXPECT_EQ(-EINVAL, tables_call(operations[i], element, 1, 0));
		EXPECT_EQ(-EINVAL, tables_call(operations[i], element, 1,
					       UNWIND_TABLE_SIZE_VER0 - 1));
		EXPECT_EQ(-E2BIG, tables_call(operations[i], element, 1, PAGE + 1));
		EXPECT_EQ(-E2BIG, tables_call(operations[i], element, 1, -1UL));
	}

	/* What this kernel does not know is refused, unless it is 0. */
	for (unsigned long size = UNWIND_TABLE_SIZE_VER0; size <= PAGE; size = 2 * size - 1) {
		EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, element, 1, size));
		EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_UPDATE, element, 1, size));
		EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_UNREGISTER, element, 1, size));
	}
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, element, 1, PAGE));
	element[PAGE - 1] = 1;
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(-E2BIG, tables_call(operations[i], element, 1, PAGE));
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_UNREGISTER, element, 1, PAGE - 1));
}

TEST_F(prctl, larger_elements_of_an_array)
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

	/* What this kernel does not know of is 0 when it fills in. */
	memset(array, 0xff, sizeof(array));
	EXPECT_EQ(4, tables_call(PR_UNWIND_TABLES_ENUMERATE, array, 4, 100));
	for (int i = 0; i < 4; i++) {
		table = page_of(&self->layout, i);
		EXPECT_TRUE(same_ranges(&table, (struct unwind_table *)(array + i * 100)));
		for (int at = sizeof(table); at < 100; at++)
			EXPECT_EQ(0, array[i * 100 + at]);
	}
}

/* An element at the end of what is mapped. */
static struct unwind_table *last_element(const struct unwind_table *element)
{
	unsigned char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_table *last = (struct unwind_table *)(pages + PAGE) - 1;

	if (pages == MAP_FAILED || munmap(pages + PAGE, PAGE))
		return NULL;
	*last = *element;
	return last;
}

TEST_F(prctl, unmapped_arrays)
{
	struct unwind_table *last = last_element(&self->good);

	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(-EFAULT, tables_call(operations[i], NULL, 1, sizeof(self->good)));
		EXPECT_EQ(-EFAULT, tables_call(operations[i], self->layout.area, 1,
					       sizeof(self->good)));
	}

	/* The second element is behind the end of what is mapped. */
	ASSERT_NE(NULL, last);
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, last, 2, sizeof(*last)));
	EXPECT_TRUE(registered(&self->good));
	EXPECT_EQ(-EFAULT, tables_call(PR_UNWIND_TABLES_REGISTER, last, 1, sizeof(*last) + 1));

	/* Enumerating writes, but no more than there are. */
	EXPECT_EQ(-EFAULT, tables_list(NULL, 1));
	EXPECT_EQ(-EFAULT, tables_list((void *)self->layout.text, 1));
	EXPECT_EQ(tables_count(), tables_list(last, 1));
}

TEST_F(prctl, counts)
{
	static struct unwind_table all[16];

	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_REGISTER, NULL, 0, sizeof(self->good)));
	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_UNREGISTER, NULL, 0, sizeof(self->good)));
	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_UPDATE, NULL, 0, sizeof(self->good)));
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
		EXPECT_EQ(-EINVAL, tables_call(operations[i], &self->good,
					       UNWIND_TABLE_MAX_COUNT + 1, sizeof(self->good)));
		EXPECT_EQ(-EINVAL, tables_call(operations[i], &self->good, 1UL << 31,
					       sizeof(self->good)));
		EXPECT_EQ(-EINVAL, tables_call(operations[i], &self->good, -1UL,
					       sizeof(self->good)));
	}
	EXPECT_FALSE(registered(&self->good));

	/* As many as that may be asked for, though there are not so many. */
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, last_element(&self->good),
				 UNWIND_TABLE_MAX_COUNT, sizeof(self->good)));
	EXPECT_EQ(tables_count(), tables_list(all, UNWIND_TABLE_MAX_COUNT));
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
	struct unwind_table *batch = mmap(NULL, LONG_CALL * sizeof(*batch),
					  PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (batch == MAP_FAILED)
		return NULL;
	for (int i = 0; i < LONG_CALL; i++)
		batch[i] = *call->table;
	__atomic_store_n(&call->began, true, __ATOMIC_RELEASE);
	call->result = tables_call(PR_UNWIND_TABLES_UPDATE, batch, LONG_CALL, sizeof(*batch));
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

	ASSERT_EQ(0, do_register(&middle));
	for (unsigned int i = 0; i < ARRAY_SIZE(overlaps); i++) {
		struct unwind_table other = middle;

		other.text_start += overlaps[i][0];
		other.text_end += overlaps[i][1];
		EXPECT_EQ(-EEXIST, do_register(&other)) TH_LOG("overlap %u", i);
	}
	EXPECT_TRUE(registered(&middle));

	/* Those next to it do not. */
	EXPECT_EQ(0, do_register(&first));
	EXPECT_EQ(0, do_register(&last));
	/* Over two of them. */
	EXPECT_EQ(-EEXIST, do_register(&self->good));
	EXPECT_TRUE(registered(&first) && registered(&middle) && registered(&last));
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
	EXPECT_EQ(-EACCES, do_update(&self->good));
	text = page_of(&self->layout, 1);
	EXPECT_EQ(-EACCES, do_register(&text));
	/* At two mappings there is no hole. */
	ASSERT_EQ(0, mprotect(self->layout.text + 2 * PAGE, PAGE,
			      PROT_READ | PROT_WRITE | PROT_EXEC));
	text = ranges(self->layout.text + 2 * PAGE, 2 * PAGE, self->layout.table, PAGE);
	EXPECT_EQ(0, do_register(&text));
}

/* Memory of a device: a clock that the vDSO reads. */
static void *device_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[vvar_vclock]"))
			start = strtoul(line, NULL, 16);
	}
	if (maps)
		fclose(maps);
	return (void *)start;
}

TEST_F(prctl, table_in_device_memory)
{
	void *device = device_memory();
	struct unwind_table other = ranges(self->layout.text, PAGE, device, PAGE);

	if (!device)
		SKIP(return, "no [vvar_vclock], which is memory of a device");
	EXPECT_EQ(-EACCES, do_register(&other));
	other = ranges(self->layout.text, PAGE, self->layout.table, PAGE);
	EXPECT_EQ(0, do_register(&other));
	other = ranges(self->layout.text, PAGE, device, PAGE);
	EXPECT_EQ(-EACCES, do_update(&other));
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
	/* An update is checked like any other. */
	other.table_end += PAGE;
	EXPECT_EQ(-EACCES, do_update(&other));
	other.table_end -= PAGE;
	EXPECT_TRUE(registered(&other));
}

TEST_F(prctl, unregister_unknown)
{
	static const long others[][2] = {
		{ 0, -1 }, { 1, 0 }, { 1, -1 }, { 0, -PAGE }, { PAGE, 0 },
	};

	EXPECT_EQ(-ENOENT, do_unregister(&self->good));
	EXPECT_EQ(-ENOENT, do_update(&self->good));
	ASSERT_EQ(0, do_register(&self->good));
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		struct unwind_table other = self->good;

		other.text_start += others[i][0];
		other.text_end += others[i][1];
		EXPECT_EQ(-ENOENT, do_unregister(&other)) TH_LOG("range %u", i);
		EXPECT_EQ(-ENOENT, do_update(&other)) TH_LOG("range %u", i);
	}
	EXPECT_TRUE(registered(&self->good));
	EXPECT_EQ(0, do_unregister(&self->good));
	EXPECT_EQ(-ENOENT, do_unregister(&self->good));
	EXPECT_EQ(-ENOENT, do_update(&self->good));
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

TEST_F(prctl, update_replaces_the_table)
{
	struct unwind_table other = self->good;
	long count;

	ASSERT_EQ(0, do_register(&self->good));
	count = tables_count();
	other.table_start += PAGE;
	EXPECT_EQ(0, do_update(&other));
	EXPECT_TRUE(registered(&other));
	EXPECT_FALSE(registered(&self->good));
	EXPECT_EQ(count, tables_count());
}

TEST_F(prctl, limit_is_enforced)
{
	struct unwind_table pages[3];
	long others = tables_count(), before = read_number(MAX_SYSCTL), low;
	int results[3], error;
	char text[24];

	for (int i = 0; i < 3; i++)
		pages[i] = page_of(&self->layout, i);
	ASSERT_LE(0, before);
	ASSERT_EQ(0, do_register(&pages[0]));

	snprintf(text, sizeof(text), "%ld", others + 2);
	error = write_string(MAX_SYSCTL, text);
	if (error)
		SKIP(return, "cannot write %s: errno %d", MAX_SYSCTL, -error);
	results[0] = do_register(&pages[1]);
	results[1] = do_register(&pages[2]);
	/* To update is not to add. */
	results[2] = do_update(&pages[1]);
	/* Below what there is: nothing is lost. */
	error = write_string(MAX_SYSCTL, "0");
	low = tables_count();
	snprintf(text, sizeof(text), "%ld", before);
	ASSERT_EQ(0, write_string(MAX_SYSCTL, text));

	EXPECT_EQ(0, error);
	EXPECT_EQ(0, results[0]);
	EXPECT_EQ(-ENOSPC, results[1]);
	EXPECT_EQ(0, results[2]);
	EXPECT_EQ(others + 2, low);
	EXPECT_EQ(0, do_register(&pages[2]));
	EXPECT_EQ(before, read_number(MAX_SYSCTL));
}

/* Give up a capability for good; returns 0 or a negative errno. */
static int drop_capability(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(__NR_capget, &header, data))
		return -errno;
	data[capability / 32].effective &= ~(1U << capability % 32);
	data[capability / 32].permitted &= ~(1U << capability % 32);
	return syscall(__NR_capset, &header, data) ? -errno : 0;
}

TEST_F(prctl, sysctl_permissions)
{
	int error = write_string(USED_SYSCTL, "7");
	pid_t pid;

	if (error)
		SKIP(return, "cannot write %s: errno %d", USED_SYSCTL, -error);
	/* As root, who owns both files, but without the capability. */
	pid = fork();
	if (!pid) {
		long most = read_number(MAX_SYSCTL);
		char text[24];

		EXPECT_EQ(0, drop_capability(CAP_SYS_ADMIN));
		EXPECT_EQ(-EPERM, write_string(USED_SYSCTL, "0"));
		EXPECT_EQ(7, read_number(USED_SYSCTL));
		snprintf(text, sizeof(text), "%ld", most);
		EXPECT_EQ(0, write_string(MAX_SYSCTL, text));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
	EXPECT_EQ(7, read_number(USED_SYSCTL));
}

TEST_F(prctl, default_limit)
{
	static struct unwind_table many[4096 + 1];
	unsigned char *text = mmap(NULL, 2 * (4096 + 1), PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long others = tables_count(), room = 4096 - others;

	ASSERT_NE(MAP_FAILED, text);
	/* What a kernel starts with; tests that set another number set it back. */
	ASSERT_EQ(4096, read_number(MAX_SYSCTL));
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
	EXPECT_EQ(-EEXIST, batch_call(PR_UNWIND_TABLES_REGISTER, batch, PART_PAGES));
	EXPECT_EQ(-EINVAL, batch_call(PR_UNWIND_TABLES_REGISTER, batch + 2, 2));

	batch[2].flags = 0;
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_UPDATE, batch, PART_PAGES));
	EXPECT_EQ(-ENOENT, batch_call(PR_UNWIND_TABLES_UPDATE, batch + 2, 2));
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_REGISTER, batch + 2, 2));
	EXPECT_EQ(PART_PAGES, batch_call(PR_UNWIND_TABLES_UPDATE, batch, PART_PAGES));

	EXPECT_EQ(0, do_unregister(&batch[2]));
	EXPECT_EQ(2, batch_call(PR_UNWIND_TABLES_UNREGISTER, batch, PART_PAGES));
	EXPECT_TRUE(registered(&batch[3]));
	EXPECT_EQ(others + 1, tables_count());
}

#define MANY	200

TEST_F(prctl, enumerate_says_what_register_takes)
{
	struct unwind_table made[MANY], seen[MANY], again[MANY + 1];
	long others = tables_count();

	if (others)
		SKIP(return, "this program has tables of its own");
	/* In no order; 7 and MANY have no common factor. */
	for (int i = 0; i < MANY; i++)
		made[i] = ranges(self->layout.text + i * 7 % MANY * 16, 1 + i % 16,
				 (char *)self->layout.table + i, 100 + i);
	ASSERT_EQ(MANY, batch_call(PR_UNWIND_TABLES_REGISTER, made, MANY));

	/* However many are asked for, it says how many there are. */
	memset(seen, 0xff, sizeof(seen));
	EXPECT_EQ(MANY, tables_count());
	EXPECT_EQ(MANY, tables_list(seen, MANY / 2));
	EXPECT_EQ(-1UL, seen[MANY / 2].text_start);
	ASSERT_EQ(MANY, tables_list(seen, MANY));
	for (int i = 0; i < MANY; i++) {
		EXPECT_TRUE(i == 0 || seen[i - 1].text_end <= seen[i].text_start);
		EXPECT_EQ(UNWIND_TABLE_SFRAME, seen[i].format);
		EXPECT_EQ(0, seen[i].flags);
		EXPECT_EQ(UNWIND_TABLE_BY_PRCTL, seen[i].origin);
		EXPECT_TRUE(registered(&made[i]));
	}

	/* What it has filled in has to be 0 for the others. */
	memcpy(again, seen, sizeof(seen));
	for (int i = 0; i < MANY; i++)
		seen[i].origin = 0;
	EXPECT_EQ(-EINVAL, batch_call(PR_UNWIND_TABLES_UNREGISTER, again, MANY));
	ASSERT_EQ(MANY, batch_call(PR_UNWIND_TABLES_UNREGISTER, seen, MANY));
	EXPECT_EQ(0, tables_count());
	ASSERT_EQ(MANY, batch_call(PR_UNWIND_TABLES_REGISTER, seen, MANY));
	memset(again, 0xff, sizeof(again));
	ASSERT_EQ(MANY, tables_list(again, MANY + 1));
	for (int i = 0; i < MANY; i++)
		seen[i].origin = UNWIND_TABLE_BY_PRCTL;
	EXPECT_EQ(0, memcmp(seen, again, sizeof(seen)));
	EXPECT_EQ(-1UL, again[MANY].text_start);
}

TEST_HARNESS_MAIN
