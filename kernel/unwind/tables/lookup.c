// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups in the tables of the current process, and the cache of remembered rules.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../user.h"

/* Get ready to look up the addresses of a stack. Returns whether there is a registry. */
bool unwind_tables_start(struct unwind_tables_walk *walk)
{
	const unsigned int level = READ_ONCE(unwind_tables_level);

	if (level == UNWIND_TABLES_OFF)
		return false;
	/* Pairs with the cmpxchg() that publishes a new registry. */
	walk->tables = smp_load_acquire(&current->mm->unwind_tables);
	if (unlikely(!walk->tables) && level >= UNWIND_TABLES_DISCOVERED && !walk->immediate)
		walk->tables = __unwind_tables_make(current->mm);
	if (unlikely(!walk->tables))
		return false;
	/* Pairs with the cmpxchg() that publishes it: what is in it depends on this. */
	walk->cache = READ_ONCE(walk->tables->cache);
	return true;
}

/*
 * Look up the rule for @ip in the tables. After a fault, wait for the memory and look it up
 * again, as often as the walk may wait. The rule is as old as @walk->generation. It has the
 * place of register @reg instead of that of the frame pointer, and SFrame knows no other
 * register than that. Page faults are disabled. Returns a rule in a word, or an errno in
 * one, good until the next call.
 */
u64 unwind_tables_find(unsigned long ip, unsigned int reg, struct unwind_tables_walk *walk)
{
	u64 rule;

	walk->discovers = false;
	for (;;) {
		walk->missing = 0;
		/* Pairs with the release that changes it: what was removed before is not found. */
		walk->generation = smp_load_acquire(&walk->tables->generation);
		rule = __unwind_tables_find(ip, reg, walk);
		if (likely(!walk->missing) ||
		    !unwind_user_wait_for(walk, walk->missing, 1))
			break;
		/* The text may have been skipped because of this fault. */
		walk->skipped.size = 0;
	}
	walk->lookups++;
	return rule;
}

/*
 * Give the process a cache. It gets one with the first rule of a caller: a program without
 * tables needs no cache.
 */
static noinline void make_cache(struct unwind_tables_walk *walk)
{
	struct unwind_tables_cache *old = NULL, *cache;

	/* A walk that may not wait leaves it to the next stack. */
	if (!walk->waits || walk->lacks_memory)
		return;
	cache = kvzalloc_obj(*cache, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	/* Whoever sees it must see that it is empty. */
	if (cache && !try_cmpxchg(&walk->tables->cache, &old, cache)) {
		kvfree(cache);
		cache = old;
	}
	walk->cache = cache;
	walk->lacks_memory = !cache;
}

/*
 * Remember a rule for other stacks. A stack is interrupted at another address each time,
 * but callers come again. So the rule of a caller goes into the first slot of its set,
 * whose old rule moves to the second slot. Any other rule goes into the second slot.
 * Other threads may write at the same time: see unwind_tables_cached().
 */
static void remember(struct unwind_tables_walk *walk, unsigned long ip, u64 rule)
{
	const u64 mark = unwind_tables_mark(walk->generation, ip);
	struct unwind_tables_slot *slot = unwind_tables_set(walk->cache, mark);

	if (walk->caller) {
		WRITE_ONCE(slot[1].check, READ_ONCE(slot[0].check));
		WRITE_ONCE(slot[1].rule, READ_ONCE(slot[0].rule));
		walk->learned = true;
	} else {
		slot++;
	}
	WRITE_ONCE(slot->check, mark ^ rule);
	WRITE_ONCE(slot->rule, rule);
}

/* Look up the rule for an address that has no remembered one, and remember it. */
u64 unwind_tables_ask(unsigned long ip, struct unwind_tables_walk *walk)
{
	const u64 rule = unwind_tables_find(ip, UNWIND_USER_FP, walk);

	walk->caller_lookups += walk->caller;
	/* Errors that may pass, and rules that do not fit, are not remembered. */
	if (unlikely(!(rule & (UNWIND_TABLES_RULE_USUAL | UNWIND_TABLES_RULE_FROM_FP))))
		return rule;
	if (walk->immediate)
		return rule;
	if (unlikely(!walk->cache) && walk->caller && walk->generation)
		make_cache(walk);
	if (likely(walk->generation) && likely(walk->cache))
		remember(walk, ip, rule);
	return rule;
}

/* Find the rule for an address, remembered or not. */
u64 unwind_tables_lookup(unsigned long ip, struct unwind_tables_walk *walk)
{
	u64 rule = 0;

	/* Most often, this is a program without tables. */
	if (unwind_tables_is_skipped(walk, ip))
		return UNWIND_TABLES_RULE_ERROR | -walk->skipped.error << UNWIND_TABLES_RULE_ERRNO;
	if (likely(walk->cache))
		rule = unwind_tables_cached(walk, ip);
	return rule ?: unwind_tables_ask(ip, walk);
}

/*
 * Put the rule of a word into a frame. Returns 0; -ENOENT if no table says anything about the
 * address, -EOPNOTSUPP if one does and that is not supported, -EFAULT if it could not be read
 * now, -EBADMSG if the table is malformed, or -E2BIG if the budget is used up.
 */
int unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame,
			 const struct unwind_tables_walk *walk)
{
	if (rule & (UNWIND_TABLES_RULE_USUAL | UNWIND_TABLES_RULE_FROM_FP))
		return __unwind_tables_unpack(rule, frame);
	if (rule & UNWIND_TABLES_RULE_ERROR)
		return -(int)(rule >> UNWIND_TABLES_RULE_ERRNO);
	*frame = walk->frame;
	return 0;
}
