// SPDX-License-Identifier: GPL-2.0
/*
 * A program whose functions have tables of many kinds.  It is only linked.
 */

__attribute__((noipa)) long leaf(long n)
{
	return n * 3;
}

__attribute__((noipa)) long saves(long a, long b, long c, long d)
{
	return leaf(a) + leaf(b) * leaf(c) - leaf(d) + a * b + c * d;
}

__attribute__((noipa)) long early_exit(long n)
{
	if (n < 2)
		return n;
	return early_exit(n - 1) + early_exit(n - 2);
}

__attribute__((noipa)) long large_frame(long n)
{
	volatile char bytes[40000];

	bytes[n] = (char)leaf(n);
	return bytes[n] + leaf(n + 1);
}

__attribute__((noipa)) long frame_pointer(long n)
{
	volatile char *bytes = __builtin_alloca(n);

	bytes[0] = 1;
	return leaf(bytes[0]) + n;
}

/* Long enough for rows' starts of two bytes. */
#define TIMES4(x) x x x x
__attribute__((noipa)) long long_function(long n)
{
	volatile long sum = n;

	TIMES4(TIMES4(TIMES4(sum = leaf(sum) * 12345;)))
	return sum;
}

#ifdef WITH_PLT
void outside(long n);
void far_outside(long n);
__attribute__((noipa)) void calls_outside(long n)
{
	outside(n);
	far_outside(n + 1);
	outside(n + 2);
}
#endif

/*
 * As CFI says it: the first frame, empty functions, signal frames (one with CFI that has no
 * rows), rows' starts of four bytes, values in registers and a stack that is realigned.
 */
#if defined(__x86_64__)
#define RA "16"
#elif defined(__aarch64__)
#define RA "30"
#else
#define RA "14"
#endif

asm(".pushsection .text\n"
    ".globl _start\n"
    "_start:	.cfi_startproc\n"
    "	.cfi_undefined " RA "\n"
    "	nop; nop; nop; nop\n"
    "	.cfi_endproc\n"
    /* As many as a search looks at. */
    "	.rept 8\n"
    "	.cfi_startproc\n"
    "	.cfi_endproc\n"
    "	.endr\n"
    "trampoline:	.cfi_startproc\n"
    "	.cfi_signal_frame\n"
    "	nop; nop; nop; nop\n"
    "	.cfi_endproc\n"
    "restorer:	.cfi_startproc\n"
    "	.cfi_signal_frame\n"
    "	.cfi_escape 0x0f, 3, 0x77, 0xa0, 0x01\n"
    "	nop; nop; nop; nop\n"
    "	.cfi_endproc\n"
    "far:	.cfi_startproc\n"
    "	.skip 0x10000\n"
    "	.cfi_adjust_cfa_offset 64\n"
    "	nop; nop; nop; nop\n"
    "	.cfi_endproc\n"
#if defined(__aarch64__)
    "signed_a:	.cfi_startproc\n"
    "	paciasp\n"
    "	.cfi_negate_ra_state\n"
    "	stp	x29, x30, [sp, -16]!\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset 29, -16\n"
    "	.cfi_offset 30, -8\n"
    "	ret\n"
    "	.cfi_endproc\n"
    "signed_b:	.cfi_startproc\n"
    "	.cfi_b_key_frame\n"
    "	pacibsp\n"
    "	.cfi_negate_ra_state\n"
    "	ret\n"
    "	.cfi_endproc\n"
#elif defined(__s390x__)
    "ra_in_register:	.cfi_startproc\n"
    "	ldgr	%f0, %r14\n"
    "	.cfi_register 14, 16\n"
    "	ldgr	%f2, %r11\n"
    "	.cfi_register 11, 17\n"
    "	br	%r14\n"
    "	.cfi_endproc\n"
#else
    "ra_in_register:	.cfi_startproc\n"
    "	pop	%r11\n"
    "	.cfi_def_cfa_offset 0\n"
    "	.cfi_register 16, 11\n"
    "	mov	%rbp, %r12\n"
    "	.cfi_register 6, 12\n"
    "	jmp	*%r11\n"
    "	.cfi_endproc\n"
    "realigns:	.cfi_startproc\n"
    "	lea	8(%rsp), %r10\n"
    "	.cfi_def_cfa 10, 0\n"
    "	and	$-128, %rsp\n"
    "	push	-8(%r10)\n"
    "	push	%rbp\n"
    "	mov	%rsp, %rbp\n"
    "	.cfi_escape 0x10, 6, 2, 0x76, 0\n"
    "	push	%r10\n"
    "	.cfi_escape 0x0f, 3, 0x76, 0x78, 6\n"
    "	pop	%r10\n"
    "	.cfi_def_cfa 10, 0\n"
    "	pop	%rbp\n"
    "	lea	-8(%r10), %rsp\n"
    "	.cfi_def_cfa 7, 8\n"
    "	ret\n"
    "	.cfi_endproc\n"
#endif
    ".popsection\n");
