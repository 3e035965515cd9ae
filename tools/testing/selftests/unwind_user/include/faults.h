/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations and copies of the kernel's that fail, where it is built for that.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>

#define FAILSLAB	"/sys/kernel/debug/failslab/"
#define FAIL_USERCOPY	"/sys/kernel/debug/fail_usercopy/"

/* Why tests are skipped. */
#define NO_FAULTS	"no fault injection, or debugfs is not mounted: errno %d; see config"

/* Let a share of allocations and copies fail, of tasks that want it. Returns 0 or an error. */
int faults_on(const char *percent);
int faults_off(void);
/* Say whether this thread, and those that it makes, want faults. */
void want_faults(bool wish);
/* Let the @n-th allocation or copy of this thread fail, from now on. */
void fault_arm(int fd, int n);
bool fault_happened(int fd);

#endif /* FAULTS_H */
