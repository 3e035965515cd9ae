// SPDX-License-Identifier: GPL-2.0
/* Operations at random: what processes share, threads, and memory. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

struct common *common;
struct actor actors[ACTORS];
__thread struct actor *me;
int part_fd[NR_PARTS];
struct object objects[4];

const char * const kind_names[NR_KINDS] = {
	[REGISTER] = "register a table",
	[UNREGISTER] = "unregister a table",
	[REPLACE] = "replace a table",
	[LIST] = "list tables",
	[REFUSED] = "mad arguments of prctl() are refused",
	[NONE] = "no table is left",
	[ONE] = "one table is left",
	[HUNDREDS] = "hundreds of tables",
	[BOTH] = "a text has two tables",
	[EH_FRAME] = "a table of .eh_frame is good",
	[MMAP] = "mmap()",
	[MUNMAP] = "munmap()",
	[MREMAP] = "mremap()",
	[MPROTECT] = "mprotect()",
	[MADVISE] = "madvise()",
	[FORK] = "fork()",
	[VFORK] = "vfork()",
	[EXEC] = "execve() of a child",
	[EXEC_THREADS] = "execve() beside other threads",
	[THREAD] = "threads come and go",
	[TABLE] = "a table is rewritten",
	[SAMPLE] = "stacks are sampled",
	[AT_ONCE] = "stacks are sampled at once",
	[SYNTH] = "a synthetic stack is walked to its end",
	[DISCOVERY] = "the kernel finds a table",
	[EH_DISCOVERY] = "the kernel finds a table of .eh_frame",
	[SIGNAL] = "signals on another stack",
	[PROC] = "/proc/PID/unwind_tables",
	[SYSCTL] = "write a sysctl",
	[KILL] = "kill a process",
};

bool stopped(void)
{
	return __atomic_load_n(&common->stop, __ATOMIC_RELAXED);
}

bool count(enum kind kind, bool done)
{
	__atomic_add_fetch(&common->counts[kind].tried, 1, __ATOMIC_RELAXED);
	if (done)
		__atomic_add_fetch(&common->counts[kind].done, 1, __ATOMIC_RELAXED);
	return done;
}

/* Something is wrong that no random operation excuses. */
void failure(const char *format, ...)
{
	va_list args;

	if (__atomic_exchange_n(&common->failed, true, __ATOMIC_RELAXED))
		return;
	va_start(args, format);
	vsnprintf(common->failure, sizeof(common->failure), format, args);
	va_end(args);
}

/* Judge how a child has ended, which may have been killed. */
void judge(const char *who, int status, bool killed)
{
	if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	if (WIFSIGNALED(status))
		failure("%s died of signal %d", who, WTERMSIG(status));
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		failure("%s ended with status 0x%x", who, status);
}

/* --- Who does something --- */

unsigned long long any_number(void)
{
	/* xorshift64* */
	me->random ^= me->random >> 12;
	me->random ^= me->random << 25;
	me->random ^= me->random >> 27;
	return me->random * 0x2545f4914f6cdd1dULL;
}

/* A number below another. */
unsigned long below(unsigned long limit)
{
	return (any_number() >> 11) % limit;
}

bool one_in(unsigned long n)
{
	return !below(n);
}

/* Numbers are not the same again, and no seed is 0. */
unsigned long long seed_of(unsigned long long seed, unsigned long long nth)
{
	return (seed + nth * 0x9e3779b97f4a7c15ULL) ?: 1;
}

void pause_a_while(unsigned long most_us)
{
	usleep(1 + below(most_us));
}

/*
 * Do what may touch memory that another thread takes away; whether it came to its
 * end. It must hold nothing.
 */
bool guarded(void (*act)(void))
{
	if (sigsetjmp(me->jump, 1))
		return false;
	__atomic_store_n(&me->guarded, true, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	act();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&me->guarded, false, __ATOMIC_RELAXED);
	return true;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	if (me && me->guarded) {
		me->guarded = false;
		siglongjmp(me->jump, 1);
	}
	failure("signal %d at 0x%lx, address 0x%lx", signal,
		(unsigned long)UC_IP((ucontext_t *)context), (unsigned long)info->si_addr);
	sigaction(signal, &action, NULL);
}

/* Be sampled, on a stack of its own, above one that may be anything. */
static void on_user_signal(int signal)
{
	int error = errno;

	syscall(__NR_getppid);
	count(SIGNAL, true);
	errno = error;
}

/* Whether signals get a stack that is there whatever this thread does to its own. */
void use_signal_stack(bool wish)
{
	stack_t stack = {
		.ss_sp = me->signal_stack,
		.ss_size = SIGNAL_STACK,
		.ss_flags = wish ? 0 : SS_DISABLE,
	};

	sigaltstack(&stack, NULL);
}

/* What is sent before a program is executed has to wait until it has a handler. */
void hold_signals(bool wish)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(wish ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void catch_signals(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE };
	struct sigaction action = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(faults); i++)
		sigaction(faults[i], &action, NULL);
	action = (struct sigaction){
		.sa_handler = on_user_signal, .sa_flags = SA_ONSTACK | SA_RESTART,
	};
	sigaction(SIGUSR1, &action, NULL);
	hold_signals(false);
}

/* --- The memory that it is done to --- */

unsigned char *part_page(enum part part, unsigned long nth)
{
	return (unsigned char *)(ARENA + part * PART_SIZE + nth * PAGE);
}

unsigned char *any_page(enum part part)
{
	return part_page(part, below(PAGES));
}

int usual_protection(enum part part)
{
	return PROT_READ | (part == TEXT ? PROT_EXEC : PROT_WRITE);
}

int any_protection(enum part part)
{
	if (!one_in(4))
		return usual_protection(part);
	/* Never what others write, and text. */
	return below(4) & ~(part == TEXT ? PROT_WRITE : 0);
}

/* Pages of a part, where something is now or not; of a file, or of zeros. */
bool map_pages(enum part part, unsigned long first, unsigned long nr, int protection)
{
	int flags = MAP_FIXED | (one_in(2) ? MAP_SHARED : MAP_PRIVATE);
	int fd = part_fd[part];
	void *at = part_page(part, first);

	if (one_in(4)) {
		flags |= MAP_ANONYMOUS;
		fd = -1;
	}
	return mmap(at, nr * PAGE, protection, flags, fd, fd < 0 ? 0 : first * PAGE) == at;
}

/* Functions as a synthetic stack has them, in each page. */
static void write_text(unsigned char *page)
{
	/* Nobody comes here but by mistake. */
	memset(page, 0xcc, PAGE);
	memcpy(page, synth_code, sizeof(synth_code));
	memcpy(page + 20 * FUNCTION_SIZE, restorer_code, sizeof(restorer_code));
	memcpy(page + 21 * FUNCTION_SIZE + 1, restorer_code, sizeof(restorer_code));
	memcpy(page + 22 * FUNCTION_SIZE, leaf_code, sizeof(leaf_code));
}

/* Make all parts; returns NULL, or what does not work. */
const char *make_arena(void)
{
	static unsigned char page[PAGE];

	write_text(page);
	for (enum part part = 0; part < NR_PARTS; part++) {
		part_fd[part] = syscall(__NR_memfd_create, "part", 1 /* MFD_CLOEXEC */);
		if (part_fd[part] < 0 || ftruncate(part_fd[part], PAGES * PAGE))
			return "memfd_create";
		for (unsigned long i = 0; part == TEXT && i < PAGES; i++) {
			if (pwrite(part_fd[part], page, PAGE, i * PAGE) != PAGE)
				return "pwrite";
		}
		if (!map_pages(part, 0, PAGES, usual_protection(part)))
			return "mmap";
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(objects); i++) {
		objects[i] = object_good();
		if (object_write(&objects[i]))
			return "object_write";
		for (unsigned long j = 0; j < 2; j++) {
			if (pwrite(objects[i].fd, page, PAGE, (OBJECT_TEXT + j) * PAGE) != PAGE)
				return "pwrite";
		}
	}
	return NULL;
}
