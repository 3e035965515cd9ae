// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the cost of the discovery of an object's table, and of an object without one.
 *
 * For a guest whose clock counts instructions. Prints "clock", its calibration;
 * then for each kind of object its name, the instructions of the first sample in it
 * less those of the next ones, and those of the next ones less those of a call without
 * sampling.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest.h"

#include "tables.h"
#include "object.h"
#include "synth.h"
#include "eh_frame.h"
#include "clock.h"

#define REPEAT	5
/* In place of a format: the object has no table. */
#define NOTHING	(-1U)

static struct sampler sampler;

static unsigned long cost(const unsigned char *leaf)
{
	unsigned long start = now(), taken;

	((unsigned long (*)(void))leaf)();
	taken = now() - start;
	sampler.page->data_tail = sampler.page->data_head;
	return taken;
}

/* Read all pages, so that a sample takes no page faults. */
static void touch(const struct object *object)
{
	for (int i = 0; i < OBJECT_PAGES; i++)
		(void)*(volatile unsigned char *)(object->base + i * PAGE);
}

/* Turn the program header of the table into one for .eh_frame, for the first leaf. */
static void say_eh_frame(struct object *object)
{
	struct elf64_phdr *header = &object->phdrs[GNU_SFRAME];

	header->p_type = PT_GNU_EH_FRAME;
	header->p_offset += EH_HEADER;
	header->p_vaddr += EH_HEADER;
	header->p_filesz -= EH_HEADER;
	header->p_memsz -= EH_HEADER;
}

static int write_eh_frame(const struct object *object)
{
	static unsigned char image[OBJECT_SIZE];
	/* Offsets in the table depend on this distance. */
	struct synth synth = {
		.text = image + OBJECT_TEXT * PAGE,
		.table = image + OBJECT_TABLE * PAGE,
	};

	eh_no_rules(&synth);
	eh_add(&synth, EH_CIE, NULL, 0);
	if (pwrite(object->fd, synth.table, PAGE, OBJECT_TABLE * PAGE) != (ssize_t)PAGE)
		return -errno;
	return 0;
}

/* Whether the kernel has found the table, and its state is good. */
static bool is_found(const struct object *object, unsigned int format)
{
	struct listed all[16];
	long nr = tables_list(all, ARRAY_SIZE(all));

	for (long i = 0; i < nr && i < (long)ARRAY_SIZE(all); i++) {
		if (all[i].table.text_start == (unsigned long)object_text(object) &&
		    all[i].table.format == format && all[i].state == TABLE_GOOD)
			return true;
	}
	return false;
}

static int measure(const char *name, struct object *object, unsigned int format)
{
	unsigned long first = -1UL, again = -1UL, idle = -1UL;

	if (object_make(object))
		return 1;
	if (format == UNWIND_TABLE_EH_FRAME && write_eh_frame(object))
		return 1;
	for (int i = 0; i < REPEAT; i++) {
		unsigned long taken[3];

		if (object_map_again(object))
			return 1;
		touch(object);
		taken[0] = cost(object_text(object));
		taken[1] = cost(object_text(object));
		ioctl(sampler.fd, PERF_EVENT_IOC_DISABLE, 0);
		taken[2] = cost(object_text(object));
		ioctl(sampler.fd, PERF_EVENT_IOC_ENABLE, 0);
		first = taken[0] < first ? taken[0] : first;
		again = taken[1] < again ? taken[1] : again;
		idle = taken[2] < idle ? taken[2] : idle;
	}
	if (format != NOTHING && !is_found(object, format)) {
		printf("%s: was not found\n", name);
		return 1;
	}
	printf("%s %lu %lu\n", name, first - again, again - idle);
	return 0;
}

int main(void)
{
	struct object with = object_good(), eh_frame = object_good(), without = object_good();
	int ret = sampler_open(&sampler);

	if (ret) {
		printf("no stacks: errno %d\n", ret);
		return 1;
	}
	printf("clock %lu\n", calibration());
	say_eh_frame(&eh_frame);
	without.ehdr.e_phnum--;
	return measure("table", &with, UNWIND_TABLE_SFRAME) |
	       measure("nothing", &without, NOTHING) |
	       measure("eh_frame", &eh_frame, UNWIND_TABLE_EH_FRAME);
}
