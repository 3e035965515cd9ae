/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in chain.S: scenarios, and the labels of where they return to.
 */
#ifndef CHAIN_H
#define CHAIN_H

/* Calls a scenario; what called this is in chain_call_caller then. */
void chain_call(void (*chain)(int depth), int depth);
extern unsigned long chain_call_caller;
extern const char start_return[], chain_call_return[];

/* Calls for the clock vdso_clock what vdso_clock_gettime points to, so many times. */
void chain_vdso(int times);
extern int (*vdso_clock_gettime)(int clock, void *time);
extern int vdso_clock;
extern const char chain_vdso_start[], chain_vdso_return[], chain_vdso_end[];

/* As many frames as it is told. */
void chain_deep(int depth);
extern const char leaf_ip[], chain_deep_return[], chain_deep_last_return[];

#ifdef SFRAME
void chain_sp(int depth);
void chain_fp(int depth);
void chain_noreturn(int depth);
extern const char leaf_bad_fp_ip[], sp_inner_return[], sp_middle_return[], chain_sp_return[];
extern const char fp_inner_return[], chain_fp_return[];
extern const char never_returns_ip[], noreturn_inner_return[], chain_noreturn_return[];
#else
void chain_frames(int depth);
extern const char frame_inner_return[], chain_frames_return[];
#endif

#endif /* CHAIN_H */
