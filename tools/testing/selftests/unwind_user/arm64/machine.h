/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between architectures. For programs with and without a C library.
 */
#ifndef MACHINE_H
#define MACHINE_H

/* Pages may be smaller: this is a whole number of them. */
#define PAGE		65536UL

/* Of an ELF file: the machine, and one of 32 bits whose programs run as well. */
#define MACHINE		EM_AARCH64
#define MACHINE_32	EM_ARM

/* The header of an SFrame table: its ABI, and that return addresses may be anywhere. */
#define TABLE_ABI	2
#define TABLE_FIXED_RA	0
/* The CFA's offset from the stack pointer in a function that has no frame, in a row of a word. */
#define LEAF_CFA	0
/* The same in .eh_frame. */
#define LEAF_CFI	0x0c, SP, 0, 0, 0
/* A row behind its start: from SP, two words of a byte; the return address is below the CFA. */
#define ROW_BY_SP(cfa)	0x05, cfa, 0xf8
#define ROW_SIZE	3
/* The words of a flexible rule that say this of the return address. */
#define FLEXIBLE_RA	AT_CFA, -8

/* How far above the CFA a return address may be: farther up, a linker's stub has pushed it. */
#define HIGHEST_RA	-8

/* DWARF numbers: what calls keep, and what they do not. */
#define SP		31
#define FP		29
#define S0		19
#define S1		20
#define S2		21
#define S3		22
#define T0		10
#define T1		1
#define RETURN_ADDRESS	30
#define REGISTERS	32

/* What is in registers of a synthetic stack when it is sampled. The others are taken. */
struct synth_regs {
	unsigned long ip, sp, fp, ra, s0, s1, s2, s3, t0, t1, t2, t3, t4, t5;
};

static inline unsigned long *row_return(struct synth_regs *regs, unsigned long cfa)
{
	return &regs->ra;
}

/* The numbers of those, behind ip. */
#define SYNTH_REGISTERS	SP, FP, RETURN_ADDRESS, S0, S1, S2, S3, T0, 1, 2, 3, 4, 5

/* PERF_REG_ARM64_PC of <asm/perf_regs.h> */
#define PERF_REG_IP	32

/* A handler's third argument, or what the kernel looks at of it. */
#define UC_IP(context)		((context)->uc_mcontext.pc)
#define UC_SP(context)		((context)->uc_mcontext.sp)
#define UC_FP(context)		((context)->uc_mcontext.regs[FP])
#define UC_S0(context)		((context)->uc_mcontext.regs[S0])
#define UC_S1(context)		((context)->uc_mcontext.regs[S1])
#define UC_T1(context)		((context)->uc_mcontext.regs[1])
/* What says that code of 64 bits was interrupted, and whether a value says so. */
#define UC_MODE(context)	((context)->uc_mcontext.pstate)
#define UC_MODE_64		0
#define is_mode_64(mode)	(!((mode) & 0x10))
/* Where in a signal's frame it is, and how much the kernel looks at, from its start on. */
#define SIGNAL_CONTEXT		128
#define SIGNAL_CONTEXT_SIZE	offsetof(ucontext_t, uc_mcontext.__reserved)
#define SIGNAL_FLAGS		0

/* How far the kernel has gone back when a signal is looked for that ends a system call. */
#define RESTART_BACK		4
/* The size of an instruction of the C library that the kernel emulates: MRS of MIDR_EL1. */
#define EMULATED		4
/* How a stack ends at a caller whose rule says that a register still has its return address. */
#define KEPT_RA_ENDS	PERF_CALLCHAIN_END_BAD_FRAME
/* Whether a new task leaves clone() with the event of that. */
#define CHILD_LEAVES_CLONE	0

#endif /* MACHINE_H */
