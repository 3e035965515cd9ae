/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in walk.S: scenarios, handlers, restorers, and the labels of where
 * they are or return to.
 */
#ifndef WALK_H
#define WALK_H

extern const char leaf_ip[], leaf_bad_fp_ip[];

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

void chain_tail(int depth);
void tail_inner(void);
extern const char chain_tail_return[];

void chain_tagged(int depth);
extern const char chain_tagged_return[];

/* Functions without a table. */
void bare_alone(int depth);
void chain_bare(int depth);
void chain_bare_blraaz(int depth);
void chain_bare_stub(int depth);
void chain_bare_middle(int depth);
void chain_bare_middle_deep(int depth);
void chain_bare_middle_recovered(int depth);
void chain_bare_lost_fp(int depth);
void chain_bare_lost(int depth);
extern const char bare_alone_ip[], chain_bare_return[], chain_bare_blraaz_return[];
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

void handler(int number);
extern unsigned long nest;
extern const char restorer[], handler_return[], handler_udf[];
/* Stands for that of the vDSO, and where a handler has returned to. */
extern const char vdso_restorer[];
extern const char *handler_returns_to;

void chain_signal(int depth);
void chain_signal_leaf(int depth);
void chain_signal_first(int depth);
void chain_signal_x10(int depth);
extern const char chain_signal_udf[], signal_leaf_udf[], chain_signal_leaf_return[];
extern const char signal_first_udf[], chain_signal_first_return[], chain_signal_x10_udf[];

void chain_coroutine(int depth);
extern const char coroutine_udf[];

#endif /* WALK_H */
