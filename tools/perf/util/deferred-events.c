// SPDX-License-Identifier: GPL-2.0
#include "deferred-events.h"

#include <errno.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "callchain.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "hashmap.h"
#include "memswap.h"
#include "sample.h"
#include "session.h"

/* A task that is blocked keeps what comes behind its sample in memory. */
#define DEFERRED_EVENTS_MAX_SIZE	(512ULL << 20)

/* Some kernels write the last call chain of a task shortly after its exit. */
#define DEFERRED_EXIT_TIME		NSEC_PER_SEC

struct deferred_thread {
	/* What waits, if threads do not wait for each other. */
	struct list_head queue;
	/* Samples that wait.  All have the same cookie. */
	struct list_head waiting;
	u64 cookie;
	/* The last call chain that came, which later samples may want as well. */
	union perf_event *callchain;
	/* When it exited, if samples waited then. */
	u64 exit_time;
};

static size_t deferred_thread__hash(long key, void *ctx __maybe_unused)
{
	return key;
}

static bool deferred_thread__equal(long key1, long key2, void *ctx __maybe_unused)
{
	return key1 == key2;
}

static union perf_event *deferred_events__keep(const struct deferred_events *des,
					       union perf_event *event)
{
	return des->copy ? memdup(event, event->header.size) : event;
}

static void deferred_events__drop(const struct deferred_events *des, union perf_event *event)
{
	if (des->copy)
		free(event);
}

static u64 deferred_events__event_size(const struct deferred_events *des,
				       const struct deferred_event *de)
{
	u64 size = sizeof(*de);

	if (des->copy) {
		size += de->event->header.size;
		if (de->callchain)
			size += de->callchain->header.size;
	}
	return size;
}

static void deferred_event__delete(struct deferred_events *des, struct deferred_event *de)
{
	des->size -= deferred_events__event_size(des, de);
	list_del(&de->list);
	list_del(&de->waiting);
	deferred_events__drop(des, de->event);
	deferred_events__drop(des, de->callchain);
	free(de);
}

static struct deferred_thread *deferred_events__find_thread(struct deferred_events *des, u32 tid)
{
	struct deferred_thread *dt = NULL;

	if (des->threads)
		hashmap__find(des->threads, tid, &dt);
	return dt;
}

static struct deferred_thread *deferred_events__findnew_thread(struct deferred_events *des,
							       u32 tid)
{
	struct deferred_thread *dt = deferred_events__find_thread(des, tid);

	if (dt)
		return dt;

	if (!des->threads) {
		des->threads = hashmap__new(deferred_thread__hash, deferred_thread__equal, NULL);
		if (IS_ERR(des->threads)) {
			des->threads = NULL;
			return NULL;
		}
	}

	dt = zalloc(sizeof(*dt));
	if (!dt)
		return NULL;
	INIT_LIST_HEAD(&dt->queue);
	INIT_LIST_HEAD(&dt->waiting);
	if (hashmap__add(des->threads, tid, dt))
		zfree(&dt);
	return dt;
}

/* The sample need not wait any more.  Without a @callchain, it never gets one. */
static int deferred_event__end_wait(struct deferred_events *des, struct deferred_event *de,
				    union perf_event *callchain)
{
	list_del_init(&de->waiting);
	de->thread = NULL;
	if (callchain) {
		des->size -= deferred_events__event_size(des, de);
		de->callchain = deferred_events__keep(des, callchain);
		des->size += deferred_events__event_size(des, de);
		if (!de->callchain)
			return -ENOMEM;
	}
	return 0;
}

static int deferred_thread__end_wait(struct deferred_events *des, struct deferred_thread *dt,
				     union perf_event *callchain)
{
	struct deferred_event *de, *tmp;
	int ret;

	list_for_each_entry_safe(de, tmp, &dt->waiting, waiting) {
		ret = deferred_event__end_wait(des, de, callchain);
		if (ret)
			return ret;
	}
	dt->exit_time = 0;
	return 0;
}

/*
 * The kernel takes the user stack once per entry from user space, before it
 * returns there.  So a sample of another entry shows that the call chain that
 * earlier ones wait for is lost.  Some events occur between the stack and the
 * return, such as the thread being preempted: their call chain is there already.
 */
static int deferred_thread__add(struct deferred_events *des, struct deferred_thread *dt,
				struct deferred_event *de, u64 cookie)
{
	int ret;

	if (dt->cookie != cookie) {
		ret = deferred_thread__end_wait(des, dt, NULL);
		if (ret)
			return ret;
		dt->cookie = cookie;
	}

	if (dt->callchain && dt->callchain->callchain_deferred.cookie == cookie)
		return deferred_event__end_wait(des, de, dt->callchain);

	/* Another thread has got the id of one that exited. */
	dt->exit_time = 0;
	de->thread = dt;
	list_add_tail(&de->waiting, &dt->waiting);
	return 0;
}

/* A call chain has come. */
static int deferred_thread__match(struct deferred_events *des, struct deferred_thread *dt,
				  union perf_event *callchain)
{
	bool wanted = dt->cookie == callchain->callchain_deferred.cookie;
	bool exited = dt->exit_time;
	int ret = deferred_thread__end_wait(des, dt, wanted ? callchain : NULL);

	if (ret)
		return ret;

	deferred_events__drop(des, dt->callchain);
	dt->callchain = NULL;
	if (exited)
		return 0;

	dt->callchain = deferred_events__keep(des, callchain);
	return dt->callchain ? 0 : -ENOMEM;
}

static void deferred_thread__delete(const struct deferred_events *des, struct deferred_thread *dt)
{
	deferred_events__drop(des, dt->callchain);
	free(dt);
}

/* Deliver what need not wait any more, and return what comes first then. */
static int deferred_events__release(struct deferred_events *des, struct list_head *queue,
				    struct deferred_event **first)
{
	struct deferred_event *de;
	int ret;

	while ((de = list_first_entry_or_null(queue, struct deferred_event, list)) &&
	       !de->thread && !session_done()) {
		ret = des->deliver(des, de);
		deferred_event__delete(des, de);
		if (ret < 0)
			return ret;
	}
	*first = de;
	return 0;
}

/*
 * Deliver what can be delivered, and see to it that the queue does not grow
 * without end, nor wait for the call chain of a task that is no more.
 */
static int deferred_events__advance(struct deferred_events *des, struct list_head *queue,
				    u64 now)
{
	struct deferred_event *first;
	int ret;

	while (!(ret = deferred_events__release(des, queue, &first)) && first && first->thread) {
		if (des->size > des->max_size) {
			des->nr_given_up++;
			ret = deferred_event__end_wait(des, first, NULL);
		} else if (first->thread->exit_time &&
			   now > first->thread->exit_time + DEFERRED_EXIT_TIME) {
			ret = deferred_thread__end_wait(des, first->thread, NULL);
		} else {
			break;
		}
		if (ret)
			break;
	}
	return ret;
}

void deferred_events__init(struct deferred_events *des, deferred_events__deliver_t deliver,
			   bool per_thread)
{
	INIT_LIST_HEAD(&des->queue);
	des->deliver = deliver;
	des->per_thread = per_thread;
	des->max_size = DEFERRED_EVENTS_MAX_SIZE;
	des->copy = true;
}

static struct deferred_event *deferred_events__queue(struct deferred_events *des,
						     struct list_head *queue,
						     union perf_event *event,
						     const struct perf_sample *sample,
						     const char *file_path)
{
	struct deferred_event *de = zalloc(sizeof(*de));

	if (!de)
		return NULL;

	de->event = deferred_events__keep(des, event);
	if (!de->event) {
		free(de);
		return NULL;
	}
	/* It will be parsed again, and that swaps raw data in place. */
	if (sample->raw_data && sample->evsel->needs_swap) {
		size_t raw = sample->raw_data - (void *)event - sizeof(u32);

		mem_bswap_64((void *)de->event + raw, sample->raw_size);
	}
	de->file_offset = sample->file_offset;
	de->file_path = file_path;
	INIT_LIST_HEAD(&de->waiting);
	list_add_tail(&de->list, queue);
	des->size += deferred_events__event_size(des, de);
	return de;
}

int deferred_events__add(struct deferred_events *des, union perf_event *event,
			 struct perf_sample *sample, const char *file_path)
{
	bool waits = event->header.type == PERF_RECORD_SAMPLE && sample->deferred_callchain;
	/* What has no time has no place in the order, either. */
	bool timed = sample->time && sample->time != ~0ULL;
	struct list_head *queue = &des->queue;
	struct deferred_thread *dt = NULL;
	struct deferred_event *de;
	bool queued;
	int ret = 0;

	if (waits) {
		dt = deferred_events__findnew_thread(des, sample->tid);
		if (!dt)
			return -ENOMEM;
	} else if (event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED) {
		/* Without the thread, no sample wants it. */
		dt = deferred_events__find_thread(des, sample->tid);
	} else if (event->header.type == PERF_RECORD_EXIT) {
		dt = deferred_events__find_thread(des, event->fork.tid);
	} else if (des->per_thread && event->header.type != PERF_RECORD_FORK) {
		/* The events of a new thread do not wait, so it has to be known. */
		dt = deferred_events__find_thread(des, sample->tid);
	}
	if (des->per_thread) {
		if (!dt)
			return 0;
		queue = &dt->queue;
	}

	queued = waits || (timed && !list_empty(queue));
	if (queued) {
		de = deferred_events__queue(des, queue, event, sample, file_path);
		if (!de)
			return -ENOMEM;
		if (waits)
			ret = deferred_thread__add(des, dt, de, sample->deferred_cookie);
	}
	if (!ret && event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED && dt)
		ret = deferred_thread__match(des, dt, event);
	if (event->header.type == PERF_RECORD_EXIT && dt) {
		if (list_empty(&dt->waiting) && list_empty(&dt->queue)) {
			hashmap__delete(des->threads, event->fork.tid, NULL, NULL);
			deferred_thread__delete(des, dt);
			/* With the queue of the thread, which is empty. */
			if (des->per_thread)
				return 0;
		} else if (des->per_thread) {
			/* No later event of the thread tells when it is too late. */
			ret = deferred_thread__end_wait(des, dt, NULL);
		} else {
			dt->exit_time = sample->time;
		}
	}

	if (!ret && !list_empty(queue))
		ret = deferred_events__advance(des, queue, timed ? sample->time : 0);
	return ret ?: queued;
}

static int deferred_events__flush_queue(struct deferred_events *des, struct list_head *queue)
{
	struct deferred_event *de;

	list_for_each_entry(de, queue, list) {
		list_del_init(&de->waiting);
		de->thread = NULL;
	}
	return deferred_events__release(des, queue, &de);
}

int deferred_events__flush(struct deferred_events *des)
{
	struct hashmap_entry *cur;
	size_t bkt;
	int ret = deferred_events__flush_queue(des, &des->queue);

	if (ret || !des->per_thread || !des->threads)
		return ret;

	hashmap__for_each_entry(des->threads, cur, bkt) {
		struct deferred_thread *dt = cur->pvalue;

		ret = deferred_events__flush_queue(des, &dt->queue);
		if (ret)
			break;
	}
	return ret;
}

static void deferred_events__delete_queue(struct deferred_events *des, struct list_head *queue)
{
	struct deferred_event *de, *tmp;

	list_for_each_entry_safe(de, tmp, queue, list)
		deferred_event__delete(des, de);
}

void deferred_events__exit(struct deferred_events *des)
{
	struct hashmap_entry *cur;
	size_t bkt;

	deferred_events__delete_queue(des, &des->queue);
	if (!des->threads)
		return;

	hashmap__for_each_entry(des->threads, cur, bkt) {
		struct deferred_thread *dt = cur->pvalue;

		deferred_events__delete_queue(des, &dt->queue);
		deferred_thread__delete(des, dt);
	}
	hashmap__free(des->threads);
	des->threads = NULL;
}

/*
 * The callchain of a sample never came.  The mark and the cookie are no addresses.
 * Of the user stack nothing is known but where the sample itself was taken.  The
 * event stays as it is: tools may parse it again.
 */
static int sample__lose_deferred_callchain(struct perf_sample *sample)
{
	u64 nr = sample->callchain->nr;
	struct ip_callchain *callchain = memdup(sample->callchain, (1 + nr) * sizeof(u64));

	if (!callchain)
		return -ENOMEM;

	sample->merged_callchain = true;
	sample->callchain = callchain;
	sample->stack_end = STACK_END_MISSING;
	if (sample->cpumode == PERF_RECORD_MISC_USER && sample->ip) {
		callchain->ips[nr - 2] = PERF_CONTEXT_USER;
		callchain->ips[nr - 1] = sample->ip;
	} else {
		callchain->nr = nr - 2;
	}
	return 0;
}

int deferred_event__resolve(const struct deferred_event *de, struct evlist *evlist,
			    struct perf_sample *sample)
{
	struct perf_sample sample_callchain;
	int ret;

	/* A later event of the file may have taken its id: then it waited for nothing. */
	if (!sample->deferred_callchain)
		return 0;

	if (!de->callchain)
		return sample__lose_deferred_callchain(sample);

	perf_sample__init(&sample_callchain, /*all=*/false);
	ret = evlist__parse_sample(evlist, de->callchain, &sample_callchain);
	if (!ret)
		ret = sample__merge_deferred_callchain(sample, &sample_callchain);
	perf_sample__exit(&sample_callchain);
	return ret;
}
