/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Synthetic stacks whose functions are described by .eh_frame: a table is made by hand.
 */
#ifndef EH_FRAME_H
#define EH_FRAME_H

#include "synth.h"

/* Where in a table things are, in bytes. */
#define EH_CIE		0
#define EH_SIGNAL_CIE	64
#define EH_HEADER	128
#define EH_FDES		(EH_HEADER + 12 + 8 * SYNTH_FUNCTIONS)

/* Instructions; operands follow, of a byte each if they are below 64. */
#define ADVANCE(n)		(0x40 | (n))
#define SAVED(reg)		(0x80 | (reg))	/* so many words below the CFA */
#define NOP			0x00
#define UNDEFINED		0x07
#define SAME_VALUE		0x08
#define IN_REGISTER		0x09
#define REMEMBER		0x0a
#define RESTORE			0x0b
#define DEF_CFA			0x0c
#define DEF_CFA_OFFSET		0x0e
#define DEF_CFA_EXPRESSION	0x0f
#define EXPRESSION		0x10
/* In expressions: a register, with an offset behind it. */
#define BREG(reg)		(0x70 + (reg))

struct eh_header {
	__u8 version;
	__u8 pointer_encoding;
	__u8 count_encoding;
	__u8 index_encoding;
	__u32 count;
	struct {
		__s32 start;
		__s32 fde;
	} index[SYNTH_FUNCTIONS];
};

struct eh_fde {
	__u32 length;
	__u32 cie;
	__s32 start;
	__u32 size;
	__u8 augmentation_length;
	unsigned char program[];
};

#define EH_FDE_HEAD	offsetof(struct eh_fde, program)

struct eh_fde *eh_next(struct synth *synth);
struct eh_header *eh_header(struct synth *synth);
/* Start the table anew: it has no functions, and the CFA is at SP + 8 in the CIEs. */
void eh_no_rules(struct synth *synth);
/* Add a function, with the CIE at an offset, and the program of its FDE. Returns the FDE. */
struct eh_fde *eh_add(struct synth *synth, unsigned int cie, const void *program, size_t len);
int eh_register(struct synth *synth);

#define EH_CFI(...) ({							\
	static const unsigned char program[] = { __VA_ARGS__ };		\
									\
	eh_add(&self->synth, EH_CIE, program, sizeof(program));		\
})
#define EH_SIGNAL(...) ({						\
	static const unsigned char program[] = { __VA_ARGS__ };		\
									\
	eh_add(&self->synth, EH_SIGNAL_CIE, program, sizeof(program));	\
})
#define EH_NO_RULES()	eh_no_rules(&self->synth)

struct eh_program {
	size_t len;
	unsigned char bytes[16];
};

#define CFI(...) \
	((struct eh_program){ sizeof((unsigned char[]){ __VA_ARGS__ }), { __VA_ARGS__ } })
/* The table has functions with these programs alone. */
#define EH_RULES(...) do {						\
	const struct eh_program programs[] = { __VA_ARGS__ };		\
									\
	EH_NO_RULES();							\
	for (unsigned int nth = 0; nth < ARRAY_SIZE(programs); nth++)	\
		eh_add(&self->synth, EH_CIE, programs[nth].bytes,	\
		       programs[nth].len);				\
} while (0)

#endif /* EH_FRAME_H */
