/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where compat.S has what its parent looks for: the two are of different word
 * sizes, and cannot be linked.
 */
#ifndef COMPAT_H
#define COMPAT_H

#define COMPAT_TEXT		0x400000

#define COMPAT_START		(COMPAT_TEXT + 0x000)
/* What _start calls returns there. */
#define COMPAT_RETURN		(COMPAT_TEXT + 0x100)
#define COMPAT_BARE_RETURN	(COMPAT_TEXT + 0x180)
/* Faults with a frame pointer, and with a register that is none. */
#define COMPAT_FRAMED		(COMPAT_TEXT + 0x200)
#define COMPAT_LOST		(COMPAT_TEXT + 0x300)
/* A fault with a frame pointer, in what a function without a frame called. */
#define COMPAT_DEEP		(COMPAT_TEXT + 0x400)

/* Exit status of the program without a vDSO, or if that cannot be taken away. */
#define COMPAT_NO_VDSO		2
/* Exit status if it could have registered a table. */
#define COMPAT_REGISTERS	3

#endif /* COMPAT_H */
