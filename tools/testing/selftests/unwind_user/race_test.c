// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that changes registrations at once, while stacks are sampled: what nobody touches
 * stays as it is, and what is unmapped is gone. For the rest, whoever runs this looks at the
 * kernel's log. Of half of the threads, one in a hundred allocations and copies fails, where the
 * kernel can do that; they are forgiven what follows. And two threads meet a malformed table.
 */
#include "harness.h"

#include "faults.h"
#include "uffd.h"

#define REGISTRARS	6
#define KEPT		32
/* How long threads may take to end, on a slow machine. */
#define PATIENCE	120

static struct {
	/* Ranges that threads register and unregister: pages of its text. */
	struct layout hot;
	struct unwind_table ranges[PART_PAGES];
	/* Ranges that nobody touches, of which the first is sampled. */
	struct layout calm;
	struct unwind_table kept[KEPT];
	/* The file that the table of the hot text is in. */
	int fd;
	bool stop;
} race;

struct worker {
	const char *name;
	/* One round: NULL, or what is wrong. */
	const char *(*round)(struct worker *worker);
	bool faults;
	pthread_t thread;
	unsigned int seed;
	unsigned long rounds;
	/* How often a call failed for want of memory, or by a fault. */
	unsigned long faulted;
	const char *error;
	struct sampler sampler;
	unsigned long sampled;
};

static bool one_of(struct worker *worker, int ret, int a, int b, int c)
{
	if (ret == a || ret == b || ret == c)
		return true;
	if (!worker->faults || (ret != -ENOMEM && ret != -EFAULT))
		return false;
	worker->faulted++;
	return true;
}

/* A system call of the worker's has failed: NULL, or what. */
static const char *failed(struct worker *worker, const char *call)
{
	return one_of(worker, -errno, 0, 0, 0) ? NULL : call;
}

static struct unwind_table *any_range(struct worker *worker)
{
	return &race.ranges[rand_r(&worker->seed) % PART_PAGES];
}

static const char *round_register(struct worker *worker)
{
	if (!one_of(worker, do_register(any_range(worker)), 0, -EACCES, 0))
		return "register";
	if (!one_of(worker, do_unregister(any_range(worker)), 0, -ENOENT, 0))
		return "unregister";
	return NULL;
}

static const char *round_replace(struct worker *worker)
{
	struct unwind_table table = *any_range(worker);

	table.table_end -= PAGE * (rand_r(&worker->seed) % 2);
	return one_of(worker, do_register(&table), 0, -EACCES, 0) ? NULL : "replace";
}

static bool touched(unsigned long start, size_t len)
{
	struct listed all[KEPT + PART_PAGES + 1];
	long count = tables_list(all, ARRAY_SIZE(all));

	for (long i = 0; i < count && i < (long)ARRAY_SIZE(all); i++) {
		const struct unwind_table *table = &all[i].table;

		if ((table->text_start < start + len && start < table->text_end) ||
		    (table->table_start < start + len && start < table->table_end))
			return true;
	}
	return false;
}

/*
 * The last page of text, which no thread executes. While the page is there
 * without a right, nobody can register it.
 */
static const char *round_unmap_text(struct worker *worker)
{
	void *text = race.hot.text + (PART_PAGES - 1) * PAGE;

	if (mmap(text, PAGE, PROT_NONE, ANON | MAP_FIXED, -1, 0) != text)
		return failed(worker, "mmap");
	if (touched((unsigned long)text, PAGE))
		return "text is registered that was unmapped";
	if (mmap(text, PAGE, RX, ANON | MAP_FIXED, -1, 0) != text)
		return failed(worker, "mmap");
	return NULL;
}

/* The same for the last page of the table, in which there is nothing. */
static const char *round_unmap_table(struct worker *worker)
{
	unsigned char *table = (unsigned char *)race.hot.table + (PART_PAGES - 1) * PAGE;

	if (mmap(table, PAGE, PROT_NONE, ANON | MAP_FIXED, -1, 0) != table)
		return failed(worker, "mmap");
	if (touched((unsigned long)table, PAGE))
		return "a table is registered that was unmapped";
	if (mmap(table, PAGE, PROT_READ, ANON | MAP_FIXED, -1, 0) != table)
		return failed(worker, "mmap");
	usleep(500);
	return NULL;
}

static const char *round_fault(struct worker *worker)
{
	if (madvise(race.hot.table, PAGE, MADV_DONTNEED))
		return "madvise";
	if (mprotect(race.hot.table, PAGE, PROT_NONE) || mprotect(race.hot.table, PAGE, PROT_READ))
		return "mprotect";
	return NULL;
}

/* In a child of many threads: system calls only. */
static int child_of_race(struct worker *worker)
{
	if (worker->faults) {
		want_faults(false);
		worker->faults = false;
		/* There may have been no memory for its tables. */
		if (!tables_count())
			return 0;
	}
	for (int i = 0; i < KEPT; i++) {
		if (!registered(&race.kept[i]))
			return 1;
	}
	for (int i = 0; i < PART_PAGES; i++) {
		if (!one_of(worker, do_unregister(&race.ranges[i]), 0, -ENOENT, 0))
			return 2;
	}
	return tables_count() == KEPT ? 0 : 3;
}

static const char *round_fork(struct worker *worker)
{
	pid_t pid = fork();

	if (!pid)
		_exit(child_of_race(worker));
	if (pid < 0)
		return failed(worker, "fork");
	return ended_well(pid) ? NULL : "a child's tables are not those of its parent";
}

/*
 * Stacks that go from the calm text into the hot one, but for its last page: while that
 * is no text, its addresses are no callers.
 */
static const char *round_sample(struct worker *worker)
{
	static __thread struct chain chain;
	unsigned int page = rand_r(&worker->seed) % (PART_PAGES - 1);
	unsigned long caller = race.ranges[page].text_start + 4;
	const char *error;

	if (!worker->sampler.page && sampler_open(&worker->sampler)) {
		worker->sampler.page = NULL;
		return worker->faults ? NULL : "cannot sample";
	}
	((void (*)(unsigned long))(void *)race.calm.text)(caller);
	error = sampler_chain(&worker->sampler, &chain);
	/* Without memory there may be no promise of a stack, or no stack. */
	if (error && worker->faults &&
	    (!strcmp(error, "sample is not deferred") || !strcmp(error, "no stack") ||
	     !strcmp(error, "empty stack")))
		return NULL;
	if (error)
		return error;
	worker->sampled++;
	if (!worker->faults && (chain.nr < 2 || chain.ips[1] != caller))
		return "a stack without a table that nobody touched";
	return NULL;
}

static struct worker workers[REGISTRARS + 8];
static unsigned int nr_workers;

static void *work(void *argument)
{
	struct worker *worker = argument;

	if (worker->faults)
		want_faults(true);
	while (!__atomic_load_n(&race.stop, __ATOMIC_RELAXED)) {
		const char *error = worker->round(worker);

		worker->rounds++;
		if (error) {
			worker->error = error;
			break;
		}
	}
	if (worker->faults)
		want_faults(false);
	return NULL;
}

static void add_worker(const char *name, const char *(*round)(struct worker *), bool faults)
{
	struct worker *worker = &workers[nr_workers];

	*worker = (struct worker){
		.name = name, .round = round, .faults = faults, .seed = ++nr_workers
	};
}

/* The hot text's table: its first page is of a file, so that it can be dropped. */
static bool make_hot_table(void)
{
	struct hand_table table = table_for(race.hot.table, race.hot.text);

	race.fd = syscall(__NR_memfd_create, "table", 0);
	return race.fd >= 0 && !ftruncate(race.fd, PAGE) &&
	       pwrite(race.fd, &table, sizeof(table), 0) == sizeof(table) &&
	       mmap(race.hot.table, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, race.fd, 0) ==
	       race.hot.table;
}

static bool make_calm(void)
{
	unsigned char *text = race.calm.text;

	if (mprotect(text, PAGE, RW | PROT_EXEC))
		return false;
	write_code(text, caller_code, sizeof(caller_code));
	/* Where it is sampled its return address seems to be what it was told. */
	for (int i = 0; i < KEPT; i++) {
		race.kept[i] = ranges(text + 64 * i, 64, race.calm.table, PAGE);
		if (do_register(&race.kept[i]))
			return false;
	}
	return true;
}

FIXTURE(race) {
	unsigned int seconds;
	bool faults;
};

FIXTURE_SETUP(race)
{
	self->seconds = wanted("RACE_SECONDS", 5);
	if (tables_missing())
		SKIP(return, NO_TABLES);
	if (tables_count())
		SKIP(return, "this program has tables of its own");
	ASSERT_EQ(0, layout_make(&race.hot));
	ASSERT_EQ(0, layout_make(&race.calm));
	ASSERT_TRUE(make_hot_table());
	ASSERT_TRUE(make_calm());
	for (int i = 0; i < PART_PAGES; i++)
		race.ranges[i] = ranges(race.hot.text + i * PAGE, PAGE, race.hot.table,
					PART_PAGES * PAGE);
}

FIXTURE_TEARDOWN(race)
{
	if (self->faults)
		faults_off();
}

TEST_F_TIMEOUT(race, all_at_once, 3600)
{
	struct sampler sampler;
	struct timespec end;
	unsigned long faulted = 0;
	unsigned int i;
	int error;

	if (!open_sampler(_metadata, &sampler))
		return;
	/* Who cannot read a page of a program, for want of memory, gets SIGBUS. */
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, munlockall());
	error = faults_on("1");
	self->faults = !error;
	TH_LOG("faults: %s", error ? strerror(-error) : "one in a hundred");
	for (i = 0; i < REGISTRARS; i++)
		add_worker("register", round_register, self->faults && i % 2);
	add_worker("update", round_replace, self->faults);
	add_worker("unmap text", round_unmap_text, self->faults);
	add_worker("unmap table", round_unmap_table, false);
	add_worker("fault", round_fault, false);
	add_worker("fork", round_fork, false);
	add_worker("fork", round_fork, self->faults);
	add_worker("sample", round_sample, false);
	add_worker("sample", round_sample, self->faults);

	for (i = 0; i < nr_workers; i++)
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	sleep(self->seconds);
	__atomic_store_n(&race.stop, true, __ATOMIC_RELAXED);

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	for (i = 0; i < nr_workers; i++) {
		struct worker *worker = &workers[i];

		ASSERT_EQ(0, pthread_timedjoin_np(worker->thread, NULL, &end))
			TH_LOG("%s is stuck", worker->name);
		TH_LOG("%s%s: %lu rounds, %lu samples", worker->name,
		       worker->faults ? " with faults" : "", worker->rounds, worker->sampled);
		EXPECT_EQ(NULL, worker->error) TH_LOG("%s: %s", worker->name, worker->error);
		EXPECT_LT(0, worker->rounds);
		faulted += worker->faulted;
		/* One in a hundred fails, of the few things that a sample needs. */
		if (worker->round == round_sample)
			EXPECT_LE(worker->faults ? worker->rounds / 4 : worker->rounds,
				  worker->sampled);
	}

	TH_LOG("%lu calls failed by a fault", faulted);
	if (self->faults)
		EXPECT_LT(0, faulted);

	for (i = 0; i < PART_PAGES; i++)
		do_unregister(&race.ranges[i]);
	EXPECT_EQ(KEPT, tables_count());
	for (i = 0; i < KEPT; i++)
		EXPECT_TRUE(registered(&race.kept[i]));
}

/* --- Two who meet the same malformed table --- */

#define MEETINGS	200

static struct {
	const void *text;
	/* The meeting that is on, and how many have been there. */
	unsigned int nth, done;
	struct one {
		pthread_t thread;
		struct sampler sampler;
		struct chain chain;
		const char *error;
	} both[2];
} meeting;

static void *meet(void *argument)
{
	struct one *one = argument;

	if (sampler_open(&one->sampler))
		one->error = "cannot sample";
	for (unsigned int nth = 1; nth <= MEETINGS; nth++) {
		while (__atomic_load_n(&meeting.nth, __ATOMIC_ACQUIRE) < nth)
			usleep(100);
		if (!one->error) {
			((unsigned long (*)(void))meeting.text)();
			one->error = sampler_chain(&one->sampler, &one->chain);
		}
		__atomic_add_fetch(&meeting.done, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool both_wait(int uffd)
{
	return uffd_wait(uffd, PATIENCE) && uffd_wait(uffd, PATIENCE);
}

/*
 * Both have found the table, and wait for its first page: whoever is second finds
 * the state that the first has stored, and does not take it back.
 */
TEST_F_TIMEOUT(race, one_verdict, 3600)
{
	static union {
		struct hand_table table;
		unsigned char bytes[PAGE];
	} page;
	struct unwind_table *wanted = &race.hot.good;
	int uffd;
	struct sampler sampler;
	void *table = race.hot.table;

	if (!open_sampler(_metadata, &sampler))
		return;
	uffd = uffd_open(0);
	if (uffd < 0)
		SKIP(return, NO_UFFD);
	ASSERT_EQ(table, mmap(table, PAGE, PROT_READ, ANON | MAP_FIXED, -1, 0));
	page.table = table_for(table, race.hot.text);
	page.table.version = 2;
	ASSERT_EQ(0, uffd_missing(uffd, table, PAGE));

	meeting.text = race.hot.text;
	ASSERT_EQ(0, do_register(wanted));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&meeting.both[i].thread, NULL, meet,
					    &meeting.both[i]));
	for (unsigned int nth = 1; nth <= MEETINGS; nth++) {
		ASSERT_EQ(0, do_register(wanted));
		ASSERT_EQ(0, madvise(table, PAGE, MADV_DONTNEED));
		__atomic_store_n(&meeting.nth, nth, __ATOMIC_RELEASE);
		ASSERT_TRUE(both_wait(uffd));
		ASSERT_EQ(0, uffd_bring(uffd, table, &page, PAGE));
		while (__atomic_load_n(&meeting.done, __ATOMIC_ACQUIRE) != 2 * nth)
			usleep(100);
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(NULL, meeting.both[i].error)
				TH_LOG("%s", meeting.both[i].error);
		}
		ASSERT_EQ(TABLE_DISABLED, tables_find(wanted).state);
	}
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(meeting.both[i].thread, NULL));
	EXPECT_EQ(KEPT + 1, tables_count());
}

TEST_HARNESS_MAIN
