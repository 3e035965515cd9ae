/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind tables of user space: what the walker, the C files here and the Rust code share.
 */
#ifndef _KERNEL_UNWIND_TABLES_H
#define _KERNEL_UNWIND_TABLES_H

#include <linux/unwind_tables.h>
#include <linux/unwind_user_types.h>

/* Which tables are used: sysctl kernel.unwind_tables. Each level adds to the one before. */
enum {
	UNWIND_TABLES_OFF,
	UNWIND_TABLES_REGISTERED,	/* what exec and programs register */
	UNWIND_TABLES_DISCOVERED,	/* what the kernel finds in mapped files */
	UNWIND_TABLES_IMMEDIATE,	/* these, also for stacks that are not deferred */
};

/*
 * What the lookups of one stack may cost together. The unit is a byte that is read of a
 * table. A read counts as 32 at least, and so does each step of a search. A lookup costs
 * some 600. Whatever is in the tables, a walk takes less than four million instructions.
 */
#define UNWIND_TABLES_BUDGET	(80 * 1024)

/*
 * Bits of a rule in a word. The walker applies usual rules as they are: FP is the shift of
 * the frame pointer's place, RA that of the distance of the return address's end below the
 * CFA, and CFA that of the CFA's offset, all in words. RA's are 0 where calls store the
 * return address.
 */
#define UNWIND_TABLES_RULE_USUAL	0x1
#define UNWIND_TABLES_RULE_FROM_FP	0x2
#define UNWIND_TABLES_RULE_FP		2
#define UNWIND_TABLES_RULE_RA		7
#define UNWIND_TABLES_RULE_RA_BITS	12
#define UNWIND_TABLES_RULE_CFA		32
#define UNWIND_TABLES_RULE_CFA_BITS	20
/* In a word that is not usual but has the bit of FROM_FP: there is no caller. */
#define UNWIND_TABLES_RULE_OUTERMOST	0x4
/* In such a word without a rule: the code keeps frame pointers. */
#define UNWIND_TABLES_RULE_KEEPS_FP	BIT_ULL(32)
/* Without these bits: the rule is in the walk's frame; or the word has an errno. */
#define UNWIND_TABLES_RULE_LARGE	0x8
#define UNWIND_TABLES_RULE_ERROR	0x10
#define UNWIND_TABLES_RULE_ERRNO	8

/**
 * struct unwind_tables_slot - A remembered rule
 * @check: @rule ^ the mark of its address: see unwind_tables_mark()
 * @rule:  A rule in a word, see kernel/unwind/tables/parse/packed.rs; 0 in an empty slot
 */
struct unwind_tables_slot {
	u64	check;
	u64	rule;
};

/* 16 KiB. An address has a set of two slots. */
#define UNWIND_TABLES_CACHE_BITS	9

/**
 * struct unwind_tables_cache - The remembered rules of a process
 * @sets: The slots
 */
struct unwind_tables_cache {
	struct unwind_tables_slot	sets[1 << UNWIND_TABLES_CACHE_BITS][2];
};

/**
 * struct unwind_tables - The part of an address space's registry that C reads
 * @generation: Changed when remembered rules may be wrong; never 0
 * @cache:	The remembered rules, or NULL. Set once, and freed with the registry.
 * @warm_up_after: When stacks that are taken at once may ask for a deferred walk again, in
 *		jiffies
 * @idle:	Number of these walks in a row that have brought in nothing, at most
 *		WARM_UP_IDLE_MAX
 */
struct unwind_tables {
	u64				generation;
	struct unwind_tables_cache	*cache;
	unsigned long			warm_up_after;
	unsigned int			idle;
};

/**
 * struct unwind_tables_object - The mappings of a text and of the start of its file
 * @start:	Start of the mapping of the address
 * @end:	Its end
 * @offset:	File offset of the address, in bytes
 * @header:	Where the start of the file is mapped
 * @header_len:	How much is mapped there, or 0 if that was not found
 * @id:		Tells the file, or an object of the kernel's own such as the vDSO, from
 *		others while the mmap lock is held. NULL for other memory.
 */
struct unwind_tables_object {
	unsigned long	start;
	unsigned long	end;
	u64		offset;
	unsigned long	header;
	unsigned long	header_len;
	const void	*id;
};

/* How many bytes before a return address tell whether a call ends there. */
#define UNWIND_TABLES_CALL	7
/* How many words of code around an address, and before it, tell whether it is in a stub. */
#define UNWIND_TABLES_STUB	9
#define UNWIND_TABLES_STUB_BEFORE 4

/* sysctl.c */
extern unsigned int unwind_tables_level;
extern unsigned int unwind_tables_max;

/* lookup.c */
bool unwind_tables_start(struct unwind_tables_walk *walk);
u64 unwind_tables_find(unsigned long ip, unsigned int reg, struct unwind_tables_walk *walk);
u64 unwind_tables_ask(unsigned long ip, struct unwind_tables_walk *walk);
u64 unwind_tables_lookup(unsigned long ip, struct unwind_tables_walk *walk);
int unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame,
			 const struct unwind_tables_walk *walk);

/* user_memory.c */
int unwind_tables_read(void *to, unsigned long addr, unsigned int len,
		       unsigned long *missing);

/* mappings.c */
int unwind_tables_lock_mappings(void);
void unwind_tables_unlock_mappings(void);
bool unwind_tables_find_object(unsigned long ip, struct unwind_tables_object *object);
unsigned long unwind_tables_find_headers(const struct unwind_tables_object *object,
					 u64 offset, u64 len);
bool unwind_tables_find_part(const struct unwind_tables_object *object, u64 offset,
			     bool around, unsigned long *start, unsigned long *end);
bool unwind_tables_find_records(const struct unwind_tables_object *object,
				unsigned long header, unsigned long addr,
				unsigned long *start, unsigned long *end);
int unwind_tables_check(const struct unwind_table *table);

/* tables.rs */
struct unwind_tables *__unwind_tables_make(struct mm_struct *mm);
int __unwind_tables_register(struct mm_struct *mm, const struct unwind_table *table);
int __unwind_tables_unregister(struct mm_struct *mm, const struct unwind_table *table);
u64 __unwind_tables_find(unsigned long ip, unsigned int reg, struct unwind_tables_walk *walk);
int __unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame);
bool unwind_tables_is_call(const u8 *code, unsigned long ra, unsigned long *target);
bool unwind_tables_is_stub(const u32 *code);

/* Say whether an address is in the text about which a walk asks no table. */
static inline bool unwind_tables_is_skipped(const struct unwind_tables_walk *walk,
					    unsigned long ip)
{
	return ip - walk->skipped.start < walk->skipped.size;
}

/*
 * Compute the mark of an address. Addresses of one generation have different marks, since
 * the factor is odd. A slot of another generation has the same mark with a chance of one
 * in 2^64. A program can choose its addresses so that one does: then only its own stacks
 * are wrong.
 */
static __always_inline u64 unwind_tables_mark(u64 generation, unsigned long ip)
{
	return (ip + generation) * 0xeb9fe1a85ec53e4bULL;
}

/* Return the set of slots of a mark. Its upper bits depend on all bits of the address. */
static __always_inline
struct unwind_tables_slot *unwind_tables_set(struct unwind_tables_cache *cache, u64 mark)
{
	return cache->sets[mark >> (64 - UNWIND_TABLES_CACHE_BITS)];
}

/*
 * Find the remembered rule for an address in the cache of a walk; 0 if there is none. This
 * takes no lock, writes nothing, and reads no memory of the program.
 *
 * A rule is right at the moment when the generation is loaded. A writer that removes or
 * replaces a table changes the generation afterwards. A walk that remembers a rule has
 * loaded the generation before it looked for the table. So the rule of a table that is
 * gone has no mark of this generation. The loads and stores of a slot need no order: two
 * words of different writers make the mark of neither, unless both have the same rule.
 */
static __always_inline u64 unwind_tables_cached(const struct unwind_tables_walk *walk,
						unsigned long ip)
{
	/* Pairs with the release that changes it. */
	const u64 generation = smp_load_acquire(&walk->tables->generation);
	const u64 mark = unwind_tables_mark(generation, ip);
	const struct unwind_tables_slot *set = unwind_tables_set(walk->cache, mark);
	u64 rule;

	rule = READ_ONCE(set[0].rule);
	if (likely((READ_ONCE(set[0].check) ^ rule) == mark))
		return rule;
	rule = READ_ONCE(set[1].rule);
	return (READ_ONCE(set[1].check) ^ rule) == mark ? rule : 0;
}

#endif /* _KERNEL_UNWIND_TABLES_H */
