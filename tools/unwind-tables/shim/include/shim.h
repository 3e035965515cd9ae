/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/unwind/tables/bisect.c takes from the kernel's headers. User memory
 * is the table of a reader in Rust.
 */
#ifndef _SHIM_H
#define _SHIM_H

#include <asm-generic/errno-base.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t		u8;
typedef uint32_t	u32;
typedef uint64_t	u64;
typedef int32_t		s32;
typedef int64_t		s64;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#define __user
#define noinline

#define unrolled_full

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define min(x, y)	((x) < (y) ? (x) : (y))
#define BUILD_BUG_ON(x)	((void)sizeof(char[1 - 2 * !!(x)]))

#define swab32(x)	__builtin_bswap32(x)
#define swab64(x)	__builtin_bswap64(x)

/* A conditional expression has a type that is not const. */
#define get_unaligned(ptr)						\
({									\
	typeof(1 ? *(ptr) : *(ptr)) __x;				\
									\
	memcpy(&__x, ptr, sizeof(__x));					\
	__x;								\
})

/**
 * struct shim_reader - Who reads user memory
 * @read:   Copies @len bytes from @offset; says whether that was possible
 * @reader: Its first argument
 * @base:   Address of byte 0
 */
struct shim_reader {
	bool (*read)(const void *reader, u64 offset, void *to, u32 len);
	const void *reader;
	u64 base;
};

extern __thread struct shim_reader shim_reader;

#define unsafe_get_user(x, ptr, label)					\
do {									\
	(x) = 0;							\
	if (!shim_reader.read(shim_reader.reader, (u64)(ptr) - shim_reader.base, &(x),	\
			      sizeof(x)))				\
		goto label;						\
} while (0)

static inline bool user_read_access_begin(const void __user *ptr, u64 len)
{
	return true;
}

static inline void user_read_access_end(void)
{
}

static inline u64 array_index_nospec(u64 index, u64 size)
{
	return index < size ? index : 0;
}

static inline bool can_do_masked_user_access(void)
{
	return true;
}

static inline const void *mask_user_address(const void *ptr)
{
	return ptr;
}

static inline bool should_fail_usercopy(void)
{
	return false;
}

/* No read here waits. */
static inline void pagefault_disable(void)
{
}

static inline void pagefault_enable(void)
{
}

#endif /* _SHIM_H */
