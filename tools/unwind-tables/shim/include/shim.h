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

#define U64_MAX		UINT64_MAX

#define __user

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/**
 * struct shim_reader - Who reads user memory
 * @read:   Copies @len bytes from @offset; says whether that was possible
 * @reader: Its first argument
 */
struct shim_reader {
	bool (*read)(const void *reader, u64 offset, void *to, u32 len);
	const void *reader;
};

extern __thread struct shim_reader shim_reader;

#define unsafe_get_user(x, ptr, label)					\
do {									\
	(x) = 0;							\
	if (!shim_reader.read(shim_reader.reader, (u64)(ptr), &(x), sizeof(x)))	\
		goto label;						\
} while (0)

static inline bool user_read_access_begin(const void __user *ptr, u64 len)
{
	return true;
}

static inline void user_read_access_end(void)
{
}

static inline bool should_fail_usercopy(void)
{
	return false;
}

#define PAGE_SHIFT	12

/* Nobody asks which byte a read has missed. */
static inline long copy_from_user_nofault(void *to, const void *from, size_t len)
{
	return -EFAULT;
}

#endif /* _SHIM_H */
