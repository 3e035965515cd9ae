// SPDX-License-Identifier: GPL-2.0
/*
 * Register the unwind tables of all objects that the dynamic loader loads.
 *
 * This is an auditor of glibc's loader, see rtld-audit(7):
 *
 *   LD_AUDIT=libunwind-register.so program
 *
 * The loader reports each object when it is mapped. Then its tables are registered,
 * in one system call, before code of the object runs. When the object is unloaded,
 * munmap() ends its registrations.
 *
 * The loader also reports when all objects that belong together are mapped
 * (la_activity). That is too late: it has run code of theirs by then, resolvers of
 * functions and, in a new namespace, the C library's first initialization.
 *
 * There are no functions about symbols or calls here (la_symbind64, la_pltenter,
 * la_pltexit), and there must not be any: they would make calls slower.
 *
 * Nothing is static, so that threads need no lock, and nothing is allocated.
 *
 * See Documentation/userspace-api/unwind_tables.rst.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include <linux/unwind_tables.h>

/* The C library's headers may be older than the kernel's. */
#ifndef PR_UNWIND_TABLES
# define PR_UNWIND_TABLES		82
# define PR_UNWIND_TABLES_REGISTER	0
# define PR_UNWIND_TABLES_ENUMERATE	3
#endif
#ifndef PT_GNU_SFRAME
# define PT_GNU_SFRAME			0x6474e554
#endif

#define EXPORT __attribute__((visibility("default")))

/* Tables for the next system call: an object seldom has more than two. */
struct batch {
	unsigned int nr;
	struct unwind_table tables[16];
};

static void register_batch(struct batch *batch)
{
	struct unwind_table *table = batch->tables;
	unsigned long left = batch->nr;

	while (left) {
		int done = prctl(PR_UNWIND_TABLES, PR_UNWIND_TABLES_REGISTER, table, left,
				 sizeof(*table));

		/* The first one failed: exec may have registered it. The others can be good. */
		if (done <= 0)
			done = 1;
		table += done;
		left -= done;
	}
	batch->nr = 0;
}

/* The first header of this type, as exec takes it, or NULL. */
static const Elf64_Phdr *find_header(const Elf64_Phdr *headers, int nr, Elf64_Word type)
{
	for (int i = 0; i < nr; i++)
		if (headers[i].p_type == type && headers[i].p_filesz)
			return &headers[i];
	return NULL;
}

/* A table is registered once for each executable segment. */
static void add_table(struct batch *batch, const Elf64_Phdr *headers, int nr, Elf64_Addr bias,
		      struct unwind_table table)
{
	for (int i = 0; i < nr; i++) {
		if (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_X))
			continue;
		table.text_start = bias + headers[i].p_vaddr;
		table.text_end = table.text_start + headers[i].p_memsz;
		if (batch->nr == sizeof(batch->tables) / sizeof(*batch->tables))
			register_batch(batch);
		batch->tables[batch->nr++] = table;
	}
}

static void add_sframe(struct batch *batch, const Elf64_Phdr *headers, int nr, Elf64_Addr bias)
{
	const Elf64_Phdr *header = find_header(headers, nr, PT_GNU_SFRAME);

	if (!header)
		return;
	add_table(batch, headers, nr, bias, (struct unwind_table) {
		.table_start = bias + header->p_vaddr,
		.table_end = bias + header->p_vaddr + header->p_filesz,
		.format = UNWIND_TABLE_SFRAME,
	});
}

static void add_eh_frame(struct batch *batch, const Elf64_Phdr *headers, int nr, Elf64_Addr bias)
{
	const Elf64_Phdr *header = find_header(headers, nr, PT_GNU_EH_FRAME);

	if (!header)
		return;
	/* No header says how far the table reaches: not beyond its segment. */
	for (int i = 0; i < nr; i++) {
		const Elf64_Phdr *load = &headers[i];

		if (load->p_type != PT_LOAD || header->p_vaddr - load->p_vaddr >= load->p_filesz)
			continue;
		add_table(batch, headers, nr, bias, (struct unwind_table) {
			.table_start = bias + load->p_vaddr,
			.table_end = bias + load->p_vaddr + load->p_filesz,
			.header = bias + header->p_vaddr,
			.format = UNWIND_TABLE_EH_FRAME,
		});
		return;
	}
}

static void add_map(struct batch *batch, struct link_map *map)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	const Elf64_Phdr *headers;
	/*
	 * The loader knows where the headers are; the object need not begin with them,
	 * nor at its l_addr. glibc's handle of an object is its link map. In all
	 * namespaces but the first the loader itself has one without headers.
	 */
	int nr = dlinfo(map, RTLD_DI_PHDR, &headers);

	/* The kernel knows the vDSO's tables. */
	if (nr <= 0 || (vdso && map->l_addr == vdso))
		return;
	add_sframe(batch, headers, nr, map->l_addr);
	add_eh_frame(batch, headers, nr, map->l_addr);
}

/* Called once, first. */
EXPORT unsigned int la_version(unsigned int version)
{
	struct batch batch = { 0 };
	struct link_map *map;
	Dl_info info;

	/* How many tables there are, or an error where there is no such call: be unloaded. */
	if (prctl(PR_UNWIND_TABLES, PR_UNWIND_TABLES_ENUMERATE, NULL, 0UL,
		  sizeof(struct unwind_table)) < 0)
		return 0;

	/* Our own namespace, with a C library of its own, is reported to nobody. */
	if (dladdr1((void *)la_version, &info, (void **)&map, RTLD_DL_LINKMAP)) {
		while (map->l_prev)
			map = map->l_prev;
		for (; map; map = map->l_next)
			add_map(&batch, map);
		register_batch(&batch);
	}
	/* What is used here is the same in all versions. */
	return version;
}

/* An object is mapped. It is not relocated yet. */
EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	struct batch batch;

	(void)namespace;
	(void)cookie;
	batch.nr = 0;
	add_map(&batch, map);
	register_batch(&batch);
	/* No symbol shall be reported. */
	return 0;
}
