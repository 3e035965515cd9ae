/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stacks in walk.S, and what is to be known of them.
 */
#ifndef WALKS_H
#define WALKS_H

void chain_signed(int depth);
void chain_signed_b(int depth);
extern const char signed_inner_return[], chain_signed_return[], chain_signed_b_return[];
/* A return address as it was stored, in chain_signed(). */
extern unsigned long signed_word;

void chain_in_register(int depth);
extern const char in_register_ip[], chain_in_register_return[];

void chain_records(int depth);
extern const char record_0_return[], record_240_return[], record_4096_return[];
extern const char record_32768_return[], record_top_return[], chain_records_return[];

void chain_by_fp(int depth);
extern const char by_fp_inner_return[], chain_by_fp_return[];

void chain_tagged(int depth);
extern const char chain_tagged_return[];

void chain_bare(int depth);
void chain_bare_blraaz(int depth);
void chain_bare_stub(int depth);
void chain_bare_middle(int depth);
void chain_bare_middle_deep(int depth);
void chain_bare_middle_recovered(int depth);
void chain_bare_lost_fp(int depth);
void chain_bare_lost(int depth);
extern const char chain_bare_return[], chain_bare_blraaz_return[];
extern const char bare_stub_ip[], chain_bare_stub_return[];
extern const char bare_middle_return[], chain_bare_middle_return[];
extern const char bare_deep_middle_return[], chain_bare_middle_deep_return[];
extern const char chain_bare_middle_recovered_return[], chain_bare_lost_fp_return[];
extern const char bare_lost_ip[];

/* Stubs that are like a linker's. */
void stub_entry(void);
void stub_bti(void);
void stub_veneer(void);
void stub_first(void);
void stub_resolver(void);
void chain_stub_entry(int depth);
void chain_stub_bti(int depth);
void chain_stub_veneer(int depth);
void chain_stub_first(int depth);
extern const char chain_stub_entry_return[], chain_stub_bti_return[];
extern const char chain_stub_veneer_return[], chain_stub_first_return[];

/* Stands for that of the vDSO, and where a handler has returned to. */
extern const char vdso_restorer[];
extern const char *handler_returns_to;

void chain_signal_leaf(int depth);
void chain_signal_x10(int depth);
extern const char signal_leaf_fault[], chain_signal_leaf_return[];
extern const char chain_signal_x10_fault[];

/* The instruction that signals interrupt, and the restorer that they usually have. */
static const unsigned char fault_code[] = { 0, 0, 0, 0 };
#define USUAL_RESTORER	vdso_restorer

#define MAX_STEPS	1024
/* How many of those must have been executed. */
#define MIN_HITS	10

FIXTURE_VARIANT_ADD(described, signed_addresses)
	{ { { chain_signed, 0, { leaf_bad_fp_ip, signed_inner_return, chain_signed_return } } } };
FIXTURE_VARIANT_ADD(described, signed_with_key_b)
	{ { { chain_signed_b, 0, { leaf_bad_fp_ip, signed_inner_return,
	    chain_signed_b_return } } } };
FIXTURE_VARIANT_ADD(described, records_anywhere)
	{ { { chain_records, 0, { leaf_bad_fp_ip, record_0_return, record_240_return,
	    record_4096_return, record_32768_return, record_top_return,
	    chain_records_return } } } };
FIXTURE_VARIANT_ADD(described, by_frame_pointer)
	{ { { chain_by_fp, 0, { leaf_bad_fp_ip, by_fp_inner_return, chain_by_fp_return } } } };
FIXTURE_VARIANT_ADD(described, tagged_frame_pointer)
	{ { { chain_tagged, 0, { leaf_ip, chain_tagged_return } } } };
FIXTURE_VARIANT_ADD(described, in_a_register)
	{ { { chain_in_register, 0, { in_register_ip, chain_in_register_return } } } };
FIXTURE_VARIANT_ADD(described, stub_of_a_plt)
	{ { { chain_stub_entry, 0, { leaf_bad_fp_ip, chain_stub_entry_return } },
	    .instead = { stub_entry } } };
FIXTURE_VARIANT_ADD(described, stub_of_a_plt_with_bti)
	{ { { chain_stub_bti, 0, { leaf_bad_fp_ip, chain_stub_bti_return } },
	    .instead = { stub_bti } } };
FIXTURE_VARIANT_ADD(described, stub_that_is_a_veneer)
	{ { { chain_stub_veneer, 0, { leaf_bad_fp_ip, chain_stub_veneer_return } },
	    .instead = { stub_veneer } } };

/* Its resolver is described, and it itself is guessed. */
FIXTURE_VARIANT_ADD(described, first_stub_of_a_plt)
	{ { { chain_stub_first, 0, { leaf_bad_fp_ip, chain_stub_first_return } },
	    .instead = { stub_first, stub_resolver }, .crosses = true } };
FIXTURE_VARIANT_ADD(undescribed, called)
	{ { { chain_bare, 0, { asm_alone_ip, chain_bare_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, called_through_a_signed_pointer)
	{ { { chain_bare_blraaz, 0, { asm_alone_ip, chain_bare_blraaz_return },
	    .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, stub)
	{ { { chain_bare_stub, 0, { bare_stub_ip, chain_bare_stub_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, in_the_middle)
	{ { { chain_bare_middle, 0, { leaf_ip, bare_middle_return, chain_bare_middle_return },
	    .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, in_the_middle_below_a_high_record)
	{ { { chain_bare_middle_deep, 0, { leaf_ip, bare_middle_return, bare_deep_middle_return,
	    chain_bare_middle_deep_return }, .guessed = true } } };
FIXTURE_VARIANT_ADD(undescribed, in_the_middle_above_code_without_frame_pointers)
	{ { { chain_bare_middle_recovered, 0, { leaf_ip, bare_middle_return,
	    bare_deep_middle_return, chain_bare_middle_recovered_return }, .guessed = true } } };

/* There x29 is taken for a frame pointer, which it is not. */
FIXTURE_VARIANT_ADD(undescribed, called_without_a_frame_pointer)
	{ { { chain_bare_lost_fp, 0, { asm_alone_ip, chain_bare_lost_fp_return }, true,
	    PERF_CALLCHAIN_END_BAD_FRAME, true } } };
FIXTURE_VARIANT_ADD(undescribed, that_has_called)
	{ { { chain_bare_lost, 0, { bare_lost_ip }, true, PERF_CALLCHAIN_END_NO_INFO } } };
FIXTURE_VARIANT_ADD(described, own_restorer)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, chain_signal_fault } },
	    restorer } };
FIXTURE_VARIANT_ADD(described, signal_in_a_signal_with_own_restorer)
	{ { { chain_signal, 0, { leaf_bad_fp_ip, handler_return, restorer, handler_fault,
	    restorer, chain_signal_fault } }, restorer } };
FIXTURE_VARIANT_ADD(described, signal_in_a_leaf)
	{ { { chain_signal_leaf, 0, { leaf_bad_fp_ip, handler_return, vdso_restorer,
	    signal_leaf_fault, chain_signal_leaf_return } }, vdso_restorer } };
FIXTURE_VARIANT_ADD(described, signal_with_all_in_registers)
	{ { { chain_signal_x10, 0, { leaf_bad_fp_ip, handler_return, vdso_restorer,
	    chain_signal_x10_fault } }, vdso_restorer } };

/* The restorer that the kernel is told of: none for that of the vDSO. */
static const char *restorer_of(const struct walk *walk)
{
	return walk->restorer == vdso_restorer ? NULL : walk->restorer;
}

/* Have the restorer's address in place of that of the vDSO, which a handler finds out. */
static void resolve(struct walk *walk)
{
	if (walk->restorer != vdso_restorer)
		return;
	chain_call(chain_signal, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(walk->scenario.labels); i++) {
		if (walk->scenario.labels[i] == vdso_restorer)
			walk->scenario.labels[i] = handler_returns_to;
	}
}

/*
 * All instructions in assembly: those that a walk executes are found by breakpoints. But for
 * system calls: one that is stepped over for a breakpoint is reported to the program.
 */
static unsigned int find_steps(const struct walk *walk, unsigned long steps[MAX_STEPS])
{
	const struct chain_function *function = __start_chain_functions;
	const unsigned int svc = 0xd4000001;
	unsigned int nr = 0;

	for (; function < __stop_chain_functions; function++) {
		for (unsigned long ip = function->start; ip < function->end; ip += 4) {
			if (nr < MAX_STEPS && *(unsigned int *)ip != svc)
				steps[nr++] = ip;
		}
	}
	return nr;
}

/* The tests can fail: a signature is not part of what is expected. */
TEST(signed_words)
{
	const unsigned long hwcap_paca = 1UL << 30;
	int differ = 0;

	if (!(getauxval(AT_HWCAP) & hwcap_paca))
		SKIP(return, "this processor signs nothing");
	/* A signature depends on the stack pointer. It has few bits, which may all be 0. */
	for (int i = 0; i < 32; i++) {
		__asm__ volatile("" : : "r" (__builtin_alloca(16)));
		chain_call(chain_signed, 0);
		differ += signed_word != (unsigned long)chain_call_return;
		EXPECT_EQ((unsigned long)chain_call_return, signed_word & ((1UL << 48) - 1));
	}
	EXPECT_LT(16, differ);
}

#endif /* WALKS_H */
