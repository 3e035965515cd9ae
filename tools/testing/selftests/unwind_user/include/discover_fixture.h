/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests in which the kernel finds tables. After kselftest_harness.h.
 */
#ifndef DISCOVER_FIXTURE_H
#define DISCOVER_FIXTURE_H

#include <string.h>
#include <unistd.h>

#include "object.h"
#include "tables.h"

FIXTURE(discover) {
	struct sampler sampler;
	struct object object;
};

FIXTURE_SETUP(discover)
{
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = sampler_open(&self->sampler);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
	self->object = object_good();
}

FIXTURE_TEARDOWN(discover)
{
}

#define EXPECT_WALK(expected, text) \
	EXPECT_EQ(expected, call_leaf(&self->sampler, text))

/* The state that /proc says of the text at an address; empty if it says nothing. */
static const char *state_at(const void *address)
{
	static struct line lines[5000];
	int n = proc_all_lines(getpid(), lines, ARRAY_SIZE(lines));

	for (int i = 0; i < n; i++) {
		if (lines[i].table.text_start <= (unsigned long)address &&
		    (unsigned long)address < lines[i].table.text_end)
			return lines[i].state;
	}
	return n < 0 ? "unreadable" : "";
}

#endif /* DISCOVER_FIXTURE_H */
