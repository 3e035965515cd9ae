// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "object.h"

struct object object_at(unsigned long vaddr)
{
	static const struct { int flags, page, pages; } loads[] = {
		{ PF_R, 0, 1 }, { PF_R | PF_X, OBJECT_TEXT, 2 }, { PF_R, OBJECT_TABLE, 1 },
	};
	struct object object = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = MACHINE,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(struct elf64_hdr),
			.e_ehsize = sizeof(struct elf64_hdr),
			.e_phentsize = sizeof(struct elf64_phdr),
			.e_phnum = OBJECT_HEADERS,
		},
		.fd = -1,
	};
	const char *table = (char *)(OBJECT_TABLE * PAGE);

	for (int i = 0; i < 3; i++)
		object.phdrs[i] = (struct elf64_phdr) {
			.p_type = PT_LOAD, .p_flags = loads[i].flags,
			.p_offset = loads[i].page * PAGE, .p_vaddr = vaddr + loads[i].page * PAGE,
			.p_filesz = loads[i].pages * PAGE, .p_memsz = loads[i].pages * PAGE,
			.p_align = PAGE,
		};
	object.phdrs[GNU_SFRAME] = (struct elf64_phdr) {
		.p_type = PT_GNU_SFRAME, .p_flags = PF_R,
		.p_offset = OBJECT_TABLE * PAGE, .p_vaddr = vaddr + OBJECT_TABLE * PAGE,
		.p_filesz = PAGE, .p_memsz = PAGE,
	};
	object.table = table_for(table, (char *)(OBJECT_TEXT * PAGE));
	return object;
}

struct object object_good(void)
{
	return object_at(0);
}

struct object object_outermost(void)
{
	struct object object = object_good();

	object.table = table_outermost((char *)(OBJECT_TABLE * PAGE),
				       (char *)(OBJECT_TEXT * PAGE));
	return object;
}

int object_write(struct object *object)
{
	unsigned char page[PAGE];

	if (object->fd < 0)
		object->fd = syscall(__NR_memfd_create, "object", 0);
	if (object->fd < 0 || ftruncate(object->fd, OBJECT_SIZE))
		return -errno;
	for (int i = 0; i < OBJECT_PAGES; i++) {
		memset(page, 0x90, PAGE);
		if (!i) {
			memcpy(page, &object->ehdr, sizeof(object->ehdr));
			memcpy(page + sizeof(object->ehdr), object->phdrs, sizeof(object->phdrs));
		} else if (i == OBJECT_TABLE) {
			memcpy(page, &object->table, sizeof(object->table));
		} else {
			write_leaf(page);
		}
		if (pwrite(object->fd, page, PAGE, i * PAGE) != (ssize_t)PAGE)
			return -errno;
	}
	return 0;
}

int object_map_parts(const struct object *object)
{
	for (int i = 0; i < OBJECT_PAGES; i++) {
		bool text = i >= OBJECT_TEXT && i < OBJECT_TABLE;

		if (mmap(object->base + i * PAGE, PAGE, PROT_READ | (text ? PROT_EXEC : 0),
			 MAP_PRIVATE | MAP_FIXED, object->fd, i * PAGE) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

int object_make(struct object *object)
{
	unsigned char *area = mmap(NULL, OBJECT_SIZE + 2 * PAGE, PROT_NONE, ANON, -1, 0);

	if (area == MAP_FAILED)
		return -errno;
	object->base = area + PAGE;
	return object_write(object) ?: object_map_parts(object);
}

int object_map_again(const struct object *object)
{
	if (munmap(object->base, OBJECT_SIZE))
		return -errno;
	return object_map_parts(object);
}

unsigned char *object_text(const struct object *object)
{
	return object->base + OBJECT_TEXT * PAGE;
}

struct unwind_table object_ranges(const struct object *object)
{
	return ranges(object_text(object), 2 * PAGE, object->base + OBJECT_TABLE * PAGE, PAGE);
}
