/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of the system, mapped as a loader maps them, and a search for the function of
 * an address by .eh_frame_hdr. After tables.h.
 */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <linux/elf.h>

/* A mapped file. */
struct file {
	const char *name;
	int fd;
	/* The range of all segments, gaps included. */
	unsigned char *area;
	unsigned long size;
	/* The address of the first byte, by the program headers. */
	unsigned long lowest;
	unsigned int nr_headers;
	struct elf64_phdr headers[32];
	/* .eh_frame_hdr, with the usual encoding of entries. */
	const struct index {
		__u8 version, pointer_encoding, count_encoding, entry_encoding;
		__s32 pointer;
		__u32 count;
		struct {
			__s32 start, fde;
		} entries[];
	} *index;
};

/* A function, by its FDE. */
struct function {
	unsigned long start, size;
	/* The number of bytes of the FDE's program, padding included. */
	unsigned int program;
};

static inline unsigned long page_down(unsigned long at)
{
	return at & -PAGE;
}

/* Map the segments into the file's area. Returns 0 or a negative errno. */
static inline int file_map_segments(const struct file *file)
{
	for (unsigned int i = 0; i < file->nr_headers; i++) {
		const struct elf64_phdr *header = &file->headers[i];
		unsigned long start = page_down(header->p_vaddr);
		int protection = 0;

		if (header->p_type != PT_LOAD)
			continue;
		protection |= header->p_flags & PF_R ? PROT_READ : 0;
		protection |= header->p_flags & PF_W ? PROT_WRITE : 0;
		protection |= header->p_flags & PF_X ? PROT_EXEC : 0;
		if (mmap(file->area + start - file->lowest,
			 header->p_vaddr + header->p_filesz - start, protection,
			 MAP_PRIVATE | MAP_FIXED, file->fd,
			 page_down(header->p_offset)) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

/* Unmap the file, so that the kernel forgets its table, and map it again. */
static inline int file_map_again(const struct file *file)
{
	if (mmap(file->area, file->size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	return file_map_segments(file);
}

/* Read all read-only segments, for headers and tables. Returns 0 or a negative errno. */
static inline int file_populate(const struct file *file)
{
	for (unsigned int i = 0; i < file->nr_headers; i++) {
		const struct elf64_phdr *header = &file->headers[i];
		unsigned long start = page_down(header->p_vaddr);

		if (header->p_type == PT_LOAD && header->p_flags == PF_R &&
		    madvise(file->area + start - file->lowest,
			    header->p_vaddr + header->p_filesz - start, MADV_POPULATE_READ))
			return -errno;
	}
	return 0;
}

/* Map a file. Returns NULL or an error. */
static inline const char *file_open(struct file *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned long end = 0;
	struct elf64_hdr ehdr;

	*file = (struct file){ .name = slash + 1, .lowest = -1UL };
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0 || pread(file->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		return "cannot be read";
	file->nr_headers = ehdr.e_phnum;
	if (file->nr_headers > ARRAY_SIZE(file->headers))
		return "has too many program headers";
	if (pread(file->fd, file->headers, file->nr_headers * sizeof(file->headers[0]),
		  ehdr.e_phoff) != (ssize_t)(file->nr_headers * sizeof(file->headers[0])))
		return "has no program headers";
	for (unsigned int i = 0; i < file->nr_headers; i++) {
		const struct elf64_phdr *load = &file->headers[i];

		if (load->p_type != PT_LOAD)
			continue;
		if (page_down(load->p_vaddr) < file->lowest)
			file->lowest = page_down(load->p_vaddr);
		if (load->p_vaddr + load->p_memsz > end)
			end = load->p_vaddr + load->p_memsz;
	}
	file->size = end - file->lowest;
	file->area = mmap(NULL, file->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file->area == MAP_FAILED || file_map_segments(file))
		return "cannot be mapped";
	for (unsigned int i = 0; i < file->nr_headers; i++) {
		const struct elf64_phdr *header = &file->headers[i];

		/* The kernel would use this table first. */
		if (header->p_type == PT_GNU_SFRAME)
			return "has a table of SFrame";
		if (header->p_type == PT_GNU_EH_FRAME)
			file->index = (void *)(file->area + header->p_vaddr - file->lowest);
	}
	if (!file->index || file->index->version != 1 || file->index->pointer_encoding != 0x1b ||
	    file->index->count_encoding != 3 || file->index->entry_encoding != 0x3b ||
	    !file->index->count)
		return "has no index of the usual kind";
	return NULL;
}

/* The address by the program headers of an address in memory. */
static inline unsigned long file_address(const struct file *file, unsigned long at)
{
	return at - (unsigned long)file->area + file->lowest;
}

/* Function @nth of the index. Its FDE must have the usual encoding. */
static inline const char *file_function(const struct file *file, unsigned int nth,
					struct function *function)
{
	const unsigned char *fde = (unsigned char *)file->index + file->index->entries[nth].fde;
	const unsigned char *end, *cie, *at = fde + 16;
	__u32 length, id, augmentation = 0;
	__s32 start;

	memcpy(&length, fde, sizeof(length));
	memcpy(&id, fde + 4, sizeof(id));
	memcpy(&start, fde + 8, sizeof(start));
	end = fde + 4 + length;
	cie = fde + 4 - id;
	function->start = (unsigned long)file->index + file->index->entries[nth].start;
	if ((unsigned long)fde + 8 + start != function->start)
		return "has an FDE of an unusual encoding";
	function->size = 0;
	memcpy(&function->size, fde + 12, sizeof(__u32));
	/* The CIE's augmentation is behind its length, id and version. */
	if (cie[9] == 'z') {
		augmentation = *at++;
		if (augmentation >= 0x80)
			return "has long augmentation data";
	}
	function->program = end - at - augmentation;
	return NULL;
}

/* The last function of the index that starts at or below an address. One must exist. */
static inline unsigned int file_search(const struct file *file, unsigned long at)
{
	unsigned int low = 0, high = file->index->count;
	long offset = at - (unsigned long)file->index;

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (file->index->entries[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

#endif /* OBJECTS_H */
