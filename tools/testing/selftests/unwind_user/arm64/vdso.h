/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between vDSOs. For vdso_test.c alone.
 */
#ifndef VDSO_H
#define VDSO_H

/* No other vDSO can be mapped. */
static int map_vdso32(void)
{
	return -EINVAL;
}

#endif /* VDSO_H */
