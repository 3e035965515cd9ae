// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest.h"
#include "scene.h"

void scene_no_rules(struct scene *scene)
{
	*(struct table_header *)scene->table = (struct table_header){
		.magic = 0xdee2,
		.version = 3,
		.flags = 1,	/* sorted */
		.abi = 3,	/* AMD64 */
		.fixed_ra = -8,
		.rows_at = SCENE_ROWS,
	};
}

void scene_add(struct scene *scene, unsigned long text_offset, __u32 size, const void *rows,
	       size_t len)
{
	struct table_header *header = (struct table_header *)scene->table;
	struct table_entry *index = (struct table_entry *)(header + 1);
	long start = scene->text + text_offset - scene->table;

	memcpy(index[header->functions].start, &start, sizeof(start));
	index[header->functions].size = size;
	index[header->functions].rows = header->rows_len;
	memcpy((char *)index + SCENE_ROWS + header->rows_len, rows, len);
	header->functions++;
	header->rows_len += len;
}

void scene_rule(struct scene *scene, struct rule rule)
{
	unsigned int nth = ((struct table_header *)scene->table)->functions;
	unsigned char row[5 + 2 + sizeof(rule.words)] = {
		1, 0, rule.signal ? 0x80 : 0, rule.flexible, 0,
		/* of words of four bytes, if any */
		0, rule.nr ? 0x40 | rule.nr << 1 | rule.by_sp : 0,
	};

	memcpy(&row[7], rule.words, rule.nr * sizeof(rule.words[0]));
	scene_add(scene, nth * FUNCTION_SIZE, FUNCTION_SIZE, row,
		  7 + rule.nr * sizeof(rule.words[0]));
}

unsigned long scene_function(const struct scene *scene, int nth)
{
	return (unsigned long)scene->text + nth * FUNCTION_SIZE;
}

unsigned long scene_return(const struct scene *scene, int nth)
{
	return scene_function(scene, nth) + RETURN_OFFSET;
}

void *scene_memory(size_t len)
{
	char *area = mmap(NULL, len + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED || mprotect(area + PAGE, len, PROT_READ | PROT_WRITE))
		return NULL;
	return area + PAGE;
}

int scene_make(struct scene *scene)
{
	int error = sampler_open(&scene->sampler);

	if (error)
		return -error;
	scene->text = scene_memory(SCENE_TEXT);
	scene->table = scene_memory(SCENE_TABLE);
	scene->stack = scene_memory(SCENE_BELOW + SCENE_STACK);
	if (!scene->text || !scene->table || !scene->stack)
		return -ENOMEM;
	scene->stack += SCENE_BELOW;
	memset(scene->text, 0x90, SCENE_TEXT);
	memcpy(scene->text, scene_code, sizeof(scene_code));
	if (mprotect(scene->text, SCENE_TEXT, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -errno;
	scene_no_rules(scene);
	scene->ranges = ranges(scene->text, SCENE_TEXT, scene->table, SCENE_TABLE);
	scene->frame.regs.ip = (unsigned long)scene->text;
	scene->frame.regs.sp = (unsigned long)scene->stack;
	return do_register(&scene->ranges);
}

const char *scene_sample_again(struct scene *scene)
{
	scene_enter(&scene->frame);
	return sampler_chain(&scene->sampler, &scene->chain);
}

const char *scene_sample(struct scene *scene)
{
	if (registered(&scene->ranges) && do_update(&scene->ranges))
		return "cannot update the table";
	return scene_sample_again(scene);
}

static bool scene_is(const struct scene *scene, const unsigned long *callers, unsigned int nr)
{
	const struct chain *chain = &scene->chain;

	return chain->ips[0] == scene->frame.regs.ip + SCENE_SYSCALL &&
	       chain->nr == nr + 1 && !memcmp(&chain->ips[1], callers, nr * sizeof(*callers));
}

bool scene_has(struct scene *scene, const unsigned long *callers, unsigned int nr)
{
	const struct chain *chain = &scene->chain;
	const char *error = scene_sample(scene);
	const struct chain first = *chain;

	if (!error && scene_is(scene, callers, nr)) {
		error = scene_sample_again(scene);
		if (!error && scene_is(scene, callers, nr) && chain->end == first.end &&
		    chain->guessed == first.guessed)
			return true;
		ksft_print_msg("the stack is not the same again: it ended so: %u, and now so: %u\n",
			       first.end, chain->end);
	}
	if (error)
		ksft_print_msg("%s\n", error);
	for (unsigned int i = 0; i < chain->nr; i++)
		ksft_print_msg("%u: 0x%lx (text + 0x%lx)\n", i, chain->ips[i],
			       chain->ips[i] - (unsigned long)scene->text);
	return false;
}

ucontext_t *scene_signal(void *at, unsigned long ip, unsigned long sp, unsigned long bp)
{
	ucontext_t *context = at;

	memset(context, 0, 304);
	context->uc_flags = 6;	/* UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
	context->uc_mcontext.gregs[REG_RIP] = ip;
	context->uc_mcontext.gregs[REG_RSP] = sp;
	context->uc_mcontext.gregs[REG_RBP] = bp;
	context->uc_mcontext.gregs[REG_CSGSFS] = 0x33;
	return context;
}
