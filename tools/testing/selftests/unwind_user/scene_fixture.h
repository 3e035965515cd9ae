/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of tests that need a scene and nothing else. After
 * kselftest_harness.h.
 */
#ifndef SCENE_FIXTURE_H
#define SCENE_FIXTURE_H

#include "tables.h"
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
}

FIXTURE_TEARDOWN(scene)
{
}

#endif /* SCENE_FIXTURE_H */
