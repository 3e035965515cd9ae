/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stacks in walk.S, and what is to be known of them.
 */
#ifndef WALKS_H
#define WALKS_H

void chain_aligned(int depth);
void chain_undescribed(int depth);
extern const char chain_aligned_return[];
extern const char undescribed_return[], chain_undescribed_return[];

/* Topmost functions without a table; those of other stacks have the name of their chain. */
void asm_init(int depth);
void chain_asm_plt(int depth);
void chain_asm_thunk(int depth);
void chain_asm_stale(int depth);
void chain_asm_called(int depth);
void chain_asm_bare_called(int depth);
void chain_asm_behind(int depth);
void chain_asm_far(int depth);
void chain_asm_far_signal(int depth);
extern const char asm_init_ip[];
extern const char asm_plt_ip[], chain_asm_plt_return[];
extern const char asm_thunk_ip[], chain_asm_thunk_return[];
extern const char asm_stale_ip[], chain_asm_stale_return[];
extern const char asm_called_ip[], asm_caller_return[], chain_asm_called_return[];
extern const char asm_bare_caller_return[], chain_asm_bare_called_return[];
extern const char asm_behind_ip[], chain_asm_behind_return[];
extern const char asm_far_ip[], asm_far_fault[];

extern const char restorer_short[], restorer_marked[];

void chain_signal_r10(int depth);
extern const char chain_signal_r10_fault[];

/* The instruction that signals interrupt, and the restorer that they usually have. */
static const unsigned char fault_code[] = { 0x0f, 0x0b };
#define USUAL_RESTORER	restorer

#define MAX_STEPS	128
/* How many of those must have been executed. */
#define MIN_HITS	nr_steps

#define SIGNAL_TRAP	5
/* Where a struct ucontext has the instruction pointer. */
#define UCONTEXT_IP	168
#define TRAP_FLAG	0x100UL

FIXTURE_VARIANT_ADD(described, cfa_on_the_stack)
	{ { { chain_aligned, 0, { leaf_bad_fp_ip, chain_aligned_return } } } };
FIXTURE_VARIANT_ADD(undescribed, assembly)
	{ { { chain_undescribed, 0, { leaf_ip, undescribed_return, chain_undescribed_return },
	    .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, init_and_fini)
	{ { { asm_init, 0, { asm_init_ip }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, entry_of_a_plt)
	{ { { chain_asm_plt, 0, { asm_plt_ip, chain_asm_plt_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, thunk)
	{ { { chain_asm_thunk, 0, { asm_thunk_ip, chain_asm_thunk_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, below_stale_return_addresses)
	{ { { chain_asm_stale, 0, { asm_stale_ip, chain_asm_stale_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, assembly_below_assembly)
	{ { { chain_asm_called, 0, { asm_called_ip, asm_caller_return, chain_asm_called_return },
	    .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, assembly_below_assembly_without_a_frame)
	{ { { chain_asm_bare_called, 0, { asm_called_ip, asm_bare_caller_return,
	    chain_asm_bare_called_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, frame_pointer_behind_a_call)
	{ { { chain_asm_behind, 0, { asm_behind_ip, chain_asm_behind_return },
	    .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, too_far_up)
	{ { { chain_asm_far, 0, { asm_far_ip }, true, PERF_CALLCHAIN_END_NO_INFO } } };
FIXTURE_VARIANT_ADD(undescribed, fp_of_0_below_a_signal)
	{ { { chain_asm_far_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, asm_far_fault },
	    true, PERF_CALLCHAIN_END_NO_INFO }, restorer } };
FIXTURE_VARIANT_ADD(described, short_restorer)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer_short,
	    chain_signal_fault } }, restorer_short } };
FIXTURE_VARIANT_ADD(undescribed, restorer_by_its_mark)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer_marked,
	    chain_signal_fault } }, restorer_marked } };
FIXTURE_VARIANT_ADD(described, signal_with_cfa_in_another_register)
	{ { { chain_signal_r10, 0, { leaf_bad_fp_ip, handler_return, restorer,
	    chain_signal_r10_fault } }, restorer } };

static const char *restorer_of(const struct walk *walk)
{
	return walk->restorer;
}

static void resolve(struct walk *walk)
{
}

/* The instructions in assembly that a scenario executes, each once. */
static unsigned long *steps_to_note;
static unsigned int nr_steps;

static void add_step(unsigned long ip)
{
	if (!chain_function_at(ip))
		return;
	for (unsigned int i = 0; i < nr_steps; i++) {
		if (steps_to_note[i] == ip)
			return;
	}
	if (nr_steps < MAX_STEPS)
		steps_to_note[nr_steps++] = ip;
}

/* Handler of SIGTRAP, which comes before each instruction. */
static void note_step(int number, void *info, const char *context)
{
	/* Less what SIGILL's handler returns to: the next trap and breakpoints come behind it. */
	add_step(*(const unsigned long *)(context + UCONTEXT_IP));
}

static unsigned int find_steps(const struct walk *walk, unsigned long steps[MAX_STEPS])
{
	steps_to_note = steps;
	nr_steps = 0;
	if (take(SIGNAL_TRAP, note_step, SA_SIGINFO_FLAG, restorer))
		return 0;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
	chain_call(walk->scenario.chain, walk->scenario.depth);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~TRAP_FLAG);
	return nr_steps;
}

#endif /* WALKS_H */
