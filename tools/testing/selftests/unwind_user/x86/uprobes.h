/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes of instructions. For uprobe_test.c alone.
 */
#ifndef UPROBES_H
#define UPROBES_H

FIXTURE_VARIANT_ADD(uprobe, return_probes_around_a_signal)
{
	.probed = { interrupted, 0, 0, { URET(interrupted), URET(handler), ENTRY(inner_at) },
	{ { inner_at, handler_return, restorer, interrupted_at }, { restorer,
	interrupted_behind }, { EMPTY } } },
};

FIXTURE_VARIANT_ADD(uprobe, first_push_emulated)
{
	.probed = { probed_push, 0, 0, { ENTRY(probed_push) }, { { probed_push } } },
};

FIXTURE_VARIANT_ADD(uprobe, sub_stepped)
{
	.probed = { probed_sub, 0, 0, { ENTRY(sub_at) }, { { sub_at } } },
};

FIXTURE_VARIANT_ADD(uprobe, call_emulated)
{
	.probed = { probed_call, 0, 0, { ENTRY(call_at) }, { { call_at } } },
};

#ifdef SFRAME
/* Where the frame pointer is the caller's, and only a table knows. */
FIXTURE_VARIANT_ADD(uprobe, first_endbr64)
{
	.probed = { probed_endbr, 0, 0, { ENTRY(probed_endbr) }, { { probed_endbr } } },
};

FIXTURE_VARIANT_ADD(uprobe, tail_call_emulated)
{
	.probed = { probed_jmp, 0, 0, { ENTRY(jmp_at) }, { { jmp_at } } },
};

#endif

/* Optimised after the first time. */
FIXTURE_VARIANT_ADD(uprobe, nop10_optimised)
{
	.probed = { probed_nop10, 0, 4, { ENTRY(nop10_at) }, { { nop10_at } } },
};

#endif /* UPROBES_H */
