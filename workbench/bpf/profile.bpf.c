// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the user stack of each sample.  A sample cannot wait for memory, so it only asks for a
 * callback, which comes when the thread is about to leave the kernel.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "profile.h"

#define EBUSY		16
#define PF_USER_WORKER	0x00004000
#define PF_KTHREAD	0x00200000

char LICENSE[] SEC("license") = "GPL";

struct thread {
	struct bpf_task_work work;
	__u64 samples;
	/* The program that was sampled: exec counts it up. */
	__u64 exec_id;
};

/* By thread id.  A thread has one callback at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* Callbacks sleep, so they cannot share a buffer for each CPU, nor keep others' records waiting. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack);
} buffers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} stacks SEC(".maps");

__u64 counts[NR_COUNTS];
bool stopped;

static void count(enum count what, __u64 samples)
{
	__sync_fetch_and_add(&counts[what], samples);
}

/* The stack of samples that came in exec, before the new program, is gone. */
static void leave_program(struct thread *thread, struct task_struct *task)
{
	if (thread->exec_id != task->self_exec_id) {
		count(COUNT_EXEC, __sync_lock_test_and_set(&thread->samples, 0));
		thread->exec_id = task->self_exec_id;
	}
}

static int take(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_user_stack_end end = {};
	struct thread *thread = value;
	struct stack *stack;
	int nr;

	stack = bpf_task_storage_get(&buffers, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!stack) {
		count(COUNT_FAILED, __sync_lock_test_and_set(&thread->samples, 0));
		return 0;
	}
	leave_program(thread, task);
	nr = bpf_get_user_stack(stack->ips, sizeof(stack->ips), &end, 0);
	stack->error = nr < 0 ? nr : 0;
	if (nr < 0)
		nr = 0;
	if (nr > MAX_FRAMES)
		nr = MAX_FRAMES;
	stack->nr = nr;
	stack->cookie = end.cookie;
	stack->reason = end.reason;
	stack->guessed = end.guessed;
	stack->start = BPF_CORE_READ(task, group_leader, start_boottime);
	stack->pid = task->tgid;
	stack->exec_id = task->self_exec_id;
	stack->parent = BPF_CORE_READ(task, real_parent, tgid);
	stack->parent_start = BPF_CORE_READ(task, real_parent, group_leader, start_boottime);
	stack->tid = task->pid;
	bpf_get_current_comm(stack->comm, sizeof(stack->comm));
	/* Samples that have come until now are of the same kernel entry. */
	stack->samples = __sync_lock_test_and_set(&thread->samples, 0);
	if (!stack->samples)
		return 0;
	/* To wake the reader for each record would take more time than the record. */
	if (bpf_ringbuf_output(&stacks, stack, offsetof(struct stack, ips) + nr * sizeof(__u64),
			       BPF_RB_NO_WAKEUP))
		count(COUNT_LOST, stack->samples);
	return 0;
}

SEC("perf_event")
int sample(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread, fresh = {};
	__u32 tid = task->pid;

	if (stopped)
		return 0;
	count(COUNT_ALL, 1);
	if (!task->mm || task->flags & (PF_KTHREAD | PF_USER_WORKER)) {
		count(COUNT_KERNEL, 1);
		return 0;
	}
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread) {
		bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
		thread = bpf_map_lookup_elem(&threads, &tid);
	}
	if (!thread) {
		count(COUNT_FAILED, 1);
		return 0;
	}
	switch (bpf_task_work_schedule_resume(task, &thread->work, &threads, take)) {
	case 0:
		/* The callback cannot run before this has ended. */
		thread->exec_id = task->self_exec_id;
		count(COUNT_LATE, __sync_lock_test_and_set(&thread->samples, 1));
		break;
	case -EBUSY:
		leave_program(thread, task);
		__sync_fetch_and_add(&thread->samples, 1);
		count(COUNT_MERGED, 1);
		break;
	default:
		count(COUNT_FAILED, 1);
	}
	return 0;
}
