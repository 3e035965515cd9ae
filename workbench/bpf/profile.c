// SPDX-License-Identifier: GPL-2.0
/*
 * A profiler that takes user stacks in BPF, by bpf_get_user_stack():
 *
 *   profile [OPTION...] [COMMAND...]
 *
 *   -F HZ     samples per second of CPU time (default 999)
 *   -f        a sample at each page fault instead
 *   -p PID    profile this process, and what it starts
 *   -a        profile all processes
 *   -o FILE   where the stacks go (default: standard output)
 *   -r        print each stack, as numbers, instead of all stacks, folded
 *
 * Without -p and -a, it profiles COMMAND and what that starts.  With them, it ends when COMMAND
 * does, or at an interrupt.  A folded line is: command;outermost;...;topmost samples.  Lines may
 * say the same, for names are those in the files, and other addresses have the same.  A line of -r
 * is: cookie thread reason guessed address...  A summary goes to standard error.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <error.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profile.h"
#include "profile.skel.h"

#define COMPLETE	1
#define NR_REASONS	10
#define READ_US		10000
#define RETRY_NS	100000000

static const char *const reasons[NR_REASONS] = {
	/* enum unwind_user_end */
	"not taken", "complete", "no information", "unreadable memory", "malformed table",
	"bad frame", "too many frames", "too much work", "32-bit or x32 code", "unsupported rule",
};

/* The files that are mapped into a process, from its first stack on until it calls exec. */
struct space {
	__u64 start;
	__u32 pid, exec_id;
	__u64 began, tried;
	Dwfl *dwfl;
	/* A child has the files of its parent until it calls exec. */
	struct space *parent;
};

/* Stacks of the same addresses. */
struct seen {
	struct space *space;
	__u64 samples;
	struct stack *stack;
};

struct name {
	Dwfl *dwfl;
	__u64 ip;
	bool exact;
	const char *text;
};

static void *spaces, *seen, *names;
static FILE *out;
static bool raw;
static volatile sig_atomic_t stop;
static __u64 nr_stacks, taken, ended[NR_REASONS][2], gone, nameless;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void *must(void *pointer)
{
	if (!pointer)
		error(1, ENOMEM, "no memory");
	return pointer;
}

/* Find what is equal to KEY in TREE, or put a copy of it there. */
static void *enter(void **tree, const void *key, size_t size, int (*compare)(const void *, const void *))
{
	void **found = tfind(key, tree, compare);

	if (!found) {
		found = must(tsearch(key, tree, compare));
		*found = memcpy(must(malloc(size)), key, size);
	}
	return *found;
}

#define COMPARE(a, b) do { if ((a) != (b)) return (a) < (b) ? -1 : 1; } while (0)

static int compare_spaces(const void *left, const void *right)
{
	const struct space *a = left, *b = right;

	COMPARE(a->pid, b->pid);
	COMPARE(a->exec_id, b->exec_id);
	COMPARE(a->start, b->start);
	return 0;
}

static int compare_seen(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	COMPARE(a->space, b->space);
	COMPARE(a->stack->nr, b->stack->nr);
	COMPARE(a->stack->reason, b->stack->reason);
	COMPARE(a->stack->error, b->stack->error);
	return memcmp(a->stack->comm, b->stack->comm, sizeof(a->stack->comm)) ?:
	       memcmp(a->stack->ips, b->stack->ips, a->stack->nr * sizeof(__u64));
}

static int compare_names(const void *left, const void *right)
{
	const struct name *a = left, *b = right;

	COMPARE(a->dwfl, b->dwfl);
	COMPARE(a->ip, b->ip);
	COMPARE(a->exact, b->exact);
	return 0;
}

/* The number of frames in a file that is known. */
static unsigned int known(Dwfl *dwfl, const struct stack *stack)
{
	unsigned int nr = 0;

	for (__u32 i = 0; dwfl && i < stack->nr; i++)
		nr += dwfl_addrmodule(dwfl, stack->ips[i]) != NULL;
	return nr;
}

/*
 * Get the files of the process that are mapped now, beside those of before.  If it has called exec
 * since, none of the addresses is in them.
 */
static void read_maps(struct space *space, const struct stack *stack)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	bool fresh = !space->dwfl;
	int result;

	if (fresh)
		space->dwfl = must(dwfl_begin(&callbacks));
	dwfl_report_begin_add(space->dwfl);
	result = dwfl_linux_proc_report(space->dwfl, stack->pid);
	dwfl_report_end(space->dwfl, NULL, NULL);
	if (fresh && (result || !known(space->dwfl, stack))) {
		dwfl_end(space->dwfl);
		space->dwfl = NULL;
	}
}

static struct space *space_of(const struct stack *stack)
{
	struct space key = { .start = stack->start, .pid = stack->pid, .exec_id = stack->exec_id };
	struct space of_parent = { .start = stack->parent_start, .pid = stack->parent, .exec_id = stack->exec_id };
	struct space *space = enter(&spaces, &key, sizeof(key), compare_spaces), **parent;
	struct timespec time;
	__u64 now;

	if (known(space->dwfl, stack) == stack->nr)
		return space;
	clock_gettime(CLOCK_MONOTONIC, &time);
	now = time.tv_sec * 1000000000ULL + time.tv_nsec;
	if (!space->began) {
		space->began = now;
		parent = tfind(&of_parent, &spaces, compare_spaces);
		space->parent = parent ? *parent : NULL;
	}
	/* A process maps most of its files when it starts. */
	if (now - space->tried > RETRY_NS || now - space->tried > (space->tried - space->began) / 4) {
		read_maps(space, stack);
		space->tried = now;
	}
	return space;
}

static int on_stack(void *context, void *data, size_t size)
{
	struct stack *stack = data;
	struct seen key = { .stack = stack }, *entry;

	(void)context;
	if (size < offsetof(struct stack, ips) ||
	    size < offsetof(struct stack, ips) + stack->nr * sizeof(__u64) || stack->reason >= NR_REASONS)
		error(1, 0, "a record of the BPF program is not understood");
	if (stack->error) {
		gone += stack->samples;
	} else {
		nr_stacks++;
		taken += stack->samples;
		ended[stack->reason][!!stack->guessed] += stack->samples;
	}
	if (raw) {
		if (stack->error)
			return 0;
		fprintf(out, "%llx %u %u %u", stack->cookie, stack->tid, stack->reason, stack->guessed);
		for (__u32 i = 0; i < stack->nr; i++)
			fprintf(out, " %llx", stack->ips[i]);
		fputc('\n', out);
		return 0;
	}
	key.space = space_of(stack);
	entry = enter(&seen, &key, sizeof(key), compare_seen);
	if (entry->stack == stack)
		entry->stack = memcpy(must(malloc(size)), stack, size);
	entry->samples += stack->samples;
	return 0;
}

/* The function at an address.  EXACT: it is not behind a call. */
static const char *find_name(Dwfl *dwfl, __u64 ip, bool exact)
{
	Dwfl_Module *module = dwfl ? dwfl_addrmodule(dwfl, ip) : NULL;
	const char *text, *file, *slash;
	GElf_Off offset = 0;
	GElf_Sym symbol;
	char *label;

	if (!module)
		return "[unknown]";
	text = dwfl_module_addrinfo(module, ip, &offset, &symbol, NULL, NULL, NULL);
	/* A signal handler's return address is the start of the restorer. */
	if (text && !exact && !offset && strcmp(text, "__restore_rt"))
		text = dwfl_module_addrinfo(module, ip - 1, &offset, &symbol, NULL, NULL, NULL);
	/* Without the version of the symbol. */
	if (text)
		return must(strndup(text, strcspn(text, "@")));
	file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	slash = strrchr(file, '/');
	if (asprintf(&label, "[%s]", slash ? slash + 1 : file) < 0)
		must(NULL);
	return label;
}

static const char *name_of(Dwfl *dwfl, __u64 ip, bool exact)
{
	struct name key = { .dwfl = dwfl, .ip = ip, .exact = exact };
	struct name *name = enter(&names, &key, sizeof(key), compare_names);

	if (!name->text)
		name->text = find_name(dwfl, ip, exact);
	return name->text;
}

static void print_folded(const void *node, VISIT visit, void *context)
{
	const struct seen *entry = *(struct seen *const *)node;
	const struct stack *stack = entry->stack;
	const struct space *space = entry->space;
	const char *frames[MAX_FRAMES];

	(void)context;
	if (visit != postorder && visit != leaf)
		return;
	while (!space->dwfl && space->parent)
		space = space->parent;
	if (stack->nr && !space->dwfl)
		nameless += entry->samples;
	for (__u32 i = 0; i < stack->nr; i++)
		frames[i] = name_of(space->dwfl, stack->ips[i], !i || !strcmp(frames[i - 1], "__restore_rt"));
	fprintf(out, "%.*s", (int)sizeof(stack->comm), stack->comm);
	if (stack->error || stack->reason != COMPLETE)
		fprintf(out, ";[%s]", stack->error ? "no stack" : reasons[stack->reason]);
	for (__u32 i = stack->nr; i--;)
		fprintf(out, ";%s", frames[i]);
	fprintf(out, " %llu\n", entry->samples);
}

static void summary(const __u64 *counts)
{
	__u64 rest = counts[COUNT_ALL] - counts[COUNT_KERNEL] - counts[COUNT_EXEC] - counts[COUNT_FAILED] -
		     counts[COUNT_LATE] - counts[COUNT_LOST] - taken - gone;
	const struct {
		const char *what;
		__u64 samples;
	} others[] = {
		{ "in exec, before the new program", counts[COUNT_EXEC] },
		{ "the kernel had no stack: exit", gone },
		{ "of kernel threads, or after exit", counts[COUNT_KERNEL] },
		{ "no memory for a callback", counts[COUNT_FAILED] },
		{ "came at the end of a callback", counts[COUNT_LATE] },
		{ "the callback never came", rest },
		{ "lost: the ring buffer was full", counts[COUNT_LOST] },
		{ "with a stack, but the process ended before its files were known", nameless },
	};

	fprintf(stderr, "%8llu samples\n%8llu with one of %llu stacks, %llu merged into one that was pending\n",
		counts[COUNT_ALL], taken, nr_stacks, counts[COUNT_MERGED]);
	for (int reason = 0; reason < NR_REASONS; reason++)
		for (int guessed = 0; guessed < 2; guessed++)
			if (ended[reason][guessed])
				fprintf(stderr, "%8llu   %s%s, %.2f %%\n", ended[reason][guessed], reasons[reason],
					guessed ? ", guessed" : "", 100.0 * ended[reason][guessed] / taken);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i].samples)
			fprintf(stderr, "%8llu %s\n", others[i].samples, others[i].what);
}

/*
 * Sample a thread and what it starts, or a CPU if THREAD is -1: by a clock, or at each page fault
 * if the frequency is 0.
 */
static void attach(struct profile_bpf *skeleton, pid_t thread, int cpu, unsigned long frequency, bool on_exec)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .dont_enable = on_exec);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = frequency ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_PAGE_FAULTS,
		.freq = frequency != 0, .sample_freq = frequency ?: 1, .inherit = thread != -1, .disabled = 1,
		.enable_on_exec = on_exec, .exclude_idle = 1,
	};
	int event = syscall(SYS_perf_event_open, &attr, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (event < 0) {
		/* The thread may have ended, and the CPU may be off. */
		if (errno == ESRCH || errno == ENODEV)
			return;
		error(1, errno, "perf_event_open");
	}
	if (!bpf_program__attach_perf_event_opts(skeleton->progs.sample, event, &options))
		error(1, errno, "cannot attach the program to an event");
}

static void attach_process(struct profile_bpf *skeleton, pid_t pid, unsigned long frequency)
{
	struct dirent *entry;
	char path[64];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	if (!threads)
		error(1, errno, "process %d", pid);
	while ((entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			attach(skeleton, atoi(entry->d_name), -1, frequency, false);
	closedir(threads);
}

/* Start a command, which waits in *GO until that is closed. */
static pid_t start(char **command, int *go)
{
	int pipes[2];
	pid_t child;
	char byte;

	if (pipe(pipes))
		error(1, errno, "pipe");
	child = fork();
	if (child < 0)
		error(1, errno, "fork");
	if (!child) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) != 0)
			_exit(127);
		close(pipes[0]);
		execvp(*command, command);
		error(127, errno, "%s", *command);
	}
	close(pipes[0]);
	*go = pipes[1];
	return child;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || !value || value > INT_MAX)
		error(1, 0, "not a number above 0: %s", text);
	return value;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	unsigned long frequency = 999;
	struct profile_bpf *skeleton;
	struct ring_buffer *ring;
	int option, status = 0, go, result;
	pid_t pid = 0, child = 0;
	bool all = false;

	out = stdout;
	while ((option = getopt(argc, argv, "+F:fp:ao:r")) != -1) {
		switch (option) {
		case 'F': frequency = number(optarg); break;
		case 'f': frequency = 0; break;
		case 'p': pid = number(optarg); break;
		case 'a': all = true; break;
		case 'r': raw = true; break;
		case 'o':
			out = fopen(optarg, "we");
			if (!out)
				error(1, errno, "%s", optarg);
			break;
		default: return 2;
		}
	}
	argv += optind;
	if ((all && pid) || (!all && !pid && !*argv))
		error(2, 0, "usage: profile [-F HZ | -f] [-p PID | -a] [-o FILE] [-r] [COMMAND...]");

	skeleton = profile_bpf__open_and_load();
	if (!skeleton)
		error(1, errno, "cannot load the BPF program");
	ring = ring_buffer__new(bpf_map__fd(skeleton->maps.stacks), on_stack, NULL, NULL);
	if (!ring)
		error(1, errno, "ring buffer");
	if (*argv)
		child = start(argv, &go);
	if (all)
		for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
			attach(skeleton, -1, cpu, frequency, false);
	else if (pid)
		attach_process(skeleton, pid, frequency);
	else
		attach(skeleton, child, -1, frequency, true);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (child)
		close(go);

	while (!stop) {
		usleep(READ_US);
		result = ring_buffer__consume(ring);
		if (result < 0)
			error(1, -result, "ring buffer");
		if (child ? waitpid(child, &status, WNOHANG) == child : pid && kill(pid, 0))
			break;
	}
	/* What comes from now on is not counted. */
	skeleton->bss->stopped = true;
	usleep(10 * READ_US);
	ring_buffer__consume(ring);
	twalk_r(seen, print_folded, NULL);
	if (fflush(out) || ferror(out))
		error(1, errno, "cannot write the stacks");
	summary(skeleton->bss->counts);
	ring_buffer__free(ring);
	profile_bpf__destroy(skeleton);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
