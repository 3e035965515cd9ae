/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The start, the filters and the results of programs without a C library, which
 * cannot use the harness.
 */
#ifndef TAP_H
#define TAP_H

/**
 * struct tap_test - A test.
 * @name: what is printed with its result
 * @run: returns whether it passes
 * @arg: an argument of @run
 */
struct tap_test {
	const char *name;
	int (*run)(const void *arg);
	const void *arg;
};

/**
 * tap_start() - Read the arguments, and print TAP's header.
 * @argc: the number of arguments of the program
 * @argv: the arguments: -l lists the tests, -t runs those that have a word in their
 *   name, -T leaves those out; both may be repeated
 *
 * It ends the program if that should have a table and was built without one.
 */
void tap_start(int argc, char **argv);

/**
 * tap_need() - Skip the program, or fail it, if there are no samples.
 * @error: what the sampler's open said: 0 or an errno
 * @what: what is sampled
 */
void tap_need(int error, const char *what);

/**
 * tap_run() - Run the tests that the arguments name, print their results, and exit.
 * @tests: the tests
 * @nr: how many
 */
void tap_run(const struct tap_test *tests, unsigned int nr);

#endif /* TAP_H */
