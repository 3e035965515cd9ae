// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose file is gone: it was removed, or it never had a name. Nobody can read symbols
 * from it later.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "leaf.h"

MID(mid)

static int run_from_memory(char **argv, char **environment)
{
	int from = open(argv[0], O_RDONLY), to = memfd_create("program", 0);
	char *again[] = { argv[0], (char *)"again", NULL };
	struct stat status;

	if (fstat(from, &status) || sendfile(to, from, NULL, status.st_size) != status.st_size)
		return 1;
	return fexecve(to, again, environment);
}

int main(int argc, char **argv, char **environment)
{
	volatile long sum = 0;

	if (strstr(argv[0], "memory")) {
		if (argc == 1)
			return run_from_memory(argv, environment);
		prctl(PR_SET_NAME, "memory");
	} else if (unlink(argv[0])) {
		return 1;
	}
	while (go_on())
		sum += mid(2000);
	return sum == 42;
}
