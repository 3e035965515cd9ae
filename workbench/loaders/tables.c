// SPDX-License-Identifier: GPL-2.0
/* See tables.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/unwind_tables.h>

#include "tables.h"

#ifndef PR_UNWIND_TABLES
#define PR_UNWIND_TABLES		82
#define PR_UNWIND_TABLES_ENUMERATE	3
#endif
#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME			0x6474e554
#endif
#define MOST 4096

static struct unwind_table expected[MOST], known[MOST];
static int count;

static void expect(const struct dl_phdr_info *object, unsigned int format,
		   const ElfW(Phdr) *table, unsigned long header)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *text = &object->dlpi_phdr[i];

		if (text->p_type != PT_LOAD || !(text->p_flags & PF_X))
			continue;
		if (count == MOST) {
			fprintf(stderr, "more than %d tables\n", MOST);
			exit(1);
		}
		expected[count++] = (struct unwind_table) {
			.text_start = object->dlpi_addr + text->p_vaddr,
			.text_end = object->dlpi_addr + text->p_vaddr + text->p_memsz,
			.table_start = object->dlpi_addr + table->p_vaddr,
			.table_end = object->dlpi_addr + table->p_vaddr + table->p_filesz,
			.header = header,
			.format = format,
		};
	}
}

static int expect_object(struct dl_phdr_info *object, size_t size, void *data)
{
	unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) *index = NULL, *segment = NULL;

	(void)size;
	(void)data;
	/* The vDSO's headers are in its first page, as they are in memory. */
	if (vdso && (unsigned long)object->dlpi_phdr - vdso < 4096)
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];

		if (header->p_type == PT_GNU_SFRAME)
			expect(object, UNWIND_TABLE_SFRAME, header, 0);
		if (header->p_type == PT_GNU_EH_FRAME)
			index = header;
	}
	for (int i = 0; i < object->dlpi_phnum && index; i++) {
		segment = &object->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && index->p_vaddr >= segment->p_vaddr &&
		    index->p_vaddr < segment->p_vaddr + segment->p_filesz)
			expect(object, UNWIND_TABLE_EH_FRAME, segment,
			       object->dlpi_addr + index->p_vaddr);
	}
	return 0;
}

#ifdef __GLIBC__
/* dl_iterate_phdr() lists the caller's namespace only. */
static void expect_namespace(void *handle)
{
	unsigned long loader = getauxval(AT_BASE);
	struct link_map *map;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	while (map->l_prev)
		map = map->l_prev;
	for (; map; map = map->l_next) {
		const ElfW(Ehdr) *header = (const void *)map->l_addr;
		struct dl_phdr_info object = {
			.dlpi_addr = map->l_addr,
			.dlpi_phdr = (const void *)(map->l_addr + header->e_phoff),
			.dlpi_phnum = header->e_phnum,
		};

		/* All namespaces share the loader. */
		if (map->l_addr != loader)
			expect_object(&object, sizeof(object), NULL);
	}
}
#else
static void expect_namespace(void *handle)
{
	(void)handle;
}
#endif

static int compare(const void *one, const void *other)
{
	/* The state is not compared. It follows all other members. */
	return memcmp(one, other, offsetof(struct unwind_table, state));
}

/* The number of tables of FIRST that are not in SECOND.  Both are sorted. */
static int without(const struct unwind_table *first, int nr, const struct unwind_table *second,
		   int others, const char *what)
{
	int lacking = 0;

	for (int i = 0; i < nr; i++) {
		if (bsearch(&first[i], second, others, sizeof(*second), compare))
			continue;
		/* Print the first ones only. */
		if (lacking++ >= 5)
			continue;
		printf("# %s: text %llx-%llx table %llx-%llx format %u origin %u\n", what,
		       first[i].text_start, first[i].text_end, first[i].table_start,
		       first[i].table_end, first[i].format, first[i].origin);
	}
	return lacking;
}

void check_tables(const char *name, void *namespace)
{
	int nr, missing, stale, found = 0;

	count = 0;
	dl_iterate_phdr(expect_object, NULL);
	if (namespace)
		expect_namespace(namespace);
	nr = prctl(PR_UNWIND_TABLES, (unsigned long)PR_UNWIND_TABLES_ENUMERATE, known,
		   (unsigned long)MOST, sizeof(*known));
	/* The kernel does not know the call, or a filter refuses it. */
	if (nr < 0)
		nr = 0;
	for (int i = 0; i < nr; i++)
		found += known[i].origin == UNWIND_TABLE_BY_DISCOVERY;
	qsort(expected, count, sizeof(*expected), compare);
	qsort(known, nr, sizeof(*known), compare);
	missing = without(expected, count, known, nr, "missing");
	stale = without(known, nr, expected, count, "stale");
	/* A duplicate is neither missing nor stale. */
	if (!missing && !stale)
		stale = nr - count;
	printf("tables %s expected %d missing %d stale %d found %d\n", name, count, missing,
	       stale, found);
	fflush(stdout);
}

void refuse(int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_UNWIND_TABLES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) ||
	    prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &program)) {
		perror("a filter of system calls");
		exit(1);
	}
}
