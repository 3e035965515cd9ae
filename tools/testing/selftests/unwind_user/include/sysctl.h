/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System controls that tests change. For programs with and without a C library.
 */
#ifndef SYSCTL_H
#define SYSCTL_H

#define SYSCTL_TABLES	"/proc/sys/kernel/unwind_tables"
#define SYSCTL_MAX	"/proc/sys/kernel/unwind_tables_max"

/*
 * Set one of these until sysctl_restore(), or until the calling process has gone, even
 * if it is killed. Another process that wants to set one waits until then. Returns 0 or
 * a negative errno.
 */
int sysctl_set(const char *path, long value);

/* Give both the values that the first sysctl_set() has found. */
void sysctl_restore(void);

#endif /* SYSCTL_H */
