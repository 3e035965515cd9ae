/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between architectures. For programs with and without a C library.
 */
#ifndef MACHINE_H
#define MACHINE_H

/* The size of pages. */
#define PAGE		4096UL

/* Of an ELF file: the machine, and one of 32 bits whose programs run as well. */
#define MACHINE		EM_X86_64
#define MACHINE_32	EM_386

/* The header of an SFrame table: its ABI, and where below the CFA return addresses are. */
#define TABLE_ABI	3
#define TABLE_FIXED_RA	-8
/* The CFA's offset from the stack pointer in a function that has no frame, in a row of a word. */
#define LEAF_CFA	8
/* The same in .eh_frame: its return address is below the CFA. */
#define LEAF_CFI	0x0c, SP, 8, 0x80 | RETURN_ADDRESS, 1
/* A row behind its start: from SP, one word of a byte; the return address is below the CFA. */
#define ROW_BY_SP(cfa)	0x03, cfa
#define ROW_SIZE	2
/* The words of a flexible rule that say this of the return address. */
#define FLEXIBLE_RA	0

/* How far above the CFA a return address may be. */
#define HIGHEST_RA	0x40

/* DWARF numbers: what calls keep, and what they do not. */
#define SP		7
#define FP		6
#define S0		3
#define S1		12
#define S2		13
#define S3		14
#define T0		10
#define T1		1
#define RETURN_ADDRESS	16
#define REGISTERS	16

/* What is in registers of a synthetic stack when it is sampled. The others are taken. */
struct synth_regs {
	unsigned long ip, sp, fp, s0, t1, t2, t3, t4, t5, t0, s1, s2, s3;
};

/* Where a function with a row by SP has its return address, if its CFA is @cfa above SP. */
static inline unsigned long *row_return(struct synth_regs *regs, unsigned long cfa)
{
	return (unsigned long *)(regs->sp + cfa - 8);
}

/* The numbers of those, behind ip. */
#define SYNTH_REGISTERS	SP, FP, S0, 1, 4, 5, 8, 9, T0, S1, S2, S3

/* PERF_REG_X86_IP of <asm/perf_regs.h> */
#define PERF_REG_IP	8

/* A handler's third argument, or what the kernel looks at of it. */
#define UC_IP(context)		((context)->uc_mcontext.gregs[REG_RIP])
#define UC_SP(context)		((context)->uc_mcontext.gregs[REG_RSP])
#define UC_FP(context)		((context)->uc_mcontext.gregs[REG_RBP])
#define UC_S0(context)		((context)->uc_mcontext.gregs[REG_RBX])
#define UC_S1(context)		((context)->uc_mcontext.gregs[REG_R12])
#define UC_T1(context)		((context)->uc_mcontext.gregs[REG_RDX])
/* What says that code of 64 bits was interrupted, and whether a value says so. */
#define UC_MODE(context)	((context)->uc_mcontext.gregs[REG_CSGSFS])
#define UC_MODE_64		0x33
#define is_mode_64(mode)	((mode) == UC_MODE_64)
/* Where in a signal's frame it is, and how much the kernel looks at, from its start on. */
#define SIGNAL_CONTEXT		0
#define SIGNAL_CONTEXT_SIZE	304
/* UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
#define SIGNAL_FLAGS		6

/* How far the kernel has gone back when a signal is looked for that ends a system call. */
#define RESTART_BACK		0
/* The size of an instruction of the C library that the kernel emulates: there is none. */
#define EMULATED		0
/* How a stack ends at a caller whose rule says that a register still has its return address. */
#define KEPT_RA_ENDS	PERF_CALLCHAIN_END_RULE
/* Whether a new task leaves clone() with the event of that. */
#define CHILD_LEAVES_CLONE	1

#endif /* MACHINE_H */
