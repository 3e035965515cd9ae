/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places that the kernel puts a probed program to. For uprobe_test.c alone.
 */
#ifndef UPROBE_SPECIALS_H
#define UPROBE_SPECIALS_H

/* Where a copy of the instruction is stepped: the first slot is the trampoline. */
TEST_F(special, stop_where_an_instruction_is_stepped)
{
	const struct probe probe = QUIET_ENTRY(sub_at);

	EXPECT_TRUE(stop_at("[uprobes]", 4, &probe, probed_sub, sub_at));
}

#endif /* UPROBE_SPECIALS_H */
