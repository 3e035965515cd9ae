/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes whose functions are described by .eh_frame: a table is made by hand.
 * After scene.h.
 */
#ifndef EH_FRAME_H
#define EH_FRAME_H

/* Where in a scene's table things are, in bytes. */
#define EH_CIE		0
#define EH_SIGNAL_CIE	64
#define EH_HEADER	128
#define EH_FDES		(EH_HEADER + 12 + 8 * SCENE_FUNCTIONS)

/* Instructions; operands follow, of a byte each if they are below 64. */
#define ADVANCE(n)		(0x40 | (n))
#define SAVED(reg)		(0x80 | (reg))	/* so many words below the CFA */
#define NOP			0x00
#define UNDEFINED		0x07
#define REMEMBER		0x0a
#define RESTORE			0x0b
#define DEF_CFA			0x0c
#define DEF_CFA_OFFSET		0x0e
#define DEF_CFA_EXPRESSION	0x0f
#define EXPRESSION		0x10
#define RETURN_ADDRESS		16

struct eh_header {
	__u8 version;
	__u8 pointer_encoding;
	__u8 count_encoding;
	__u8 index_encoding;
	__u32 count;
	struct {
		__s32 start;
		__s32 fde;
	} index[SCENE_FUNCTIONS];
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

/* Where the next FDE is going to stand. */
static inline struct eh_fde *eh_next(struct scene *scene)
{
	unsigned char *at = scene->table + EH_FDES;

	while (((struct eh_fde *)at)->length)
		at += 4 + ((struct eh_fde *)at)->length;
	return (struct eh_fde *)at;
}

static inline struct eh_header *eh_header(struct scene *scene)
{
	return (struct eh_header *)(scene->table + EH_HEADER);
}

/* Start a table anew: it has no functions yet. The CFA is at rsp + 8 in the CIEs. */
static inline void eh_no_rules(struct scene *scene)
{
	static const unsigned char cies[2][64] = {
		{ 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b,
		  DEF_CFA, RSP, 8, SAVED(RETURN_ADDRESS), 1 },
		{ 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'S', 0, 1, 0x78, RETURN_ADDRESS, 1, 0x1b,
		  DEF_CFA, RSP, 8, SAVED(RETURN_ADDRESS), 1 },
	};

	memset(scene->table, 0, EH_FDES + 4);
	memcpy(scene->table + EH_CIE, cies[0], sizeof(cies[0]));
	memcpy(scene->table + EH_SIGNAL_CIE, cies[1], sizeof(cies[1]));
	*eh_header(scene) = (struct eh_header){ 1, 0xff, 0x03, 0x3b };
}

/* The next function, with the program of its FDE and the place of its CIE. */
static inline struct eh_fde *eh_add(struct scene *scene, unsigned int cie, const void *program,
				    size_t len)
{
	struct eh_header *header = eh_header(scene);
	struct eh_fde *fde = eh_next(scene);
	unsigned long start = scene_function(scene, header->count);

	/* Up to a multiple of 4 with NOP, as assemblers do, and no further one yet. */
	memset(fde, 0, EH_FDE_HEAD + len + 8);
	fde->length = ((EH_FDE_HEAD + len + 3) & ~3UL) - 4;
	fde->cie = (unsigned char *)&fde->cie - scene->table - cie;
	fde->start = start - (unsigned long)&fde->start;
	fde->size = FUNCTION_SIZE;
	memcpy(fde->program, program, len);
	header->index[header->count].start = start - (unsigned long)header;
	header->index[header->count].fde = (unsigned char *)fde - (unsigned char *)header;
	header->count++;
	return fde;
}

/* The same table of a scene, as one of .eh_frame; returns 0 or a negative errno. */
static inline int eh_register(struct scene *scene)
{
	int error = do_unregister(&scene->ranges);

	if (error)
		return error;
	scene->ranges.format = UNWIND_TABLE_EH_FRAME;
	scene->ranges.header = (unsigned long)eh_header(scene);
	eh_no_rules(scene);
	return do_register(&scene->ranges);
}

#define EH_CFI(...) ({							\
	static const unsigned char program[] = { __VA_ARGS__ };		\
									\
	eh_add(&self->scene, EH_CIE, program, sizeof(program));		\
})
#define EH_SIGNAL(...) ({						\
	static const unsigned char program[] = { __VA_ARGS__ };		\
									\
	eh_add(&self->scene, EH_SIGNAL_CIE, program, sizeof(program));	\
})
#define EH_NO_RULES()	eh_no_rules(&self->scene)

#endif /* EH_FRAME_H */
