/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in walk.S: scenarios, handlers, restorers, and the labels of where
 * they are or return to.
 */
#ifndef WALK_H
#define WALK_H

extern const char leaf_ip[], leaf_bad_fp_ip[];

void chain_aligned(int depth);
void chain_tail(int depth);
void tail_inner(void);
void chain_undescribed(int depth);
extern const char chain_aligned_return[];
extern const char chain_tail_return[], undescribed_return[], chain_undescribed_return[];

/* Topmost functions without a table; those of other stacks have the name of their chain. */
void asm_alone(int depth);
void asm_init(int depth);
void chain_asm_plt(int depth);
void chain_asm_thunk(int depth);
void chain_asm_stale(int depth);
void chain_asm_called(int depth);
void chain_asm_bare_called(int depth);
void chain_asm_behind(int depth);
void chain_asm_far(int depth);
extern const char asm_alone_ip[], asm_init_ip[];
extern const char asm_plt_ip[], chain_asm_plt_return[];
extern const char asm_thunk_ip[], chain_asm_thunk_return[];
extern const char asm_stale_ip[], chain_asm_stale_return[];
extern const char asm_called_ip[], asm_caller_return[], chain_asm_called_return[];
extern const char asm_bare_caller_return[], chain_asm_bare_called_return[];
extern const char asm_behind_ip[], chain_asm_behind_return[];
extern const char asm_far_ip[];

void handler(int number);
extern unsigned long nest;
extern const char restorer[], restorer_short[], restorer_marked[];
extern const char handler_return[], handler_ud2[];

void chain_signal(int depth);
void chain_signal_first(int depth);
void chain_signal_r10(int depth);
extern const char chain_signal_ud2[], signal_first_ud2[], chain_signal_first_return[];
extern const char chain_signal_r10_ud2[];

void chain_coroutine(int depth);
extern const char coroutine_ud2[];

#endif /* WALK_H */
