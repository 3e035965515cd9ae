// SPDX-License-Identifier: GPL-2.0
/*
 * Threads run in a library that is swapped for another one, at the same place:
 *
 *   swap SWAPS MILLISECONDS FIRST SECOND
 *
 * The program ends after SWAPS swaps, but not before that time.
 *
 * One thread replaces FIRST by SECOND, then SECOND by FIRST, and so on; another thread
 * waits meanwhile.  Both run in the mapped library.  With DLOPEN, for a C library whose
 * dlclose() unmaps, the program calls dlclose() and dlopen().  Otherwise it maps the files
 * itself. For one half of the swaps it unmaps the old library first, for the other half
 * it maps the new one over it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "swap.h"

#define RUNNERS 1	/* as many threads as processors: others would have to wait */
#define TURNS 4000
#define PAGE 4096ul
#define RUNS 5		/* of the thread that swaps, between two swaps */

static const char *paths[2];
static int which;		/* index of the mapped library */
static char *place;		/* of its first byte */
static unsigned long entry;	/* offset of the entry function */
static long swaps, moved;
static atomic_int stop;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
/* A reader takes this first: otherwise readers would starve the writer. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

#ifdef DLOPEN

static void *library;

static void load(void)
{
	char name[] = { "ab"[which], '_', 'e', 'n', 't', 'r', 'y', 0 };
	char *function;
	Dl_info info;

	library = dlopen(paths[which], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail(dlerror());
	function = dlsym(library, name);
	if (!function || !dladdr(function, &info))
		fail("no entry");
	if (place && place != info.dli_fbase)
		moved++;
	place = info.dli_fbase;
	entry = function - place;
}

static void swap_libraries(void)
{
	if (dlclose(library))
		fail("dlclose");
	which = !which;
	load();
}

static void open_libraries(void)
{
	load();
}

#else

static int files[2];
static Elf64_Phdr segments[2][16];
static int counts[2];
static unsigned long sizes[2];

static void load(int over)
{
	const Elf64_Phdr *segment;
	unsigned long from, to;
	char *there;
	int flags;

	for (segment = segments[which]; segment < segments[which] + counts[which]; segment++) {
		if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
			continue;
		flags = PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : 0);
		from = segment->p_vaddr & -PAGE;
		to = segment->p_vaddr + segment->p_filesz;
		if (!from) {
			/* Reserve room for the other segments. */
			there = mmap(place, sizes[which], flags, MAP_PRIVATE | (over ? MAP_FIXED : 0), files[which],
				     segment->p_offset & -PAGE);
			if (there == MAP_FAILED)
				fail("no mapping");
			if (place && there != place)
				moved++;
			place = there;
		} else if (mmap(place + from, to - from, flags, MAP_PRIVATE | MAP_FIXED, files[which],
				segment->p_offset & -PAGE) == MAP_FAILED) {
			fail("no mapping of a segment");
		}
	}
}

static void swap_libraries(void)
{
	int over = swaps / 2 % 2;

	if (!over && munmap(place, sizes[which]))
		fail("munmap");
	which = !which;
	load(over);
}

static void open_libraries(void)
{
	Elf64_Ehdr header;
	int number, segment;

	for (number = 0; number < 2; number++) {
		files[number] = open(paths[number], O_RDONLY | O_CLOEXEC);
		if (files[number] < 0 || pread(files[number], &header, sizeof(header), 0) != sizeof(header))
			fail(paths[number]);
		counts[number] = header.e_phnum;
		if (header.e_phnum > 16 ||
		    pread(files[number], segments[number], sizeof(segments[number]), header.e_phoff) <= 0)
			fail("program headers");
		for (segment = 0; segment < counts[number]; segment++)
			if (segments[number][segment].p_type == PT_LOAD)
				sizes[number] = (segments[number][segment].p_vaddr +
						 segments[number][segment].p_memsz + PAGE - 1) & -PAGE;
		/* The files have the same entry. */
		entry = header.e_entry;
	}
	load(0);
}

#endif

/* No function calls it. */
void decoy(void)
{
	asm volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static long swap_last(struct swap *swap)
{
	volatile long turn;

	for (turn = 0; turn < swap->turns / 4; turn++)
		;
	return turn;
}

/* These frames show which library is called. */
static long main_calls_a(struct swap *swap)
{
	volatile char room[24];

	room[0] = 1;
	return ((long (*)(struct swap *))(place + entry))(swap) + room[0];
}

static long main_calls_b(struct swap *swap)
{
	volatile char room[136];

	room[0] = 1;
	return ((long (*)(struct swap *))(place + entry))(swap) + room[0];
}

static void run(struct swap *swap, long *runs)
{
	pthread_mutex_lock(&gate);
	pthread_rwlock_rdlock(&lock);
	pthread_mutex_unlock(&gate);
	if (which)
		main_calls_b(swap);
	else
		main_calls_a(swap);
	runs[which]++;
	pthread_rwlock_unlock(&lock);
}

static void *runner(void *runs)
{
	struct swap swap = { swap_last, (char *)decoy + 4, TURNS };

	while (!atomic_load(&stop))
		run(&swap, runs);
	return NULL;
}

int main(int argc, char **argv)
{
	struct swap swap = { swap_last, (char *)decoy + 4, TURNS };
	long wanted, end, runs[RUNNERS + 1][2] = { { 0 } }, all[2] = { 0 };
	pthread_t threads[RUNNERS];
	int number;

	if (argc != 5)
		fail("usage: swap SWAPS MILLISECONDS FIRST SECOND");
	paths[0] = argv[3];
	paths[1] = argv[4];
	open_libraries();
	for (number = 0; number < RUNNERS; number++)
		if (pthread_create(&threads[number], NULL, runner, runs[number]))
			fail("no thread");
	wanted = atol(argv[1]);
	end = now() + atol(argv[2]);
	while (swaps < wanted || now() < end) {
		for (number = 0; number < RUNS; number++)
			run(&swap, runs[RUNNERS]);
		pthread_mutex_lock(&gate);
		pthread_rwlock_wrlock(&lock);
		swap_libraries();
		swaps++;
		pthread_rwlock_unlock(&lock);
		pthread_mutex_unlock(&gate);
	}
	atomic_store(&stop, 1);
	for (number = 0; number < RUNNERS; number++)
		pthread_join(threads[number], NULL);
	for (number = 0; number <= RUNNERS; number++) {
		all[0] += runs[number][0];
		all[1] += runs[number][1];
	}
	printf("swap: %ld swaps, %ld of them to another place, %ld and %ld runs\n", swaps, moved, all[0], all[1]);
	return 0;
}
