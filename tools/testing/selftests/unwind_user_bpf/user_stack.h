/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of bpf_get_user_stack() and their BPF programs share. */
#ifndef USER_STACK_H
#define USER_STACK_H

#define MAX_FRAMES 510

/* What a call gave. */
struct taken {
	__u64 cookie;
	__u32 reason;
	__u32 guessed;
	__s32 result;
	__u32 calls;
	__u64 entries[MAX_FRAMES + 2];
};

#endif
