// SPDX-License-Identifier: GPL-2.0
/*
 * Texts without a table: objects that have none or that lie, and files that change
 * or never come while the kernel reads them.
 */
#include "kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "discover_fixture.h"
#include "uffd.h"

/* How many texts are known to have no table, of anonymous memory. */
static int without_file(void)
{
	static struct line lines[5000];
	int n = proc_all_lines(getpid(), lines, ARRAY_SIZE(lines)), count = 0;

	for (int i = 0; i < n; i++)
		count += !strcmp(lines[i].state, "absent:no-file");
	return count;
}

/* --- Objects without --- */

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

TEST_F(discover, no_object)
{
	self->object.ehdr.e_ident[0] = 0;
	EXPECT_ABSENT("not-elf");
}

TEST_F(discover, another_machine)
{
	self->object.ehdr.e_machine = EM_AARCH64;
	EXPECT_ABSENT("elf-machine");
}

TEST_F(discover, too_many_headers)
{
	self->object.ehdr.e_phnum = 0xffff;
	EXPECT_ABSENT("program-headers");
}

TEST_F(discover, headers_elsewhere)
{
	self->object.ehdr.e_phoff = PAGE - 1;
	EXPECT_ABSENT("program-headers");
}

TEST_F(discover, no_header)
{
	struct object *object = &self->object;

	ASSERT_EQ(0, object_make(object));
	ASSERT_EQ(0, munmap(object->base, PAGE));
	EXPECT_WALK(LEAF_LOST, object_text(object));
	EXPECT_STREQ("absent:no-header", state_at(object_text(object)));
}

TEST_F(discover, no_text)
{
	self->object.phdrs[LOAD_TEXT].p_flags = PF_R;
	EXPECT_ABSENT("no-text");
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

	area = mmap(NULL, 32 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

/* Segments that wrap or overlap: what comes out is not mapped so. */
TEST_F(discover, wrong_segments)
{
	static const unsigned long vaddrs[] = {
		-PAGE, 1UL << 63, (1UL << 63) - 2 * PAGE, 1UL << 47, -1UL << 47, 0,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(vaddrs); i++) {
		struct object object = object_good();

		object.phdrs[LOAD_TEXT].p_vaddr = vaddrs[i];
		ASSERT_EQ(0, object_make(&object));
		EXPECT_WALK(LEAF_LOST, object_text(&object));
		EXPECT_EQ(0, tables_count());
	}
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
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

/* --- What is remembered --- */

/* Memory without a file, side by side, is known once. */
TEST_F(discover, neighbours_are_joined)
{
	unsigned char *area = mmap(NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const int order[] = { 10, 12, 11, 13, 9, 8, 20 };
	static const int known[] = { 1, 2, 1, 1, 1, 1, 2 };

	ASSERT_NE(MAP_FAILED, area);
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++) {
		unsigned char *text = area + order[i] * PAGE;

		ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ | PROT_WRITE));
		write_leaf(text);
		ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ | PROT_EXEC));
		EXPECT_WALK(LEAF_LOST, text);
		EXPECT_EQ(known[i], without_file());
	}
	/* Unmapping any of it forgets it all. */
	ASSERT_EQ(0, munmap(area + 11 * PAGE, PAGE));
	EXPECT_EQ(1, without_file());
	EXPECT_WALK(LEAF_LOST, area + 10 * PAGE);
	EXPECT_EQ(2, without_file());
}

/* A process can have any number of them; the kernel remembers so many. */
TEST_F_TIMEOUT(discover, many_without, 300)
{
	enum { MAX = 4096, MORE = MAX + 100 };
	unsigned char *area = mmap(NULL, 2 * MORE * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int wrong = 0;

	ASSERT_NE(MAP_FAILED, area);
	for (int i = 0; i < MORE; i++) {
		unsigned char *text = area + 2 * i * PAGE;

		write_leaf(text);
		ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ | PROT_EXEC));
		wrong += call_leaf(&self->sampler, text) != LEAF_LOST;
	}
	EXPECT_EQ(0, wrong);
	EXPECT_LE(MAX - 2, without_file());
	EXPECT_GE(MAX, without_file());
	/* They take no room from tables. */
	ASSERT_EQ(0, object_make(&self->object));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
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

/* Let nobody answer for a page of the object; returns what tells of faults, or -errno. */
static int never_comes(struct object *object, int page)
{
	int fd = uffd_open(0);

	if (fd < 0)
		return fd;
	if (uffd_missing(fd, (char *)object->base + page * PAGE, PAGE) ||
	    fallocate(object->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page * PAGE, PAGE))
		return -EPROTO;
	return fd;
}

static struct object *waits_for;

/* A thread that is sampled where a page never comes. */
static void *waiter(void *unused)
{
	struct sampler sampler;

	if (!sampler_open(&sampler))
		((unsigned long (*)(void))object_text(waits_for))();
	_exit(2);
}

static int wait_for_page(struct object *object, int page, int tell, bool killed)
{
	int uffd;
	pthread_t thread;

	waits_for = object;
	if (object_make(object))
		return 3;
	uffd = never_comes(object, page);
	if (uffd < 0)
		return 3;
	if (pthread_create(&thread, NULL, waiter, NULL) || !uffd_wait(uffd, 20))
		return 4;
	/* It waits, with nothing held: others map, and read what is known. */
	for (int i = 0; i < 100; i++) {
		void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED || munmap(at, PAGE) || tables_count() < 0)
			return 5;
	}
	if (write(tell, "", 1) != 1)
		return 6;
	if (!killed)
		alarm(1);
	pause();
	return 7;
}

TEST_F_TIMEOUT(discover, what_never_comes_holds_up_one_thread, 60)
{
	int fd = uffd_open(0);

	if (fd < 0)
		SKIP(return, NO_UFFD);
	close(fd);
	for (int page = 0; page <= OBJECT_TABLE; page += OBJECT_TABLE) {
		for (int killed = 0; killed < 2; killed++) {
			int tell[2], status;
			char byte;
			pid_t pid;

			ASSERT_EQ(0, pipe(tell));
			pid = fork();
			if (!pid)
				_exit(wait_for_page(&self->object, page, tell[1], killed));
			close(tell[1]);
			EXPECT_EQ(1, read(tell[0], &byte, 1));
			close(tell[0]);
			if (killed)
				kill(pid, SIGKILL);
			ASSERT_EQ(pid, waitpid(pid, &status, 0));
			EXPECT_TRUE(WIFSIGNALED(status));
			EXPECT_EQ(killed ? SIGKILL : SIGALRM, WTERMSIG(status));
		}
	}
}

/* --- Objects that change while they are looked at --- */

static bool stop;

/* Rewrite the headers and the table, map and unmap, until told to end. */
static void *disturb(void *arg)
{
	struct object *object = arg, good = *object;
	unsigned int seed = 1;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned char *bytes = (unsigned char *)&object->ehdr;
		size_t at = rand_r(&seed) % (offsetof(struct object, fd));

		bytes[at] = rand_r(&seed);
		if (pwrite(object->fd, &object->ehdr, sizeof(object->ehdr), 0) < 0 ||
		    pwrite(object->fd, object->phdrs, sizeof(object->phdrs),
			   sizeof(object->ehdr)) < 0 ||
		    pwrite(object->fd, &object->table, sizeof(object->table),
			   OBJECT_TABLE * PAGE) < 0)
			_exit(1);
		switch (rand_r(&seed) % 4) {
		case 0:
			munmap(object->base, PAGE);
			break;
		case 1:
			munmap(object->base + OBJECT_TABLE * PAGE, PAGE);
			break;
		case 2:
			mmap(object->base, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, object->fd, 0);
			mmap(object->base + OBJECT_TABLE * PAGE, PAGE, PROT_READ,
			     MAP_PRIVATE | MAP_FIXED, object->fd, OBJECT_TABLE * PAGE);
			break;
		default:
			*object = good;
			object_write(object);
			/* The text's mapping is new as well, in one step. */
			mmap(object_text(object), 2 * PAGE, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_FIXED, object->fd, OBJECT_TEXT * PAGE);
		}
	}
	return NULL;
}

/* Whatever is found then, the kernel is well; and afterwards all is as before. */
TEST_F_TIMEOUT(discover, reads_during_changes, 120)
{
	int found = 0, others = 0;
	time_t until = time(NULL) + 5;
	struct object disturbed;
	pthread_t thread;

	ASSERT_EQ(0, object_make(&self->object));
	disturbed = self->object;
	ASSERT_EQ(0, pthread_create(&thread, NULL, disturb, &disturbed));
	while (time(NULL) < until) {
		if (call_leaf(&self->sampler, object_text(&self->object)) == LEAF_FOUND)
			found++;
		else
			others++;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ksft_print_msg("%d found, %d not\n", found, others);
	EXPECT_LT(0, found);
	EXPECT_LT(0, others);
	ASSERT_EQ(0, object_write(&self->object));
	ASSERT_EQ(0, munmap(self->object.base, OBJECT_SIZE));
	ASSERT_EQ(0, object_map_parts(&self->object));
	EXPECT_WALK(LEAF_FOUND, object_text(&self->object));
}

TEST_HARNESS_MAIN
