// SPDX-License-Identifier: GPL-2.0
/*
 * Lookups of addresses in the tables of the current process, and the memory of them.
 */
#include <linux/kernel.h>
#include <linux/uaccess.h>
#include <linux/unwind_tables.h>

#include "bisect.h"
#include "search.h"

/* How many further blocks are read here. Rust goes on, and limits what a lookup costs. */
#define FURTHER_BLOCKS	16

/* The index of the text that the last lookup was in. */
static __always_inline
struct unwind_bisect_index recent_index(const struct unwind_tables_recent *recent)
{
	return (struct unwind_bisect_index){
		.first	= recent->first,
		.blocks	= recent->blocks,
		.last	= recent->last,
		.count	= recent->count,
		.small	= recent->small,
	};
}

static __always_inline bool spend(struct unwind_tables_walk *walk, u32 units)
{
	if (walk->budget < units)
		return false;
	walk->budget -= units;
	return true;
}

/*
 * Search the index of the text that the last lookup was in: most of its callers are in
 * it, too. Whatever fails, Rust finds out why.
 */
static __always_inline
unsigned int find_block(unsigned long ip, struct unwind_tables_walk *walk, u64 generation,
			struct unwind_bisect_block *block)
{
	const struct unwind_tables_recent *recent = &walk->recent;
	const struct unwind_bisect_index index = recent_index(recent);

	if (recent->generation != generation ||
	    ip - recent->text_start >= recent->text_size || !spend(walk, UNWIND_TABLES_FIND))
		return 0;
	return unwind_bisect_block(&index, ip, block);
}

/* Read on behind a block in which Rust has not found the rule; 0 if Rust has to decide. */
static u64 further_rule(unsigned long ip, struct unwind_tables_walk *walk,
			struct unwind_bisect_block *block)
{
	const struct unwind_bisect_index index = recent_index(&walk->recent);

	for (unsigned int i = 0; i < FURTHER_BLOCKS && block->progress; i++) {
		u64 rule;

		if (!spend(walk, UNWIND_TABLES_READ_ON) || !unwind_bisect_read_on(&index, block))
			break;
		rule = __unwind_tables_large_block_rule(block, ip);
		if (rule)
			return rule;
	}
	return 0;
}

/* Put the rule of an address, or the error of looking for one, into @walk; yield the rule. */
static __always_inline
u64 find_rule(unsigned long ip, struct unwind_tables_walk *walk, u64 generation)
{
	struct unwind_bisect_block block __uninitialized;
	u64 rule;

	switch (find_block(ip, walk, generation, &block)) {
	case UNWIND_BISECT_BLOCK:
		rule = __unwind_tables_block_rule(&block, ip);
		break;
	case UNWIND_BISECT_LARGE_BLOCK:
		rule = __unwind_tables_large_block_rule(&block, ip);
		break;
	default:
		walk->error = __unwind_tables_lookup(ip, NULL, walk);
		return walk->answer.rule;
	}
	if (unlikely(!rule)) {
		rule = further_rule(ip, walk, &block);
		if (!rule) {
			walk->error = __unwind_tables_lookup(ip, &block, walk);
			return walk->answer.rule;
		}
	}
	walk->answer.rule = rule;
	walk->error = 0;
	return rule;
}

/* The slot where a rule that is not short may be. */
static struct unwind_tables_slot *other_slot(const struct unwind_tables_walk *walk, u64 tag)
{
	return &walk->cache->others[(tag >> 32) * UNWIND_TABLES_CACHE_OTHERS >> 32];
}

/*
 * Keep an answer that is not short. A reader that gets one word of it, and one of another
 * answer, gets the tag of neither.
 */
static noinline void remember_other(const struct unwind_tables_walk *walk, u64 tag, u64 rule)
{
	struct unwind_tables_slot *slot = other_slot(walk, tag);

	WRITE_ONCE(slot->check, tag ^ rule);
	WRITE_ONCE(slot->rule, rule);
}

/* Find such an answer again; 0 if it is gone. */
static noinline u64 other_rule(const struct unwind_tables_walk *walk, unsigned long ip)
{
	/* Pairs with the release that changes it. */
	const u64 generation = smp_load_acquire(&walk->tables->generation);
	const u64 tag = unwind_tables_tag(walk, generation, ip);
	const struct unwind_tables_slot *slot = other_slot(walk, tag);
	const u64 rule = READ_ONCE(slot->rule);

	return (READ_ONCE(slot->check) ^ rule) == tag ? rule : 0;
}

/*
 * Keep an answer for other stacks. A stack is interrupted at another address each time,
 * but callers come again. So the answer of a caller goes into the first slot of its set,
 * whose old answer moves to the second one. Any other answer goes into the second slot.
 * Others may write at the same time: see unwind_tables_cached().
 */
static void remember(const struct unwind_tables_walk *walk, unsigned long ip, u64 rule)
{
	const u64 tag = unwind_tables_tag(walk, walk->answer.generation, ip);
	u64 *set = unwind_tables_set(walk, tag);

	if (unlikely(rule >= BIT_ULL(UNWIND_TABLES_RULE_SHORT))) {
		remember_other(walk, tag, rule);
		rule = UNWIND_TABLES_RULE_ELSEWHERE;
	}
	if (walk->caller)
		WRITE_ONCE(set[1], READ_ONCE(set[0]));
	else
		set++;
	WRITE_ONCE(*set, unwind_tables_key(tag) ^ rule);
}

u64 unwind_tables_ask(unsigned long ip, struct unwind_tables_walk *walk)
{
	u64 generation, rule;

	might_fault();
	/*
	 * An answer is as old as this, which pairs with the release that changes it:
	 * what was removed before is not found.
	 */
	walk->answer.generation = smp_load_acquire(&walk->tables->generation);
	generation = walk->answer.generation;
	/* A read that may wait allows it for itself: see wait.h. */
	pagefault_disable();
	rule = find_rule(ip, walk, generation);
	pagefault_enable();
	walk->lookups++;
	walk->caller_lookups += walk->caller;

	if (unlikely(!walk->cache))
		/* The first lookup of a process has made it. */
		walk->cache = READ_ONCE(walk->tables->cache);
	if (likely(walk->answer.generation) && likely(walk->cache)) {
		remember(walk, ip, rule);
		walk->pending = false;
	} else {
		/*
		 * Keep an answer that the next lookup would not find. Callers apply
		 * usual rules at once.
		 */
		walk->pending = !(rule & UNWIND_TABLES_RULE_USUAL);
		walk->asked = ip;
	}
	return rule;
}

int unwind_tables_lookup(unsigned long ip, struct unwind_user_frame *frame,
			 struct unwind_tables_walk *walk)
{
	/* Most often of a program without any table. */
	if (unwind_tables_is_nothing(walk, ip))
		return walk->nothing.error;
	if (!walk->pending || ip != walk->asked) {
		u64 rule = 0;

		if (likely(walk->cache) && !(ip >> UNWIND_TABLES_CACHED_BITS))
			rule = unwind_tables_cached(walk, ip);
		if (unlikely(rule == UNWIND_TABLES_RULE_ELSEWHERE))
			rule = other_rule(walk, ip);
		if (rule)
			return __unwind_tables_unpack(rule, frame);
		unwind_tables_ask(ip, walk);
	}
	/* An answer is used once: its table may be gone by the next time. */
	walk->pending = false;
	if (walk->answer.rule)
		return __unwind_tables_unpack(walk->answer.rule, frame);
	if (!walk->error)
		*frame = walk->frame;
	return walk->error;
}

int unwind_tables_lookup_register(unsigned long ip, unsigned int reg,
				  struct unwind_user_frame *frame,
				  struct unwind_tables_walk *walk)
{
	int ret;

	might_fault();
	/* Pairs with the release that changes it. */
	walk->answer.generation = smp_load_acquire(&walk->tables->generation);
	pagefault_disable();
	ret = __unwind_tables_lookup_register(ip, reg, frame, walk);
	pagefault_enable();
	walk->lookups++;

	return ret;
}
