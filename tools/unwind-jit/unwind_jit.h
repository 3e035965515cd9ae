/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Unwind tables for generated code.
 *
 * A JIT compiler tells the kernel how the frames of its code look, so that profilers can
 * follow stacks through it. It says of each function where the CFA and the caller's frame
 * pointer are; this library writes the SFrame table and registers it with
 * prctl(PR_UNWIND_TABLES).
 *
 * A region is a range of memory for code, with one table. Functions that are added in the
 * order of their addresses cost no system call, but for each time that their number has
 * doubled.
 *
 * A new function: unwind_jit_add() before its code runs, and if that returns 1, then
 * unwind_jit_publish(), best before the code runs, too: until then, stacks end in it. If a
 * function ran before it was added, publish in any case: the kernel remembers the rule of an
 * address, and also that it has none.
 *
 * Memory that gets other code, in this order:
 *
 * 1. unwind_jit_remove(), when no thread has the old code on its stack any more.
 * 2. unwind_jit_publish(), before the memory gets other code.
 * 3. unwind_jit_add() of what it gets.
 *
 * All functions do nothing, and succeed, if the region is NULL: that is what
 * unwind_jit_open() returns where the kernel has no tables. Calls for one region must not
 * overlap; threads may run and be sampled in its code meanwhile.
 */
#ifndef UNWIND_JIT_H
#define UNWIND_JIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct unwind_jit;

/* Functions are added from the region's end downwards, as some compilers do. */
#define UNWIND_JIT_DOWNWARDS	0x01

/* What the CFA is computed from. */
enum unwind_jit_base {
	UNWIND_JIT_SP,		/* the stack pointer */
	UNWIND_JIT_FP,		/* the frame pointer */
	UNWIND_JIT_OUTERMOST,	/* nothing: there is no caller, the stack ends here */
};

/**
 * struct unwind_jit_row - How a frame looks from an instruction on
 * @offset: Where the row begins to hold, in bytes from the function's start
 * @cfa:    The CFA, which is the stack pointer before the call, is @base plus this
 * @fp:     Where the caller's frame pointer is saved, in bytes from the CFA; 0 if it is
 *	    in its register
 * @base:   What the CFA is computed from. Of UNWIND_JIT_OUTERMOST, @cfa and @fp do not matter
 *
 * The return address is at CFA - 8. On entry to a function that was called, the
 * row is { 0, 8, 0, UNWIND_JIT_SP }.
 */
struct unwind_jit_row {
	uint32_t offset;
	int32_t cfa;
	int32_t fp;
	enum unwind_jit_base base;
};

/**
 * unwind_jit_open - Make a region
 * @code:  Where its code is, or will be
 * @size:  Of how many bytes
 * @flags: 0 or UNWIND_JIT_DOWNWARDS
 *
 * The memory need not be mapped yet. unwind_jit_publish() registers it, and removes each
 * registration that overlaps it, but for an .eh_frame of exactly this code.
 *
 * Return: The region; or NULL with errno set: ENOTSUP if the kernel has no tables, or this
 *	   library does not support the machine: go on without a message; EINVAL; ENOMEM.
 */
struct unwind_jit *unwind_jit_open(void *code, size_t size, unsigned int flags);

/**
 * unwind_jit_add - Say how the frames of a function look
 * @region:  The region
 * @start:   Where the function starts, in the region
 * @size:    Its size in bytes, not 0
 * @rows:    Its rows: ascending offsets, the first 0, all below @size
 * @nr_rows: How many, up to 65535
 *
 * Return: 0 if the kernel knows the function now; 1 if it will by unwind_jit_publish();
 *	   -EINVAL, -ENOMEM, or -EEXIST if the function overlaps another one. After an error
 *	   all is as before.
 */
int unwind_jit_add(struct unwind_jit *region, const void *start, size_t size,
		   const struct unwind_jit_row *rows, size_t nr_rows);

/**
 * unwind_jit_remove - Forget functions
 * @region: The region
 * @start:  Start of a range; it may be larger than the region
 * @size:   Its size in bytes
 *
 * All functions that begin in the range are forgotten. The kernel forgets them by
 * unwind_jit_publish().
 *
 * Return: 1 if there were any; 0 if not; -EINVAL.
 */
int unwind_jit_remove(struct unwind_jit *region, const void *start, size_t size);

/**
 * unwind_jit_publish - Tell the kernel about all functions that were added and removed
 * @region: The region, all of which must be mapped and executable
 *
 * Does nothing if nothing was added or removed since the last time. Else it is a system call;
 * and if the kernel has not been told everything by unwind_jit_add(), writes a new table, with
 * room for as many functions again. This takes time in proportion to the number of functions:
 * where they are not added in order, add some at a time. The memory of the last four tables
 * is kept: a lookup may still read them.
 *
 * Return: 0 or -errno: -ENOMEM, or what prctl() has, -EACCES if some of the memory is not
 *	   executable. After an error all is as before, and it may be called again.
 */
int unwind_jit_publish(struct unwind_jit *region);

/**
 * unwind_jit_close - Forget a region
 * @region: The region
 *
 * Call this before the memory is unmapped. To forget a region whose memory was unmapped
 * does no harm, unless another region was made there and published meanwhile.
 */
void unwind_jit_close(struct unwind_jit *region);

/**
 * unwind_jit_eh_frame_index - Write the index of an .eh_frame
 * @index:    Where to write it: where the kernel shall find it
 * @room:     How many bytes there are; with 0, @index may be anything
 * @eh_frame: The records, where they are when exceptions are thrown
 * @len:      How many bytes they have at most; they may end before with a length of 0
 *
 * The kernel never searches an .eh_frame from its start, as libgcc does. This makes the
 * .eh_frame_hdr that linkers would. It needs 16 bytes and 16 for each function. Records
 * without an address or a size are left out.
 *
 * Return: How many bytes the index has. If that is more than @room, or after an error, what
 *	   was written has no meaning.
 *	   -EINVAL if the records are malformed, or not as the kernel reads them.
 */
ssize_t unwind_jit_eh_frame_index(void *index, size_t room, const void *eh_frame, size_t len);

/**
 * unwind_jit_eh_frame_register - Tell the kernel of an .eh_frame
 * @code:  The code that it describes, which must be mapped and executable
 * @size:  Its size in bytes
 * @table: A range of memory, all of it readable, with the records and the index
 * @len:   Its size in bytes
 * @index: The index, in the range
 *
 * Removes each registration that overlaps the code. A region of unwind_jit_open() with
 * exactly this code stays: the kernel asks its table first, then the .eh_frame. The
 * registration ends with unwind_jit_eh_frame_unregister(), or when some of the code is
 * unmapped. Unregister before the table is unmapped.
 *
 * Return: 0 or -errno: -EINVAL if the kernel has no tables or does not read this format.
 */
int unwind_jit_eh_frame_register(const void *code, size_t size, const void *table, size_t len,
				 const void *index);

/**
 * unwind_jit_eh_frame_unregister - Take that back
 * @code: The code, as it was registered
 * @size: Its size in bytes
 *
 * Return: 0 or -errno.
 */
int unwind_jit_eh_frame_unregister(const void *code, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* UNWIND_JIT_H */
