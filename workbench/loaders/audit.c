// SPDX-License-Identifier: GPL-2.0
/* A module for LD_AUDIT that has nothing to say.  It has a namespace of its own. */
#include <link.h>

unsigned int la_version(unsigned int version)
{
	return version;
}
