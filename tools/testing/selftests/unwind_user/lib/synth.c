// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest.h"
#include "synth.h"

void synth_no_rules(struct synth *synth)
{
	*(struct table_header *)synth->table = (struct table_header){
		.magic = 0xdee2,
		.version = 3,
		.flags = 1 | 4,	/* sorted; a start is relative to its own field */
		.abi = TABLE_ABI,
		.fixed_ra = TABLE_FIXED_RA,
		.rows_at = SYNTH_ROWS,
	};
}

void synth_add(struct synth *synth, unsigned long text_offset, __u32 size, const void *rows,
	       size_t len)
{
	struct table_header *header = (struct table_header *)synth->table;
	struct table_entry *index = (struct table_entry *)(header + 1);
	struct table_entry *entry = &index[header->functions];
	long start = synth->text + text_offset - (unsigned char *)entry;

	memcpy(entry->start, &start, sizeof(start));
	entry->size = size;
	entry->rows = header->rows_len;
	memcpy((char *)index + SYNTH_ROWS + header->rows_len, rows, len);
	header->functions++;
	header->rows_len += len;
}

/* Let a rule say where the return address is, if calls store none. */
static void add_return_address(struct rule *rule)
{
	static const int words[] = { AT_CFA, -8 };
	/* Its words stand behind that of the CFA, or those; there are as many. */
	const int at = rule->flexible ? 2 : 1;

	if (TABLE_FIXED_RA || rule->nr < at || rule->nr > (rule->flexible ? at : 5))
		return;
	memmove(&rule->words[2 * at], &rule->words[at], (rule->nr - at) * sizeof(words[0]));
	memcpy(&rule->words[at], &words[2 - at], at * sizeof(words[0]));
	rule->nr += at;
}

void synth_rule(struct synth *synth, struct rule rule)
{
	unsigned int nth = ((struct table_header *)synth->table)->functions;
	unsigned char row[5 + 2 + sizeof(rule.words)] = {
		1, 0, rule.signal ? 0x80 : 0, rule.flexible,
	};

	add_return_address(&rule);
	/* of words of four bytes, if any */
	if (rule.nr)
		row[6] = 0x40 | rule.nr << 1 | rule.by_sp;
	memcpy(&row[7], rule.words, rule.nr * sizeof(rule.words[0]));
	synth_add(synth, nth * FUNCTION_SIZE, FUNCTION_SIZE, row,
		  7 + rule.nr * sizeof(rule.words[0]));
}

unsigned long synth_function(const struct synth *synth, int nth)
{
	return (unsigned long)synth->text + nth * FUNCTION_SIZE;
}

unsigned long synth_return(const struct synth *synth, int nth)
{
	return synth_function(synth, nth) + RETURN_OFFSET;
}

void *synth_memory(size_t len)
{
	char *area = mmap(NULL, len + 2 * PAGE, PROT_NONE, ANON, -1, 0);

	if (area == MAP_FAILED || mprotect(area + PAGE, len, RW))
		return NULL;
	return area + PAGE;
}

int synth_make(struct synth *synth)
{
	int error = sampler_open(&synth->sampler);

	if (error)
		return -error;
	synth->text = synth_memory(SYNTH_TEXT);
	synth->table = synth_memory(SYNTH_TABLE);
	synth->stack = synth_memory(SYNTH_BELOW + SYNTH_STACK);
	if (!synth->text || !synth->table || !synth->stack)
		return -ENOMEM;
	synth->stack += SYNTH_BELOW;
	memset(synth->text, 0x90, SYNTH_TEXT);
	write_code(synth->text, synth_code, sizeof(synth_code));
	if (mprotect(synth->text, SYNTH_TEXT, RW | PROT_EXEC))
		return -errno;
	synth_no_rules(synth);
	synth->ranges = ranges(synth->text, SYNTH_TEXT, synth->table, SYNTH_TABLE);
	synth->frame.regs.ip = (unsigned long)synth->text;
	synth->frame.regs.sp = (unsigned long)synth->stack;
	return do_register(&synth->ranges);
}

const char *synth_sample_again(struct synth *synth)
{
	synth_enter(&synth->frame);
	return sampler_chain(&synth->sampler, &synth->chain);
}

const char *synth_sample(struct synth *synth)
{
	if (registered(&synth->ranges) && do_register(&synth->ranges))
		return "cannot register the table again";
	return synth_sample_again(synth);
}

static bool synth_is(const struct synth *synth, const unsigned long *callers, unsigned int nr)
{
	const struct chain *chain = &synth->chain;

	return chain->ips[0] == synth->frame.regs.ip + SYNTH_SYSCALL &&
	       chain->nr == nr + 1 && !memcmp(&chain->ips[1], callers, nr * sizeof(*callers));
}

bool synth_has(struct synth *synth, const unsigned long *callers, unsigned int nr)
{
	const struct chain *chain = &synth->chain;
	const char *error = synth_sample(synth);
	const struct chain first = *chain;

	if (!error && synth_is(synth, callers, nr)) {
		error = synth_sample_again(synth);
		if (!error && synth_is(synth, callers, nr) && chain->end == first.end &&
		    chain->guessed == first.guessed)
			return true;
		ksft_print_msg("the stack is not the same again: it ended so: %u, and now so: %u\n",
			       first.end, chain->end);
	}
	if (error)
		ksft_print_msg("%s\n", error);
	for (unsigned int i = 0; i < chain->nr; i++)
		ksft_print_msg("%u: 0x%lx (text + 0x%lx)\n", i, chain->ips[i],
			       chain->ips[i] - (unsigned long)synth->text);
	return false;
}

ucontext_t *synth_signal(void *at, unsigned long ip, unsigned long sp, unsigned long bp)
{
	ucontext_t *context = at + SIGNAL_CONTEXT;

	memset(at, 0, SIGNAL_CONTEXT + SIGNAL_CONTEXT_SIZE);
	context->uc_flags = SIGNAL_FLAGS;
	UC_IP(context) = ip;
	UC_SP(context) = sp;
	UC_FP(context) = bp;
	UC_MODE(context) = UC_MODE_64;
	return context;
}
