// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "kselftest.h"
#include "eh_frame.h"

struct eh_fde *eh_next(struct synth *synth)
{
	unsigned char *at = synth->table + EH_FDES;

	while (((struct eh_fde *)at)->length)
		at += 4 + ((struct eh_fde *)at)->length;
	return (struct eh_fde *)at;
}

struct eh_header *eh_header(struct synth *synth)
{
	return (struct eh_header *)(synth->table + EH_HEADER);
}

void eh_no_rules(struct synth *synth)
{
	static const unsigned char cies[2][64] = {
		{ 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b,
		  DEF_CFA, SP, 8, SAVED(RETURN_ADDRESS), 1 },
		{ 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'S', 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b,
		  DEF_CFA, SP, 8, SAVED(RETURN_ADDRESS), 1 },
	};

	memset(synth->table, 0, EH_FDES + 4);
	memcpy(synth->table + EH_CIE, cies[0], sizeof(cies[0]));
	memcpy(synth->table + EH_SIGNAL_CIE, cies[1], sizeof(cies[1]));
	*eh_header(synth) = (struct eh_header){ 1, 0xff, 0x03, 0x3b };
}

struct eh_fde *eh_add(struct synth *synth, unsigned int cie, const void *program, size_t len)
{
	struct eh_header *header = eh_header(synth);
	struct eh_fde *fde = eh_next(synth);
	unsigned long start = synth_function(synth, header->count);

	/* Up to a multiple of 4 with NOP, as assemblers do, and no further one yet. */
	memset(fde, 0, EH_FDE_HEAD + len + 8);
	fde->length = ((EH_FDE_HEAD + len + 3) & ~3UL) - 4;
	fde->cie = (unsigned char *)&fde->cie - synth->table - cie;
	fde->start = start - (unsigned long)&fde->start;
	fde->size = FUNCTION_SIZE;
	memcpy(fde->program, program, len);
	header->index[header->count].start = start - (unsigned long)header;
	header->index[header->count].fde = (unsigned char *)fde - (unsigned char *)header;
	header->count++;
	return fde;
}

int eh_register(struct synth *synth)
{
	int error = do_unregister(&synth->ranges);

	if (error)
		return error;
	synth->ranges.format = UNWIND_TABLE_EH_FRAME;
	synth->ranges.header = (unsigned long)eh_header(synth);
	eh_no_rules(synth);
	return do_register(&synth->ranges);
}
