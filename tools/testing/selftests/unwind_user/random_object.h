/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations at random: objects whose tables nobody registers. After random_act.h.
 */
#ifndef RANDOM_OBJECT_H
#define RANDOM_OBJECT_H

/* Headers that are good, or lie here and there. */
static void any_headers(struct object *object)
{
	const size_t size = sizeof(object->phdrs);
	unsigned long *words = (unsigned long *)object->phdrs;

	*object = object_at(one_in(4) ? any_word() & -PAGE : 0);
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
static bool has_found(void)
{
	struct unwind_table all[64];
	long nr = tables_list(all, ARRAY_SIZE(all));

	for (long i = 0; i < nr && i < (long)ARRAY_SIZE(all); i++) {
		if (all[i].origin == UNWIND_TABLE_BY_DISCOVERY)
			return true;
	}
	return false;
}

/* Rewrite an object, map some of it, and sample a stack in its text. */
static void act_object(void)
{
	int fd = objects[below(ARRAY_SIZE(objects))].fd;
	struct object object;

	object.base = part_page(OBJECTS, OBJECT_PAGES * below(PAGES / OBJECT_PAGES));
	if (one_in(2)) {
		any_headers(&object);
		object.base = part_page(OBJECTS, OBJECT_PAGES * below(PAGES / OBJECT_PAGES));
		make_table(object_text(&object), object.base + OBJECT_TABLE * PAGE);
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
	count(DISCOVERY, has_found());
}

#endif /* RANDOM_OBJECT_H */
