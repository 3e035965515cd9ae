/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_EVENTS_H
#define __PERF_DEFERRED_EVENTS_H

#include <stdbool.h>

#include <linux/list.h>
#include <linux/types.h>

struct deferred_thread;
struct evlist;
struct hashmap;
struct perf_sample;
union perf_event;

/* An event that is delivered later than it came. */
struct deferred_event {
	union perf_event	*event;
	u64			 file_offset;
	const char		*file_path;
	/* The call chain of a sample that need not wait any more: NULL if it never came. */
	union perf_event	*callchain;
	struct list_head	 list;
	/* The thread of a sample that waits for its call chain, and its list of them. */
	struct deferred_thread	*thread;
	struct list_head	 waiting;
};

struct deferred_events;

typedef int (*deferred_events__deliver_t)(struct deferred_events *des,
					  struct deferred_event *de);

/*
 * A sample whose user call chain was deferred waits for the record that has the
 * call chain.  All events that come behind it wait, too, so that all of them are
 * delivered in the order in which they came.  The first event of a queue is
 * always a sample that waits for its call chain.
 */
struct deferred_events {
	/* What waits, unless only events of the same thread wait behind a sample. */
	struct list_head		 queue;
	bool				 per_thread;
	/* What is known of threads with deferred call chains, by their ids. */
	struct hashmap			*threads;
	deferred_events__deliver_t	 deliver;
	/* Bytes in the queue, and how many are too many. */
	u64				 size;
	u64				 max_size;
	/* Samples that were delivered without a call chain because of that. */
	u64				 nr_given_up;
	/* Events do not stay where they are. */
	bool				 copy;
};

/*
 * With @per_thread, events of other threads overtake: a task that is blocked may
 * take very long to return to user space, and who looks on wants to see them.
 */
void deferred_events__init(struct deferred_events *des, deferred_events__deliver_t deliver,
			   bool per_thread);

/*
 * Return 1 if the queue takes the event and calls deliver() for it, now or later;
 * 0 if the event need not wait; or an error.
 */
int deferred_events__add(struct deferred_events *des, union perf_event *event,
			 struct perf_sample *sample, const char *file_path);

/* Deliver what is still there.  No call chain comes any more. */
int deferred_events__flush(struct deferred_events *des);

/* Forget everything. */
void deferred_events__exit(struct deferred_events *des);

/* Give a sample that is being delivered the call chain that it waited for. */
int deferred_event__resolve(const struct deferred_event *de, struct evlist *evlist,
			    struct perf_sample *sample);

#endif /* __PERF_DEFERRED_EVENTS_H */
