/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in uprobe.S: functions, and labels in them.
 */
#ifndef UPROBE_H
#define UPROBE_H

#include "chain.h"

void probed_store(int depth);
void probed_sub(int depth);
extern const char sub_at[];
void probed_call(int depth);
extern const char call_at[];
void probed_adr(int depth);
extern const char adr_at[];
void probed_jmp(int depth);
extern const char jmp_at[];
void probed_fault(int depth);
extern const char fault_at[];
extern const void *fault_page;
void probed_signed(int depth);
extern const char signed_at[], signed_return[];
void probed_leaf(int depth);
extern const char leaf_at[];
void outer_of_leaf(int depth);
extern const char outer_of_leaf_return[];

void inner(int depth);
void outer(int depth);
/* Where they are probed: a frame pointer leads to the caller from there on. */
extern const char inner_at[], outer_at[];
extern const char outer_return[];
void tail_caller(int depth);
void recursive(int depth);
extern const char recursive_return[], recursive_last_return[];
void jumper(int depth);
extern const char jumper_return[];
void thrower(int depth);
void handler(int number);
extern const char handler_return[], restorer[];
void interrupted(int depth);
extern const char interrupted_at[], interrupted_behind[];

#endif /* UPROBE_H */
