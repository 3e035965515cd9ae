// SPDX-License-Identifier: GPL-2.0
/*
 * A registration ends when any of its text or table is unmapped, however that
 * is done, and by nothing else that happens to memory.
 */
#include "harness.h"

#include <sys/ipc.h>
#include <sys/shm.h>

/* Two registrations: one that tests do things to, and one that they do not. */
struct pair {
	struct layout layout;
	struct unwind_table good;
	struct layout other;
};

static int pair_make(struct pair *pair)
{
	int error = layout_make(&pair->layout);

	if (!error)
		error = layout_make(&pair->other);
	if (!error)
		error = do_register(&pair->layout.good);
	if (!error)
		error = do_register(&pair->other.good);
	pair->good = pair->layout.good;
	return error;
}

/* --- Ranges of the layout's pages, in all ways to unmap them --- */

FIXTURE(unmap) {
	struct pair pair;
	unsigned char *start;
	size_t len;
};

FIXTURE_VARIANT(unmap) {
	int first, end;
	bool stays;
};

FIXTURE_VARIANT_ADD(unmap, last_page_of_text) { 4, 5 };
FIXTURE_VARIANT_ADD(unmap, before_text) { 0, 1, true };
FIXTURE_VARIANT_ADD(unmap, last_page_of_table) { 9, 10 };
FIXTURE_VARIANT_ADD(unmap, between_text_and_table) { 5, 6, true };
FIXTURE_VARIANT_ADD(unmap, after_table) { 10, 12, true };

FIXTURE_SETUP(unmap)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, pair_make(&self->pair));
	self->start = self->pair.layout.area + variant->first * PAGE;
	self->len = (variant->end - variant->first) * PAGE;
}

FIXTURE_TEARDOWN(unmap)
{
	EXPECT_EQ(variant->stays, registered(&self->pair.good));
	EXPECT_TRUE(registered(&self->pair.other.good));
}

TEST_F(unmap, munmap)
{
	ASSERT_EQ(0, munmap(self->start, self->len));
}

TEST_F(unmap, mmap_over_it)
{
	ASSERT_EQ(self->start, mmap(self->start, self->len, RX, ANON | MAP_FIXED, -1, 0));
}

TEST_F(unmap, mremap_over_it)
{
	void *other = mmap(NULL, self->len, RX, ANON, -1, 0);

	ASSERT_NE(MAP_FAILED, other);
	ASSERT_EQ(self->start, mremap(other, self->len, self->len,
				      MREMAP_MAYMOVE | MREMAP_FIXED, self->start));
}

/* --- What else happens to memory --- */

FIXTURE(memory) {
	struct pair pair;
};

FIXTURE_SETUP(memory)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, pair_make(&self->pair));
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_TRUE(registered(&self->pair.other.good));
}

static void *move(void *from, size_t len)
{
	void *to = mmap(NULL, len, PROT_NONE, ANON, -1, 0);

	if (to == MAP_FAILED)
		return to;
	return mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

TEST_F(memory, moved_text)
{
	struct unwind_table *good = &self->pair.good, moved = *good;
	void *to = move(self->pair.layout.text, PART_PAGES * PAGE);

	ASSERT_NE(MAP_FAILED, to);
	EXPECT_FALSE(registered(good));
	/* Nor does it follow. */
	moved.text_start = (unsigned long)to;
	moved.text_end = moved.text_start + PART_PAGES * PAGE;
	EXPECT_FALSE(registered(&moved));
	EXPECT_EQ(0, do_register(&moved));
}

/* The mapping is still there then, but what was in it is not. */
TEST_F(memory, moved_without_unmapping)
{
	struct layout *layout = &self->pair.layout;
	struct unwind_table *good = &self->pair.good;
	size_t len = PART_PAGES * PAGE;

	ASSERT_NE(MAP_FAILED, mremap(layout->text + PAGE, PAGE, PAGE,
				     MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
	EXPECT_FALSE(registered(good));
	ASSERT_EQ(0, do_register(good));
	ASSERT_NE(MAP_FAILED, mremap(layout->table, len, len,
				     MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
	EXPECT_FALSE(registered(good));
	EXPECT_EQ(0, do_register(good));
}

TEST_F(memory, grown_elsewhere)
{
	struct layout *layout = &self->pair.layout;
	struct unwind_table *good = &self->pair.good;
	size_t len = PART_PAGES * PAGE;

	/* There is no room: another mapping follows. */
	ASSERT_EQ(MAP_FAILED, mremap(layout->text, len, len + PAGE, 0));
	EXPECT_TRUE(registered(good));
	ASSERT_NE(MAP_FAILED, mremap(layout->text, len, len + PAGE, MREMAP_MAYMOVE));
	EXPECT_FALSE(registered(good));
}

TEST_F(memory, shrunk_text)
{
	unsigned char *text = self->pair.layout.text;

	ASSERT_EQ(text, mremap(text, PART_PAGES * PAGE, PAGE, 0));
	EXPECT_FALSE(registered(&self->pair.good));
}

TEST_F(memory, grown_table)
{
	unsigned char *table = (unsigned char *)self->pair.layout.table;

	ASSERT_EQ(0, munmap(table + PART_PAGES * PAGE, 2 * PAGE));
	ASSERT_EQ(table, mremap(table, PART_PAGES * PAGE, (PART_PAGES + 1) * PAGE, 0));
	EXPECT_TRUE(registered(&self->pair.good));
}

TEST_F(memory, protection_and_advice)
{
	unsigned char *text = self->pair.layout.text;
	void *table = self->pair.layout.table;
	size_t len = PART_PAGES * PAGE;

	ASSERT_EQ(0, mprotect(text, len, PROT_NONE));
	ASSERT_EQ(0, mprotect(table, len, PROT_NONE));
	EXPECT_TRUE(registered(&self->pair.good));
	ASSERT_EQ(0, mprotect(text, PAGE, RX));
	ASSERT_EQ(0, mprotect(table, len, RW));
	ASSERT_EQ(0, madvise(table, len, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(text, len, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(text, PAGE, MADV_DONTFORK));
	ASSERT_EQ(0, madvise(table, PAGE, MADV_WIPEONFORK));
	EXPECT_TRUE(registered(&self->pair.good));
}

TEST_F(memory, failed_munmap_keeps)
{
	unsigned char *text = self->pair.layout.text;

	EXPECT_EQ(-1, munmap(text + 1, PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(text, PAGE, RX, ANON | MAP_FIXED_NOREPLACE, -1, 0));
	EXPECT_EQ(MAP_FAILED, mmap(text, PAGE, RX, MAP_PRIVATE | MAP_FIXED, -1, 0));
	EXPECT_TRUE(registered(&self->pair.good));
}

TEST_F(memory, shrinking_heap)
{
	struct unwind_table *good = &self->pair.good, heap, below;
	unsigned long before = syscall(__NR_brk, 0);
	unsigned char *start = (unsigned char *)((before + PAGE - 1) & -PAGE);

	if (syscall(__NR_brk, start + 4 * PAGE) != (long)start + 4 * (long)PAGE)
		SKIP(return, "the heap does not grow");
	ASSERT_EQ(0, mprotect(start, 4 * PAGE, RW | PROT_EXEC));
	below = ranges(start, PAGE, (void *)good->table_start, PAGE);
	heap = ranges(start + 2 * PAGE, PAGE, (void *)good->table_start, PAGE);
	ASSERT_EQ(0, do_register(&below));
	ASSERT_EQ(0, do_register(&heap));

	/* Not by a page that is above it. */
	ASSERT_EQ((long)start + 3 * (long)PAGE, syscall(__NR_brk, start + 3 * PAGE));
	EXPECT_TRUE(registered(&heap));
	ASSERT_EQ((long)start + (long)PAGE, syscall(__NR_brk, start + PAGE));
	EXPECT_FALSE(registered(&heap));
	EXPECT_TRUE(registered(&below));
	EXPECT_TRUE(registered(good));
	EXPECT_EQ(0, do_unregister(&below));
}

TEST_F(memory, shared_memory_segment)
{
	struct layout *layout = &self->pair.layout;
	struct unwind_table as_text, as_table;
	int id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0700);
	void *text, *table;

	if (id < 0)
		SKIP(return, "no shared memory: errno %d", errno);
	text = shmat(id, NULL, SHM_EXEC);
	table = shmat(id, NULL, SHM_RDONLY);
	/* It goes when nothing is attached any more. */
	ASSERT_EQ(0, shmctl(id, IPC_RMID, NULL));
	ASSERT_NE(MAP_FAILED, text);
	ASSERT_NE(MAP_FAILED, table);

	ASSERT_EQ(0, do_unregister(&self->pair.good));
	as_text = ranges(text, 2 * PAGE, layout->table, PAGE);
	as_table = ranges(layout->text, PAGE, table, PAGE);
	ASSERT_EQ(0, do_register(&as_text));
	ASSERT_EQ(0, do_register(&as_table));
	ASSERT_EQ(0, shmdt(text));
	EXPECT_FALSE(registered(&as_text));
	EXPECT_TRUE(registered(&as_table));
	ASSERT_EQ(0, shmdt(table));
	EXPECT_FALSE(registered(&as_table));
}

TEST_F(memory, several_texts_with_one_table)
{
	struct layout *layout = &self->pair.layout;
	struct unwind_table texts[PART_PAGES], own;

	ASSERT_EQ(0, do_unregister(&self->pair.good));
	for (int i = 0; i < PART_PAGES; i++) {
		texts[i] = ranges(layout->text + i * PAGE, PAGE, layout->table, PAGE);
		ASSERT_EQ(0, do_register(&texts[i]));
	}

	/* One text is gone, and another has a table of its own by now. */
	ASSERT_EQ(0, munmap(layout->text, PAGE));
	EXPECT_FALSE(registered(&texts[0]));
	EXPECT_TRUE(registered(&texts[1]) && registered(&texts[2]) && registered(&texts[3]));
	own = texts[1];
	own.table_start += PAGE;
	own.table_end += PAGE;
	ASSERT_EQ(0, do_register(&own));

	/* The table is gone. */
	ASSERT_EQ(0, munmap(layout->table, PAGE));
	EXPECT_TRUE(registered(&own));
	EXPECT_FALSE(registered(&texts[2]) || registered(&texts[3]));
}

/* --- Which caller the walker finds by registered tables, and what state a table has then --- */

FIXTURE(verdict) {
	struct layout layout, other;
	struct unwind_table good;
	struct sampler sampler;
};

FIXTURE_SETUP(verdict)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	if (!open_sampler(_metadata, &self->sampler))
		return;
	ASSERT_EQ(0, layout_make(&self->layout));
	ASSERT_EQ(0, layout_make(&self->other));
	self->good = self->layout.good;
	/* One that nothing is done to, and that stays good. */
	ASSERT_EQ(0, do_register(&self->other.good));
	ASSERT_EQ(LEAF_FOUND, call_leaf(&self->sampler, self->other.text));
}

FIXTURE_TEARDOWN(verdict)
{
	EXPECT_EQ(LEAF_FOUND, call_leaf(&self->sampler, self->other.text));
	EXPECT_EQ(TABLE_GOOD, tables_find(&self->other.good).state);
}

#define EXPECT_WALK(expected, text) \
	EXPECT_EQ(expected, call_leaf(&self->sampler, text))
#define EXPECT_STATE(expected) \
	EXPECT_EQ(expected, tables_find(&self->good).state)

/* The tests can fail: without a table the leaf's caller is skipped. */
TEST_F(verdict, the_table_is_what_is_used)
{
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	/* The next leaf is in the text, but not in the table. */
	EXPECT_WALK(LEAF_LOST, self->layout.text + PAGE);
	ASSERT_EQ(0, do_unregister(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
}

TEST_F(verdict, a_malformed_header)
{
	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(TABLE_UNCHECKED);
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);

	/* It is not looked at again. */
	self->layout.table->version = 3;
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);

	/* Until it is registered again. */
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_STATE(TABLE_UNCHECKED);
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
}

TEST_F(verdict, a_malformed_row)
{
	char state[32];

	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
	self->layout.table->row_info = 0x63;	/* words of an unknown width */
	/* The rule of a leaf alone is not remembered. */
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);
	snprintf(state, sizeof(state), "disabled:word-width@0x%zx", ROW_INFO_OFFSET);
	EXPECT_STREQ(state, state_of(&self->good));
}

TEST_F(verdict, two_texts_with_one_table)
{
	struct unwind_table first, second;

	/* Two texts, and one table for both, which is judged for each. */
	self->layout.table->functions = 2;
	set_function(self->layout.table, 1, self->layout.table, self->layout.text + 2 * PAGE);
	first = ranges(self->layout.text, PAGE, self->layout.table, PAGE);
	second = ranges(self->layout.text + 2 * PAGE, PAGE, self->layout.table, PAGE);
	ASSERT_EQ(0, do_register(&first));
	ASSERT_EQ(0, do_register(&second));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
	EXPECT_WALK(LEAF_FOUND, self->layout.text + 2 * PAGE);
	EXPECT_WALK(LEAF_LOST, self->layout.text + PAGE);

	ASSERT_EQ(0, do_register(&second));
	self->layout.table->magic = 0;
	EXPECT_WALK(LEAF_LOST, self->layout.text + 2 * PAGE);
	EXPECT_EQ(TABLE_DISABLED, tables_find(&second).state);
	EXPECT_EQ(TABLE_GOOD, tables_find(&first).state);
}

TEST_F(verdict, unreadable_table)
{
	size_t len = PART_PAGES * PAGE;

	/* The header, before it was ever read. */
	ASSERT_EQ(0, do_register(&self->good));
	ASSERT_EQ(0, mprotect(self->layout.table, len, PROT_NONE));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_UNCHECKED);
	ASSERT_EQ(0, mprotect(self->layout.table, len, RW));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);

	/* What is behind it, later. */
	ASSERT_EQ(0, mprotect(self->layout.table, len, PROT_NONE));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_GOOD);
	ASSERT_EQ(0, mprotect(self->layout.table, len, RW));
	EXPECT_WALK(LEAF_FOUND, self->layout.text);
}

TEST_F(verdict, tables_in_memory_of_all_kinds)
{
	static const struct {
		const char *name;
		bool file;
		int flags;
	} kinds[] = {
		{ "private", false, ANON },
		{ "shared", false, MAP_SHARED | MAP_ANONYMOUS },
		{ "private file", true, MAP_PRIVATE },
		{ "shared file", true, MAP_SHARED },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++) {
		/* In tmpfs. */
		int fd = kinds[i].file ? (int)syscall(__NR_memfd_create, "table", 0) : -1;
		struct hand_table *table;
		struct unwind_table other;

		ASSERT_TRUE(!kinds[i].file || !ftruncate(fd, PAGE));
		table = mmap(NULL, PAGE, RW, kinds[i].flags, fd, 0);
		ASSERT_NE(MAP_FAILED, table);
		*table = table_for(table, self->layout.text);
		other = ranges(self->layout.text, PAGE, table, PAGE);
		EXPECT_EQ(0, do_register(&other)) TH_LOG("%s", kinds[i].name);
		EXPECT_WALK(LEAF_FOUND, self->layout.text) TH_LOG("%s", kinds[i].name);
		ASSERT_EQ(0, munmap(table, PAGE));
		EXPECT_FALSE(registered(&other)) TH_LOG("%s", kinds[i].name);
		EXPECT_WALK(LEAF_LOST, self->layout.text) TH_LOG("%s", kinds[i].name);
		close(fd);
	}
}

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
TEST_F(verdict, nothing_is_logged)
{
	int log = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (log < 0)
		SKIP(return, "cannot open /dev/kmsg: errno %d", errno);
	lseek(log, 0, SEEK_END);
	/* A message that is there is found. */
	ASSERT_LT(0, write(log, "a test of unwind tables\n", 24));
	EXPECT_EQ(1, messages(log, "unwind"));
	self->layout.table->version = 2;
	ASSERT_EQ(0, do_register(&self->good));
	EXPECT_WALK(LEAF_LOST, self->layout.text);
	EXPECT_STATE(TABLE_DISABLED);
	EXPECT_EQ(0, messages(log, "unwind"));
	close(log);
}

TEST_HARNESS_MAIN
