/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in walk.S: scenarios, handlers, restorers, and the labels of where
 * they are or return to.
 */
#ifndef WALK_H
#define WALK_H

extern const char leaf_ip[], leaf_bad_fp_ip[];

void chain_tail(int depth);
void tail_inner(void);
void asm_alone(int depth);
extern const char chain_tail_return[], asm_alone_ip[];

void handler(int number);
extern unsigned long nest;
extern const char restorer[], handler_return[], handler_fault[];

void chain_signal(int depth);
void chain_signal_first(int depth);
extern const char chain_signal_fault[], signal_first_fault[], chain_signal_first_return[];

void chain_coroutine(int depth);
extern const char coroutine_fault[];

#endif /* WALK_H */
