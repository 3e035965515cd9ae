/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes of instructions. For uprobe_test.c alone.
 */
#ifndef UPROBES_H
#define UPROBES_H

void probed_push(int depth);
void probed_endbr(int depth);
void probed_nop10(int depth);
extern const char nop10_at[];
void stepped(int depth);
void stepped_nop10(int depth);
extern const char stepped_nop10_at[];
void step_handler(int number);
extern const char step_handler_return[];
extern unsigned long steps_elsewhere;
void return_to(unsigned long at, unsigned long word);
void return_to_handler(int number);

FIXTURE_VARIANT_ADD(uprobe, first_push_emulated)
	{ .probed = { probed_push, 0, 0, { ENTRY(probed_push) }, { { probed_push } } } };

#ifdef SFRAME
/* Where the frame pointer is the caller's, and only a table knows. */
FIXTURE_VARIANT_ADD(uprobe, first_endbr64)
	{ .probed = { probed_endbr, 0, 0, { ENTRY(probed_endbr) }, { { probed_endbr } } } };
#endif

/* Optimised after the first time. */
FIXTURE_VARIANT_ADD(uprobe, nop10_optimised)
	{ .probed = { probed_nop10, 0, 4, { ENTRY(nop10_at) }, { { nop10_at } } } };

#endif /* UPROBES_H */
