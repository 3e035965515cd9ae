// SPDX-License-Identifier: GPL-2.0
/* Operations at random: objects whose tables nobody registers. */
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"

/* The header of a table of .eh_frame where one of SFrame would be. */
static struct elf64_phdr object_eh_frame(struct elf64_phdr phdr)
{
	phdr.p_type = PT_GNU_EH_FRAME;
	phdr.p_offset += EH_HEADER;
	phdr.p_vaddr += EH_HEADER;
	phdr.p_filesz -= EH_HEADER;
	phdr.p_memsz -= EH_HEADER;
	return phdr;
}

/* Headers that are good, or lie here and there. The table has a format, or both. */
static void any_headers(struct object *object, unsigned int format)
{
	const size_t size = sizeof(object->phdrs);
	unsigned long *words = (unsigned long *)object->phdrs;

	*object = object_at(one_in(4) ? any_word() & -PAGE : 0);
	if (one_in(4)) {
		object->phdrs[OBJECT_HEADERS] = object_eh_frame(object->phdrs[GNU_SFRAME]);
		object->ehdr.e_phnum++;
	} else if (format == UNWIND_TABLE_EH_FRAME) {
		object->phdrs[GNU_SFRAME] = object_eh_frame(object->phdrs[GNU_SFRAME]);
	}
	if (one_in(2))
		return;
	for (unsigned long left = below(3); left > 0; left--)
		words[below(size / sizeof(long))] = any_word();
	if (one_in(4))
		((unsigned char *)object)[below(sizeof(object->ehdr))] = any_number();
	if (one_in(4))
		object->ehdr.e_phnum = any_number();
	if (one_in(8))
		object->ehdr.e_phoff = any_word();
}

/* Whether the kernel has found something; only if all that there is can be seen. */
static bool has_found(unsigned int format)
{
	struct listed all[64];
	long nr = tables_list(all, ARRAY_SIZE(all));

	for (long i = 0; i < nr && i < (long)ARRAY_SIZE(all); i++) {
		if (all[i].origin == TABLE_BY_DISCOVERY && all[i].table.format == format)
			return true;
	}
	return false;
}

/* Rewrite an object, map some of it, and sample a stack in its text. */
void act_object(void)
{
	int fd = objects[below(ARRAY_SIZE(objects))].fd;
	struct object object;

	object.base = part_page(OBJECTS, OBJECT_PAGES * below(PAGES / OBJECT_PAGES));
	if (one_in(2)) {
		unsigned int format = any_format();

		any_headers(&object, format);
		object.base = part_page(OBJECTS, OBJECT_PAGES * below(PAGES / OBJECT_PAGES));
		make_table(format, object_text(&object),
			   object.base + OBJECT_TABLE * PAGE);
		if (pwrite(fd, &object.ehdr, sizeof(object.ehdr), 0) < 0 ||
		    pwrite(fd, object.phdrs, sizeof(object.phdrs), sizeof(object.ehdr)) < 0 ||
		    pwrite(fd, me->page, PAGE, OBJECT_TABLE * PAGE) < 0)
			return;
	}
	object.fd = fd;
	if (one_in(4))
		munmap(object.base + below(OBJECT_PAGES) * PAGE, PAGE);
	if (one_in(4))
		mprotect(object.base + below(OBJECT_PAGES) * PAGE, PAGE, below(2) ? PROT_READ : 0);
	if (one_in(2) || mprotect(object_text(&object), 2 * PAGE, PROT_READ | PROT_EXEC))
		object_map_parts(&object);
	play_at(object_text(&object) + below(2) * PAGE);
	count(DISCOVERY, has_found(UNWIND_TABLE_SFRAME));
	count(EH_DISCOVERY, has_found(UNWIND_TABLE_EH_FRAME));
}
