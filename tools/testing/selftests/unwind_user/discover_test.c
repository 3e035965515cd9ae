// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that nobody registers: what the kernel finds in what a process has mapped, and
 * texts without a table: objects that have none or that lie, and files that change or
 * never come while the kernel reads them.
 */
#include "harness.h"

#include <linux/falloc.h>

#include "uffd.h"
#include "object.h"

FIXTURE(discover) {
	struct sampler sampler;
	struct object object;
};

FIXTURE_SETUP(discover)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	if (!open_sampler(_metadata, &self->sampler))
		return;
	self->object = object_good();
}

FIXTURE_TEARDOWN(discover)
{
}

#define EXPECT_WALK(expected, text) \
	EXPECT_EQ(expected, call_leaf(&self->sampler, text))

static const char *state_at(const void *address)
{
	static struct line lines[5000];
	int n = proc_all_lines(getpid(), lines, ARRAY_SIZE(lines));

	for (int i = 0; i < n; i++) {
		if (lines[i].table.text_start <= (unsigned long)address &&
		    (unsigned long)address < lines[i].table.text_end)
			return lines[i].state;
	}
	return n < 0 ? "unreadable" : "";
}

/* --- Tables that the kernel finds --- */

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
	/* Version 1, "zR", factors 1 and -8; and what there is to say of a leaf. */
	.cie = { 1, 'z', 'R', 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b, LEAF_CFI },
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

/* Let an object have an .eh_frame: in the table's segment, its index @moved on from the start. */
static void eh_frame_header(struct object *object, size_t moved)
{
	struct elf64_phdr *phdr = &object->phdrs[GNU_SFRAME];

	phdr->p_type = PT_GNU_EH_FRAME;
	phdr->p_offset += moved;
	phdr->p_vaddr += moved;
	phdr->p_filesz = sizeof(eh_frame) - offsetof(struct eh_frame, index);
	phdr->p_memsz = phdr->p_filesz;
}

/* The table is all of the mapping that the index is in. */
TEST_F(discover, an_eh_frame)
{
	struct object *object = &self->object;
	struct unwind_table expected;
	struct listed found;

	eh_frame_header(object, offsetof(struct eh_frame, index));
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
	EXPECT_EQ((unsigned long)object->base + object->phdrs[GNU_SFRAME].p_vaddr,
		  found.table.header);
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
	eh_frame_header(object, 0);
	ASSERT_EQ(0, object_write(object));
	ASSERT_EQ(sizeof(moved), pwrite(object->fd, &moved, sizeof(moved),
					OBJECT_TABLE * PAGE - below));
	object->base = mmap(NULL, OBJECT_SIZE, RX, MAP_PRIVATE, object->fd, 0);
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
	eh_frame_header(object, index);
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
	struct object *object = &self->object;
	struct eh_frame empty = eh_frame;

	eh_frame_header(object, offsetof(struct eh_frame, index));
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
			 ANON | MAP_FIXED_NOREPLACE, -1, 0);
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

/* All of the file in one mapping, twice. */
TEST_F(discover, mapped_twice)
{
	unsigned char *first, *second;

	ASSERT_EQ(0, object_write(&self->object));
	first = mmap(NULL, OBJECT_SIZE, RX, MAP_PRIVATE, self->object.fd, 0);
	second = mmap(NULL, OBJECT_SIZE, RX, MAP_PRIVATE, self->object.fd, 0);
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
	ASSERT_EQ(0, mprotect(text, PAGE, RX));
	EXPECT_WALK(LEAF_FOUND, text);
	EXPECT_EQ(2, tables_count());
}

/* --- Registrations, and the sysctl --- */

TEST_F(discover, a_registration_counts)
{
	struct hand_table *other;
	struct unwind_table table;
	unsigned char *text;

	ASSERT_EQ(0, object_make(&self->object));
	text = object_text(&self->object);
	other = mmap(NULL, PAGE, RW, ANON, -1, 0);
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
	EXPECT_EQ(-EINVAL, sysctl_set(SYSCTL_TABLES, 4));
	EXPECT_EQ(0, sysctl_set(SYSCTL_TABLES, 2));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));

	sysctl_restore();
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
}

/* --- Another object at the same address --- */

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

/* --- Objects without a table --- */

#define EXPECT_ABSENT(reason) do {						\
	ASSERT_EQ(0, object_make(&self->object));				\
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));			\
	EXPECT_STREQ("absent:" reason, state_at(object_text(&self->object)));	\
	EXPECT_EQ(0, tables_count());						\
} while (0)

TEST_F(discover, no_table)
{
	self->object.ehdr.e_phnum--;
	EXPECT_ABSENT("no-table");
	/* It is not looked for again as long as it is mapped. */
	self->object.ehdr.e_phnum++;
	ASSERT_EQ(0, object_write(&self->object));
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));
	ASSERT_EQ(0, object_map_again(&self->object));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
}

/*
 * Tools that add program headers to a finished file put all of them behind its end, into
 * a segment of their own. Here the file also has got another text: the second page.
 */
static int make_rewritten(struct object *object, int mapped)
{
	const unsigned long page = OBJECT_PAGES + 2;
	struct elf64_phdr *phdrs = object->phdrs;
	char bytes[PAGE] = {};
	void *area, *at;

	object->ehdr.e_phoff = page * PAGE + 8;
	phdrs[LOAD_TEXT].p_filesz = PAGE;
	phdrs[LOAD_TEXT].p_memsz = PAGE;
	phdrs[OBJECT_HEADERS] = phdrs[LOAD_TEXT];
	phdrs[OBJECT_HEADERS].p_offset += PAGE;
	phdrs[OBJECT_HEADERS].p_vaddr += PAGE;
	phdrs[OBJECT_HEADERS + 1] = phdrs[LOAD_HEADERS];
	phdrs[OBJECT_HEADERS + 1].p_offset = page * PAGE;
	phdrs[OBJECT_HEADERS + 1].p_vaddr = 16 * PAGE;
	object->ehdr.e_phnum += 2;
	object->table.functions = 2;
	set_function(&object->table, 1, (char *)(OBJECT_TABLE * PAGE),
		     (char *)((OBJECT_TEXT + 1) * PAGE));
	memcpy(bytes + 8, phdrs, sizeof(object->phdrs));

	area = mmap(NULL, 32 * PAGE, PROT_NONE, ANON, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	object->base = area + PAGE;
	/* Nothing is said where program headers usually are. */
	memset(phdrs, 0, sizeof(object->phdrs));
	if (object_write(object) || object_map_parts(object) ||
	    pwrite(object->fd, bytes, PAGE, page * PAGE) != (ssize_t)PAGE)
		return -errno;
	at = mmap(object->base + 16 * PAGE, PAGE, mapped, MAP_PRIVATE | MAP_FIXED, object->fd,
		  page * PAGE);
	return at == MAP_FAILED ? -errno : 0;
}

TEST_F(discover, headers_in_a_segment_of_their_own)
{
	unsigned char *text;

	ASSERT_EQ(0, make_rewritten(&self->object, PROT_READ));
	text = object_text(&self->object);
	EXPECT_WALK(LEAF_FOUND, text + PAGE);
	EXPECT_EQ(1, tables_count());
	EXPECT_WALK(LEAF_FOUND, text);
	EXPECT_EQ(2, tables_count());
	EXPECT_STREQ("good", state_at(text));
	EXPECT_STREQ("good", state_at(text + PAGE));
}

/* The kernel reads no file: what cannot be read is not there. */
TEST_F(discover, headers_that_are_not_mapped)
{
	ASSERT_EQ(0, make_rewritten(&self->object, PROT_NONE));
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));
	EXPECT_STREQ("absent:program-headers", state_at(object_text(&self->object)));
}

/* Only what is mapped from this file at this place is its table. */
TEST_F(discover, table_outside_of_segments)
{
	struct object other = object_good();

	ASSERT_EQ(0, object_make(&other));
	for (int i = 0; i < 6; i++) {
		struct object object = object_good();
		struct elf64_phdr *table = &object.phdrs[GNU_SFRAME];

		ASSERT_EQ(0, object_make(&object));
		if (i == 0)	/* in another object, which is good */
			table->p_vaddr = other.base + OBJECT_TABLE * PAGE - object.base;
		else if (i == 1) /* in the same one, but not there */
			table->p_vaddr -= PAGE;
		else if (i == 2) /* it is there, but longer */
			table->p_filesz += PAGE;
		else if (i == 3) /* in the kernel */
			table->p_vaddr = (unsigned long)-2 * PAGE - (unsigned long)object.base;
		else if (i == 4) /* from its end on */
			table->p_offset += PAGE;
		else		/* nowhere */
			table->p_vaddr += 1UL << 40;
		ASSERT_EQ(0, object_write(&object));
		EXPECT_WALK(LEAF_LOST, object_text(&object));
		EXPECT_EQ(0, strncmp("absent:", state_at(object_text(&object)), 7));
		EXPECT_EQ(0, tables_count());
	}
}

/* Make an object whose table is in so many mappings, of a page each. */
static int make_spread(struct object *object, unsigned long mappings)
{
	unsigned char *area = mmap(NULL, (OBJECT_TABLE + mappings + 2) * PAGE, PROT_NONE,
				   ANON, -1, 0);
	unsigned char *table;

	if (area == MAP_FAILED)
		return -errno;
	*object = object_good();
	object->base = area + PAGE;
	for (int i = LOAD_TABLE; i <= GNU_SFRAME; i++) {
		object->phdrs[i].p_filesz = mappings * PAGE;
		object->phdrs[i].p_memsz = mappings * PAGE;
	}
	if (object_write(object) || object_map_parts(object) ||
	    ftruncate(object->fd, (OBJECT_TABLE + mappings) * PAGE))
		return -errno;

	table = object->base + OBJECT_TABLE * PAGE;
	for (unsigned long i = 0; i < mappings; i++) {
		if (mmap(table + i * PAGE, PAGE, PROT_READ | (i % 2 ? PROT_WRITE : 0),
			 MAP_PRIVATE | MAP_FIXED, object->fd,
			 (OBJECT_TABLE + i) * PAGE) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

/* A walk does not look at any number of mappings. */
TEST_F(discover, table_in_many_mappings)
{
	ASSERT_EQ(0, make_spread(&self->object, 64));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
	EXPECT_EQ(1, tables_count());

	ASSERT_EQ(0, make_spread(&self->object, 65));
	EXPECT_WALK(LEAF_LOST, object_text(&self->object));
	EXPECT_STREQ("absent:not-mapped", state_at(object_text(&self->object)));
	EXPECT_EQ(1, tables_count());
}

/* --- Files and memory that go away --- */

/* No SIGBUS, and no answer: it may be there again. */
TEST_F(discover, truncated_file)
{
	unsigned char *text;

	ASSERT_EQ(0, object_make(&self->object));
	text = object_text(&self->object);
	ASSERT_EQ(0, ftruncate(self->object.fd, OBJECT_TABLE * PAGE));
	EXPECT_WALK(LEAF_LOST, text);
	EXPECT_STREQ("unchecked", state_at(text));
	ASSERT_EQ(0, object_write(&self->object));
	EXPECT_WALK(LEAF_FOUND, text);
	EXPECT_STREQ("good", state_at(text));
}

/* The header cannot be read just now: nothing is known about the text. */
TEST_F(discover, unreadable_header)
{
	unsigned char *text;

	ASSERT_EQ(0, object_make(&self->object));
	text = object_text(&self->object);
	ASSERT_EQ(0, mprotect(self->object.base, PAGE, PROT_NONE));
	EXPECT_WALK(LEAF_LOST, text);
	EXPECT_STREQ("", state_at(text));
	ASSERT_EQ(0, mprotect(self->object.base, PAGE, PROT_READ));
	EXPECT_WALK(LEAF_FOUND, text);
}

TEST_HARNESS_MAIN
