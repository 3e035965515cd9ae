// SPDX-License-Identifier: GPL-2.0
/*
 * Unwind tables of user space: the mappings of text and tables.
 *
 * Discovery finds them here, and registration checks them here. No file is opened, and no
 * reference to one is kept.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unwind_tables.h>

#include "../user.h"

/*
 * Limit of mappings that are searched: below the text for the start of its file, and from
 * there on for the program headers.
 */
#define MAPPINGS_NEAR	32
/* Limit of mappings of a text, and of a table, that discovery finds: a walk looks at all. */
#define MAPPINGS_MOST	64

/* A wrong address must not wake a device. */
static bool is_memory(const struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

/* Say whether a range is memory with all of @flags, in at most @most mappings. */
static bool range_is(struct mm_struct *mm, unsigned long start, unsigned long end,
		     vm_flags_t flags, unsigned int most)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end) {
		if (!most-- || vma->vm_start > start || (vma->vm_flags & flags) != flags ||
		    !is_memory(vma))
			return false;
		start = vma->vm_end;
	}
	return start >= end;
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

/* Say whether a mapping is memory, and has the start of an object. */
static bool has_header(const struct vm_area_struct *vma, const void *object)
{
	return vma && mapped_object(vma) == object && !vma->vm_pgoff && is_memory(vma);
}

/*
 * Find the mapping with the start of the object of @text, or NULL. Linkers keep the
 * distances that the parts have in the file, or at least their order.
 */
static struct vm_area_struct *find_header(struct mm_struct *mm, struct vm_area_struct *text)
{
	const void *object = mapped_object(text);
	unsigned long before = text->vm_pgoff << PAGE_SHIFT;
	struct vm_area_struct *vma = text;
	int i;

	VMA_ITERATOR(vmi, mm, text->vm_start);

	if (has_header(text, object))
		return text;
	if (before < text->vm_start) {
		vma = vma_lookup(mm, text->vm_start - before);
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

/**
 * unwind_tables_find_object - Find the mapping of text, and that of the start of its file
 * @ip:	    An address of the text, in the current process
 * @object: Where to put the result
 *
 * Context: Process context, takes the mmap lock.
 * Return: 0; -ENOENT if there is no text at @ip; -EINTR if the task is being killed;
 *	   -EAGAIN if it would have to wait for the lock, and must not.
 */
int unwind_tables_find_object(unsigned long ip, struct unwind_tables_object *object)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret;

	ret = unwind_user_lock_mappings();
	if (ret)
		return ret;
	ret = -ENOENT;
	vma = vma_lookup(mm, ip);
	if (!vma || !(vma->vm_flags & VM_EXEC) || !is_memory(vma))
		goto unlock;

	*object = (struct unwind_tables_object) {
		.start = vma->vm_start,
		.end = vma->vm_end,
		.is_file = mapped_object(vma),
	};
	if (object->is_file) {
		object->offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) + (ip - vma->vm_start);
		vma = find_header(mm, vma);
		if (vma) {
			object->header = vma->vm_start;
			object->header_len = vma->vm_end - vma->vm_start;
		}
	}
	ret = 0;
unlock:
	mmap_read_unlock(mm);
	return ret;
}

/*
 * Find a part of an object in a single readable mapping, from address @from on. Returns its
 * address, or 0.
 */
static unsigned long find_range(struct mm_struct *mm, unsigned long from,
				const void *object, u64 offset, u64 len)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;
	int i;

	for (i = 0; i < MAPPINGS_NEAR; i++) {
		u64 start, size;

		vma = vma_next(&vmi);
		if (!vma)
			break;
		start = (u64)vma->vm_pgoff << PAGE_SHIFT;
		size = vma->vm_end - vma->vm_start;
		if (mapped_object(vma) == object && vma->vm_flags & VM_READ && is_memory(vma) &&
		    offset >= start && offset - start < size && len <= size - (offset - start))
			return vma->vm_start + (offset - start);
	}
	return 0;
}

/**
 * unwind_tables_find_headers - Find where the program headers of a file are mapped
 * @ip:	    An address in the current process, with text of the file
 * @object: What unwind_tables_find_object() has found for it
 * @offset: Where the program headers are in the file, in bytes
 * @len:    How many bytes they have
 * @start:  Where to put their address
 *
 * Tools that add program headers to a finished file put all of them into a new
 * segment, and the loader maps that like any other.
 *
 * Context: Process context, takes the mmap lock.
 * Return: 0; -ENODATA if no mapping near the file's start has all of them; -EINTR if
 *	   the task is being killed; -EAGAIN if it would have to wait for the lock, and
 *	   must not.
 */
int unwind_tables_find_headers(unsigned long ip, const struct unwind_tables_object *object,
			       u64 offset, u64 len, unsigned long *start)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *text;
	int ret;

	*start = 0;
	ret = unwind_user_lock_mappings();
	if (ret)
		return ret;
	text = vma_lookup(mm, ip);
	if (text && mapped_object(text))
		*start = find_range(mm, object->header, mapped_object(text), offset, len);
	mmap_read_unlock(mm);
	return *start ? 0 : -ENODATA;
}

/* Say whether a range is readable memory of @object from byte @offset on, in few mappings. */
static bool is_of_object(struct mm_struct *mm, unsigned long start, unsigned long end,
			 const void *object, u64 offset)
{
	VMA_ITERATOR(vmi, mm, start);
	unsigned int most = MAPPINGS_MOST;
	struct vm_area_struct *vma;

	if (!object)
		return false;
	for_each_vma_range(vmi, vma, end) {
		if (!most-- || vma->vm_start > start || !(vma->vm_flags & VM_READ) ||
		    !is_memory(vma) || mapped_object(vma) != object ||
		    ((u64)vma->vm_pgoff << PAGE_SHIFT) + (start - vma->vm_start) != offset)
			return false;
		offset += vma->vm_end - start;
		start = vma->vm_end;
	}
	return start >= end;
}

/* Say whether a mapping continues the one below it, in address and in object. */
static bool goes_on(const struct vm_area_struct *below, const struct vm_area_struct *vma)
{
	return below->vm_end == vma->vm_start && mapped_object(vma) &&
	       mapped_object(below) == mapped_object(vma) &&
	       below->vm_pgoff + vma_pages(below) == vma->vm_pgoff &&
	       !((below->vm_flags ^ vma->vm_flags) & VM_ACCESS_FLAGS) &&
	       is_memory(below) && is_memory(vma);
}

/*
 * Let a part reach as far as its segment. A program may have split the mapping of that:
 * by mlock() or madvise(), for example. Another segment has other permissions.
 */
static void grow(struct mm_struct *mm, struct unwind_tables_part *part)
{
	VMA_ITERATOR(vmi, mm, part->start);
	struct vm_area_struct *first = vma_next(&vmi), *last = first, *vma;
	unsigned int most = MAPPINGS_MOST - 1;

	while (most && (vma = vma_next(&vmi)) && goes_on(last, vma)) {
		last = vma;
		most--;
	}
	vma_iter_set(&vmi, first->vm_start);
	while (most && (vma = vma_prev(&vmi)) && goes_on(vma, first)) {
		first = vma;
		most--;
	}
	part->offset = (u64)first->vm_pgoff << PAGE_SHIFT;
	part->start = first->vm_start;
	part->end = max(part->end, last->vm_end);
}

/**
 * unwind_tables_find_part - Find where a part of a file is mapped
 * @ip:	    An address in the current process, with text of the file
 * @around: Whether all of the segment is meant that the part's start is in
 * @part:   The part, and where it should be; with @around it grows
 *
 * Context: Process context, takes the mmap lock.
 * Return: 0; -ENODATA if it is not there, or in more than 64 mappings; -EINTR if
 *	   the task is being killed; -EAGAIN if it would have to wait for the lock,
 *	   and must not.
 */
int unwind_tables_find_part(unsigned long ip, bool around, struct unwind_tables_part *part)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *text;
	int ret;

	if (part->start >= part->end || part->end > TASK_SIZE_MAX)
		return -ENODATA;
	ret = unwind_user_lock_mappings();
	if (ret)
		return ret;
	ret = -ENODATA;
	text = vma_lookup(mm, ip);
	if (!text ||
	    !is_of_object(mm, part->start, part->end, mapped_object(text), part->offset))
		goto unlock;

	if (around)
		grow(mm, part);
	ret = 0;
unlock:
	mmap_read_unlock(mm);
	return ret;
}

/* Say whether a range has few mappings, and no device. */
static bool has_no_device(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	unsigned int most = MAPPINGS_MOST;
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end) {
		if (!most-- || !is_memory(vma))
			return false;
	}
	return true;
}

/**
 * unwind_tables_find_records - Find the segment with the records of an .eh_frame
 * @ip:	    An address in the current process, with text of the file
 * @header: The address of the index
 * @addr:   The address of the first record
 * @part:   Where to put the range of the segment that @addr is in
 *
 * The memory between the index and the records is then part of the table, too.
 *
 * Context: Process context, takes the mmap lock.
 * Return: 0; -ENODATA if @addr is in no readable memory of the file, or a device or
 *	   too much is between that and the index; -EINTR if the task is being killed;
 *	   -EAGAIN if it would have to wait for the lock, and must not.
 */
int unwind_tables_find_records(unsigned long ip, unsigned long header, unsigned long addr,
			       struct unwind_tables_part *part)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *text, *vma;
	int ret;

	ret = unwind_user_lock_mappings();
	if (ret)
		return ret;
	ret = -ENODATA;
	text = vma_lookup(mm, ip);
	vma = vma_lookup(mm, addr);
	if (!text || !vma || !mapped_object(vma) || mapped_object(text) != mapped_object(vma) ||
	    !(vma->vm_flags & VM_READ) ||
	    !has_no_device(mm, min(header, addr), max(header, addr) + 1))
		goto unlock;

	part->start = vma->vm_start;
	part->end = vma->vm_end;
	grow(mm, part);
	ret = 0;
unlock:
	mmap_read_unlock(mm);
	return ret;
}

/**
 * unwind_tables_lock_mapped - Take the mmap lock if text and tables are mapped
 * @text_start: Start of the text, in the current process
 * @text_end:	Its end
 * @parts:	The tables, parts of the same file; those that are empty do not count
 * @nr:		How many parts there are
 *
 * Context: Process context.
 * Return: 0, then the caller calls unwind_tables_unlock_mapped(); -EACCES if some
 *	   of the text is no text, or it is in more than 64 mappings; -EAGAIN if a
 *	   table is not mapped there any more, or if it would have to wait for the
 *	   lock, and must not; -EINTR if the task is being killed.
 */
int unwind_tables_lock_mapped(unsigned long text_start, unsigned long text_end,
			      const struct unwind_tables_part *parts, unsigned int nr)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	unsigned int i;
	int ret;

	ret = unwind_user_lock_mappings();
	if (ret)
		return ret;

	ret = -EACCES;
	if (!range_is(mm, text_start, text_end, VM_EXEC, MAPPINGS_MOST))
		goto unlock;

	ret = -EAGAIN;
	vma = vma_lookup(mm, text_start);
	for (i = 0; i < nr; i++) {
		if (parts[i].start == parts[i].end)
			continue;
		if (!is_of_object(mm, parts[i].start, parts[i].end, mapped_object(vma),
				  parts[i].offset))
			goto unlock;
	}
	return 0;

unlock:
	mmap_read_unlock(mm);
	return ret;
}

/**
 * unwind_tables_lock_table - Take the mmap lock if what a program registers is mapped
 * @table: The text, in the current process, and its table
 *
 * The table's bytes are not looked at. They may change at any time, and most tables
 * are never used.
 *
 * Context: Process context.
 * Return: 0, then the caller calls unwind_tables_unlock_mapped(); -EINVAL if a range
 *	   is beyond user space; -EACCES if some of the text is not executable memory or
 *	   some of the table not readable memory; -EINTR if the task is being killed.
 */
int unwind_tables_lock_table(const struct unwind_table *table)
{
	struct mm_struct *mm = current->mm;

	if (table->text_end > TASK_SIZE_MAX || table->table_end > TASK_SIZE_MAX)
		return -EINVAL;
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	if (range_is(mm, table->text_start, table->text_end, VM_EXEC, mm->map_count) &&
	    range_is(mm, table->table_start, table->table_end, VM_READ, mm->map_count))
		return 0;
	mmap_read_unlock(mm);
	return -EACCES;
}

/**
 * unwind_tables_unlock_mapped - Drop the lock of unwind_tables_lock_mapped() or
 *				 unwind_tables_lock_table()
 */
void unwind_tables_unlock_mapped(void)
{
	mmap_read_unlock(current->mm);
}

/**
 * unwind_tables_may_wait - Say whether lookups may wait for other tasks
 *
 * Context: Any.
 * Return: False if the current task takes a stack that must not wait.
 */
bool unwind_tables_may_wait(void)
{
	return !current->unwind_info.at_once;
}
