/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between swap.c and swapped.S. */
#ifndef SWAP_H
#define SWAP_H

/* swapped.S depends on the offsets. */
struct swap {
	long (*last)(struct swap *swap);	/* of the program */
	void *decoy;				/* an address that no frame returns to */
	long turns;
};

#endif
