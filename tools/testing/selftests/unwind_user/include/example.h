/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the example of a compiler compiles.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "unwind_jit.h"

struct function {
	const unsigned char *code;
	size_t size;
	size_t place;			/* in the page of code */
	const struct unwind_jit_row *rows;
	size_t nr_rows;
};

extern const struct function functions[2];

int compile(struct unwind_jit *region, unsigned char *code, const struct function *function);

#endif /* EXAMPLE_H */
