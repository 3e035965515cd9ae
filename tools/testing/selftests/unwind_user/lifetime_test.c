// SPDX-License-Identifier: GPL-2.0
/*
 * A registration ends when any of its text or table is unmapped, however that
 * is done, and by nothing else that happens to memory.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tables.h"

#define RX	(PROT_READ | PROT_EXEC)
#define RW	(PROT_READ | PROT_WRITE)
#define ANON	(MAP_PRIVATE | MAP_ANONYMOUS)

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
	ASSERT_EQ(self->start, mmap(self->start, self->len, PROT_READ | PROT_EXEC,
				    ANON | MAP_FIXED, -1, 0));
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

/* Move pages elsewhere; returns where they are, or MAP_FAILED. */
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

TEST_F(memory, tables_far_away)
{
	struct layout *layout = &self->pair.layout;
	struct unwind_table low;
	unsigned char *far;

	/* Below anything that was ever a table here. */
	far = mmap((void *)0x100000, 2 * PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	ASSERT_EQ((void *)0x100000, far);
	ASSERT_EQ(0, do_unregister(&self->pair.good));
	low = ranges(layout->text, PAGE, far, PAGE);
	ASSERT_EQ(0, do_register(&low));
	ASSERT_EQ(0, munmap(far + PAGE, PAGE));
	EXPECT_TRUE(registered(&low));
	/* It is not looked for there: its text keeps it. */
	ASSERT_EQ(0, munmap(far, PAGE));
	EXPECT_TRUE(registered(&low));
	ASSERT_EQ(0, munmap(layout->text, PAGE));
	EXPECT_FALSE(registered(&low));
}

/* A file with a leaf at its start, and whatever it is called on its second page. */
static int library(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	if (fd < 0 || pwrite(fd, leaf_code, sizeof(leaf_code), 0) != sizeof(leaf_code) ||
	    pwrite(fd, path, strlen(path), PAGE) != (ssize_t)strlen(path) ||
	    ftruncate(fd, 2 * PAGE))
		return -1;
	return fd;
}

TEST_F(memory, another_library_at_the_same_address)
{
	char directory[] = "/tmp/unwind_user.XXXXXX", paths[2][64];
	static struct line lines[16];
	struct unwind_table tables[2];
	struct line *line;
	void *text = NULL;
	int fds[2], n;

	ASSERT_NE(NULL, mkdtemp(directory));
	for (int i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/library%d.so", directory, i);
		fds[i] = library(paths[i]);
		unlink(paths[i]);
	}
	rmdir(directory);

	for (int i = 0; i < 2; i++) {
		ASSERT_LE(0, fds[i]);
		text = mmap(text, PAGE, RX, MAP_PRIVATE | (text ? MAP_FIXED_NOREPLACE : 0),
			    fds[i], 0);
		ASSERT_NE(MAP_FAILED, text);
		/* The new one has no table before it is told. */
		tables[i] = ranges(text, PAGE, self->pair.layout.table + i, PAGE);
		EXPECT_FALSE(registered(&tables[0]));
		ASSERT_EQ(0, do_register(&tables[i]));

		n = proc_lines(getpid(), lines, 16);
		line = line_of(lines, n, &tables[i]);
		ASSERT_NE(NULL, line);
		EXPECT_EQ(0, strncmp(paths[i], line->path, strlen(paths[i])));

		ASSERT_EQ(0, munmap(text, PAGE));
		EXPECT_FALSE(registered(&tables[i]));
	}
	EXPECT_TRUE(registered(&self->pair.good));
}

TEST_HARNESS_MAIN
