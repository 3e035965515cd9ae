// SPDX-License-Identifier: GPL-2.0
/* Does the work of a library, which is beside the program and has its name. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char path[256];
	int (*work)(void *call);
	void *library;

	snprintf(path, sizeof(path), "%.*s.so", 200, argv[0]);
	library = dlopen(path, RTLD_NOW);
	if (!library || argc != 1) {
		puts(dlerror());
		return 1;
	}
	work = (int (*)(void *call))dlsym(library, "work");
	return work(dlsym(library, "mid"));
}
