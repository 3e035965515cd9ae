/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes of instructions. For uprobe_test.c alone.
 */
#ifndef UPROBES_H
#define UPROBES_H

void probed_store(int depth);
void probed_adr(int depth);
extern const char adr_at[];
void probed_signed(int depth);
extern const char signed_at[], signed_return[];
void probed_leaf(int depth);
extern const char leaf_at[];
void outer_of_leaf(int depth);
extern const char outer_of_leaf_return[];

FIXTURE_VARIANT_ADD(uprobe, adr_emulated)
	{ .probed = { probed_adr, 0, 0, { ENTRY(adr_at) }, { { adr_at } } } };

/* What is signed is the address of the trampoline. */
FIXTURE_VARIANT_ADD(uprobe, return_probe_of_a_function_that_signs)
	{ .probed = { probed_signed, 0, 0, { URET(probed_signed), ENTRY(inner_at) }, { { inner_at,
	    signed_return }, { EMPTY } } } };
FIXTURE_VARIANT_ADD(uprobe, behind_the_signature)
	{ .probed = { probed_signed, 0, 0, { URET(probed_signed), ENTRY(signed_at) },
	    { { signed_at }, { EMPTY } } } };

#ifdef SFRAME
/* The link register is replaced where it has the return address. */
FIXTURE_VARIANT_ADD(uprobe, leaf_with_a_return_probe)
	{ .probed = { outer_of_leaf, 0, 0, { URET(probed_leaf), ENTRY(leaf_at) }, { { leaf_at,
	    outer_of_leaf_return }, { outer_of_leaf_return } } } };

/* Where the frame pointer is the caller's, and only a table knows. */
FIXTURE_VARIANT_ADD(uprobe, first_store_stepped)
	{ .probed = { probed_store, 0, 0, { ENTRY(probed_store) }, { { probed_store } } } };
FIXTURE_VARIANT_ADD(uprobe, first_of_a_leaf)
	{ .probed = { probed_leaf, 0, 0, { ENTRY(probed_leaf) }, { { probed_leaf } } } };
#endif

#endif /* UPROBES_H */
