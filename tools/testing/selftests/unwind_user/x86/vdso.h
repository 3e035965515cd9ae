/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between vDSOs. For vdso_test.c alone.
 */
#ifndef VDSO_H
#define VDSO_H

#include <asm/prctl.h>

static bool unmap(const char *name)
{
	unsigned long size, start = find_mapping(name, &size);

	return start && !munmap((void *)start, size);
}

/*
 * The vDSO of 32-bit programs: of its code, one byte is a return in 64 bits, too. Returns 0
 * or a negative errno.
 */
static int map_vdso32(void)
{
	long ret;

	if (!unmap("[vdso]\n") || !unmap("[vvar]\n") || !unmap("[vvar_vclock]\n"))
		return -ENOENT;
	ret = syscall(__NR_arch_prctl, ARCH_MAP_VDSO_32, 0x10000000);
	if (ret < 0)
		return -errno;
	vdso = find_mapping("[vdso]\n", &vdso_size);
	if (!vdso)
		return -ENOENT;
	vdso_clock_gettime = memchr((void *)vdso, 0xc3, vdso_size);
	return vdso_clock_gettime ? 0 : -ENOENT;
}

#endif /* VDSO_H */
