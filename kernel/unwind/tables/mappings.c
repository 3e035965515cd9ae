// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: the mappings of text and tables.
 *
 * Discovery finds them here, and registration checks them here. No file is opened, and no
 * reference to one is kept. But for the two functions that take and drop it, all of this
 * needs the mmap lock of the current process.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "../user.h"

/*
 * Limit of mappings that are searched: below the text for the start of its file, and from
 * there on for the program headers.
 */
#define MAPPINGS_NEAR	32
/* Limit of mappings of a table that discovery finds: a walk looks at all. */
#define MAPPINGS_MAX	64

/* Take the mmap lock. Returns an errno if that fails: see unwind_user_lock_mappings(). */
int unwind_tables_lock_mappings(void)
{
	return unwind_user_lock_mappings();
}

void unwind_tables_unlock_mappings(void)
{
	mmap_read_unlock(current->mm);
}

/*
 * Return the object that a mapping has a part of: a file, or one of the kernel's own, such
 * as the vDSO. NULL for other memory. Two mappings have the same object if this is equal.
 */
static const void *mapped_object(const struct vm_area_struct *vma)
{
	if (vma->vm_file)
		return file_inode(vma->vm_file);
	/* Whichever special mapping it is. */
	return vma_is_special_mapping(vma, vma->vm_private_data) ? vma->vm_private_data : NULL;
}

/* Return the offset in its object, in bytes, of an address in a mapping. */
static u64 offset_in_object(const struct vm_area_struct *vma, unsigned long addr)
{
	return ((u64)vma->vm_pgoff << PAGE_SHIFT) + (addr - vma->vm_start);
}

/* Say whether a mapping is readable memory of an object. */
static bool is_readable_part(const struct vm_area_struct *vma, const void *object)
{
	return object && mapped_object(vma) == object && (vma->vm_flags & VM_READ) &&
	       unwind_user_is_memory(vma);
}

/* Say whether a mapping is memory, and has the start of an object. */
static bool has_header(const struct vm_area_struct *vma, const void *object)
{
	return vma && mapped_object(vma) == object && !vma->vm_pgoff &&
	       unwind_user_is_memory(vma);
}

/*
 * Find the mapping with the start of the object of @text, or NULL. Linkers keep the
 * distances that the parts have in the file, or at least their order.
 */
static struct vm_area_struct *find_header(struct vm_area_struct *text)
{
	const void *object = mapped_object(text);
	unsigned long before = text->vm_pgoff << PAGE_SHIFT;
	struct vm_area_struct *vma = text;
	int i;

	VMA_ITERATOR(vmi, current->mm, text->vm_start);

	if (has_header(text, object))
		return text;
	if (before < text->vm_start) {
		vma = vma_lookup(current->mm, text->vm_start - before);
		if (has_header(vma, object) && vma->vm_start == text->vm_start - before)
			return vma;
	}
	for (i = 0; i < MAPPINGS_NEAR; i++) {
		vma = vma_prev(&vmi);
		if (!vma)
			break;
		if (has_header(vma, object))
			return vma;
	}
	return NULL;
}

/* Find the text at @ip, and the start of its file. Returns false if there is no text. */
bool unwind_tables_find_object(unsigned long ip, struct unwind_tables_object *object)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, ip);

	if (!vma || !(vma->vm_flags & VM_EXEC) || !unwind_user_is_memory(vma))
		return false;

	*object = (struct unwind_tables_object) {
		.start = vma->vm_start,
		.end = vma->vm_end,
		.offset = offset_in_object(vma, ip),
		.id = mapped_object(vma),
	};
	vma = object->id ? find_header(vma) : NULL;
	if (vma) {
		object->header = vma->vm_start;
		object->header_len = vma->vm_end - vma->vm_start;
	}
	return true;
}

/*
 * Find the program headers of a file, which are @len bytes from @offset on, in one mapping.
 * Returns their address, or 0. Most files have them behind the ELF header. Tools that add
 * program headers to a finished file put all of them into a new segment, and the loader
 * maps that like any other.
 */
unsigned long unwind_tables_find_headers(const struct unwind_tables_object *object,
					 u64 offset, u64 len)
{
	VMA_ITERATOR(vmi, current->mm, object->header);
	struct vm_area_struct *vma;
	int i;

	for (i = 0; i < MAPPINGS_NEAR; i++) {
		u64 start, size;

		vma = vma_next(&vmi);
		if (!vma)
			break;
		start = offset_in_object(vma, vma->vm_start);
		size = vma->vm_end - vma->vm_start;
		if (is_readable_part(vma, object->id) && offset >= start &&
		    offset - start < size && len <= size - (offset - start))
			return vma->vm_start + (offset - start);
	}
	return 0;
}

/* Say whether a mapping continues the one below it, in address and in object. */
static bool goes_on(const struct vm_area_struct *below, const struct vm_area_struct *vma)
{
	return below->vm_end == vma->vm_start && mapped_object(vma) &&
	       mapped_object(below) == mapped_object(vma) &&
	       below->vm_pgoff + vma_pages(below) == vma->vm_pgoff &&
	       !((below->vm_flags ^ vma->vm_flags) & VM_ACCESS_FLAGS) &&
	       unwind_user_is_memory(below) && unwind_user_is_memory(vma);
}

/*
 * Let a range of an object, whose first byte is mapped, reach as far as its segment. A
 * program may have split the mapping of that: by mlock() or madvise(), for example. Another
 * segment has other permissions.
 */
static void grow(unsigned long *start, unsigned long *end)
{
	VMA_ITERATOR(vmi, current->mm, *start);
	struct vm_area_struct *first = vma_next(&vmi), *last = first, *vma;
	unsigned int left = MAPPINGS_MAX - 1;

	while (left && (vma = vma_next(&vmi)) && goes_on(last, vma)) {
		last = vma;
		left--;
	}
	vma_iter_set(&vmi, first->vm_start);
	while (left && (vma = vma_prev(&vmi)) && goes_on(vma, first)) {
		first = vma;
		left--;
	}
	*start = first->vm_start;
	*end = max(*end, last->vm_end);
}

/*
 * Say whether a part of a file, from byte @offset on, is mapped at *@start to *@end, in at
 * most 64 mappings. If it is, and @around, let it reach as far as its segment.
 */
bool unwind_tables_find_part(const struct unwind_tables_object *object, u64 offset,
			     bool around, unsigned long *start, unsigned long *end)
{
	VMA_ITERATOR(vmi, current->mm, *start);
	unsigned int left = MAPPINGS_MAX;
	unsigned long addr = *start;
	struct vm_area_struct *vma;

	if (*start >= *end || *end > TASK_SIZE_MAX)
		return false;
	for_each_vma_range(vmi, vma, *end) {
		if (!left-- || vma->vm_start > addr || !is_readable_part(vma, object->id) ||
		    offset_in_object(vma, addr) != offset + (addr - *start))
			return false;
		addr = vma->vm_end;
	}
	if (addr < *end)
		return false;

	if (around)
		grow(start, end);
	return true;
}

/*
 * Find the segment with the records of an .eh_frame, the first of which is at @addr, and
 * whose index is at @header. The memory between the index and the records is then part of
 * the table, too. So this returns false if a device or too much is there, or if @addr is in
 * no readable memory of the file.
 */
bool unwind_tables_find_records(const struct unwind_tables_object *object,
				unsigned long header, unsigned long addr,
				unsigned long *start, unsigned long *end)
{
	VMA_ITERATOR(vmi, current->mm, min(header, addr));
	struct vm_area_struct *vma = vma_lookup(current->mm, addr);
	unsigned int left = MAPPINGS_MAX;

	if (!vma || !is_readable_part(vma, object->id))
		return false;
	*start = vma->vm_start;
	*end = vma->vm_end;

	for_each_vma_range(vmi, vma, max(header, addr) + 1) {
		if (!left-- || !unwind_user_is_memory(vma))
			return false;
	}
	grow(start, end);
	return true;
}

/* Say whether a range is memory with all of @flags. */
static bool range_is(unsigned long start, unsigned long end, vm_flags_t flags)
{
	VMA_ITERATOR(vmi, current->mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > start || (vma->vm_flags & flags) != flags ||
		    !unwind_user_is_memory(vma))
			return false;
		start = vma->vm_end;
	}
	return start >= end;
}

/*
 * Check that what a program registers is mapped. Returns -EINVAL if a range is beyond user
 * space; -EACCES if some of the text is not executable memory, or some of the table not
 * readable memory. The table's bytes are not looked at: they may change at any time, and
 * most tables are never used.
 */
int unwind_tables_check(const struct unwind_table *table)
{
	if (table->text_end > TASK_SIZE_MAX || table->table_end > TASK_SIZE_MAX)
		return -EINVAL;
	if (range_is(table->text_start, table->text_end, VM_EXEC) &&
	    range_is(table->table_start, table->table_end, VM_READ))
		return 0;
	return -EACCES;
}
