// SPDX-License-Identifier: GPL-2.0
#include "stack-stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "addr_location.h"
#include "dso.h"
#include "hashmap.h"
#include "machine.h"
#include "map.h"
#include "stack-end.h"
#include "thread.h"

/* As many objects are named as may be worth a look. */
#define NR_OBJECTS	5

/* It is the value, and its name the key. */
struct object {
	u64 nr;
	char name[];
};

static size_t object__hash(long key, void *ctx __maybe_unused)
{
	return str_hash((const char *)key);
}

static bool object__equal(long key1, long key2, void *ctx __maybe_unused)
{
	return !strcmp((const char *)key1, (const char *)key2);
}

static int stack_stats__add_object(struct stack_stats *stats, const char *name)
{
	struct object *object;
	int err;

	if (!stats->objects) {
		struct hashmap *objects = hashmap__new(object__hash, object__equal, NULL);

		if (IS_ERR(objects))
			return PTR_ERR(objects);
		stats->objects = objects;
	}

	if (hashmap__find(stats->objects, name, &object)) {
		object->nr++;
		return 0;
	}

	object = malloc(sizeof(*object) + strlen(name) + 1);
	if (!object)
		return -ENOMEM;
	object->nr = 1;
	strcpy(object->name, name);

	err = hashmap__add(stats->objects, object->name, object);
	if (err)
		free(object);
	return err;
}

static int stack_stats__add_end(struct stack_stats *stats, struct perf_sample *sample,
				struct machine *machine)
{
	struct thread *thread = machine__findnew_thread(machine, sample->pid, sample->tid);
	const char *name = "[unknown]";
	struct addr_location al;
	int err;

	if (!thread)
		return -ENOMEM;

	addr_location__init(&al);
	if (sample__find_stack_end(sample, thread, &al))
		name = dso__short_name(map__dso(al.map));
	err = stack_stats__add_object(stats, name);
	addr_location__exit(&al);
	thread__put(thread);
	return err;
}

int stack_stats__add(struct stack_stats *stats, struct perf_sample *sample,
		     struct machine *machine)
{
	if (!sample->deferred_callchain)
		return 0;

	stats->nr_samples++;
	stats->nr_end[sample->stack_end]++;
	if (sample->stack_guessed)
		stats->nr_guessed++;

	switch (sample->stack_end) {
	case PERF_CALLCHAIN_END_NO_INFO:
	case PERF_CALLCHAIN_END_FAULT:
	case PERF_CALLCHAIN_END_MALFORMED:
	case PERF_CALLCHAIN_END_BAD_FRAME:
	case PERF_CALLCHAIN_END_RULE:
		return stack_stats__add_end(stats, sample, machine);
	default:
		/* No object is to blame. */
		return 0;
	}
}

void stack_stats__exit(struct stack_stats *stats)
{
	struct hashmap_entry *cur;
	size_t bkt;

	if (stats->objects) {
		hashmap__for_each_entry(stats->objects, cur, bkt)
			free(cur->pvalue);
		hashmap__free(stats->objects);
	}
	memset(stats, 0, sizeof(*stats));
}

/* Most first, then by name, so that the same file gives the same text. */
static int object__cmp(const void *a, const void *b)
{
	const struct object *left = *(const struct object **)a;
	const struct object *right = *(const struct object **)b;

	if (left->nr != right->nr)
		return left->nr < right->nr ? 1 : -1;
	return strcmp(left->name, right->name);
}

static size_t fprintf_line(const struct stack_stats *stats, const char *prefix,
			   const char *key, u64 nr, FILE *fp)
{
	return fprintf(fp, "%*s%s: %10llu  (%5.1f%%)\n",
		       max(0, 32 - (int)strlen(key)), prefix, key, (unsigned long long)nr,
		       100.0 * nr / stats->nr_samples);
}

static size_t fprintf_objects(const struct stack_stats *stats, FILE *fp)
{
	struct hashmap_entry *cur;
	struct object **sorted;
	size_t bkt, nr = 0, printed = 0;

	if (!stats->objects)
		return 0;

	sorted = calloc(hashmap__size(stats->objects), sizeof(*sorted));
	if (!sorted)
		return 0;

	hashmap__for_each_entry(stats->objects, cur, bkt)
		sorted[nr++] = cur->pvalue;
	qsort(sorted, nr, sizeof(*sorted), object__cmp);

	for (size_t i = 0; i < nr && i < NR_OBJECTS; i++)
		printed += fprintf_line(stats, "ends in ", sorted[i]->name,
					sorted[i]->nr, fp);
	free(sorted);
	return printed;
}

size_t stack_stats__fprintf(const struct stack_stats *stats, FILE *fp)
{
	size_t printed;

	if (!stats->nr_samples)
		return 0;

	printed = fprintf(fp, "\nDeferred stacks:\n");
	printed += fprintf_line(stats, "", "samples", stats->nr_samples, fp);
	printed += fprintf_line(stats, "", "complete",
				stats->nr_end[PERF_CALLCHAIN_END_COMPLETE], fp);
	printed += fprintf_line(stats, "", stack_end__name(STACK_END_GUESSED),
				stats->nr_end[STACK_END_GUESSED], fp);

	/* Of the reasons only those that occurred, to be short. */
	for (unsigned int end = PERF_CALLCHAIN_END_NO_INFO; end < STACK_END_MISSING; end++) {
		if (stats->nr_end[end])
			printed += fprintf_line(stats, "", stack_end__name(end),
						stats->nr_end[end], fp);
	}

	printed += fprintf_line(stats, "", stack_end__name(STACK_END_MISSING),
				stats->nr_end[STACK_END_MISSING], fp);
	printed += fprintf_line(stats, "", "not said",
				stats->nr_end[PERF_CALLCHAIN_END_UNKNOWN], fp);
	printed += fprintf_line(stats, "", "guessed", stats->nr_guessed, fp);
	return printed + fprintf_objects(stats, fp);
}
