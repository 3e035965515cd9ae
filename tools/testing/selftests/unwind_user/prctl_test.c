// SPDX-License-Identifier: GPL-2.0
/*
 * prctl(PR_UNWIND_TABLES): what it refuses, and what it says of what it took.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "prctl_fixture.h"

static const unsigned long operations[] = {
	PR_UNWIND_TABLES_REGISTER,
	PR_UNWIND_TABLES_UNREGISTER,
};

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
	static const unsigned long unknown[] = { 2, 3, 4, 82, 1UL << 32, -1UL };

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

	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++) {
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
static_assert(UNWIND_TABLE_SIZE_VER0 == 48, "size");
static_assert(offsetof(struct unwind_table, text_end) == 8, "layout");
static_assert(offsetof(struct unwind_table, table_start) == 16, "layout");
static_assert(offsetof(struct unwind_table, table_end) == 24, "layout");
static_assert(offsetof(struct unwind_table, header) == 32, "layout");
static_assert(offsetof(struct unwind_table, format) == 40, "layout");
static_assert(offsetof(struct unwind_table, flags) == 44, "layout");

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
		EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_UNREGISTER, element, 1, size));
	}
	EXPECT_EQ(1, tables_call(PR_UNWIND_TABLES_REGISTER, element, 1, PAGE));
	element[PAGE - 1] = 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(operations); i++)
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

TEST_F(prctl, counts)
{
	/* How programs find out whether there is this system call. */
	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_REGISTER, NULL, 0, sizeof(self->good)));
	EXPECT_EQ(0, tables_call(PR_UNWIND_TABLES_UNREGISTER, NULL, 0, sizeof(self->good)));
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
	EXPECT_TRUE(registered(&self->good));
}

TEST_HARNESS_MAIN
