// SPDX-License-Identifier: GPL-2.0
/* An auditor of the dynamic loader that does nothing: what the loader itself needs for one. */
unsigned int la_version(unsigned int version);

unsigned int la_version(unsigned int version)
{
	return version;
}
