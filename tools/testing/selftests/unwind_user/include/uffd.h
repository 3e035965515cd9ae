/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that are missing until somebody answers for them, by a userfaultfd.
 */
#ifndef UFFD_H
#define UFFD_H

#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stddef.h>

/* Why tests are skipped. */
#define NO_UFFD		"no userfaultfd; see config"

/* Open one that does not block, with more flags; a file or a negative errno. */
int uffd_open(int flags);

/* Let pages that are not there be missing; 0 or a negative errno. */
int uffd_missing(int uffd, void *start, size_t len);

/* Wait until one is touched, for so many seconds; its address, or 0. */
unsigned long uffd_wait(int uffd, int seconds);

/* Bring pages, and let those go on who wait for them; 0 or a negative errno. */
int uffd_bring(int uffd, void *page, const void *bytes, size_t len);

#endif /* UFFD_H */
