/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations at random: what all processes of the test share, the threads that do
 * something, the memory that it is done to, and what is done.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <pthread.h>
#include <setjmp.h>

#include "kselftest.h"
#include "eh_frame.h"
#include "object.h"
#include "synth.h"
#include "tables.h"

/* --- What all processes share --- */

/* What is done, and what is seen. Each must have succeeded once at the end. */
enum kind {
	REGISTER,
	UNREGISTER,
	REPLACE,
	LIST,
	REFUSED,
	NONE,
	ONE,
	HUNDREDS,
	BOTH,
	EH_FRAME,
	MMAP,
	MUNMAP,
	MREMAP,
	MPROTECT,
	MADVISE,
	FORK,
	VFORK,
	EXEC,
	EXEC_THREADS,
	THREAD,
	TABLE,
	SAMPLE,
	AT_ONCE,
	SYNTH,
	DISCOVERY,
	EH_DISCOVERY,
	SIGNAL,
	PROC,
	SYSCTL,
	KILL,
	NR_KINDS,
};

extern const char * const kind_names[NR_KINDS];

/* Processes of many threads that are random in all they do. */
#define WORLDS		4
/* The threads of one, at most at a time. */
#define ACTORS		6

struct common {
	bool stop;
	/* The kernel has no such option. */
	bool no_eh_frame;
	unsigned long tracepoint;
	pid_t worlds[WORLDS];
	struct {
		unsigned long tried, done;
	} counts[NR_KINDS];
	/* What went wrong first. */
	bool failed;
	char failure[160];
};

extern struct common *common;

/* Programs that are executed find things by these. */
#define COMMON_FD	100
#define PROGRAM_FD	101

bool stopped(void);
bool count(enum kind kind, bool done);
__printf(1, 2) void failure(const char *format, ...);
void judge(const char *who, int status, bool killed);

/* --- The threads --- */

#define SIGNAL_STACK	16384

/* A thread. A child of its has a copy. */
struct actor {
	pthread_t thread;
	pid_t tid;
	unsigned long long random;
	/* This is a child: it makes no threads, and no children. */
	bool child;
	/* Where faults lead to, while they are expected. */
	sigjmp_buf jump;
	bool guarded;
	bool sampled, at_once;
	struct sampler sampler;
	struct synth_frame frame;
	/* Aligned as what stands before it. */
	unsigned char page[2 * PAGE];
	unsigned char signal_stack[SIGNAL_STACK];
};

extern struct actor actors[ACTORS];
extern __thread struct actor *me;

unsigned long long any_number(void);
unsigned long below(unsigned long limit);
bool one_in(unsigned long n);
unsigned long long seed_of(unsigned long long seed, unsigned long long nth);
void pause_a_while(unsigned long most_us);
bool guarded(void (*act)(void));
void use_signal_stack(bool wish);
void hold_signals(bool wish);
void catch_signals(void);

/* --- The memory that it is done to --- */

/*
 * At an address that nobody gets who does not ask for it: whoever maps something
 * here cannot hit the C library's memory. Each kind of memory is far from the
 * others, so that text is never written to, and holds nothing but functions.
 */
#define ARENA		0x10000000000UL
#define PART_SIZE	0x10000000UL
#define PAGES		64

enum part { TEXT, TABLES, STACK, SCRATCH, NR_PARTS, OBJECTS = NR_PARTS };

extern int part_fd[NR_PARTS];

/* Files with headers, text and a table, of which the text alone does not change. */
extern struct object objects[4];

unsigned char *part_page(enum part part, unsigned long nth);
unsigned char *any_page(enum part part);
int usual_protection(enum part part);
int any_protection(enum part part);
bool map_pages(enum part part, unsigned long first, unsigned long nr, int protection);
const char *make_arena(void);

/* --- Tables' contents, stacks, and samples --- */

unsigned long any_word(void);
void make_table(unsigned int format, unsigned char *text, unsigned char *target);
unsigned int any_format(void);
void act_table(void);
void play_at(unsigned char *text);
void act_synth(void);
void act_signal(void);

/* --- Tables and mappings, and readers --- */

void act_register(void);
void act_unregister(void);
void act_replace(void);
void act_both(void);
void act_list(void);
long unregister_all(void);
void act_few(void);
void act_crowd(void);
void act_mad(void);
void act_mmap(void);
void act_munmap(void);
void act_mremap(void);
void act_mprotect(void);
void act_madvise(void);
void act_proc(void);

/* --- Objects whose tables nobody registers --- */

void act_object(void);

#endif /* RANDOM_H */
