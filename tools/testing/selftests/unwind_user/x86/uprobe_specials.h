/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places that the kernel puts a probed program to. For uprobe_test.c alone.
 */
#ifndef UPROBE_SPECIALS_H
#define UPROBE_SPECIALS_H

/* Behind the first instruction of an optimised probe, which moves rsp. */
TEST_F(special, stop_inside_an_optimised_probe)
{
	const struct probe probe = QUIET_ENTRY(nop10_at);

	EXPECT_TRUE(stop_at(NULL, (unsigned long)nop10_at + 5, &probe, probed_nop10, nop10_at));
}

/* At each instruction of the trampoline of optimised probes. */
TEST_F(special, stop_in_the_trampoline_of_optimised_probes)
{
	static const unsigned char at[] = { 0, 1, 3, 4, 11, 13, 14, 16, 17 };
	const struct probe probe = QUIET_ENTRY(nop10_at);

	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++) {
		EXPECT_TRUE(stop_at("[uprobes-trampoline]", at[i], &probe, probed_nop10,
				    at[i] < 13 ? nop10_at : nop10_at + 10));
	}
}

/* And in that of return probes. */
TEST_F(special, stop_in_the_trampoline_of_return_probes)
{
	static const unsigned char at[] = { 0, 1, 2, 4, 11, 13, 15, 16 };
	const struct probe probe = QUIET_URET(inner);

	for (unsigned int i = 0; i < ARRAY_SIZE(at); i++)
		EXPECT_TRUE(stop_at("[uprobes]", at[i], &probe, inner, EMPTY));
}

/* Where a copy of the instruction is stepped: the first slot is the trampoline. */
TEST_F(special, stop_where_an_instruction_is_stepped)
{
	const struct probe probe = QUIET_ENTRY(sub_at);

	EXPECT_TRUE(stop_at("[uprobes]", 128, &probe, probed_sub, sub_at));
}

/* Whether there was one sample, whose addresses are all of user space. */
static bool is_user_stack(unsigned long first)
{
	const struct chain *chain = &samples[0].chain;
	int nr = take_samples();
	bool user = nr == 1 && chain->nr && chain->ips[0] == first;

	for (unsigned int i = 0; user && i < chain->nr; i++)
		user = chain->ips[i] < TASK_END;
	if (!user)
		ksft_print_msg("%d samples, %u frames: 0x%lx instead of 0x%lx\n", nr, chain->nr,
			       chain->ips[0], first);
	return user;
}

/* Whoever jumps to that trampoline may put any word where its return address is expected. */
TEST_F(special, lies_about_where_that_trampoline_returns_to)
{
	static const unsigned long words[] = {
		0, 1, 9, 10, 11, 0x1000, TASK_END, 1UL << 63, -4096UL, -10UL, -1UL,
	};
	/* The trampoline returns behind what a probe has replaced. */
	enum { REPLACED = 10 };
	const struct probe probe = QUIET_ENTRY(nop10_at);
	unsigned long at;

	ASSERT_EQ(0, open_probe(&probe));
	ASSERT_TRUE(take_signal(SIGNAL_SEGV, return_to_handler));
	ASSERT_TRUE(take_signal(SIGNAL_ILL, return_to_handler));
	/* So that the mapping is there. */
	chain_call(probed_nop10, 0);
	at = find_mapping("[uprobes-trampoline]", NULL);
	ASSERT_NE(0, at);
	ASSERT_EQ(0, open_breakpoint(at));
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++) {
		bool taken = words[i] > REPLACED && words[i] < TASK_END;

		for (int missed = 0; missed <= MOST_MISSED && nothing_sampled(); missed++)
			return_to(at, words[i]);
		EXPECT_TRUE(is_user_stack(taken ? words[i] - REPLACED : at))
			TH_LOG("with the word 0x%lx", words[i]);
	}
}

/* A signal interrupts that, at each instruction. */
TEST_F(special, signals_in_the_trampoline_of_return_probes)
{
	static const void *const stacks[2][5] = {
		{ inner_at, step_handler_return, restorer, EMPTY },
	};
	const struct probe quiet = QUIET_URET(stepped), probe = ENTRY(inner_at);

	ASSERT_TRUE(take_signal(SIGNAL_TRAP, step_handler));
	ASSERT_EQ(0, open_probe(&probe));
	ASSERT_EQ(0, open_probe(&quiet));
	chain_call(stepped, 0);
	/* There are eight, and one of them may be stepped together with the next. */
	EXPECT_LE(7, steps_elsewhere);
	EXPECT_TRUE(compare(stacks, steps_elsewhere));
}

TEST_F(special, signals_in_the_trampoline_of_optimised_probes)
{
	enum { BEFORE = 5, MOST = 9 };
	const struct probe quiet = QUIET_ENTRY(stepped_nop10_at), probe = ENTRY(inner_at);
	static const void *stacks[MOST + 1][5];

	ASSERT_TRUE(take_signal(SIGNAL_TRAP, step_handler));
	ASSERT_EQ(0, open_probe(&probe));
	ASSERT_EQ(0, open_probe(&quiet));
	/* So that the probe is optimised. */
	for (int i = 0; i < 4; i++)
		chain_call(stepped_nop10, i == 3);
	/* One behind the system call may be stepped together with the next. */
	ASSERT_LE(MOST - 1, steps_elsewhere);
	ASSERT_GE(MOST, steps_elsewhere);
	for (unsigned int i = 0; i < steps_elsewhere; i++) {
		stacks[i][0] = inner_at;
		stacks[i][1] = step_handler_return;
		stacks[i][2] = restorer;
		stacks[i][3] = stepped_nop10_at + (i < BEFORE ? 0 : 10);
	}
	EXPECT_TRUE(compare(stacks, 1));
}

#endif /* UPROBE_SPECIALS_H */
