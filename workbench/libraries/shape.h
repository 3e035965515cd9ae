/* SPDX-License-Identifier: GPL-2.0 */
/* What a program and a library that are linked in many ways know of each other. */
#ifndef SHAPE_H
#define SHAPE_H

#include <stddef.h>

/* In a segment of its own, if the linker is told so. */
#define APART __attribute__((section(".apart")))

struct shape {
	void (*sort)(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));
	long (*middle)(struct shape *shape);	/* of the program, which calls second() */
	long (*second)(struct shape *shape);	/* of the library, which calls last() */
	long (*last)(struct shape *shape);	/* of the program */
	long turns;
};

struct element {
	int key;
	int *gone_on;	/* once is enough, however many comparisons there are */
	struct shape *shape;
};

/* Of the library. The C library is called by name, or by address. */
long shape_first(struct shape *shape);
long shape_first_by_address(struct shape *shape);
long shape_second(struct shape *shape);

#endif
