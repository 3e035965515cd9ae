/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between shapes.c and shape.c. */
#ifndef SHAPE_H
#define SHAPE_H

#include <stddef.h>

/* The linker may put this section into its own segment. */
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
	int *gone_on;	/* only the first comparison goes on */
	struct shape *shape;
};

/* Of the library. The first calls the C library by name, the second by address. */
long shape_first(struct shape *shape);
long shape_first_by_address(struct shape *shape);
long shape_second(struct shape *shape);

#endif
