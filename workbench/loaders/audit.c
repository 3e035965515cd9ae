// SPDX-License-Identifier: GPL-2.0
/* A module for LD_AUDIT that does nothing.  It has its own namespace. */
#include <link.h>

unsigned int la_version(unsigned int version)
{
	return version;
}
