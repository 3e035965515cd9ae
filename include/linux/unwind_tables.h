/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind tables of user space: the C face of kernel/unwind/tables/.
 */
#ifndef _LINUX_UNWIND_TABLES_H
#define _LINUX_UNWIND_TABLES_H

#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/uaccess.h>
#include <linux/unwind_user_types.h>
#include <uapi/linux/unwind_tables.h>

/* Who registered a table. */
enum unwind_table_origin {
	UNWIND_TABLE_BY_EXEC,
	UNWIND_TABLE_BY_PRCTL,
	UNWIND_TABLE_BY_DISCOVERY,
};

/* The state of a table. */
enum unwind_table_state {
	UNWIND_TABLE_UNCHECKED,
	UNWIND_TABLE_GOOD,
	UNWIND_TABLE_DISABLED,
};

/**
 * struct unwind_table_info - A line of /proc/PID/unwind_tables
 * @text_start:	   Address of the first byte of text
 * @text_end:	   Address after the last byte of text
 * @table_start:   Address of the table's first byte
 * @table_end:	   Address after the last byte that the table may use
 * @header:	   Address of the header of an .eh_frame table, .eh_frame_hdr
 * @format:	   The table's format, UNWIND_TABLE_SFRAME, _EH_FRAME or _ABSENT
 * @origin:	   Who registered it, an enum unwind_table_origin
 * @state:	   The table's state, an enum unwind_table_state
 * @reason_offset: Where a disabled table is malformed, in bytes from its start
 * @reason:	   Why the table is disabled, or why there is none, in a word; or NULL
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
	unsigned int reason_offset;
	const char *reason;
};

/*
 * What the lookups of one stack may cost together. The unit is a byte that is read of a
 * table. A read counts as 32 at least, and so does each step of a search. A lookup costs
 * some 600. Whatever is in the tables, a walk takes less than four million instructions.
 */
#define UNWIND_TABLES_BUDGET		(80 * 1024)

/* Number of texts whose program headers a walk reads. The next stack gets further. */
#define UNWIND_TABLES_DISCOVERIES	8

/*
 * Bits of a rule in a word. The walker applies usual rules as they are: FP is the shift of
 * the frame pointer's place, and CFA that of the CFA's offset, both in words. The 25 bits
 * between them are 0: the return address is just below the CFA. They are for
 * architectures that have it elsewhere, or the frame pointer farther away.
 */
#define UNWIND_TABLES_RULE_USUAL	0x1
#define UNWIND_TABLES_RULE_FROM_FP	0x2
#define UNWIND_TABLES_RULE_FP		2
#define UNWIND_TABLES_RULE_CFA		32
#define UNWIND_TABLES_RULE_CFA_BITS	20
/* In a word that is not usual but has the bit of FROM_FP: there is no caller. */
#define UNWIND_TABLES_RULE_OUTERMOST	0x4
/* Without these bits: the rule is in the walk's frame; or the word has an errno. */
#define UNWIND_TABLES_RULE_LARGE	0x8
#define UNWIND_TABLES_RULE_ERROR	0x10
#define UNWIND_TABLES_RULE_ERRNO	8

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
 * @is_file:	Whether there is a file, or an object of the kernel's own: the vDSO
 */
struct unwind_tables_object {
	unsigned long	start;
	unsigned long	end;
	u64		offset;
	unsigned long	header;
	unsigned long	header_len;
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

#ifdef CONFIG_UNWIND_USER_TABLES

/* Which tables are used: sysctl kernel.unwind_tables. Each level adds to the one before. */
enum {
	UNWIND_TABLES_OFF,
	UNWIND_TABLES_REGISTERED,	/* what exec and programs register */
	UNWIND_TABLES_DISCOVERED,	/* what the kernel finds in mapped files */
};

extern unsigned int unwind_tables_level;

long unwind_tables_prctl(unsigned long operation, struct unwind_table __user *tables,
			 unsigned long count, unsigned long size);

/* For the Rust code in kernel/unwind/tables/ only: */
unsigned int unwind_tables_most(void);
bool unwind_tables_may_discover(void);
int unwind_tables_read(void *to, unsigned long addr, unsigned int len,
		       unsigned long *missing);
int unwind_tables_find_object(unsigned long ip, struct unwind_tables_object *object);
int unwind_tables_find_headers(unsigned long ip, const struct unwind_tables_object *object,
			       u64 offset, u64 len, unsigned long *start);
int unwind_tables_find_part(unsigned long ip, bool around, struct unwind_tables_part *part);
int unwind_tables_find_records(unsigned long ip, unsigned long header, unsigned long addr,
			       struct unwind_tables_part *part);
int unwind_tables_lock_mapped(unsigned long text_start, unsigned long text_end,
			      const struct unwind_tables_part *parts, unsigned int nr);
int unwind_tables_lock_table(const struct unwind_table *table);
void unwind_tables_unlock_mapped(void);
bool unwind_tables_may_wait(void);

/* Rust functions, for this file and for kernel/unwind/tables/ only: */
int __unwind_tables_register(struct mm_struct *mm, const struct unwind_table *table);
int __unwind_tables_unregister(struct mm_struct *mm, const struct unwind_table *table);
void __unwind_tables_exec(struct mm_struct *mm, unsigned long bias, const void *headers,
			  size_t len);
/*
 * Fills in @infos for the first text that ends above @from: one for each table, or one if
 * the text has none. Returns their number, or 0 if there is no such text.
 */
unsigned int __unwind_tables_next(struct mm_struct *mm, unsigned long from,
				  struct unwind_table_info infos[UNWIND_TABLE_FORMATS]);
void __unwind_tables_unmap(struct mm_struct *mm, unsigned long start, unsigned long end);
void __unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm);
void __unwind_tables_free(struct unwind_tables *tables);
void unwind_tables_free(struct unwind_tables *tables);
struct unwind_tables *__unwind_tables_make(struct mm_struct *mm);
u64 __unwind_tables_find(unsigned long ip, unsigned int reg, struct unwind_tables_walk *walk);
int __unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame);

/**
 * unwind_tables_registered - Say whether an address space has a registry
 * @mm: The address space
 *
 * Context: Any. @mm must have users.
 * Return: Whether it has one: a table was registered, or a walk has looked for one.
 */
static inline bool unwind_tables_registered(const struct mm_struct *mm)
{
	return READ_ONCE(mm->unwind_tables);
}

/**
 * unwind_tables_on - Say whether tables are used at all
 *
 * Context: Any.
 * Return: Whether sysctl kernel.unwind_tables does not switch them off.
 */
static inline bool unwind_tables_on(void)
{
	return READ_ONCE(unwind_tables_level) != UNWIND_TABLES_OFF;
}

/**
 * unwind_tables_start - Get ready to look up a stack's addresses
 * @walk: The state of the walk's lookups
 * @mm:	  current->mm
 *
 * Context: May sleep.
 * Return: Whether there is a registry to look them up in.
 */
static inline bool unwind_tables_start(struct unwind_tables_walk *walk,
				       struct mm_struct *mm)
{
	/* Pairs with the cmpxchg() that publishes a new registry. */
	walk->tables = smp_load_acquire(&mm->unwind_tables);
	if (unlikely(!walk->tables) && unwind_tables_may_discover())
		walk->tables = __unwind_tables_make(mm);
	if (unlikely(!walk->tables))
		return false;
	/* Pairs with the cmpxchg() that publishes it: what is in it depends on this. */
	walk->cache = READ_ONCE(walk->tables->cache);

	return true;
}

/**
 * unwind_tables_is_skipped - Say whether a walk asks no table about an address
 * @walk: The state of the walk's lookups
 * @ip:	  The address
 *
 * Context: Any.
 * Return: Whether the address is in the text that the walk skips.
 */
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

/**
 * unwind_tables_cached - Find the remembered rule for an address
 * @walk: The state of the walk's lookups, with a cache
 * @ip:	  The address
 *
 * This takes no lock, writes nothing, and reads no memory of the program.
 *
 * A rule is right at the moment when the generation is loaded. A writer that removes or
 * replaces a table changes the generation afterwards. A walk that remembers a rule has
 * loaded the generation before it looked for the table. So the rule of a table that is
 * gone has no mark of this generation. The loads and stores of a slot need no order: two
 * words of different writers make the mark of neither, unless both have the same rule.
 *
 * Context: Any.
 * Return: A rule in a word, or 0.
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

/**
 * unwind_tables_ask - Look up the rule for an address that has no remembered one
 * @ip:	  The address
 * @walk: The state of the walk's lookups, for which unwind_tables_start() has returned
 *	  true; @walk->caller says whether this is the address of a caller
 *
 * This remembers the rule, if it fits into a word and comes from a text of the registry.
 *
 * Context: Process context, page faults are disabled. May sleep.
 * Return: A rule in a word, or an errno in one. It is good until the next call.
 */
u64 unwind_tables_ask(unsigned long ip, struct unwind_tables_walk *walk);

/**
 * unwind_tables_lookup - Find the rule for an address, remembered or not
 * @ip:	    The address
 * @walk:   As for unwind_tables_ask()
 *
 * Context: As unwind_tables_ask().
 * Return: As unwind_tables_ask().
 */
u64 unwind_tables_lookup(unsigned long ip, struct unwind_tables_walk *walk);

/**
 * unwind_tables_unpack - Put a rule into a frame
 * @rule:  A rule in a word, or an errno in one
 * @frame: Where to put the rule
 * @walk:  Where the word is from
 *
 * Context: Any.
 * Return: 0 and @frame; -ENOENT if no table says anything about the address, -EOPNOTSUPP
 *	   if one does and that is not supported, -EFAULT if it could not be read
 *	   now, -EINVAL if the table is malformed, or -E2BIG if the budget is used
 *	   up.
 */
int unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame,
			 const struct unwind_tables_walk *walk);

/**
 * unwind_tables_lookup_register - Find the place of the caller's value of a register
 * @ip:	   The address
 * @reg:   The register's number in DWARF
 * @frame: Where to put the rule, in which @fp_from and @fp_off are about @reg, not
 *	   about the frame pointer
 * @walk:  As for unwind_tables_ask()
 *
 * SFrame knows no other registers than the frame pointer.
 *
 * Context: As unwind_tables_ask().
 * Return: As unwind_tables_unpack().
 */
int unwind_tables_lookup_register(unsigned long ip, unsigned int reg,
				  struct unwind_user_frame *frame,
				  struct unwind_tables_walk *walk);

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
 * If there is no memory, @mm gets no tables. That is no reason for fork() to fail.
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
 * unwind_tables_unmap - Remove the texts of memory that is unmapped
 * @mm:	   The address space
 * @start: Address of the first byte that is unmapped
 * @end:   Address after the last one
 *
 * Memory that a child does not get, or gets empty, is unmapped in the child.
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
 * unwind_tables_exec - Register the tables of a program or its interpreter
 * @mm:	     current->mm, where exec has mapped it
 * @bias:    What was added to the addresses of the file
 * @headers: Its program headers, of 64 bits
 * @len:     How many bytes these have
 *
 * This does not read the tables; most are never used. It ignores all errors: the program
 * starts.
 *
 * Context: Process context, takes the mmap lock.
 */
static inline void unwind_tables_exec(struct mm_struct *mm, unsigned long bias,
				      const void *headers, size_t len)
{
	__unwind_tables_exec(mm, bias, headers, len);
}

/**
 * unwind_tables_exit - Free the registry of an address space
 * @mm: The address space, which has lost its last user
 *
 * Context: Process context, may sleep.
 */
static inline void unwind_tables_exit(struct mm_struct *mm)
{
	if (unwind_tables_registered(mm))
		unwind_tables_free(mm->unwind_tables);
	mm->unwind_tables = NULL;
}

#else /* !CONFIG_UNWIND_USER_TABLES */

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

static inline bool unwind_tables_is_skipped(const struct unwind_tables_walk *walk,
					    unsigned long ip)
{
	return false;
}

static inline u64 unwind_tables_lookup(unsigned long ip, struct unwind_tables_walk *walk)
{
	return 0;
}

static inline int unwind_tables_unpack(u64 rule, struct unwind_user_frame *frame,
				       const struct unwind_tables_walk *walk)
{
	return -ENOENT;
}

static inline int unwind_tables_lookup_register(unsigned long ip, unsigned int reg,
						struct unwind_user_frame *frame,
						struct unwind_tables_walk *walk)
{
	return -ENOENT;
}

static inline void unwind_tables_init(struct mm_struct *mm) {}
static inline void unwind_tables_dup(struct mm_struct *mm, struct mm_struct *oldmm) {}
static inline void unwind_tables_unmap(struct mm_struct *mm, unsigned long start,
				       unsigned long end) {}
static inline void unwind_tables_exec(struct mm_struct *mm, unsigned long bias,
				      const void *headers, size_t len) {}
static inline void unwind_tables_exit(struct mm_struct *mm) {}

#endif /* !CONFIG_UNWIND_USER_TABLES */

#endif /* _LINUX_UNWIND_TABLES_H */
