/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests that register a table. After kselftest_harness.h.
 */
#ifndef PRCTL_FIXTURE_H
#define PRCTL_FIXTURE_H

#include "tables.h"

FIXTURE(prctl) {
	struct layout layout;
	struct unwind_table good;
};

FIXTURE_SETUP(prctl)
{
	if (tables_missing())
		SKIP(return, NO_TABLES);
	ASSERT_EQ(0, layout_make(&self->layout));
	self->good = self->layout.good;
}

FIXTURE_TEARDOWN(prctl)
{
}

#endif /* PRCTL_FIXTURE_H */
