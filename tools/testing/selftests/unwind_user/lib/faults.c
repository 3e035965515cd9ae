// SPDX-License-Identifier: GPL-2.0
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest.h"
#include "faults.h"
#include "tables.h"

/* Say how often they fail, of those tasks that want it; 0 or a negative errno. */
static int faults_set(const char *percent, const char *ignore_waiting)
{
	const struct {
		const char *path, *value;
	} settings[] = {
		{ FAILSLAB "ignore-gfp-wait", ignore_waiting },
		{ FAILSLAB "task-filter", "Y" },
		{ FAILSLAB "times", "-1" },
		{ FAILSLAB "verbose", "0" },
		{ FAILSLAB "probability", percent },
		{ FAIL_USERCOPY "task-filter", "Y" },
		{ FAIL_USERCOPY "times", "-1" },
		{ FAIL_USERCOPY "verbose", "0" },
		{ FAIL_USERCOPY "probability", percent },
	};
	int error = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(settings) && !error; i++)
		error = write_string(settings[i].path, settings[i].value);
	return error;
}

int faults_on(const char *percent)
{
	return faults_set(percent, "N");
}

int faults_off(void)
{
	return faults_set("0", "Y");
}

void want_faults(bool wish)
{
	/* This may fail itself. */
	while (write_string("/proc/thread-self/make-it-fail", wish ? "1" : "0"))
		;
}

void fault_arm(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	assert(write(fd, text, len) == len);
}

bool fault_happened(int fd)
{
	char text[16] = "";
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	/* If it is this copy that fails, none before did. */
	while (write(fd, "0", 1) != 1)
		;
	return len > 0 && !atoi(text);
}
