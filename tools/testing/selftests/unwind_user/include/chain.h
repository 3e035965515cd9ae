/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in chain.S: scenarios, and the labels of where they return to.
 */
#ifndef CHAIN_H
#define CHAIN_H

/* Call a scenario, whose stack ends there, or goes on to the program's start. */
void chain_call(void (*chain)(int depth), int depth);
void chain_call_on(void (*chain)(int depth), int depth);
extern const char chain_call_return[], chain_call_on_return[], start_return[];

/* Of the linker: the program's file, and what of it is text. */
extern const char __ehdr_start[], __executable_start[], etext[];

/* A function in assembly. */
struct chain_function {
	unsigned long start, end;
};

/* All of them; of the linker. */
extern const struct chain_function __start_chain_functions[], __stop_chain_functions[];

/* The function in assembly that has an address, or NULL. */
static inline const struct chain_function *chain_function_at(unsigned long ip)
{
	const struct chain_function *function;

	for (function = __start_chain_functions; function < __stop_chain_functions; function++) {
		if (ip >= function->start && ip < function->end)
			return function;
	}
	return NULL;
}

/* Whether there is a call before @code, perhaps through a register or memory. */
static inline int ends_in_call(const unsigned char *code)
{
#ifdef __x86_64__
	return code[-5] == 0xe8 || code[-2] == 0xff || code[-3] == 0xff || code[-6] == 0xff;
#else
	/* BL, or BLR. */
	return (code[-1] & 0xfc) == 0x94 || (code[-1] == 0xd6 && (code[-2] & 0xe0) == 0x20);
#endif
}

/* Calls for the clock vdso_clock what vdso_clock_gettime points to, so many times. */
void chain_vdso(int times);
extern int (*vdso_clock_gettime)(int clock, void *time);
extern int vdso_clock;
extern const char chain_vdso_start[], chain_vdso_return[], chain_vdso_end[];

void chain_deep(int depth);
extern const char leaf_ip[], chain_deep_return[], chain_deep_last_return[];

/* A function of the vDSO, and its version; the length of a breakpoint; a system call's end. */
#ifdef __x86_64__
#define CLOCK_NAME	"__vdso_clock_gettime"
#define CLOCK_VERSION	"LINUX_2.6"
#define BREAKPOINT_LEN	sizeof(long)
static const unsigned char syscall_code[] = { 0x0f, 0x05 };
#else
#define CLOCK_NAME	"__kernel_clock_gettime"
#define CLOCK_VERSION	"LINUX_2.6.39"
#define BREAKPOINT_LEN	4
static const unsigned char syscall_code[] = { 0x01, 0x00, 0x00, 0xd4 };
#endif

/* Where the call before @code leads to, or 0. */
static inline unsigned long call_target(const unsigned char *code)
{
	int call;

	memcpy(&call, code - sizeof(call), sizeof(call));
#ifdef __x86_64__
	return code[-5] == 0xe8 ? (unsigned long)code + call : 0;
#else
	/* BL with 26 bits, which count words from the instruction. */
	return (call & 0xfc000000) == 0x94000000 ? (unsigned long)code - 4 + (call << 6 >> 4) : 0;
#endif
}

#ifdef SFRAME
void chain_sp(int depth);
void chain_fp(int depth);
void chain_noreturn(int depth);
extern const char leaf_bad_fp_ip[], sp_inner_return[], sp_middle_return[], chain_sp_return[];
extern const char fp_inner_return[], chain_fp_return[];
extern const char never_returns_ip[], noreturn_inner_return[], chain_noreturn_return[];
#else
void chain_frames(int depth);
void chain_switch(int depth);
void chain_switch_twice(int depth);
void chain_leaf(int depth);
extern const char frame_inner_return[], chain_frames_return[];
extern const char frameless_ip[], chain_switch_return[], chain_switch_twice_return[];
extern const char chain_leaf_return[];
/* The stack of chain_leaf(), whose callee has no frame: a call is looked for on the stack alone. */
#ifdef __x86_64__
#define FRAMELESS_LABELS	{ frameless_ip, chain_leaf_return }
#else
#define FRAMELESS_LABELS	{ frameless_ip }
#endif
/* What chain_switch() sets the stack pointer to, and chain_switch_twice() before. */
extern unsigned long switch_to[2];
#endif

#endif /* CHAIN_H */
