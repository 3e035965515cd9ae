/* SPDX-License-Identifier: GPL-2.0 */
/* What a program and the libraries that it swaps know of each other. */
#ifndef SWAP_H
#define SWAP_H

/* Offsets that swapped.S knows. */
struct swap {
	long (*last)(struct swap *swap);	/* of the program */
	void *decoy;				/* an address that no frame returns to */
	long turns;
};

#endif
