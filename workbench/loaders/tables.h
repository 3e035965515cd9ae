/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A comparison of the kernel's list of tables with the tables of the mapped objects.
 */
#ifndef TABLES_H
#define TABLES_H

/*
 * Compares the registered tables with the tables of all objects.  NAMESPACE is NULL, or
 * a handle of dlmopen(): then the objects of its namespace count, too.  Prints a line:
 *
 *   tables NAME expected N missing N stale N found N
 *
 * "found" counts the tables that the kernel has found itself.
 */
void check_tables(const char *name, void *namespace);

/* From now on prctl(PR_UNWIND_TABLES) fails with ERROR, also in programs that this one executes. */
void refuse(int error);

#endif /* TABLES_H */
