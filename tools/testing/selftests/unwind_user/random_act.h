/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations at random: the operations. After random.h.
 */
#ifndef RANDOM_ACT_H
#define RANDOM_ACT_H

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>

/* --- Registering --- */

#define CROWD		400

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
	return wish;
}

static void see_count(long nr)
{
	count(NONE, nr == 0);
	count(ONE, nr == 1);
	count(HUNDREDS, nr >= 100);
}

static void act_register(void)
{
	struct unwind_table table = any_table();

	count(REGISTER, !do_register(&table));
}

/* One of those that are there. */
static struct unwind_table any_registered(void)
{
	struct unwind_table all[16];
	long nr = tables_list(all, ARRAY_SIZE(all));
	struct unwind_table *table;

	if (nr <= 0)
		return any_table();
	table = &all[below(nr < (long)ARRAY_SIZE(all) ? nr : ARRAY_SIZE(all))];
	/* Without what the kernel says about it. */
	return ranges((void *)table->text_start, table->text_end - table->text_start,
		      (void *)table->table_start, table->table_end - table->table_start);
}

static void act_unregister(void)
{
	struct unwind_table table = one_in(4) ? any_table() : any_registered();

	count(UNREGISTER, !do_unregister(&table));
}

static void act_update(void)
{
	struct unwind_table table = any_registered(), other = any_table();

	if (one_in(2)) {
		table.table_start = other.table_start;
		table.table_end = other.table_end;
	}
	count(UPDATE, !do_update(&table));
}

static void act_enumerate(void)
{
	struct unwind_table all[64];
	long nr = tables_list(one_in(4) ? NULL : all, below(ARRAY_SIZE(all) + 1));

	count(ENUMERATE, nr >= 0 || nr == -EFAULT);
	see_count(tables_count());
}

/* Remove all that there is, whoever registered it. */
static void unregister_all(void)
{
	struct unwind_table all[64];
	long nr;

	do {
		nr = tables_list(all, ARRAY_SIZE(all));
		for (long i = 0; i < nr && i < (long)ARRAY_SIZE(all); i++) {
			struct unwind_table table = {
				.text_start = all[i].text_start,
				.text_end = all[i].text_end,
				.table_start = all[i].table_start,
				.table_end = all[i].table_end,
				.format = all[i].format,
			};

			count(UNREGISTER, !do_unregister(&table));
		}
	} while (nr > (long)ARRAY_SIZE(all));
}

/* The registry is made empty, and gets a few, again and again. */
static void act_few(void)
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
static void act_crowd(void)
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

static unsigned long any_word(void)
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
static void act_mad(void)
{
	static const unsigned long sizes[] = {
		0, 1, 32, 40, 47, 48, 49, 56, 63, 64, 65, 128, PAGE, PAGE + 1,
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

static void act_mmap(void)
{
	enum part part = any_part();
	unsigned long first = below(PAGES);

	count(MMAP, map_pages(part, first, 1 + below(below(8) ? 4 : PAGES - first),
			      any_protection(part)));
}

static void act_munmap(void)
{
	enum part part = any_part();
	unsigned long first = below(PAGES), nr = 1 + below(4);

	count(MUNMAP, !munmap(part_page(part, first), nr * PAGE));
	if (one_in(2))
		map_pages(part, first, 1 + below(nr), any_protection(part));
}

static void act_mremap(void)
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

static void act_mprotect(void)
{
	enum part part = any_part();
	int protection = one_in(2) ? usual_protection(part) : any_protection(part);

	count(MPROTECT, !mprotect(any_page(part), PAGE * (1 + below(8)), protection));
}

static void act_madvise(void)
{
	static const int hints[] = {
		MADV_DONTFORK, MADV_DOFORK, 18 /* MADV_WIPEONFORK */, 19 /* MADV_KEEPONFORK */,
		MADV_DONTNEED, 8 /* MADV_FREE */, 20 /* MADV_COLD */, 21 /* MADV_PAGEOUT */,
		22 /* MADV_POPULATE_READ */, MADV_HUGEPAGE,
	};

	count(MADVISE, !madvise(any_page(any_part()), PAGE * (1 + below(8)),
				hints[below(ARRAY_SIZE(hints))]));
}

/* --- Stacks --- */

static struct rule any_rule(void)
{
	struct rule rule = { .by_sp = one_in(2), .signal = one_in(8), .nr = below(7) };

	switch (below(6)) {
	case 0:
		return BY_SP(8 * (int)below(16));
	case 1:
		return BY_SP(8 * (int)(1 + below(4)), -16);
	case 2:
		return BY_FP(16, -16);
	case 3:
		return FLEXIBLE(REG((int)below(16)), 8 * (int)below(64), AT_CFA, -8);
	case 4:
		return FLEXIBLE(AT_REG((int)below(16)), 8 * (int)below(8), AT_REG((int)below(16)),
				(int)below(4096) - 2048, NO_RULE);
	}
	rule.flexible = one_in(2);
	for (int i = 0; i < rule.nr; i++)
		rule.words[i] = one_in(4) ? any_number() : below(256) - 64;
	return rule;
}

/* Make a table, which may be damaged, in this thread's page. It will be at @target. */
static void make_table(unsigned char *text, unsigned char *target)
{
	/* It says how far the text is. */
	struct scene scene = { .table = me->page, .text = me->page + (text - target) };
	int functions = 1 + below(SCENE_FUNCTIONS);
	struct table_header *header;

	memset(me->page, 0, sizeof(me->page));
	scene_no_rules(&scene);
	while (functions-- > 0)
		scene_rule(&scene, any_rule());
	header = (struct table_header *)me->page;
	switch (below(6)) {
	case 0:
		me->page[below(sizeof(*header))] ^= 1 << below(8);
		break;
	case 1:
		me->page[below(PAGE)] = any_number();
		break;
	case 2:
		for (unsigned int i = 0; i < sizeof(me->page); i++)
			me->page[i] = any_number();
		break;
	}
}

/* Where a table is to be written. */
static __thread unsigned char *target;

static void copy_page(void)
{
	memcpy(target, me->page, sizeof(me->page));
}

/* Write a table; it is made elsewhere, for others write here, too. */
static void act_table(void)
{
	target = part_page(TABLES, below(PAGES - 1));
	make_table(any_page(TEXT), target);
	count(TABLE, guarded(copy_page));
}

static unsigned long stack_word(unsigned char *at)
{
	unsigned char *text = any_page(TEXT);

	switch (below(8)) {
	case 0:
		return any_word();
	case 1:
		return (unsigned long)at + 8 * below(32);
	case 2:
		return (unsigned long)text + (20 + below(2)) * FUNCTION_SIZE;
	default:
		return (unsigned long)text + below(SCENE_FUNCTIONS) * FUNCTION_SIZE + RETURN_OFFSET;
	}
}

static void write_stack(void)
{
	unsigned char *at = (unsigned char *)(me->frame.regs.sp & -8);

	for (unsigned int i = 0; i < 128; i++, at += sizeof(long)) {
		unsigned long word = stack_word(at);

		memcpy(at, &word, sizeof(word));
		/* Behind a restorer there is what a signal has interrupted. */
		if (one_in(32)) {
			scene_signal(at + 8, stack_word(at), stack_word(at), stack_word(at));
			at += 304;
		}
	}
}

static void play_scene(void)
{
	scene_enter(&me->frame);
}

/* Take what is in the ring, and look whether it can be a stack. */
static void drain(void)
{
	struct sampler *sampler = &me->sampler;
	int type;

	while ((type = sampler_record(sampler)) > 0) {
		unsigned long nr = sampler->words[1], *ips = &sampler->words[2];

		if (type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;
		count(SAMPLE, nr > 1);
		if (!nr || nr > MAX_CHAIN) {
			failure("a stack of %lu frames", nr);
			return;
		}
		for (unsigned long i = 0; i < nr; i++) {
			if (ips[i] >> 56)
				failure("frame %lu of %lu is at 0x%lx", i, nr, ips[i]);
		}
	}
	if (type < 0)
		failure("a record that is too long");
}

/* From now on this thread is sampled: at each getppid(), or by the clock. */
static void act_sampler(void)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 50000 + below(1000000),
		.exclude_kernel = 1,
	};
	struct perf_event_attr call = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = common->tracepoint,
		.sample_period = 1,
		.exclude_kernel = 1,
	};

	if (me->sampled)
		sampler_close(&me->sampler);
	me->sampled = !sampler_open_stacks(&me->sampler, one_in(4) ? clock : call);
}

/* Sample a stack that starts in a page of text. */
static void play_at(unsigned char *text)
{
	struct scene_regs *regs = &me->frame.regs;
	unsigned long *words = (unsigned long *)regs;

	if (!me->sampled || one_in(500))
		act_sampler();
	for (unsigned int i = 0; i < sizeof(*regs) / sizeof(*words); i++)
		words[i] = any_word();
	regs->ip = (unsigned long)text;
	if (!one_in(8)) {
		regs->sp = (unsigned long)any_page(STACK) + 8 * below(PAGE / 8);
		guarded(write_stack);
	}
	if (!one_in(4))
		regs->bp = regs->sp + 8 * below(64);
	count(SCENE, guarded(play_scene));
	if (me->sampled)
		drain();
}

static void act_scene(void)
{
	play_at(any_page(TEXT));
}

static void act_signal(void)
{
	pid_t tid = __atomic_load_n(&actors[below(ACTORS)].tid, __ATOMIC_RELAXED);

	if (tid && !me->child)
		syscall(__NR_tgkill, getpid(), tid, SIGUSR1);
}

/* Be sampled with a stack on a page that is missing. */
static void *walk_late(void *page)
{
	static __thread struct actor actor;

	me = &actor;
	me->random = (unsigned long)&actor;
	use_signal_stack(true);
	act_sampler();
	me->frame.regs.ip = (unsigned long)any_page(TEXT);
	me->frame.regs.sp = (unsigned long)page;
	me->frame.regs.bp = (unsigned long)page;
	guarded(play_scene);
	if (me->sampled) {
		drain();
		sampler_close(&me->sampler);
	}
	use_signal_stack(false);
	return NULL;
}

/*
 * Pages that are missing for a while: whoever reads them waits between look-up and
 * use, and others go on. Without rights the kernel does not wait: it gets a fault.
 */
static void act_late(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register missing = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	bool rights = fd >= 0, waited = false, walker = false;
	enum part part = below(2) ? TABLES : STACK;
	unsigned long nr = 1 + below(PAGES);
	struct pollfd event = { .events = POLLIN };
	struct uffd_msg message;
	pthread_t thread;

	if (!rights)
		fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return;
	event.fd = fd;
	missing.range = (struct uffdio_range){
		.start = (unsigned long)part_page(part, below(PAGES - nr + 1)), .len = nr * PAGE,
	};
	/* Of zeros, and none there yet. */
	if (mmap((void *)missing.range.start, missing.range.len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED &&
	    !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &missing)) {
		if (part == STACK)
			walker = !pthread_create(&thread, NULL, walk_late,
						 (void *)missing.range.start);
		poll(&event, 1, 100);
		while (read(fd, &message, sizeof(message)) == sizeof(message)) {
			waited = true;
			pause_a_while(10000);
		}
		ioctl(fd, UFFDIO_UNREGISTER, &missing.range);
	}
	close(fd);
	if (walker)
		pthread_join(thread, NULL);
	if (rights)
		count(LATE, waited);
}

/* --- Readers --- */

static void act_proc(void)
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

#endif /* RANDOM_ACT_H */
