/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests that need a synthetic stack and nothing else. After
 * kselftest_harness.h, and after eh_frame.h if its table is one of that.
 */
#ifndef SYNTH_FIXTURE_H
#define SYNTH_FIXTURE_H

#include "synth.h"

FIXTURE(synth) {
	struct synth synth;
};

FIXTURE_SETUP(synth)
{
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = -synth_make(&self->synth);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
#ifdef EH_FRAME_H
	error = -eh_register(&self->synth);
	if (error == EINVAL)
		SKIP(return, "no CONFIG_UNWIND_USER_EH_FRAME");
	ASSERT_EQ(0, error);
#endif
}

FIXTURE_TEARDOWN(synth)
{
}

#endif /* SYNTH_FIXTURE_H */
