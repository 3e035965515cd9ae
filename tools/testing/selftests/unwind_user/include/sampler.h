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
	/* The record that is looked at, less its header, and that one's misc. */
	unsigned long words[MAX_CHAIN + 8];
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

/**
 * chain_set_end() - Note how a stack ended.
 * @chain: the stack
 * @misc: the misc field of its record
 */
void chain_set_end(struct chain *chain, unsigned short misc);

/**
 * read_number() - Read the number in a small file.
 * @path: the file
 *
 * Return: the number, or a negative errno
 */
long read_number(const char *path);

/**
 * tracepoint_id() - Find the tracepoint where a system call begins.
 * @name: the system call
 *
 * Return: the id, or a negative errno
 */
long tracepoint_id(const char *name);

/**
 * sampler_open_event_of() - Open an event of a thread, with a ring.
 * @sampler: what takes the event
 * @attr: the event
 * @pid: the thread, 0 for the caller
 *
 * Return: 0 or an errno
 */
int sampler_open_event_of(struct sampler *sampler, struct perf_event_attr *attr, int pid);

/**
 * sampler_open_event() - Open an event of the caller, with a ring.
 * @sampler: what takes the event
 * @attr: the event
 *
 * Return: 0 or an errno
 */
int sampler_open_event(struct sampler *sampler, struct perf_event_attr *attr);

/**
 * sampler_close() - Close the event and unmap its ring.
 * @sampler: an open sampler
 */
void sampler_close(struct sampler *sampler);

/**
 * sampler_open_stacks_of() - Open an event of a thread that records deferred stacks and
 *   nothing else.
 * @sampler: what takes the event
 * @attr: the event, without what it records
 * @pid: the thread, 0 for the caller
 *
 * Return: 0 or an errno
 */
int sampler_open_stacks_of(struct sampler *sampler, struct perf_event_attr attr, int pid);

/**
 * sampler_open_stacks() - Open an event of the caller that records deferred stacks and
 *   nothing else.
 * @sampler: what takes the event
 * @attr: the event, without what it records
 *
 * Return: 0 or an errno
 */
int sampler_open_stacks(struct sampler *sampler, struct perf_event_attr attr);

/**
 * sampler_open_syscall() - Sample each call of a system call by the caller.
 * @sampler: what takes the event
 * @name: the system call
 *
 * Return: 0 or an errno
 */
int sampler_open_syscall(struct sampler *sampler, const char *name);

/**
 * sampler_open() - Sample each getppid() of the caller.
 * @sampler: what takes the event
 *
 * Return: 0 or an errno
 */
int sampler_open(struct sampler *sampler);

/**
 * stacks_missing() - Find out what an error means.
 * @error: what sampler_open() returned
 *
 * Return: whether it says that this kernel or user has no deferred stacks
 */
bool stacks_missing(int error);

/**
 * sampler_open_clock() - Open an event that samples the caller by a clock, once it is
 *   enabled.
 * @sampler: what takes the event
 * @period: the nanoseconds between two samples
 *
 * Return: 0 or an errno
 */
int sampler_open_clock(struct sampler *sampler, unsigned long period);

/**
 * ring_copy() - Copy out of the ring, around its end.
 * @sampler: an open sampler
 * @from: the position in the ring
 * @to: where the bytes go
 * @len: how many
 */
void ring_copy(const struct sampler *sampler, unsigned long from, void *to, unsigned long len);

/**
 * sampler_record() - Take the next record out of the ring.
 * @sampler: an open sampler; its words get the record, less the header
 *
 * Return: the record's type, 0 if there is none, or -1 if it is too long
 */
int sampler_record(struct sampler *sampler);

/**
 * sampler_chain() - Take all records out of the ring, which must be those of one sample.
 * @sampler: an open sampler
 * @chain: gets the stack
 *
 * The sample has PERF_CONTEXT_USER_DEFERRED and a cookie. The record with that cookie has
 * the stack.
 *
 * Return: NULL, or what is wrong
 */
const char *sampler_chain(struct sampler *sampler, struct chain *chain);

/**
 * sampler_each() - Take all records out of the ring, and look at each stack.
 * @sampler: an open sampler
 * @chain: gets each stack in turn
 * @look: judges a stack
 * @arg: an argument of @look
 *
 * A sample without a stack, as one between two kernel entries, is not counted.
 *
 * Return: how many samples have a stack that @look found good; -1 if it found one bad, if
 * a stack is missing, or if records were lost
 */
int sampler_each(struct sampler *sampler, struct chain *chain,
		 bool (*look)(const struct chain *chain, const void *arg), const void *arg);

#endif /* SAMPLER_H */
