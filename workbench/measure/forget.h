/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of which the kernel remembers nothing.
 */
#ifndef FORGET_H
#define FORGET_H

#include <stdbool.h>

/*
 * Make the kernel forget the rules that it remembers for this process. It registers a
 * table and takes it back. What the kernel knows about other tables stays. Returns
 * whether it did.
 */
bool forget_rules(void);

#endif /* FORGET_H */
