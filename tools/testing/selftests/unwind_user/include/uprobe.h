/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in uprobe.S: functions, and labels in them.
 */
#ifndef UPROBE_H
#define UPROBE_H

#include "chain.h"

void probed_sub(int depth);
void probed_call(int depth);
void probed_jmp(int depth);
void probed_fault(int depth);
extern const char sub_at[], call_at[], jmp_at[], fault_at[];
extern const void *fault_page;

void inner(int depth);
void outer(int depth);
extern const char inner_at[], outer_at[], outer_return[];
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
