/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of this architecture to be probed. */
#include "uprobe_macros.S"

/* The first instruction is probed. */
begin probed_store
	push_frame
	pop_frame
	ret
end probed_store

begin probed_sub
	frame
label sub_at
	sub	sp, sp, #0x40
#ifdef SFRAME
	.cfi_adjust_cfa_offset 0x40
#endif
	add	sp, sp, #0x40
#ifdef SFRAME
	.cfi_adjust_cfa_offset -0x40
#endif
	unframe
	ret
end probed_sub

begin probed_adr
	frame
label adr_at
	adr	x9, inner
	unframe
	ret
end probed_adr

begin probed_leaf
	nop
label leaf_at
	mov	x9, #1
	ret
end probed_leaf

begin outer_of_leaf
	frame
	bl	probed_leaf
label outer_of_leaf_return
	nop
	unframe
	ret
end outer_of_leaf

begin probed_signed
	paciasp
	.cfi_negate_ra_state
	frame
label signed_at
	nop
	bl	inner
label signed_return
	unframe
	autiasp
	.cfi_negate_ra_state
	ret
end probed_signed

/* Steps on memory that is not there yet. */
begin probed_fault
	frame
	load	x9, fault_page
label fault_at
	ldr	w9, [x9]
	unframe
	ret
end probed_fault
