/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations at random on tables and mappings, and readers.
 */
#ifndef RANDOM_ACT_H
#define RANDOM_ACT_H

#include "random.h"

void act_register(void);
void act_unregister(void);
void act_replace(void);
void act_both(void);
void act_list(void);
long unregister_all(void);
void act_few(void);
void act_crowd(void);
void act_mad(void);
void act_mmap(void);
void act_munmap(void);
void act_mremap(void);
void act_mprotect(void);
void act_madvise(void);
void act_proc(void);

#endif /* RANDOM_ACT_H */
