/* SPDX-License-Identifier: GPL-2.0 */
/* What the profiler and its BPF program share. */
#ifndef PROFILE_H
#define PROFILE_H

/* The kernel follows no more. */
#define MAX_FRAMES 510

/* A stack, and the samples that it stands for. */
struct stack {
	__u64 cookie;
	/* These name an address space: a process has another one after exec. */
	__u64 start;
	__u32 pid;
	__u32 exec_id;
	__u32 parent;
	__u32 tid;
	__u64 parent_start;
	__u32 samples;
	__s32 error;		/* why there is no stack, or 0 */
	__u32 reason;
	__u32 guessed;
	__u32 nr;
	char comm[16];
	__u64 ips[MAX_FRAMES];	/* topmost first; a record has only those that are there */
};

/* What is counted in samples. */
enum count {
	COUNT_ALL,
	COUNT_MERGED,	/* came while the stack of their kernel entry was already asked for */
	COUNT_KERNEL,	/* of a task without user memory */
	COUNT_EXEC,	/* in exec, of the old program */
	COUNT_FAILED,	/* no callback could be asked for */
	COUNT_LATE,	/* came between a callback's record and its end */
	COUNT_LOST,	/* no room in the ring buffer */
	NR_COUNTS,
};

#endif
