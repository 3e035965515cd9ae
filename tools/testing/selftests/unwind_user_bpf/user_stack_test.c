// SPDX-License-Identifier: GPL-2.0
/* Tests of bpf_get_user_stack(), as root. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "user_stack.h"
#include "user_stack.skel.h"

#define COMPLETE	1
#define DEPTH		6
#define MAX_OFFSET	64

static struct user_stack_bpf *skeleton;
static void *returns[3];

/* These are compiled without frame pointers, and not inlined. None of the calls is a jump. */
int probed(int n)
{
	returns[0] = __builtin_return_address(0);
	return n + 1;
}

int middle(int n)
{
	int sum = probed(n);

	returns[1] = __builtin_return_address(0);
	return sum + 1;
}

int outer(int n)
{
	int sum = middle(n);

	returns[2] = __builtin_return_address(0);
	return sum + 1;
}

static int run(struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int result = bpf_prog_test_run_opts(bpf_program__fd(program), &options);

	return result ?: (int)options.retval;
}

static bool is_complete(const struct taken *taken)
{
	const __u64 last = taken->result > 0 ? taken->entries[taken->result - 1] : 0;

	ksft_print_msg("%d frames, reason %u, guessed %u, cookie %llx, from %llx to %llx\n",
		       taken->result, taken->reason, taken->guessed, taken->cookie,
		       taken->entries[0], last);
	return taken->result > 1 && taken->reason == COMPLETE && !taken->guessed && taken->cookie &&
	       last - getauxval(AT_ENTRY) < MAX_OFFSET;
}

static void test_helper(const struct taken *taken)
{
	const long size = skeleton->bss->size_of_helper;
	const long expected = taken->result * (long)sizeof(*taken->entries);

	ksft_test_result(size > 0 && size == expected &&
			 !memcmp(taken->entries, skeleton->bss->of_helper, size),
			 "bpf_get_stack(): it gives the same stack: %ld bytes\n", size);
}

static void test_probe(void)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = "probed");
	const struct taken *taken = &skeleton->bss->at_probe;
	struct bpf_link *link;
	bool same;

	link = bpf_program__attach_uprobe_opts(skeleton->progs.probe, getpid(), "/proc/self/exe", 0,
					       &options);
	if (!link)
		ksft_exit_fail_msg("cannot attach a uprobe: %s\n", strerror(errno));
	ksft_test_result(outer(1) == 4 && taken->calls == 1, "uprobe.s: the program has run\n");
	bpf_link__destroy(link);
	same = taken->entries[0] == (uintptr_t)probed;
	for (int i = 0; i < 3; i++)
		same = same && taken->entries[i + 1] == (uintptr_t)returns[i];
	ksft_test_result(same, "uprobe.s: the frames are those of the calls\n");
	ksft_test_result(is_complete(taken), "uprobe.s: the stack is complete\n");
	test_helper(taken);
}

static void test_entry(void)
{
	const struct taken *taken = &skeleton->bss->at_entry;
	struct bpf_link *link = bpf_program__attach(skeleton->progs.enters);

	if (!link)
		ksft_exit_fail_msg("cannot attach to a tracepoint: %s\n", strerror(errno));
	skeleton->bss->caller = getpid();
	getppid();
	skeleton->bss->caller = 0;
	bpf_link__destroy(link);
	ksft_test_result(taken->calls == 1 && is_complete(taken),
			 "entry of a system call: the stack is complete\n");
}

static void test_calls(void)
{
	typeof(skeleton->bss) bss = skeleton->bss;
	__u64 cookie;

	if (run(skeleton->progs.calls))
		ksft_exit_fail_msg("cannot run a program\n");
	ksft_test_result(bss->with_flag == -EINVAL, "a flag: %d\n", bss->with_flag);
	ksft_test_result(bss->with_no_size == -EINVAL, "no room: %d\n", bss->with_no_size);
	ksft_test_result(bss->with_odd_size == -EINVAL, "room for two frames and a half: %d\n",
			 bss->with_odd_size);
	ksft_test_result(bss->with_half == -EINVAL, "room for half a frame: %d\n", bss->with_half);
	ksft_test_result(bss->one.result == 1 && bss->one.reason == DEPTH &&
			 bss->one.entries[0] == bss->first.entries[0] && !bss->one.entries[1],
			 "room for one frame: %d, reason %u\n", bss->one.result, bss->one.reason);
	ksft_test_result(is_complete(&bss->first),
			 "syscall: the stack is complete, after a part of it\n");
	ksft_test_result(!memcmp(&bss->first, &bss->second, sizeof(bss->first)) &&
			 bss->one.cookie == bss->first.cookie,
			 "the same stack and cookie in a kernel entry\n");
	cookie = bss->first.cookie;
	if (run(skeleton->progs.calls))
		ksft_exit_fail_msg("cannot run a program\n");
	ksft_test_result(bss->first.cookie && bss->first.cookie != cookie,
			 "another cookie in the next one\n");
}

static void test_worker(void)
{
	const struct taken *taken = &skeleton->bss->in_worker;
	int result = run(skeleton->progs.start_worker);

	for (int i = 0; i < 100 && !__atomic_load_n(&taken->calls, __ATOMIC_ACQUIRE); i++)
		usleep(50000);
	ksft_test_result(!result && taken->calls == 1 && taken->result == -ESRCH,
			 "kernel thread: %d, started: %d\n", taken->result, result);
}

static void test_callback(void)
{
	typeof(skeleton->bss) bss = skeleton->bss;
	int result;

	bss->scheduled = 1;
	result = run(skeleton->progs.schedule);
	ksft_test_result(!result && !bss->scheduled && bss->in_callback.calls == 1,
			 "callback: it has run before the system call's end: %d\n", bss->scheduled);
	ksft_test_result(is_complete(&bss->in_callback), "callback: the stack is complete\n");
}

static void test_leaver(struct bpf_program *program, char *const *command, const char *what,
			int expected)
{
	typeof(skeleton->bss) bss = skeleton->bss;
	struct taken *taken = &bss->leaving;
	struct bpf_link *link = bpf_program__attach(program);
	pid_t child;

	if (!link)
		ksft_exit_fail_msg("cannot attach to a tracepoint: %s\n", strerror(errno));
	memset(taken, 0, sizeof(*taken));
	bss->scheduled = 1;
	child = fork();
	if (!child) {
		bss->leaver = getpid();
		if (command)
			execv(command[0], command);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	bpf_link__destroy(link);
	ksft_test_result(!bss->scheduled && taken->calls == 1 && taken->result == expected,
			 "%s: %d, %u calls, scheduled: %d\n", what, taken->result, taken->calls,
			 bss->scheduled);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

static void test_refused(void)
{
	struct user_stack_bpf *other = user_stack_bpf__open();
	libbpf_print_fn_t print = libbpf_set_print(quiet);
	struct bpf_program *program;
	int result;

	bpf_object__for_each_program(program, other->obj)
		bpf_program__set_autoload(program, program == other->progs.cannot_wait);
	result = user_stack_bpf__load(other);
	ksft_test_result(result == -EACCES || result == -EINVAL,
			 "a program that cannot wait is refused: %d\n", result);
	libbpf_set_print(print);
	user_stack_bpf__destroy(other);
}

int main(void)
{
	char *const command[] = { "/bin/true", NULL };

	ksft_print_header();
	skeleton = user_stack_bpf__open();
	if (!skeleton || bpf_program__set_flags(skeleton->progs.enters, BPF_F_SLEEPABLE) ||
	    user_stack_bpf__load(skeleton))
		ksft_exit_fail_msg("cannot load the programs: %s\n", strerror(errno));
	ksft_set_plan(19);
	test_probe();
	test_entry();
	test_calls();
	test_worker();
	test_callback();
	test_leaver(skeleton->progs.exits, NULL, "exit", -ESRCH);
	test_leaver(skeleton->progs.execs, command, "exec: the new program's first instruction", 1);
	test_refused();
	user_stack_bpf__destroy(skeleton);
	ksft_finished();
}
