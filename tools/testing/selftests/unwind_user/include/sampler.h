/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of oneself, at system calls or by a clock, with deferred user stacks.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <linux/perf_event.h>
#include <stdbool.h>

#define RING_PAGES	64
#define RING_SIZE	(RING_PAGES * 4096UL)
#define MAX_CHAIN	600

struct sampler {
	int fd;
	struct perf_event_mmap_page *page;
	const unsigned char *ring;
	/* The record that was taken last, less its header; how many words, and its misc. */
	unsigned long words[MAX_CHAIN + 8];
	unsigned int nr;
	unsigned short misc;
};

/* A user stack as a sample has it: topmost first. */
struct chain {
	unsigned int nr;
	/* An enum perf_callchain_end. */
	unsigned char end;
	/* A frame was found by frame pointer. */
	bool guessed;
	unsigned long ips[MAX_CHAIN];
};

/* The positive number in a variable of the environment, or else the usual one. */
long wanted(const char *name, long usual);

/* The number in a small file, or a negative errno. */
long read_number(const char *path);

/* The start of the first mapping with a name, and its size if that is wanted; or 0. */
unsigned long find_mapping(const char *name, unsigned long *size);

/* Where a file of a tracepoint, SYSTEM/NAME, is. */
#define EVENT_PATH	160
void event_path(char path[EVENT_PATH], const char *event, const char *file);

/* The id of a tracepoint, or of that where a system call begins; or a negative errno. */
long event_id(const char *event);
long tracepoint_id(const char *name);

/* Open an event of a thread, 0 for the caller, on a CPU or all; a file or a negative errno. */
int perf_open(struct perf_event_attr *attr, int pid, int cpu);

/*
 * Open an event with a ring; 0 or an errno. Those of stacks record deferred stacks and
 * nothing else; the attr says all but that. The clock runs once it is enabled.
 */
int sampler_open_on(struct sampler *sampler, struct perf_event_attr *attr, int pid, int cpu);
int sampler_open_event(struct sampler *sampler, struct perf_event_attr *attr);
int sampler_open_stacks_of(struct sampler *sampler, struct perf_event_attr attr, int pid);
int sampler_open_stacks(struct sampler *sampler, struct perf_event_attr attr);
int sampler_open_syscall(struct sampler *sampler, const char *name);
int sampler_open_clock(struct sampler *sampler, unsigned long nanoseconds);
/* Each getppid() of the caller. */
int sampler_open(struct sampler *sampler);
/* Each such system call of the caller, with the stack that is taken at once. */
int sampler_open_at_once(struct sampler *sampler, const char *name);
void sampler_close(struct sampler *sampler);

/* Whether an errno of these says that this kernel or user has no deferred stacks. */
bool stacks_missing(int error);

/* Take the next record out of the ring; its type, 0 if there is none, -1 if it is too long. */
int sampler_record(struct sampler *sampler);

/* Of the record that was taken last: a sample's cookie, 0 without one; and a stack. */
unsigned long sampler_cookie(const struct sampler *sampler);
void sampler_stack(const struct sampler *sampler, struct chain *chain);

/*
 * Take all records out of the ring, which must be those of one sample and its stack;
 * returns NULL, or what is wrong.
 */
const char *sampler_chain(struct sampler *sampler, struct chain *chain);

/* Take the only record out of the ring: a sample of sampler_open_at_once(). */
const char *sampler_chain_at_once(struct sampler *sampler, struct chain *chain);

/*
 * Take all records out of the ring, and look at each stack. A sample without a stack,
 * as one between two kernel entries, is not counted. Returns how many samples have a
 * stack that @look found good; -1 if it found one bad, if a stack is missing, or if
 * records were lost.
 */
int sampler_each(struct sampler *sampler, struct chain *chain,
		 bool (*look)(const struct chain *chain, const void *arg), const void *arg);

#endif /* SAMPLER_H */
