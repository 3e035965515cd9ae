// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks whose addresses have tags, in their upper byte: each must be the one that it is without.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler.h"

#define TAG		(0x5aUL << 56)
#define STACK_SIZE	(256 * 1024UL)
#define PART		__attribute__((noinline, noclone))

/* on_stack.S: call with another stack pointer, after a tag is added to the frame pointer. */
void on_stack(void (*call)(void), unsigned long sp, unsigned long fp_tag);

static struct sampler sampler;
static volatile unsigned int sink;

static PART void sampled(void)
{
	syscall(SYS_getppid);
}

/* The frame pointer is needed: the frame's size is not known. */
static PART void with_array(unsigned int n)
{
	char array[n % 64 + 16];

	memset(array, n, sizeof(array));
	sink = array[n % 16];
	if (n)
		with_array(n / 2);
	else
		sampled();
	sink += array[0];
}

static PART void deep(void)
{
	with_array(99);
	sink++;
}

static void on_signal(int signal)
{
	deep();
	sink++;
}

static PART void with_signal(void)
{
	raise(SIGUSR1);
	sink++;
}

static PART void here(void (*call)(void), unsigned long sp, unsigned long fp_tag)
{
	call();
	sink++;
}

static const struct {
	const char *name;
	void (*how)(void (*call)(void), unsigned long sp, unsigned long fp_tag);
	void (*call)(void);
	unsigned long sp_tag, fp_tag;
	bool abi;
	int like;	/* the row whose stack it must have */
} rows[] = {
	{ "plain", here, deep, 0, 0, false, 0 },
	{ "the tagged address ABI", here, deep, 0, 0, true, 0 },
	{ "another stack", on_stack, deep, 0, 0, false, 2 },
	{ "another stack, tag in sp", on_stack, deep, TAG, 0, false, 2 },
	{ "another stack, tag in x29", on_stack, deep, 0, TAG, false, 2 },
	{ "another stack, tags in both", on_stack, deep, TAG, TAG, false, 2 },
	{ "another stack, tag in sp, ABI", on_stack, deep, TAG, 0, true, 2 },
	{ "another stack, tag in x29, ABI", on_stack, deep, 0, TAG, true, 2 },
	{ "another stack, tags in both, ABI", on_stack, deep, TAG, TAG, true, 2 },
	{ "a signal on another stack", on_stack, with_signal, 0, 0, true, 9 },
	{ "a signal on another stack, tag in sp, ABI", on_stack, with_signal, TAG, 0, true, 9 },
	{ "a signal on another stack, tags in both, ABI", on_stack, with_signal, TAG, TAG, true,
	  9 },
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

int main(void)
{
	static struct chain chains[ROWS];
	unsigned long stack;
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	stack = (unsigned long)mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	signal(SIGUSR1, on_signal);
	if (sampler_open(&sampler)) {
		printf("not ok: no samples\n");
		return 1;
	}
	/* Once more, when the kernel has remembered rules. */
	for (unsigned int i = 0; i < 2 * ROWS; i++) {
		const unsigned int row = i % ROWS;
		struct chain *chain = &chains[row], *like = &chains[rows[row].like];
		const char *error;
		bool right;

		if (prctl(PR_SET_TAGGED_ADDR_CTRL, rows[row].abi ? PR_TAGGED_ADDR_ENABLE : 0,
			  0, 0, 0)) {
			printf("not ok: no tagged address ABI\n");
			return 1;
		}
		rows[row].how(rows[row].call, (stack + STACK_SIZE) | rows[row].sp_tag,
			      rows[row].fp_tag);
		error = sampler_chain(&sampler, chain);
		right = !error && chain->nr == like->nr && chain->nr >= 12 &&
			!memcmp(chain->ips, like->ips, chain->nr * sizeof(chain->ips[0])) &&
			chain->end == PERF_CALLCHAIN_END_COMPLETE &&
			/* That the stack goes on in another mapping is a guess. */
			chain->guessed == (rows[row].how == on_stack);
		printf("%s: %s: %s, %u of %u frames, end %u%s\n", right ? "ok" : "not ok",
		       rows[row].name, error ?: "a stack", chain->nr, like->nr, chain->end,
		       chain->guessed ? ", guessed" : "");
		failed += !right;
	}
	return failed > 0;
}
