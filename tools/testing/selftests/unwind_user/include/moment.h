/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of other tasks' system calls, with a stack that is known.
 */
#ifndef MOMENT_H
#define MOMENT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "machine.h"
#include "kselftest.h"
#include "sampler.h"

/* Make a system call with a stack of three frames, by frame pointers, without the caller. */
long known_syscall(long number, ...);
extern const char known_ip[], known_behind[], known_inner_return[], known_outer_return[];

/* Compare a stack with that of known_syscall(), with @ip on top. */
bool is_known_stack_at(const unsigned long *ips, unsigned long nr, const char *ip);
bool is_known_stack(const unsigned long *ips, unsigned long nr);
/* A probed instruction that has another stack. Then the program ends. */
void probed_exit(void *sp, void *bp);
extern const char probed_exit_at[], other_probe_at[];

/* Ends the program, for a thread that returns to it. */
extern const char thread_end[];

/* Of the linker: the program's file. */
extern const char __ehdr_start[];

/* Sample an event of a task with its registers; with children if @cpu is one, and not -1. */
int event_open_attr(struct sampler *sampler, struct perf_event_attr attr, pid_t pid, int cpu);
/* Do so with a tracepoint, or a clock in the kernel if it is NULL. Returns 0 or an errno. */
int event_open(struct sampler *sampler, const char *event, pid_t pid, int cpu);

/* So many frames of a stack are kept. */
#define MAX_FRAMES	8

/* What was recorded, in order: a sample, or a stack. */
struct record {
	unsigned int type;
	pid_t tid;
	unsigned long cookie;
	/* Where the user part is: in a sample's registers, on top of a stack. */
	unsigned long ip;
	/* Of a sample: it has a user stack, or the promise of one. */
	bool promised;
	/* Of a stack: it is that of known_syscall(). */
	bool right;
	unsigned int frames;
	unsigned long ips[MAX_FRAMES];
};

#define MAX_RECORDS	16

/* Take all records out of the ring. Returns their number, or -1. */
int records(struct sampler *sampler, struct record *all, int max);

/*
 * Count the samples that have a right stack: the only one with the cookie of the sample, later,
 * and of the same thread. Returns less than 0 if there is another sample.
 */
int samples_with(struct sampler *sampler, bool (*is_right)(const struct record *stack));
int samples_with_stack(struct sampler *sampler);
/* The same in a system call that a signal ends, and that is to be made again. */
int samples_with_restart(struct sampler *sampler);
int samples_without_stack(struct sampler *sampler);
int child_pipes(void);
/* Wait for the id of the thread that is to be sampled. Returns whether it came. */
bool child_tid(pid_t *tid);
/* Tell the test that the calling thread is to be sampled. */
bool child_tell(void);
bool child_wait(void);
/* Do both, or exit. */
void child_ready(void);
bool child_go(void);
bool child_thread(pthread_t *id, void (*run)(void));
/* Run a function in a thread that is not the first, and wait for its end. */
void child_in_thread(void (*run)(void));
/* Count the frames of the only stack. Returns -1 if there is no stack, or another one. */
int frames_of_stack(struct sampler *sampler);
bool waits_in(pid_t pid, pid_t tid, int number);
/* A system call that does not return, on a stack of two pages. */
__noreturn void last_syscall(long number, long a, long b, char *area);
/* Do so once it is sampled. */
__noreturn void leave_by(long number, long a, long b, char *area);

#endif /* MOMENT_H */
