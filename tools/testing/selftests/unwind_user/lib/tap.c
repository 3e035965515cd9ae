// SPDX-License-Identifier: GPL-2.0
#include "nolibc.h"

#include "kselftest.h"
#include "callers.h"
#include "sampler.h"
#include "tap.h"

#define MAX_FILTERS	16

/* What was asked for. Names have to hold one of the first, if any, and none of the others. */
static const char *wanted[MAX_FILTERS], *unwanted[MAX_FILTERS];
static unsigned int nr_wanted, nr_unwanted;
static bool list_only;

static void print_usage(const char *program)
{
	printf("usage: %s [-l] [-t WORD]... [-T WORD]...\n", program);
	exit(KSFT_FAIL);
}

void tap_start(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "lt:T:")) >= 0) {
		if (option == 'l')
			list_only = true;
		else if (option == 't' && nr_wanted < MAX_FILTERS)
			wanted[nr_wanted++] = optarg;
		else if (option == 'T' && nr_unwanted < MAX_FILTERS)
			unwanted[nr_unwanted++] = optarg;
		else
			print_usage(argv[0]);
	}
	if (optind < argc)
		print_usage(argv[0]);
	if (list_only)
		return;
	ksft_print_header();
#ifdef NO_SFRAME
	ksft_exit_skip("the assembler that built this has no SFrame version 3\n");
#endif
}

void tap_need(int error, const char *what)
{
	if (list_only || !error)
		return;
	if (stacks_missing(error))
		ksft_exit_skip("no deferred stacks of %s: errno %d; see config\n", what, error);
	ksft_exit_fail_msg("cannot sample %s: errno %d\n", what, error);
}

static bool has_any(const char *name, const char *const *words, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (strstr(name, words[i]))
			return true;
	}
	return false;
}

static bool is_wanted(const struct tap_test *test)
{
	return (!nr_wanted || has_any(test->name, wanted, nr_wanted)) &&
	       !has_any(test->name, unwanted, nr_unwanted);
}

void tap_run(const struct tap_test *tests, unsigned int nr)
{
	unsigned int plan = 0;

	ENTER();
	for (unsigned int i = 0; i < nr; i++)
		plan += is_wanted(&tests[i]);
	if (!list_only)
		ksft_set_plan(plan);
	for (unsigned int i = 0; i < nr; i++) {
		if (!is_wanted(&tests[i]))
			continue;
		if (list_only) {
			printf("%s\n", tests[i].name);
			continue;
		}
		ksft_test_result(tests[i].run(tests[i].arg), "%s\n", tests[i].name);
	}
	LEAVE();
	if (list_only)
		exit(KSFT_PASS);
	ksft_finished();
}
