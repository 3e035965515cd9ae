/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function with an .eh_frame of its own that is writable, as old assembly has: GNU ld then
 * puts all of .eh_frame into the writable segment.
 */
	.text
	.globl	old
	.type	old, @function
old:
	ret
old_end:
	.size	old, .-old

	.section .eh_frame, "aw", @progbits
cie:
	.long	cie_end - cie_start
cie_start:
	.long	0
	.byte	1
	.string	"zR"
	.uleb128 1
	.sleb128 -8
	.byte	16
	.uleb128 1
	.byte	0x1b			/* relative to its place, four bytes */
	.byte	0x0c, 7, 8, 0x90, 1	/* CFA is rsp + 8, the return address is below */
	.balign	8
cie_end:
	.long	fde_end - fde_start
fde_start:
	.long	fde_start - cie
	.long	old - .
	.long	old_end - old
	.uleb128 0
	.balign	8
fde_end:
	.section .note.GNU-stack, "", @progbits
