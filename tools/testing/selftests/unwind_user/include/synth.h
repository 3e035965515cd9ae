/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of functions that were never called: a test writes the stack, the
 * registers, and what a table says about functions that are but addresses, and
 * sees what the kernel makes of it.
 */
#ifndef SYNTH_H
#define SYNTH_H

#include <ucontext.h>

#include "code.h"
#include "tables.h"

/* Flexible rules' words, about registers by their DWARF numbers. */
#define REG(nr)		((nr) << 3 | 1)
#define AT_REG(nr)	((nr) << 3 | 3)
#define AT_CFA		2
/* The return address is where x86 has it; see synth_rule(). */
#define NO_RULE		FLEXIBLE_RA

/* A function's only row. Without words it has no caller. */
struct rule {
	bool flexible;
	bool by_sp;
	bool signal;
	int nr;
	int words[6];
};

#define RULE_WORDS(...)	\
	.nr = sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), .words = { __VA_ARGS__ }
/* The CFA's offset from a register, and where below it the frame pointer is. */
#define BY_SP(...)	((struct rule){ .by_sp = true, RULE_WORDS(__VA_ARGS__) })
#define BY_FP(...)	((struct rule){ RULE_WORDS(__VA_ARGS__) })
/* Pairs of what and offset, for the CFA, the return address and the frame pointer. */
#define FLEXIBLE(...)	((struct rule){ .flexible = true, RULE_WORDS(__VA_ARGS__) })
#define OUTERMOST	((struct rule){})

/* The registers to load, and where its end goes to. */
struct synth_frame {
	unsigned long back, sp;
	struct synth_regs regs;
};

void synth_enter(struct synth_frame *frame);

#define SYNTH_FUNCTIONS	64
#define FUNCTION_SIZE	64UL
/* Where in a function its callee returns to. */
#define RETURN_OFFSET	8
#define SYNTH_TEXT	(32 * PAGE)
#define SYNTH_TABLE	(512 * PAGE)
#define SYNTH_STACK	(32 * PAGE)
/* The lowest frames of a mapping are not followed as the others are: these are higher. */
#define SYNTH_BELOW	PAGE
/* The kernel stores no more frames of a stack. */
#define MOST_FRAMES	510
/* From the end of the header. */
#define SYNTH_ROWS	(SYNTH_FUNCTIONS * 16)

/* A table's header. */
struct table_header {
	__u16 magic;
	__u8 version;
	__u8 flags;
	__u8 abi;
	__s8 fixed_fp;
	__s8 fixed_ra;
	__u8 aux_len;
	__u32 functions;
	__u32 rows;
	__u32 rows_len;
	__u32 index_at;		/* from the end of the header */
	__u32 rows_at;
};

struct table_entry {
	__u32 start[2];		/* from its own place, of 64 bits */
	__u32 size;
	__u32 rows;
};

static_assert(sizeof(struct table_header) == 28 && sizeof(struct table_entry) == 16, "layout");

struct synth {
	/* All its functions, one after the other. */
	unsigned char *text;
	unsigned char *table;
	/* Nobody may touch what is around it. */
	unsigned char *stack;
	struct unwind_table ranges;
	struct sampler sampler;
	struct synth_frame frame;
	struct chain chain;
};

void synth_no_rules(struct synth *synth);
/* Add a function to the table. @rows: its attribute and rows, as they are in the table. */
void synth_add(struct synth *synth, unsigned long text_offset, __u32 size, const void *rows,
	       size_t len);
/*
 * Add a function with a rule that holds in all of it. Its return address is just below the
 * CFA, unless the rule says where: also where only x86's calls store it there.
 */
void synth_rule(struct synth *synth, struct rule rule);
unsigned long synth_function(const struct synth *synth, int nth);
/* Compute where in the @nth function its callee returns to. */
unsigned long synth_return(const struct synth *synth, int nth);
/* Map memory between pages that cannot be accessed. Returns its address, or NULL. */
void *synth_memory(size_t len);
/* Make a stack, a sampler, and a table without functions. Returns 0 or a negative errno. */
int synth_make(struct synth *synth);
/* Sample the stack, as the kernel may remember it. Returns NULL, or what is wrong. */
const char *synth_sample_again(struct synth *synth);
/* Sample it when the kernel remembers nothing of its table. Returns as above. */
const char *synth_sample(struct synth *synth);
/* Compare the callers of the first function, with rules looked up and then remembered. */
bool synth_has(struct synth *synth, const unsigned long *callers, unsigned int nr);
/* Write a signal frame, as far as the kernel looks at it. Returns the frame at @at. */
ucontext_t *synth_signal(void *at, unsigned long ip, unsigned long sp, unsigned long bp);

/* For tests whose fixture has a struct synth of that name. */
#define RULE(...)	synth_rule(&self->synth, __VA_ARGS__)
#define NO_RULES()	synth_no_rules(&self->synth)
/* The table has these rules alone. */
#define RULES(...) do {							\
	const struct rule rules[] = { __VA_ARGS__ };			\
									\
	NO_RULES();							\
	for (unsigned int nth = 0; nth < ARRAY_SIZE(rules); nth++)	\
		RULE(rules[nth]);					\
} while (0)
#define REGS		(self->synth.frame.regs)
#define RETURN(nth)	synth_return(&self->synth, nth)
/* The address of a word of the stack, and the word. */
#define AT(offset)	((unsigned long)self->synth.stack + (offset))
#define WORD(offset)	(*(unsigned long *)AT(offset))
/* Pairs of an offset and what is written there. */
#define WORDS(...) do {							\
	const struct {							\
		long at;						\
		unsigned long word;					\
	} words[] = { __VA_ARGS__ };					\
									\
	for (unsigned int nth = 0; nth < ARRAY_SIZE(words); nth++)	\
		WORD(words[nth].at) = words[nth].word;			\
} while (0)
#define EXPECT_CALLERS(...) do {					\
	const unsigned long callers[] = { __VA_ARGS__ };		\
									\
	EXPECT_TRUE(synth_has(&self->synth, callers, ARRAY_SIZE(callers))); \
} while (0)
#define EXPECT_NO_CALLERS()	EXPECT_TRUE(synth_has(&self->synth, NULL, 0))
/* Rules by which nothing is found. */
#define EXPECT_NONE_BY(...) do {					\
	RULES(__VA_ARGS__);						\
	EXPECT_NO_CALLERS();						\
} while (0)
/* The callers, and how the stack ends: an enum perf_callchain_end, less what all begin with. */
#define EXPECT_ENDS(how, ...) do {					\
	EXPECT_CALLERS(__VA_ARGS__);					\
	EXPECT_EQ(PERF_CALLCHAIN_END_##how, self->synth.chain.end);	\
} while (0)
#define EXPECT_STACK(how, by_frame_pointer, ...) do {			\
	EXPECT_ENDS(how, ##__VA_ARGS__);				\
	EXPECT_EQ(by_frame_pointer, self->synth.chain.guessed);		\
} while (0)

#endif /* SYNTH_H */
