/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is in uprobe.S: functions, and labels in them.
 */
#ifndef UPROBE_H
#define UPROBE_H

#include "chain.h"

void probed_push(int depth);
void probed_endbr(int depth);
void probed_sub(int depth);
extern const char sub_at[];
void probed_nop10(int depth);
extern const char nop10_at[];
void probed_call(int depth);
extern const char call_at[];
void probed_jmp(int depth);
extern const char jmp_at[];
void probed_fault(int depth);
extern const char fault_at[];
extern const void *fault_page;

void inner(int depth);
void outer(int depth);
/* Where they are probed: at the first instruction. */
#define inner_at	((const char *)inner)
#define outer_at	((const char *)outer)
extern const char outer_return[];
void tail_caller(int depth);
void recursive(int depth);
extern const char recursive_return[], recursive_last_return[];
void jumper(int depth);
extern const char jumper_return[];
void thrower(int depth);
void handler(int number);
extern const char handler_return[], restorer[];
void stepped(int depth);
void stepped_nop10(int depth);
extern const char stepped_nop10_at[];
void step_handler(int number);
extern const char step_handler_return[];
extern unsigned long steps_elsewhere;
void return_to(unsigned long at, unsigned long word);
void return_to_handler(int number);
void interrupted(int depth);
extern const char interrupted_at[], interrupted_behind[];

#endif /* UPROBE_H */
