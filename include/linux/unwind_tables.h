/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind tables of user space: the C face of kernel/unwind/tables/.
 */
#ifndef _LINUX_UNWIND_TABLES_H
#define _LINUX_UNWIND_TABLES_H

#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/math64.h>
#include <linux/mm_types.h>
#include <linux/uaccess.h>
#include <linux/unwind_user_types.h>
#include <uapi/linux/unwind_tables.h>

/**
 * struct unwind_table_info - A range of text and a table that describes it
 * @text_start:	   Address of the first byte of text
 * @text_end:	   Address after the last byte of text
 * @table_start:   Address of the table's first byte
 * @table_end:	   Address after the last byte that the table may use
 * @header:	   Address of the header of an .eh_frame table, .eh_frame_hdr
 * @format:	   The table's format, UNWIND_TABLE_SFRAME, _EH_FRAME or _ABSENT
 * @origin:	   UNWIND_TABLE_BY_EXEC, _BY_PRCTL or _BY_DISCOVERY
 * @state:	   UNWIND_TABLE_UNCHECKED, UNWIND_TABLE_GOOD or
 *		   UNWIND_TABLE_DISABLED
 * @reason:	   Why a table is disabled, else 0; each format has its own numbers
 * @reason_offset: Where in the table that is, in bytes from its start
 * @reason_name:   The reason in a word, or why there is no table, or NULL
 */
struct unwind_table_info {
	unsigned long text_start;
	unsigned long text_end;
	unsigned long table_start;
	unsigned long table_end;
	unsigned long header;
	unsigned int format;
	unsigned int origin;
	unsigned int state;
	unsigned int reason;
	unsigned int reason_offset;
	const char *reason_name;
};

/*
 * What the lookups of one stack may cost, in rows passed. To search a function, with a
 * read of its first rows, counts as 32, and as much again if a search has failed; to
 * read some 55 more rows, as 64; to pass a row in the general reader, as 6; and a byte
 * of .eh_frame as one. 510 frames of SFrame with 150 rows each are below it. Whatever
 * is in the tables, a walk takes less than four million instructions. A single lookup
 * may cost a quarter.
 */
#define UNWIND_TABLES_BUDGET		(108 * 1024)
#define UNWIND_TABLES_LOOKUP_BUDGET	(UNWIND_TABLES_BUDGET / 4)
/* What it costs to find a function. */
#define UNWIND_TABLES_FIND		32
/* What it costs to read more rows, and to pass them. */
#define UNWIND_TABLES_READ_ON		64

/*
 * How many reads of a stack's tables may wait for memory, and of how many texts of a
 * stack the program headers are read, to find a table. The next stack gets further.
 */
#define UNWIND_TABLES_WAITS		16
#define UNWIND_TABLES_DISCOVERIES	8

/*
 * What the tables have said about an address is kept in a slot of the address's set, if
 * the address has at most so many bits. The address's tag has as many: the factor
 * spreads them over the upper ones of a word. The formats that were asked are in those
 * from SALT.
 */
#define UNWIND_TABLES_CACHED_BITS	52
#define UNWIND_TABLES_CACHE_SPREAD	0xeb9fe1a85ec53000ULL
#define UNWIND_TABLES_CACHE_SALT	48

/* Bits of a rule in a word: the usual ones are applied as they are. */
#define UNWIND_TABLES_RULE_USUAL	0x1
#define UNWIND_TABLES_RULE_FROM_FP	0x2
/* From which bit on there are the place of the frame pointer and the CFA, in words. */
#define UNWIND_TABLES_RULE_FP		2
#define UNWIND_TABLES_RULE_CFA		7
/* How many bits there are. A slot has room for so many. */
#define UNWIND_TABLES_RULE_SHORT	19
/* Of another rule: it may have more bits. Then a slot says that it is kept elsewhere. */
#define UNWIND_TABLES_RULE_OUTERMOST	0x4
#define UNWIND_TABLES_RULE_ELSEWHERE	0x8

/* Not a format: the kernel knows that there is no table. */
#define UNWIND_TABLE_ABSENT		0
/* A text has at most one table of each format. */
#define UNWIND_TABLE_FORMATS		2

/**
 * struct unwind_tables_object - The mappings of a text and of the start of its file
 * @start:	Start of the mapping of the address
 * @end:	Its end
 * @offset:	File offset of the address, in bytes
 * @header:	Where the start of the file is mapped
 * @header_len:	How much is mapped there, or 0 if that was not found
 * @most:	How many tables the address space may have
 * @is_file:	Whether there is a file at all
 */
struct unwind_tables_object {
	unsigned long	start;
	unsigned long	end;
	u64		offset;
	unsigned long	header;
	unsigned long	header_len;
	unsigned int	most;
	bool		is_file;
};

/**
 * struct unwind_tables_part - A range of memory that a part of a file is mapped at
 * @start:  Address of the first byte
 * @end:    Address after the last byte, or @start if there is nothing
 * @offset: File offset of @start, in bytes
 */
struct unwind_tables_part {
	unsigned long	start;
	unsigned long	end;
	u64		offset;
};

struct unwind_bisect_block;
struct unwind_tables_entry;

#ifdef CONFIG_UNWIND_USER_TABLES

/* Whether tables are used, whoever registered them: sysctl kernel.unwind_tables */
DECLARE_STATIC_KEY_TRUE(unwind_tables_used);
/* Whether tables are looked for that nobody has registered: the same */
DECLARE_STATIC_KEY_TRUE(unwind_tables_discovery);
/* Whether those in the format .eh_frame are used: the same */
DECLARE_STATIC_KEY_TRUE(unwind_tables_eh_frame);

int unwind_tables_register(struct mm_struct *mm, const struct unwind_table_info *info);
int unwind_tables_update(struct mm_struct *mm, const struct unwind_table_info *info);
int unwind_tables_unregister(struct mm_struct *mm, struct unwind_table_info *info);
long unwind_tables_prctl(unsigned long operation, struct unwind_table __user *tables,
			 unsigned long count, unsigned long size);

/* Called by Rust, in kernel/unwind/tables/: */
void unwind_tables_disabled(const struct unwind_table_info *info);
void unwind_tables_dropped(const struct unwind_table_info *info);
void unwind_tables_discovered(const struct unwind_table_info *info);
int unwind_tables_read(void *to, unsigned long addr, unsigned int len, unsigned int *waits);
int unwind_tables_find_object(unsigned long ip, struct unwind_tables_object *object);
int unwind_tables_find_headers(unsigned long ip, const struct unwind_tables_object *object,
			       u64 offset, u64 len, unsigned long *start);
int unwind_tables_find_part(unsigned long ip, bool around, struct unwind_tables_part *part);
int unwind_tables_find_records(unsigned long ip, unsigned long header, unsigned long addr,
			       struct unwind_tables_part *part);
int unwind_tables_lock_mapped(unsigned long text_start, unsigned long text_end,
			      const struct unwind_tables_part *parts, unsigned int nr);
void unwind_tables_unlock_mapped(void);
bool unwind_tables_may_wait(void);

/* Called here, and by C in kernel/unwind/tables/: */
struct unwind_tables_entry *
__unwind_tables_prepare(struct mm_struct *mm, const struct unwind_table_info *info, bool update);
int __unwind_tables_insert(struct mm_struct *mm, struct unwind_tables_entry *entry,
			   unsigned int most);
int __unwind_tables_replace(struct mm_struct *mm, struct unwind_tables_entry *entry);
void __unwind_tables_put(struct unwind_tables_entry *entry);
int __unwind_tables_remove(struct mm_struct *mm, struct unwind_table_info *info);
/*
 * Both yield how many of @infos they fill in: one for each table of a text, or one
 * for a text without. It is 0 if there is no such text.
 */
unsigned int __unwind_tables_next(struct mm_struct *mm, unsigned long from,
				  struct unwind_table_info infos[UNWIND_TABLE_FORMATS]);
unsigned int __unwind_tables_touched(struct mm_struct *mm, unsigned long from,
				     unsigned long start, unsigned long end,
				     struct unwind_table_info infos[UNWIND_TABLE_FORMATS]);
/* Removes a table of a text; with UNWIND_TABLE_ABSENT all that is known of the text. */
void __unwind_tables_drop(struct mm_struct *mm, unsigned long text_start, unsigned int format);
void __unwind_tables_unmap(struct mm_struct *mm, unsigned long start, unsigned long end);
void __unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm);
void __unwind_tables_free(struct unwind_tables *tables);
struct unwind_tables *__unwind_tables_make(struct mm_struct *mm);
u64 __unwind_tables_block_rule(struct unwind_bisect_block *block, unsigned long ip);
u64 __unwind_tables_large_block_rule(struct unwind_bisect_block *block, unsigned long ip);
int __unwind_tables_lookup(unsigned long ip, const struct unwind_bisect_block *block,
			   struct unwind_tables_walk *walk);
int __unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame);
int __unwind_tables_lookup_register(unsigned long ip, unsigned int reg,
				    struct unwind_user_frame *frame,
				    struct unwind_tables_walk *walk);
void __unwind_tables_forget(struct mm_struct *mm, unsigned long start, unsigned long end);

/**
 * unwind_tables_registered - Whether an address space may have tables
 * @mm: The address space
 *
 * Context: Any. @mm must have users.
 * Return: Whether anything was ever registered, or looked for.
 */
static inline bool unwind_tables_registered(const struct mm_struct *mm)
{
	return READ_ONCE(mm->unwind_tables);
}

/**
 * unwind_tables_on - Whether tables are used at all
 *
 * Context: Any.
 * Return: Whether administrators have not switched tables off.
 */
static inline bool unwind_tables_on(void)
{
	return static_branch_likely(&unwind_tables_used);
}

/**
 * unwind_tables_formats - Which formats are used
 *
 * Context: Any.
 * Return: A bit for each, at the place of its number.
 */
static inline unsigned int unwind_tables_formats(void)
{
	unsigned int formats = BIT(UNWIND_TABLE_SFRAME);

	if (static_branch_likely(&unwind_tables_eh_frame))
		formats |= BIT(UNWIND_TABLE_EH_FRAME);
	return formats;
}

/**
 * unwind_tables_start - Get ready to look up a stack's addresses
 * @walk: What its lookups share. This sets what is used, but for @nothing.
 * @mm:	  current->mm
 *
 * Context: May sleep.
 * Return: Whether there is anything to look up but the vDSO.
 */
static inline bool unwind_tables_start(struct unwind_tables_walk *walk,
				       struct mm_struct *mm)
{
	walk->generation = 0;
	walk->lookups = 0;
	walk->caller_lookups = 0;
	/* Also for the vDSO. */
	walk->pending = false;
	walk->lacks_memory = false;
	walk->recent.generation = 0;
	walk->answer = (struct unwind_tables_answer){};
	walk->budget = UNWIND_TABLES_BUDGET;
	walk->lookup_budget = UNWIND_TABLES_LOOKUP_BUDGET;
	walk->waits = UNWIND_TABLES_WAITS;
	walk->discoveries = UNWIND_TABLES_DISCOVERIES;
	walk->formats = unwind_tables_formats();
	walk->salt = (u64)walk->formats << UNWIND_TABLES_CACHE_SALT;
	/* Pairs with the cmpxchg() that publishes a new registry. */
	walk->tables = smp_load_acquire(&mm->unwind_tables);
	if (unlikely(!walk->tables) && static_branch_likely(&unwind_tables_discovery))
		walk->tables = __unwind_tables_make(mm);
	if (unlikely(!walk->tables))
		return false;
	/* Pairs with the release that changes it. */
	walk->generation = smp_load_acquire(&walk->tables->generation);
	/* Pairs with the release that publishes it: what is in it depends on this. */
	walk->cache = READ_ONCE(walk->tables->cache);

	return true;
}

/**
 * unwind_tables_is_nothing - Whether an address is in text that is not asked for again
 * @walk: What all lookups of the stack share
 * @ip:	  The address
 *
 * Context: Any.
 * Return: Whether it is in text that this stack's lookups have left behind.
 */
static inline bool unwind_tables_is_nothing(const struct unwind_tables_walk *walk,
					    unsigned long ip)
{
	return ip - walk->nothing.start < walk->nothing.size;
}

/*
 * The tag of an address is the sum of address, generation and formats, times a factor
 * that is odd but for 12 zeros at its end. So addresses below 2^52 have different tags
 * in one generation. Addresses above that are not remembered. A slot of another
 * generation, or of other formats, matches with a chance of one in 2^43. A program can
 * choose its addresses so that one does: then only its own stacks are wrong.
 */
static __always_inline u64 unwind_tables_tag(const struct unwind_tables_walk *walk,
					     u64 generation, unsigned long ip)
{
	static_assert(UNWIND_TABLES_CACHE_SPREAD << (UNWIND_TABLES_CACHED_BITS - 1) == BIT_ULL(63));

	return (ip + generation + walk->salt) * UNWIND_TABLES_CACHE_SPREAD;
}

/* The slots where an answer may be. */
static __always_inline u64 *unwind_tables_set(const struct unwind_tables_walk *walk, u64 tag)
{
	return walk->cache->sets[mul_u64_u64_shr(tag, UNWIND_TABLES_CACHE_SETS, 64)];
}

/*
 * How slots of a set tell tags apart: by the lower 45 of their 52 bits, with room for a
 * short rule below. The tags of a set are 2^52 / 480 successive numbers, which are less
 * than 2^45.
 */
static __always_inline u64 unwind_tables_key(u64 tag)
{
	static_assert(UNWIND_TABLES_CACHE_SETS > 1 << (UNWIND_TABLES_RULE_SHORT - 12));
	return tag << (UNWIND_TABLES_RULE_SHORT - 12);
}

/**
 * unwind_tables_cached - Find what was looked up about an address before
 * @walk: What all lookups of the stack share; it has a cache
 * @ip:	  The address, below 2^%UNWIND_TABLES_CACHED_BITS
 *
 * It takes no lock, writes nothing, and reads no memory of the program.
 *
 * An answer is good at the moment when the generation is loaded. Whoever removes or
 * replaces a table changes the generation afterwards, and whoever remembers an answer has
 * loaded it before the table was looked for. So an answer of a table that has gone is
 * not known by this generation. The loads and stores of the slots need no order: a slot
 * is a word, which says itself what it is good for.
 *
 * Context: Any.
 * Return: A rule in a word; %UNWIND_TABLES_RULE_ELSEWHERE if there was one that is not
 *	   short; or 0.
 */
static __always_inline u64 unwind_tables_cached(const struct unwind_tables_walk *walk,
						unsigned long ip)
{
	u64 tag, key, rule;
	const u64 *set;

	/* Pairs with the release that changes it. */
	tag = unwind_tables_tag(walk, smp_load_acquire(&walk->tables->generation), ip);
	set = unwind_tables_set(walk, tag);
	key = unwind_tables_key(tag);

	rule = READ_ONCE(set[0]) ^ key;
	if (likely(rule < BIT_ULL(UNWIND_TABLES_RULE_SHORT)))
		return rule;
	rule = READ_ONCE(set[1]) ^ key;
	return rule < BIT_ULL(UNWIND_TABLES_RULE_SHORT) ? rule : 0;
}

/**
 * unwind_tables_ask - Ask the tables about an address
 * @ip:	  The address, for which unwind_tables_cached() has found nothing
 * @walk: What all lookups of the stack share, from unwind_tables_start(), which has said
 *	  that there is something; @walk->caller says whether this is a caller's address
 *
 * A rule that fits into a word goes into the cache, unless it is good only for now. Any
 * other answer but a usual rule is kept for the next unwind_tables_lookup().
 *
 * Context: Faultable: the tables are in user memory.
 * Return: A rule in a word, or 0.
 */
u64 unwind_tables_ask(unsigned long ip, struct unwind_tables_walk *walk);

/**
 * unwind_tables_lookup - Find the rule for an address in the current process
 * @ip:	    The address
 * @frame:  Where to put the rule
 * @walk:   As for unwind_tables_ask()
 *
 * Context: Faultable: the tables are in user memory.
 * Return: 0 and @frame; -ENOENT if no table says anything about @ip, -EOPNOTSUPP
 *	   if one does and that is not supported, -EFAULT if it could not be read
 *	   now, -EINVAL if the table is malformed, or -E2BIG if the budget is used
 *	   up.
 */
int unwind_tables_lookup(unsigned long ip, struct unwind_user_frame *frame,
			 struct unwind_tables_walk *walk);

/**
 * unwind_tables_lookup_register - Find where the caller's value of a register is
 * @ip:	   The address
 * @reg:   The register's number in DWARF
 * @frame: Where to put the rule, in which @fp_from and @fp_off are about @reg, not
 *	   about the frame pointer
 * @walk:  As for unwind_tables_ask()
 *
 * SFrame knows no other registers than the frame pointer.
 *
 * Context: Faultable: the tables are in user memory.
 * Return: As unwind_tables_lookup().
 */
int unwind_tables_lookup_register(unsigned long ip, unsigned int reg,
				  struct unwind_user_frame *frame,
				  struct unwind_tables_walk *walk);

/**
 * unwind_tables_lookup_vdso - Find the rule for an address in the vDSO
 * @start: Where the current process has mapped the vDSO
 * @ip:	   The address
 * @frame: Where to put the rule
 * @walk:  What all lookups of the stack share, from unwind_tables_start()
 *
 * Context: Any: the table is in the kernel's memory.
 * Return: As unwind_tables_lookup(), but for -EFAULT.
 */
int unwind_tables_lookup_vdso(unsigned long start, unsigned long ip,
			      struct unwind_user_frame *frame,
			      struct unwind_tables_walk *walk);

/**
 * unwind_tables_set_vdso - Make the tables of the 64-bit vDSO known
 * @image: The image that processes map, an ELF file, which stays as it is
 * @len:   How many bytes it has
 *
 * Context: Once, at boot.
 */
void unwind_tables_set_vdso(const void *image, size_t len);

/**
 * unwind_tables_init - Start an address space without tables
 * @mm: The new address space, perhaps a bytewise copy of another
 */
static inline void unwind_tables_init(struct mm_struct *mm)
{
	mm->unwind_tables = NULL;
}

/**
 * unwind_tables_dup - Give a new address space the tables of another
 * @mm:	   The new address space, which only the caller uses
 * @oldmm: The one that it becomes a copy of
 *
 * Without memory, @mm ends up without tables. That is no reason to fail.
 *
 * Context: Process context, may sleep. The caller holds the mmap lock of @oldmm
 *	    for writing.
 */
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm)
{
	if (unwind_tables_registered(oldmm))
		__unwind_tables_dup(mm, oldmm);
}

/**
 * unwind_tables_unmap - Forget what is about text or tables that are unmapped
 * @mm:	   The address space
 * @start: Address of the first byte that is unmapped
 * @end:   Address after the last one
 *
 * Context: Process context, may sleep. The caller holds the mmap lock of @mm
 *	    for writing, or nobody else uses @mm.
 */
static inline void unwind_tables_unmap(struct mm_struct *mm, unsigned long start,
				       unsigned long end)
{
	if (unwind_tables_registered(mm))
		__unwind_tables_unmap(mm, start, end);
}

/**
 * unwind_tables_forget - Forget what is about text or tables that a child lacks
 * @mm:	   The new address space, which only the caller uses
 * @start: Start of the first mapping that was not dupped, or that is wiped
 * @end:   End of the last one
 *
 * One call is for all such mappings, and for what is between them. It looks at
 * the registrations that have a byte of text or table there.
 *
 * Context: Process context, may sleep. The caller holds the mmap lock of @mm.
 */
static inline void unwind_tables_forget(struct mm_struct *mm, unsigned long start,
					unsigned long end)
{
	if (unwind_tables_registered(mm))
		__unwind_tables_forget(mm, start, end);
}

/**
 * unwind_tables_exit - Free what an address space registered
 * @mm: The address space, which has lost its last user
 *
 * Context: Process context, may sleep.
 */
static inline void unwind_tables_exit(struct mm_struct *mm)
{
	if (unwind_tables_registered(mm))
		__unwind_tables_free(mm->unwind_tables);
	mm->unwind_tables = NULL;
}

#else /* !CONFIG_UNWIND_USER_TABLES */

static inline int unwind_tables_register(struct mm_struct *mm,
					 const struct unwind_table_info *info)
{
	return -EOPNOTSUPP;
}

static inline long unwind_tables_prctl(unsigned long operation,
				       struct unwind_table __user *tables,
				       unsigned long count, unsigned long size)
{
	return -EINVAL;
}

static inline bool unwind_tables_on(void)
{
	return false;
}

static inline bool unwind_tables_start(struct unwind_tables_walk *walk,
				       struct mm_struct *mm)
{
	return false;
}

static inline bool unwind_tables_is_nothing(const struct unwind_tables_walk *walk,
					    unsigned long ip)
{
	return false;
}

static inline int unwind_tables_lookup(unsigned long ip, struct unwind_user_frame *frame,
				       struct unwind_tables_walk *walk)
{
	return -ENOENT;
}

static inline int unwind_tables_lookup_register(unsigned long ip, unsigned int reg,
						struct unwind_user_frame *frame,
						struct unwind_tables_walk *walk)
{
	return -ENOENT;
}

static inline int unwind_tables_lookup_vdso(unsigned long start, unsigned long ip,
					    struct unwind_user_frame *frame,
					    struct unwind_tables_walk *walk)
{
	return -ENOENT;
}

static inline void unwind_tables_set_vdso(const void *image, size_t len) {}
static inline void unwind_tables_init(struct mm_struct *mm) {}
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm) {}
static inline void unwind_tables_unmap(struct mm_struct *mm, unsigned long start,
				       unsigned long end) {}
static inline void unwind_tables_forget(struct mm_struct *mm, unsigned long start,
					unsigned long end) {}
static inline void unwind_tables_exit(struct mm_struct *mm) {}

#endif /* !CONFIG_UNWIND_USER_TABLES */

/**
 * unwind_tables_skip - Look up none of a stack's addresses
 * @walk: What its lookups would share
 */
static inline void unwind_tables_skip(struct unwind_tables_walk *walk)
{
	walk->tables = NULL;
	walk->nothing = (struct unwind_tables_nothing) {};
	walk->generation = 0;
	walk->lookups = 0;
	walk->caller_lookups = 0;
}

#endif /* _LINUX_UNWIND_TABLES_H */
