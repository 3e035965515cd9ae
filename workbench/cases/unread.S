/* SPDX-License-Identifier: GPL-2.0 */
/* An .eh_frame that GNU ld cannot parse: it then writes an index without entries. */
	.section .eh_frame, "a", @progbits
	.long	12
	.long	0
	.byte	99			/* no such version */
	.string	"zR"
	.byte	1, 0x78, 16, 0
	.section .note.GNU-stack, "", @progbits
