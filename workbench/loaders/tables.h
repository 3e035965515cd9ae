/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel knows of the tables of what is mapped, compared with what ought to
 * be known.
 */
#ifndef TABLES_H
#define TABLES_H

/*
 * Compares all that is registered with the tables of all objects, those of NAMESPACE
 * among them, which is what dlmopen() has returned, or NULL.  Prints a line:
 *
 *   tables NAME expected N missing N stale N found N
 *
 * "found" counts those that the kernel has found itself.
 */
void check_tables(const char *name, void *namespace);

/* From now on the kernel answers prctl(PR_UNWIND_TABLES) with ERROR, in what is executed, too. */
void refuse(int error);

#endif /* TABLES_H */
