/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests that need a scene and nothing else. After
 * kselftest_harness.h, and after eh_frame.h if its table is one of that.
 */
#ifndef SCENE_FIXTURE_H
#define SCENE_FIXTURE_H

#include "scene.h"

FIXTURE(scene) {
	struct scene scene;
};

FIXTURE_SETUP(scene)
{
	int error;

	if (tables_missing())
		SKIP(return, NO_TABLES);
	error = -scene_make(&self->scene);
	if (stacks_missing(error))
		SKIP(return, NO_STACKS, error);
	ASSERT_EQ(0, error);
#ifdef EH_FRAME_H
	error = -eh_register(&self->scene);
	if (error == EINVAL)
		SKIP(return, "no CONFIG_UNWIND_USER_EH_FRAME");
	ASSERT_EQ(0, error);
#endif
}

FIXTURE_TEARDOWN(scene)
{
}

#endif /* SCENE_FIXTURE_H */
