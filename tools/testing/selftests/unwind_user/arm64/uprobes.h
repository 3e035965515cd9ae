/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes of instructions. For uprobe_test.c alone.
 */
#ifndef UPROBES_H
#define UPROBES_H

FIXTURE_VARIANT_ADD(uprobe, sub_stepped)
{
	.probed = { probed_sub, 0, 0, { ENTRY(sub_at) }, { { sub_at } } },
};

FIXTURE_VARIANT_ADD(uprobe, call_emulated)
{
	.probed = { probed_call, 0, 0, { ENTRY(call_at) }, { { call_at } } },
};

FIXTURE_VARIANT_ADD(uprobe, adr_emulated)
{
	.probed = { probed_adr, 0, 0, { ENTRY(adr_at) }, { { adr_at } } },
};

/* What is signed is the address of the trampoline. */
FIXTURE_VARIANT_ADD(uprobe, return_probe_of_a_function_that_signs)
{
	.probed = { probed_signed, 0, 0, { URET(probed_signed), ENTRY(inner_at) },
	{ { inner_at, signed_return }, { EMPTY } } },
};

FIXTURE_VARIANT_ADD(uprobe, behind_the_signature)
{
	.probed = { probed_signed, 0, 0, { URET(probed_signed), ENTRY(signed_at) },
	{ { signed_at }, { EMPTY } } },
};

#ifdef SFRAME
/* A frame pointer leads past what was interrupted, to a return address of the trampoline. */
FIXTURE_VARIANT_ADD(uprobe, return_probes_around_a_signal)
{
	.probed = { interrupted, 0, 0, { URET(interrupted), URET(handler), ENTRY(inner_at) },
	{ { inner_at, handler_return, restorer, interrupted_at }, { restorer,
	interrupted_behind }, { EMPTY } } },
};

/* The link register is replaced where it has the return address. */
FIXTURE_VARIANT_ADD(uprobe, leaf_with_a_return_probe)
{
	.probed = { outer_of_leaf, 0, 0, { URET(probed_leaf), ENTRY(leaf_at) },
	{ { leaf_at, outer_of_leaf_return }, { outer_of_leaf_return } } },
};

/* Where the frame pointer is the caller's, and only a table knows. */
FIXTURE_VARIANT_ADD(uprobe, first_store_stepped)
{
	.probed = { probed_store, 0, 0, { ENTRY(probed_store) }, { { probed_store } } },
};

FIXTURE_VARIANT_ADD(uprobe, first_of_a_leaf)
{
	.probed = { probed_leaf, 0, 0, { ENTRY(probed_leaf) }, { { probed_leaf } } },
};

FIXTURE_VARIANT_ADD(uprobe, tail_call_emulated)
{
	.probed = { probed_jmp, 0, 0, { ENTRY(jmp_at) }, { { jmp_at } } },
};

#endif

#endif /* UPROBES_H */
