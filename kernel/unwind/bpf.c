// SPDX-License-Identifier: GPL-2.0
/*
 * User stacks for BPF programs.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/minmax.h>
#include <linux/unwind_deferred.h>

/**
 * struct bpf_user_stack_end - How a stack of bpf_get_user_stack() ended
 * @cookie:  The cookie of the entry context. Stacks with the same cookie are equal, also those
 *	     of perf's deferred call chains.
 * @reason:  An enum unwind_user_end; 1 if the stack is complete
 * @guessed: 1 if a frame or the end was guessed, else 0
 */
struct bpf_user_stack_end {
	__u64	cookie;
	__u32	reason;
	__u32	guessed;
};

__bpf_kfunc_start_defs();

/**
 * bpf_get_user_stack - Take the user stack of the current task
 * @entries:	 Gets the frames' addresses, topmost first
 * @entries__sz: Size of @entries in bytes, a multiple of 8
 * @end:	 Gets how the stack ended
 * @flags:	 0
 *
 * Unlike bpf_get_stack(), this follows functions without frame pointers, by the unwind tables
 * of the program and its libraries, and waits for pages that are not in memory. Programs that
 * may not sleep call it in a callback of bpf_task_work_schedule_resume().
 *
 * Return: The number of frames; -EINVAL if @flags or @entries__sz is wrong; -ESRCH if the task
 *	   has no user stack; -EOPNOTSUPP if the architecture cannot follow it; -EAGAIN if it is
 *	   gone, or execve() is running; -ENOMEM.
 */
__bpf_kfunc int bpf_get_user_stack(u64 *entries, u32 entries__sz,
				   struct bpf_user_stack_end *end, u64 flags)
{
	struct unwind_stacktrace trace = {};
	u32 nr = entries__sz / sizeof(*entries);
	u64 cookie = 0;
	int ret;

	*end = (struct bpf_user_stack_end) {};
	if (flags || !nr || entries__sz % sizeof(*entries))
		return -EINVAL;
	ret = unwind_user_faultable(&trace, &cookie);
	if (ret)
		return ret;

	end->cookie = cookie;
	end->reason = trace.nr > nr ? UNWIND_USER_END_DEPTH : trace.end;
	end->guessed = trace.guessed;
	nr = min(nr, trace.nr);
	for (u32 i = 0; i < nr; i++)
		entries[i] = trace.entries[i];
	return nr;
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(unwind_user_kfuncs)
BTF_ID_FLAGS(func, bpf_get_user_stack, KF_SLEEPABLE | KF_PERFMON)
BTF_KFUNCS_END(unwind_user_kfuncs)

static const struct btf_kfunc_id_set unwind_user_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &unwind_user_kfuncs,
};

static int __init unwind_user_kfuncs_init(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &unwind_user_kfunc_set) ?:
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_KPROBE, &unwind_user_kfunc_set) ?:
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_SYSCALL, &unwind_user_kfunc_set);
}
late_initcall(unwind_user_kfuncs_init);
