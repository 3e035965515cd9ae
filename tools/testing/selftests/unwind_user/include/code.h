/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code that tests copy to where they want it.
 */
#ifndef CODE_H
#define CODE_H

#ifdef __x86_64__
#define LEAF_SIZE	12
#define SYNTH_CODE_SIZE	5
#define CALLER_SIZE	10
#define RESTORER_SIZE	9
#define SYSCALL_SIZE	2
#else
#define LEAF_SIZE	20
#define SYNTH_CODE_SIZE	12
#define CALLER_SIZE	24
#define RESTORER_SIZE	8
#define SYSCALL_SIZE	4
#endif

/* Where in the code of a synthetic stack the system call returns to. */
#define SYNTH_SYSCALL	SYSCALL_SIZE

#ifndef __ASSEMBLER__

/*
 * A function that makes a system call to be sampled, and returns where it
 * returns to. It has no frame: by frame pointer its caller is skipped.
 */
extern const unsigned char leaf_code[LEAF_SIZE];

/* The same with a return address that it is told, for the time of the system call. */
extern const unsigned char caller_code[CALLER_SIZE];

/* The topmost function of a synthetic stack: a system call, and the way back. */
extern const unsigned char synth_code[SYNTH_CODE_SIZE];

/* What a signal's handler returns to, and its system call. */
extern const unsigned char restorer_code[RESTORER_SIZE];
#define syscall_code	(restorer_code + RESTORER_SIZE - SYSCALL_SIZE)

#endif

#endif /* CODE_H */
