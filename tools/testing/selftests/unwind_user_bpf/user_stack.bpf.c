// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "user_stack.h"

char LICENSE[] SEC("license") = "GPL";

struct work {
	struct bpf_task_work work;
};

struct wq {
	struct bpf_wq wq;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wq);
} queues SEC(".maps");

struct taken at_probe, at_entry, one, first, second, in_worker, in_callback, leaving;
/* What the helpers gave there, in bytes. */
__u64 of_helper[MAX_FRAMES];
long size_of_helper;
int with_flag, with_no_size, with_odd_size, with_half, scheduled;
/* The process that is about to exit, to call exec, or another system call. */
__u32 leaver, caller;

static void take(struct taken *taken, __u32 size)
{
	struct bpf_user_stack_end end = {};

	taken->result = bpf_get_user_stack(taken->entries, size, &end, 0);
	taken->cookie = end.cookie;
	taken->reason = end.reason;
	taken->guessed = end.guessed;
	taken->calls++;
}

SEC("uprobe.s")
int probe(void *context)
{
	/* The helper comes first, so it takes a stack of its own. */
	size_of_helper = bpf_get_stack(context, of_helper, sizeof(of_helper), BPF_F_USER_STACK);
	take(&at_probe, sizeof(at_probe.entries));
	return 0;
}

/* A program that may sleep, at a tracepoint where it can. */
SEC("raw_tp/sys_enter")
int enters(void *context)
{
	if ((__u32)bpf_get_current_task_btf()->tgid == caller && !at_entry.calls)
		take(&at_entry, sizeof(at_entry.entries));
	return 0;
}

SEC("syscall")
int calls(void *context)
{
	struct bpf_user_stack_end end = {};

	with_flag = bpf_get_user_stack(one.entries, sizeof(one.entries), &end, 1);
	with_no_size = bpf_get_user_stack(one.entries, 0, &end, 0);
	with_odd_size = bpf_get_user_stack(one.entries, 20, &end, 0);
	with_half = bpf_get_user_stack(one.entries, 4, &end, 0);
	take(&one, 8);
	take(&first, sizeof(first.entries));
	take(&second, sizeof(second.entries));
	return 0;
}

static int of_worker(void *map, int *key, void *value)
{
	take(&in_worker, sizeof(in_worker.entries));
	return 0;
}

SEC("syscall")
int start_worker(void *context)
{
	__u32 key = 0;
	struct wq *queue = bpf_map_lookup_elem(&queues, &key);

	if (!queue)
		return -1;
	if (bpf_wq_init(&queue->wq, &queues, 0) || bpf_wq_set_callback(&queue->wq, of_worker, 0))
		return -2;
	return bpf_wq_start(&queue->wq, 0);
}

static int of_callback(struct bpf_map *map, void *key, void *value)
{
	take(&in_callback, sizeof(in_callback.entries));
	return 0;
}

SEC("syscall")
int schedule(void *context)
{
	__u32 key = 0;
	struct work *work = bpf_map_lookup_elem(&works, &key);

	if (work)
		scheduled = bpf_task_work_schedule_resume(bpf_get_current_task_btf(), &work->work,
							  &works, of_callback);
	return 0;
}

static int of_leaver(struct bpf_map *map, void *key, void *value)
{
	take(&leaving, sizeof(leaving.entries));
	return 0;
}

static int leave(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = 1;
	struct work *work = bpf_map_lookup_elem(&works, &key);

	if (work && (__u32)task->tgid == leaver)
		scheduled = bpf_task_work_schedule_resume(task, &work->work, &works, of_leaver);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int exits(void *context)
{
	return leave();
}

SEC("raw_tp/sched_process_exec")
int execs(void *context)
{
	return leave();
}

/* The verifier must refuse this: a program for a perf event cannot wait. */
SEC("?perf_event")
int cannot_wait(void *context)
{
	take(&one, sizeof(one.entries));
	return 0;
}
