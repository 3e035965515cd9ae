// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that nobody registers: what the kernel finds in what a process has mapped.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "discover_fixture.h"

/* --- Found --- */

TEST_F(discover, a_table)
{
	struct unwind_table expected;

	ASSERT_EQ(0, object_make(&self->object));
	expected = object_ranges(&self->object);
	EXPECT_EQ(0, tables_count());
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
	ASSERT_EQ(1, tables_count());
	EXPECT_EQ(TABLE_GOOD, tables_find(&expected).state);
	EXPECT_EQ(TABLE_BY_DISCOVERY, tables_find(&expected).origin);
	EXPECT_STREQ("good", state_at(object_text(&self->object)));
	/* In the text, but not in the table. */
	EXPECT_WALK(LEAF_LOST, object_text(&self->object) + PAGE);
	EXPECT_EQ(1, tables_count());

	/* It goes with the mapping of its text, and with that of the table. */
	ASSERT_EQ(0, object_map_again(&self->object));
	EXPECT_EQ(0, tables_count());
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
	EXPECT_EQ(1, tables_count());
	ASSERT_EQ(0, munmap(self->object.base + OBJECT_TABLE * PAGE, PAGE));
	EXPECT_EQ(0, tables_count());
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));
	EXPECT_STREQ("absent:not-mapped", state_at(object_text(&self->object)));
}

/* An .eh_frame for the first leaf, and behind it an index. */
static const struct eh_frame {
	__u32 cie_length, cie_id;
	__u8 cie[16];
	__u32 fde_length, fde_cie;
	__s32 fde_start;
	__u32 fde_size;
	__u8 fde[4];
	__u32 end;
	__u8 index[4];
	__s32 eh_frame;
	__u32 count;
	__s32 start, fde_at;
} eh_frame = {
	.cie_length = 20,
	/* Version 1, "zR", factors 1 and -8; the CFA is at RSP + 8, the return address below. */
	.cie = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1 },
	.fde_length = 16,
	.fde_cie = offsetof(struct eh_frame, fde_cie),
	.fde_start = (OBJECT_TEXT - OBJECT_TABLE) * (int)PAGE -
		     (int)offsetof(struct eh_frame, fde_start),
	.fde_size = 64,
	/* Version 1; places that count from themselves, and from the index. */
	.index = { 1, 0x1b, 0x03, 0x3b },
	.eh_frame = -(int)offsetof(struct eh_frame, eh_frame),
	.count = 1,
	.start = (OBJECT_TEXT - OBJECT_TABLE) * (int)PAGE - (int)offsetof(struct eh_frame, index),
	.fde_at = (int)offsetof(struct eh_frame, fde_length) -
		  (int)offsetof(struct eh_frame, index),
};

/* The table is all of the mapping that the index is in. */
TEST_F(discover, an_eh_frame)
{
	struct object *object = &self->object;
	struct elf64_phdr *phdr = &object->phdrs[GNU_SFRAME];
	struct unwind_table expected;
	struct listed found;

	phdr->p_type = PT_GNU_EH_FRAME;
	phdr->p_offset += offsetof(struct eh_frame, index);
	phdr->p_vaddr += offsetof(struct eh_frame, index);
	phdr->p_filesz = sizeof(eh_frame) - offsetof(struct eh_frame, index);
	phdr->p_memsz = phdr->p_filesz;
	ASSERT_EQ(0, object_make(object));
	ASSERT_EQ(sizeof(eh_frame), pwrite(object->fd, &eh_frame, sizeof(eh_frame),
					   OBJECT_TABLE * PAGE));
	EXPECT_WALK(LEAF_FOUND, object_text(object));
	ASSERT_EQ(1, tables_count());

	expected = object_ranges(object);
	expected.format = UNWIND_TABLE_EH_FRAME;
	found = tables_find(&expected);
	EXPECT_EQ(TABLE_GOOD, found.state);
	EXPECT_EQ(TABLE_BY_DISCOVERY, found.origin);
	EXPECT_EQ((unsigned long)object->base + OBJECT_TABLE * PAGE, found.table.table_start);
	EXPECT_EQ((unsigned long)object->base + OBJECT_SIZE, found.table.table_end);
	EXPECT_EQ((unsigned long)object->base + phdr->p_vaddr, found.table.header);
	/* In the text, but not in the table. */
	EXPECT_WALK(LEAF_LOST, object_text(object) + PAGE);
}

/* The mapping of a segment was split: the index is in one part, the records are below. */
TEST_F(discover, an_eh_frame_in_two_mappings)
{
	const int below = offsetof(struct eh_frame, index);
	struct object *object = &self->object;
	struct eh_frame moved = eh_frame;
	struct unwind_table expected;

	moved.fde_start += below;
	moved.start += below;
	object->phdrs[GNU_SFRAME].p_type = PT_GNU_EH_FRAME;
	object->phdrs[GNU_SFRAME].p_filesz = sizeof(moved) - below;
	object->phdrs[GNU_SFRAME].p_memsz = sizeof(moved) - below;
	ASSERT_EQ(0, object_write(object));
	ASSERT_EQ(sizeof(moved), pwrite(object->fd, &moved, sizeof(moved),
					OBJECT_TABLE * PAGE - below));
	object->base = mmap(NULL, OBJECT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, object->fd, 0);
	ASSERT_NE(MAP_FAILED, object->base);
	ASSERT_EQ(0, madvise(object->base + OBJECT_TABLE * PAGE, PAGE, MADV_DONTDUMP));

	EXPECT_WALK(LEAF_FOUND, object_text(object));
	ASSERT_EQ(1, tables_count());
	expected = ranges(object_text(object), 2 * PAGE, object->base, OBJECT_SIZE);
	expected.format = UNWIND_TABLE_EH_FRAME;
	EXPECT_EQ(TABLE_GOOD, tables_find(&expected).state);
}

/*
 * The records are in another segment than the index, as GNU ld puts them if some are
 * writable: here, in that of the headers.
 */
TEST_F(discover, an_eh_frame_in_two_segments)
{
	const int index = offsetof(struct eh_frame, index), at = PAGE / 2;
	const int moved_by = OBJECT_TABLE * (int)PAGE - at;
	struct object *object = &self->object;
	struct eh_frame moved = eh_frame;
	struct unwind_table expected;

	moved.fde_start += moved_by;
	moved.eh_frame -= moved_by;
	moved.fde_at -= moved_by;
	object->phdrs[GNU_SFRAME].p_type = PT_GNU_EH_FRAME;
	object->phdrs[GNU_SFRAME].p_offset += index;
	object->phdrs[GNU_SFRAME].p_vaddr += index;
	object->phdrs[GNU_SFRAME].p_filesz = sizeof(moved) - index;
	object->phdrs[GNU_SFRAME].p_memsz = sizeof(moved) - index;
	ASSERT_EQ(0, object_make(object));
	ASSERT_EQ(index, pwrite(object->fd, &moved, index, at));
	ASSERT_EQ(sizeof(moved) - index, pwrite(object->fd, (char *)&moved + index,
						sizeof(moved) - index,
						OBJECT_TABLE * PAGE + index));
	EXPECT_WALK(LEAF_FOUND, object_text(object));
	ASSERT_EQ(1, tables_count());
	expected = ranges(object_text(object), 2 * PAGE, object->base, OBJECT_SIZE);
	expected.format = UNWIND_TABLE_EH_FRAME;
	EXPECT_EQ(TABLE_GOOD, tables_find(&expected).state);

	/* It goes with either. */
	ASSERT_EQ(0, munmap(object->base, PAGE));
	EXPECT_EQ(0, tables_count());
	/* Nothing is known of them there, but of the index. */
	EXPECT_WALK(LEAF_LOST, object_text(object));
	EXPECT_STREQ("absent:no-header", state_at(object_text(object)));
}

/* An index that has no entries, as if there were none. */
TEST_F(discover, an_index_without_entries)
{
	const int index = offsetof(struct eh_frame, index);
	struct object *object = &self->object;
	struct eh_frame empty = eh_frame;

	object->phdrs[GNU_SFRAME].p_type = PT_GNU_EH_FRAME;
	object->phdrs[GNU_SFRAME].p_offset += index;
	object->phdrs[GNU_SFRAME].p_vaddr += index;
	object->phdrs[GNU_SFRAME].p_filesz = sizeof(empty) - index;
	object->phdrs[GNU_SFRAME].p_memsz = sizeof(empty) - index;
	ASSERT_EQ(0, object_make(object));
	/* No entries are said to be there, or the number of them is 0. */
	for (int i = 0; i < 2; i++) {
		empty.count = i ? 0 : eh_frame.count;
		empty.index[2] = i ? eh_frame.index[2] : 0xff;
		empty.index[3] = i ? eh_frame.index[3] : 0xff;
		ASSERT_EQ(sizeof(empty), pwrite(object->fd, &empty, sizeof(empty),
						OBJECT_TABLE * PAGE));
		ASSERT_EQ(0, object_map_again(object));
		EXPECT_WALK(LEAF_LOST, object_text(object));
		EXPECT_EQ(0, tables_count());
		EXPECT_STREQ("absent:no-index", state_at(object_text(object)));
	}
}

/* The rules of addresses that differ in their highest bits alone. */
TEST_F(discover, far_apart)
{
	struct object high = object_outermost(), *low = &self->object;

	ASSERT_EQ(0, object_make(low));
	high.base = mmap(low->base + (1UL << 52), OBJECT_SIZE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (high.base == MAP_FAILED)
		SKIP(return, "no page tables of five levels");
	ASSERT_EQ(low->base + (1UL << 52), high.base);
	ASSERT_EQ(0, object_write(&high));
	ASSERT_EQ(0, object_map_parts(&high));

	for (int i = 0; i < 3; i++) {
		EXPECT_WALK(LEAF_FOUND, object_text(low));
		EXPECT_WALK(LEAF_OUTERMOST, object_text(&high));
	}
	EXPECT_EQ(2, tables_count());
}

/* Objects say where they want to be, and are elsewhere. */
TEST_F(discover, odd_addresses)
{
	static const unsigned long vaddrs[] = { PAGE, 0x123456789000, -PAGE * 100 & ~(1UL << 63) };

	for (unsigned int i = 0; i < ARRAY_SIZE(vaddrs); i++) {
		struct object object = object_at(vaddrs[i]);

		ASSERT_EQ(0, object_make(&object));
		EXPECT_WALK(LEAF_FOUND, object_text(&object));
		EXPECT_EQ(i + 1, tables_count());
	}
}

/* Two executable segments, which have their headers in between, share a table. */
TEST_F(discover, two_segments)
{
	struct object *object = &self->object;

	object->phdrs[LOAD_TEXT].p_filesz = PAGE;
	object->phdrs[LOAD_TEXT].p_memsz = PAGE;
	object->phdrs[OBJECT_HEADERS] = object->phdrs[LOAD_TEXT];
	object->phdrs[OBJECT_HEADERS].p_offset += PAGE;
	object->phdrs[OBJECT_HEADERS].p_vaddr += PAGE;
	object->ehdr.e_phnum++;
	object->table.functions = 2;
	set_function(&object->table, 1, (char *)(OBJECT_TABLE * PAGE),
		     (char *)((OBJECT_TEXT + 1) * PAGE));
	ASSERT_EQ(0, object_make(object));
	EXPECT_WALK(LEAF_FOUND, object_text(object) + PAGE);
	EXPECT_EQ(1, tables_count());
	EXPECT_WALK(LEAF_FOUND, object_text(object));
	EXPECT_EQ(2, tables_count());
}

/* All of the file in one mapping, twice. */
TEST_F(discover, mapped_twice)
{
	unsigned char *first, *second;

	ASSERT_EQ(0, object_write(&self->object));
	first = mmap(NULL, OBJECT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self->object.fd, 0);
	second = mmap(NULL, OBJECT_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self->object.fd, 0);
	ASSERT_NE(MAP_FAILED, first);
	ASSERT_NE(MAP_FAILED, second);
	EXPECT_WALK(LEAF_FOUND, first + OBJECT_TEXT * PAGE);
	EXPECT_WALK(LEAF_FOUND, second + OBJECT_TEXT * PAGE);
	EXPECT_EQ(2, tables_count());
}

TEST_F(discover, text_that_becomes_executable)
{
	unsigned char *text;

	ASSERT_EQ(0, object_make(&self->object));
	text = object_text(&self->object);
	ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ));
	EXPECT_WALK(LEAF_LOST, text + PAGE);
	EXPECT_EQ(1, tables_count());
	ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ | PROT_EXEC));
	EXPECT_WALK(LEAF_FOUND, text);
	EXPECT_EQ(2, tables_count());
}

TEST_F(discover, fork_shares)
{
	pid_t pid;

	ASSERT_EQ(0, object_make(&self->object));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
	pid = fork();
	if (!pid)
		_exit(tables_count() != 1 || munmap(self->object.base, OBJECT_SIZE) ||
		      tables_count());
	EXPECT_TRUE(ended_well(pid));
	EXPECT_EQ(1, tables_count());
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
}

/* --- Who knows better --- */

TEST_F(discover, a_registration_counts)
{
	struct hand_table *other;
	struct unwind_table table;
	unsigned char *text;

	ASSERT_EQ(0, object_make(&self->object));
	text = object_text(&self->object);
	other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, other);
	*other = table_outermost(other, text);

	/* After it was found, of part of it. */
	EXPECT_WALK(LEAF_FOUND, text);
	table = ranges(text, sizeof(leaf_code), other, PAGE);
	ASSERT_EQ(0, do_register(&table));
	EXPECT_EQ(1, tables_count());
	EXPECT_WALK(LEAF_OUTERMOST, text);
	EXPECT_WALK(LEAF_LOST, text + PAGE);
	EXPECT_EQ(2, tables_count());
	EXPECT_WALK(LEAF_OUTERMOST, text);
	EXPECT_EQ(0, do_register(&table));
	EXPECT_EQ(2, tables_count());
	EXPECT_WALK(LEAF_OUTERMOST, text);

	/* It is found again when that is over. */
	ASSERT_EQ(0, do_unregister(&table));
	EXPECT_WALK(LEAF_FOUND, text);
	EXPECT_EQ(2, tables_count());

	/* Before it was found. */
	ASSERT_EQ(0, object_map_again(&self->object));
	table = ranges(text, 2 * PAGE, other, PAGE);
	ASSERT_EQ(0, do_register(&table));
	EXPECT_WALK(LEAF_OUTERMOST, text);
	EXPECT_EQ(1, tables_count());
	ASSERT_EQ(0, do_unregister(&table));
	EXPECT_WALK(LEAF_FOUND, text);

	/* A program that has registered nothing gets the same answers before and afterwards. */
	ASSERT_EQ(0, object_map_again(&self->object));
	for (int found = 0; found < 2; found++) {
		table = object_ranges(&self->object);
		EXPECT_EQ(-ENOENT, do_unregister(&table));
		EXPECT_EQ(found, tables_count());
		EXPECT_WALK(LEAF_FOUND, text);
		EXPECT_EQ(1, tables_count());
	}
}

/* What is known to have no table can be registered, and is no registration. */
TEST_F(discover, absence_allows_register)
{
	struct layout layout;
	struct unwind_table page;

	ASSERT_EQ(0, layout_make(&layout));
	EXPECT_WALK(LEAF_LOST, layout.text);
	EXPECT_STREQ("absent:no-file", state_at(layout.text));
	EXPECT_EQ(0, tables_count());
	page = page_of(&layout, 0);
	EXPECT_EQ(-ENOENT, do_unregister(&layout.good));
	ASSERT_EQ(0, do_register(&page));
	EXPECT_WALK(LEAF_FOUND, layout.text);
	EXPECT_WALK(LEAF_LOST, layout.text + PAGE);
	EXPECT_STREQ("absent:no-file", state_at(layout.text + PAGE));
	EXPECT_EQ(1, tables_count());
}

/* A child finds it out again. */
TEST_F(discover, absence_does_not_reach_a_child)
{
	struct layout layout;
	pid_t pid;

	ASSERT_EQ(0, layout_make(&layout));
	EXPECT_WALK(LEAF_LOST, layout.text);
	EXPECT_STREQ("absent:no-file", state_at(layout.text));
	pid = fork();
	if (!pid) {
		EXPECT_STREQ("", state_at(layout.text));
		_exit(0);
	}
	EXPECT_TRUE(ended_well(pid));
}

TEST_F(discover, switched_off)
{
	ASSERT_EQ(0, object_make(&self->object));

	/* What is registered is still used. */
	if (sysctl_set(SYSCTL_TABLES, 1) == -EACCES)
		SKIP(return, "only root may switch it off");
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));
	EXPECT_STREQ("", state_at(object_text(&self->object)));
	EXPECT_EQ(0, tables_count());
	EXPECT_EQ(0, sysctl_set(SYSCTL_TABLES, 0));
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));
	EXPECT_EQ(0, tables_count());
	EXPECT_EQ(-EINVAL, sysctl_set(SYSCTL_TABLES, 3));
	EXPECT_EQ(0, sysctl_set(SYSCTL_TABLES, 2));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));

	sysctl_restore();
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
}

/* --- One after the other at the same place --- */

TEST_F_TIMEOUT(discover, another_object_in_its_place, 240)
{
	struct object other = object_outermost();
	int wrong = 0;

	ASSERT_EQ(0, object_make(&self->object));
	ASSERT_EQ(0, object_write(&other));
	other.base = self->object.base;
	for (int i = 0; i < 2000; i++) {
		/* Over it, or into a hole. */
		ASSERT_EQ(0, i & 4 ? object_map_again(&other) : object_map_parts(&other));
		wrong += call_leaf(&self->sampler, object_text(&other)) != LEAF_OUTERMOST;
		ASSERT_EQ(0, i & 8 ? object_map_again(&self->object) :
				     object_map_parts(&self->object));
		wrong += call_leaf(&self->sampler, object_text(&self->object)) != LEAF_FOUND;
	}
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(1, tables_count());
}

TEST_HARNESS_MAIN
