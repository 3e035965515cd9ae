// SPDX-License-Identifier: GPL-2.0
/* Operations at random: on tables and mappings, and readers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"

/* --- Registering --- */

#define CROWD		400

/* The same table, as one of .eh_frame. Its header is not always where it should be. */
static struct unwind_table as_eh_frame(struct unwind_table table)
{
	unsigned long len = table.table_end - table.table_start;

	table.format = UNWIND_TABLE_EH_FRAME;
	table.header = table.table_start + (one_in(8) ? below(len + 1) : EH_HEADER);
	return table;
}

/* Ranges that may be registered. Some overlap others. */
static struct unwind_table any_table(void)
{
	unsigned long table = below(PAGES), text = below(PAGES), len;
	struct unwind_table wish;

	len = 1 + below(below(2) ? 2 : 8);
	if (table + len > PAGES)
		len = PAGES - table;
	wish = ranges(part_page(TEXT, text), PAGE, part_page(TABLES, table), len * PAGE);
	switch (below(8)) {
	case 0:
		/* Several pages, which may be beyond the end. */
		wish.text_end += below(8) * PAGE;
		break;
	case 1:
		/* Not all of a page. */
		wish.text_start += below(PAGE);
		break;
	case 2:
		/* What is executed here always. */
		wish.text_start = (unsigned long)any_table & -PAGE;
		wish.text_end = wish.text_start + PAGE * (1 + below(8));
		break;
	}
	return one_in(2) ? as_eh_frame(wish) : wish;
}

static void see_count(long nr)
{
	count(NONE, nr == 0);
	count(ONE, nr == 1);
	count(HUNDREDS, nr >= 100);
}

static void see_formats(const struct listed *tables, long nr)
{
	for (long i = 0; i < nr; i++) {
		if (i && tables[i].table.text_start == tables[i - 1].table.text_start)
			count(BOTH, tables[i].table.format != tables[i - 1].table.format);
		if (tables[i].table.format == UNWIND_TABLE_EH_FRAME)
			count(EH_FRAME, tables[i].state == TABLE_GOOD);
	}
}

void act_register(void)
{
	struct unwind_table table = any_table();

	count(REGISTER, !do_register(&table));
}

/* One of those that are there. */
static struct unwind_table any_registered(void)
{
	struct listed all[16];
	long nr = tables_list(all, ARRAY_SIZE(all));

	if (nr <= 0)
		return any_table();
	return all[below(nr < (long)ARRAY_SIZE(all) ? nr : ARRAY_SIZE(all))].table;
}

void act_unregister(void)
{
	struct unwind_table table = one_in(4) ? any_table() : any_registered();

	count(UNREGISTER, !do_unregister(&table));
}

void act_replace(void)
{
	struct unwind_table table = any_registered(), other = any_table();

	/* Most often with the same ranges. */
	if (one_in(2) && table.format == other.format) {
		table.table_start = other.table_start;
		table.table_end = other.table_end;
		table.header = other.header;
	}
	count(REPLACE, !do_register(&table));
}

/* Another table for the same text, of the other format. */
void act_both(void)
{
	struct unwind_table table = any_registered(), other = any_table();

	other.text_start = table.text_start;
	other.text_end = table.text_end;
	if (table.format == UNWIND_TABLE_SFRAME) {
		other = as_eh_frame(other);
	} else {
		other.format = UNWIND_TABLE_SFRAME;
		other.header = 0;
	}
	count(REGISTER, !do_register(&other));
	if (one_in(2))
		count(UNREGISTER, !do_unregister(one_in(2) ? &table : &other));
}

void act_list(void)
{
	unsigned long room = below(65);
	struct listed all[64];
	long nr = tables_list(all, room);

	count(LIST, nr >= 0);
	if (nr > 0)
		see_formats(all, nr < (long)room ? nr : (long)room);
	see_count(tables_count());
}

/* Remove all that is registered; what the kernel has found is not. Returns how many are left. */
long unregister_all(void)
{
	struct listed all[64];
	long nr, removed, left;

	do {
		removed = 0;
		left = 0;
		nr = tables_list(all, ARRAY_SIZE(all));
		for (long i = 0; i < nr && i < (long)ARRAY_SIZE(all); i++) {
			bool done;

			if (all[i].origin == TABLE_BY_DISCOVERY)
				continue;
			done = !do_unregister(&all[i].table);
			count(UNREGISTER, done);
			removed += done;
			left += !done;
		}
	} while (removed && nr > (long)ARRAY_SIZE(all));
	return left;
}

/* The registry is made empty, and gets a few, again and again. */
void act_few(void)
{
	struct unwind_table few[3];
	int nr = 1 + below(ARRAY_SIZE(few));

	unregister_all();
	for (int i = 0; i < nr; i++)
		few[i] = any_table();
	count(REGISTER, tables_call(PR_UNWIND_TABLES_REGISTER, few, nr, sizeof(*few)) > 0);
	see_count(tables_count());
	for (int i = nr; i-- > 0;) {
		count(UNREGISTER, !do_unregister(&few[i]));
		see_count(tables_count());
	}
}

/* More than nodes of a tree hold. */
void act_crowd(void)
{
	struct unwind_table *crowd;
	unsigned long nr = 100 + below(CROWD - 100), first = below(PAGES / 2);

	crowd = calloc(nr, sizeof(*crowd));
	if (!crowd)
		return;
	unregister_all();
	for (unsigned long i = 0; i < nr; i++)
		crowd[i] = ranges(part_page(TEXT, first) + 256 * i, 64, any_page(TABLES), PAGE);
	tables_call(PR_UNWIND_TABLES_REGISTER, crowd, nr, sizeof(*crowd));
	see_count(tables_count());
	/* Whoever forks has to take copies. */
	if (one_in(2))
		pause_a_while(2000);
	tables_call(PR_UNWIND_TABLES_UNREGISTER, crowd + nr / 2, nr - nr / 2, sizeof(*crowd));
	unregister_all();
	free(crowd);
}

unsigned long any_word(void)
{
	static const unsigned long words[] = {
		0, 1, 7, 8, 0x1000, 0x7fff, 0xffffffff, 1UL << 32, 0x7fffffffffff, 0x7ffffffff000,
		1UL << 47, 1UL << 48, 1UL << 63, -1UL, -8UL, -PAGE, 0xffff888000000000,
		0xffffffff81000000,
	};

	switch (below(8)) {
	case 0:
		return any_number();
	case 1:
	case 2:
		return words[below(ARRAY_SIZE(words))] + below(3) - 1;
	case 3:
		return (unsigned long)any_page(TABLES) + below(PAGE);
	case 4:
		return (unsigned long)any_page(STACK) + below(PAGE);
	case 5:
		return (unsigned long)any_word & -PAGE;
	default:
		return (unsigned long)any_page(TEXT) + below(PAGE);
	}
}

/* Any arguments. What is written goes to where it does no harm. */
void act_mad(void)
{
	static const unsigned long sizes[] = {
		0, 1, 32, 40, 48, 55, 56, 57, 63, 64, 65, 128, PAGE, PAGE + 1,
	};
	unsigned char *at = any_page(SCRATCH);
	unsigned long operation = below(6), nr = below(5), size = sizeof(struct unwind_table);
	union {
		struct unwind_table tables[4];
		unsigned long words[4 * sizeof(struct unwind_table) / sizeof(long)];
	} any;

	for (unsigned int i = 0; i < ARRAY_SIZE(any.tables); i++)
		any.tables[i] = any_table();
	for (unsigned int i = below(4); i > 0; i--)
		any.words[below(ARRAY_SIZE(any.words))] = any_word();
	/* At the end of a page, or across it. */
	if (one_in(2))
		at += PAGE - below(sizeof(any) + 1);
	if (one_in(4))
		size = sizes[below(ARRAY_SIZE(sizes))];
	if (one_in(8))
		nr = any_word();
	if (one_in(16))
		operation = any_word();
	/* By a file, for there may be no page there. */
	if (pwrite(part_fd[SCRATCH], &any, sizeof(any), at - part_page(SCRATCH, 0)) < 0)
		return;
	if (one_in(16))
		at = (unsigned char *)(below(2) ? 0 : 0xffffffff81000000);
	count(REFUSED, tables_call(operation, at, nr, size) < 0);
}

/* --- Mappings --- */

static enum part any_part(void)
{
	return below(NR_PARTS);
}

void act_mmap(void)
{
	enum part part = any_part();
	unsigned long first = below(PAGES);

	count(MMAP, map_pages(part, first, 1 + below(below(8) ? 4 : PAGES - first),
			      any_protection(part)));
}

void act_munmap(void)
{
	enum part part = any_part();
	unsigned long first = below(PAGES), nr = 1 + below(4);

	count(MUNMAP, !munmap(part_page(part, first), nr * PAGE));
	if (one_in(2))
		map_pages(part, first, 1 + below(nr), any_protection(part));
}

void act_mremap(void)
{
	enum part part = any_part();
	unsigned long nr = 1 + below(3), new = one_in(4) ? 1 + below(4) : nr;
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	unsigned char *from = any_page(part);

	if (nr == new && one_in(8))
		flags |= 4 /* MREMAP_DONTUNMAP */;
	if (one_in(4))
		flags = 0;
	count(MREMAP, mremap(from, nr * PAGE, new * PAGE, flags, any_page(part)) != MAP_FAILED);
}

void act_mprotect(void)
{
	enum part part = any_part();
	int protection = one_in(2) ? usual_protection(part) : any_protection(part);

	count(MPROTECT, !mprotect(any_page(part), PAGE * (1 + below(8)), protection));
}

void act_madvise(void)
{
	static const int hints[] = {
		MADV_DONTFORK, MADV_DOFORK, 18 /* MADV_WIPEONFORK */, 19 /* MADV_KEEPONFORK */,
		MADV_DONTNEED, 8 /* MADV_FREE */, 20 /* MADV_COLD */, 21 /* MADV_PAGEOUT */,
		22 /* MADV_POPULATE_READ */, MADV_HUGEPAGE,
	};

	count(MADVISE, !madvise(any_page(any_part()), PAGE * (1 + below(8)),
				hints[below(ARRAY_SIZE(hints))]));
}

/* --- Readers --- */

void act_proc(void)
{
	static const char * const own[] = { "self", "thread-self" };
	pid_t other = __atomic_load_n(&common->worlds[below(WORLDS)], __ATOMIC_RELAXED);
	char path[64], text[1024];
	bool done = false;
	ssize_t len;
	int fd;

	if (one_in(2))
		snprintf(path, sizeof(path), "/proc/%s/unwind_tables", own[below(2)]);
	else
		snprintf(path, sizeof(path), "/proc/%d/unwind_tables", other);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		for (int i = 0; i < 100; i++) {
			len = read(fd, text, 1 + below(sizeof(text)));
			done |= !len;
			if (len <= 0)
				break;
			if (one_in(16))
				pause_a_while(2000);
			if (one_in(64))
				lseek(fd, below(4096), SEEK_SET);
		}
		close(fd);
	}
	count(PROC, done);
}
