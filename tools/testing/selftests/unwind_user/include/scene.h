/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of functions that were never called: a test writes the stack, the
 * registers, and what a table says about functions that are but addresses, and
 * sees what the kernel makes of it.
 *
 * After tables.h.
 */
#ifndef SCENE_H
#define SCENE_H

#include <linux/prctl.h>
#include <ucontext.h>

/* DWARF numbers, and flexible rules' words about them. */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };
#define REG(nr)		((nr) << 3 | 1)
#define AT_REG(nr)	((nr) << 3 | 3)
#define AT_CFA		2
#define NO_RULE		0

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

/* What is in registers when a scene is sampled. The others are taken. */
struct scene_regs {
	unsigned long ip, sp, bp, bx, dx, si, di, r8, r9, r10, r12, r13, r14;
};

/* A scene that is on, and where its end goes to. */
struct scene_frame {
	unsigned long back, sp;
	struct scene_regs regs;
};

void scene_enter(struct scene_frame *frame);

/* The system call is the first function's, which knows the way back by r15. */
asm("	.text\n"
"	.globl	scene_enter\n"
"	.type	scene_enter, @function\n"
"scene_enter:\n"
"	push	%rbp\n"
"	push	%rbx\n"
"	push	%r12\n"
"	push	%r13\n"
"	push	%r14\n"
"	push	%r15\n"
"	mov	%rdi, %r15\n"
"	lea	1f(%rip), %rax\n"
"	mov	%rax, (%r15)\n"
"	mov	%rsp, 8(%r15)\n"
"	mov	16(%r15), %rcx\n"
"	mov	24(%r15), %rsp\n"
"	mov	32(%r15), %rbp\n"
"	mov	40(%r15), %rbx\n"
"	mov	48(%r15), %rdx\n"
"	mov	56(%r15), %rsi\n"
"	mov	64(%r15), %rdi\n"
"	mov	72(%r15), %r8\n"
"	mov	80(%r15), %r9\n"
"	mov	88(%r15), %r10\n"
"	mov	96(%r15), %r12\n"
"	mov	104(%r15), %r13\n"
"	mov	112(%r15), %r14\n"
"	mov	$110, %eax\n"
"	jmp	*%rcx\n"
"1:	mov	8(%r15), %rsp\n"
"	pop	%r15\n"
"	pop	%r14\n"
"	pop	%r13\n"
"	pop	%r12\n"
"	pop	%rbx\n"
"	pop	%rbp\n"
"	ret\n"
"	.size	scene_enter, . - scene_enter\n");

/* Call a function with a trap after each instruction, and where it returns to. */
void call_in_steps(unsigned long function);
extern const char call_in_steps_return[];

asm("	.text\n"
"	.globl	call_in_steps\n"
"	.type	call_in_steps, @function\n"
"call_in_steps:\n"
"	push	%rbp\n"
"	mov	%rsp, %rbp\n"
"	pushf\n"
"	orl	$0x100, (%rsp)\n"
"	popf\n"
"	call	*%rdi\n"
"	.globl	call_in_steps_return\n"
"call_in_steps_return:\n"
"	pushf\n"
"	andl	$~0x100, (%rsp)\n"
"	popf\n"
"	pop	%rbp\n"
"	ret\n"
"	.size	call_in_steps, . - call_in_steps\n");

/* syscall; jmp *(%r15) */
static const unsigned char scene_code[] = { 0x0f, 0x05, 0x41, 0xff, 0x27 };
#define SCENE_SYSCALL	2

/* mov $__NR_rt_sigreturn, %rax; syscall */
static const unsigned char restorer_code[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
};

#define SCENE_FUNCTIONS	64
#define FUNCTION_SIZE	64UL
/* Where in a function its callee returns to. */
#define RETURN_OFFSET	8
#define SCENE_TEXT	(32 * PAGE)
#define SCENE_TABLE	(512 * PAGE)
#define SCENE_STACK	(32 * PAGE)
/* The lowest frames of a mapping are not followed as the others are: these are higher. */
#define SCENE_BELOW	PAGE
/* From the end of the header. */
#define SCENE_ROWS	(SCENE_FUNCTIONS * 16)

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
	__u32 start[2];		/* from the start of the table, of 64 bits */
	__u32 size;
	__u32 rows;
};

static_assert(sizeof(struct table_header) == 28 && sizeof(struct table_entry) == 16, "layout");

struct scene {
	/* All functions of a scene, one after the other. */
	unsigned char *text;
	unsigned char *table;
	/* Nobody may touch what is around it. */
	unsigned char *stack;
	struct unwind_table ranges;
	struct sampler sampler;
	struct scene_frame frame;
	struct chain chain;
};

/* Start a table anew: it has no functions yet. */
static inline void scene_no_rules(struct scene *scene)
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

/*
 * Add a function to the table, behind the others: its attribute and rows as they
 * are in it.
 */
static inline void scene_add(struct scene *scene, unsigned long text_offset, __u32 size,
			     const void *rows, size_t len)
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

/* The next function has a rule that holds in all of it. */
static inline void scene_rule(struct scene *scene, struct rule rule)
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

/* Where functions begin, and where in them calls return to. */
static inline unsigned long scene_function(const struct scene *scene, int nth)
{
	return (unsigned long)scene->text + nth * FUNCTION_SIZE;
}

static inline unsigned long scene_return(const struct scene *scene, int nth)
{
	return scene_function(scene, nth) + RETURN_OFFSET;
}

/* Memory with pages around it that nobody may touch; NULL if there is none. */
static inline void *scene_memory(size_t len)
{
	char *area = mmap(NULL, len + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED || mprotect(area + PAGE, len, PROT_READ | PROT_WRITE))
		return NULL;
	return area + PAGE;
}

/* Make a scene of no functions; returns 0 or a negative errno. */
static inline int scene_make(struct scene *scene)
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

/* Sample it, as it is known from before. */
static inline const char *scene_sample_again(struct scene *scene)
{
	scene_enter(&scene->frame);
	return sampler_chain(&scene->sampler, &scene->chain);
}

/* Sample it, without anything known about the table from before. */
static inline const char *scene_sample(struct scene *scene)
{
	if (registered(&scene->ranges) && do_update(&scene->ranges))
		return "cannot update the table";
	return scene_sample_again(scene);
}

static inline bool scene_is(const struct scene *scene, const unsigned long *callers,
			    unsigned int nr)
{
	const struct chain *chain = &scene->chain;

	return chain->ips[0] == scene->frame.regs.ip + SCENE_SYSCALL &&
	       chain->nr == nr + 1 && !memcmp(&chain->ips[1], callers, nr * sizeof(*callers));
}

/*
 * Whether the first function has these callers, and no more: when the kernel looks up
 * each frame's rule, and when it remembers what it has looked up.
 */
static inline bool scene_has(struct scene *scene, const unsigned long *callers, unsigned int nr)
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

/*
 * What is on the stack of a signal's handler above the address of the restorer,
 * as far as the kernel looks at it.
 */
static inline ucontext_t *scene_signal(void *at, unsigned long ip, unsigned long sp,
				       unsigned long bp)
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

/* For tests whose fixture has a struct scene of that name. */
#define RULE(...)	scene_rule(&self->scene, __VA_ARGS__)
#define NO_RULES()	scene_no_rules(&self->scene)
#define REGS		(self->scene.frame.regs)
#define RETURN(nth)	scene_return(&self->scene, nth)
/* The address of a word of the stack, and the word. */
#define AT(offset)	((unsigned long)self->scene.stack + (offset))
#define WORD(offset)	(*(unsigned long *)AT(offset))
#define EXPECT_CALLERS(...) do {					\
	const unsigned long callers[] = { __VA_ARGS__ };		\
									\
	EXPECT_TRUE(scene_has(&self->scene, callers, ARRAY_SIZE(callers))); \
} while (0)
#define EXPECT_NO_CALLERS()	EXPECT_TRUE(scene_has(&self->scene, NULL, 0))

#endif /* SCENE_H */
