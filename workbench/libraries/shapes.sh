# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The ways of linking the program and the library of shapes.c and shape.c, for build.
# shellcheck disable=SC2154 # which sets $gcc, $exact and the directories
# shellcheck disable=SC2034 # record uses only the lists

# A file without symbols has a twin with symbols in shapes/whole/, for compare.

program_shapes=(
	nopie nopie-noseparate nopie-base nopie-stripped nopie-apart pie pie-noseparate pie-base
	pie-rosegment pie-headless pie-huge mold-nopie mold-pie mold-nopie-base lld-nopie lld-pie
)
# The last ones have no table, or a bad one.
library_shapes=(
	default noseparate rosegment base base-noseparate huge apart apart-noseparate relr
	nodebug stripped headless mold mold-stripped lld lld-base lld-norosegment copy
	pieces whole text
	lld-plain removed notable pointer damaged
)

# The linker options of a shape, without those for position independence.
shape_options() { # SHAPE
	case $1 in
	*-noseparate | noseparate) echo -Wl,-z,noseparate-code ;;
	*) echo -Wl,-z,separate-code ;;
	esac
	case $1 in
	*rosegment) ;;& # both of them, below
	*norosegment) echo -Wl,--no-rosegment ;;
	*rosegment) echo -Wl,--rosegment ;;
	esac
	case $1 in
	mold*) echo -fuse-ld=mold ;;
	lld*) echo -fuse-ld=lld -Wl,--build-id ;;
	esac
	case $1 in
	mold-nopie-base | lld-base) echo -Wl,--image-base=0x31235000 ;;
	*base*) echo -Wl,-Ttext-segment=0x31235000 ;;
	*huge) echo -Wl,-z,max-page-size=0x200000 -Wl,-z,common-page-size=0x200000 ;;
	*apart*) echo -Wl,--section-start=.apart=0x7654000 ;;
	relr) echo -Wl,-z,pack-relative-relocs ;;
	esac
}

# Change a file after it is linked; its twin exists already.
finish_shape() { # SHAPE FILE
	case $1 in
	lld-plain) ;;
	lld*) "$OWN/mend" "$2" ;;
	*nodebug) logged shapes strip --strip-debug "$2" ;;
	*stripped) logged shapes strip --strip-all "$2" ;;
	*headless) logged shapes strip --strip-all --strip-section-headers "$2" ;;
	removed) logged shapes objcopy -R .sframe "$2" ;;
	damaged) damage_table "$2" ;;
	esac
}

# The table begins with other bytes.
damage_table() {
	local offset

	offset=$(readelf -lW "$1" | awk '$1 == "GNU_SFRAME" { print $2 }')
	printf '\0\0' | dd of="$1" bs=1 seek=$((offset)) conv=notrunc status=none
}

# Check that a shape has the property of its name.
check_shape() { # SHAPE FILE
	local dump

	dump=$(readelf -lW "$2")
	case $1 in
	lld-plain | notable | pointer) ! grep -q GNU_SFRAME <<<"$dump" ;;
	*) grep -q GNU_SFRAME <<<"$dump" ;;
	esac || die "$2: the table is missing, or should not be there"
	case $1 in
	lld-plain | notable | pointer | removed | damaged | *headless) ;;
	*) check_functions "$1" "$2" ;;
	esac
	case $1 in
	*base*) grep -qE 'LOAD +0x0+ 0x0*31235000' <<<"$dump" ;;
	*huge) grep -qE 'LOAD .* 0x200000$' <<<"$dump" ;;
	*apart*) [ "$(grep -cE 'LOAD .* R E ' <<<"$dump")" = 2 ] ;;
	*headless) readelf -SW "$2" | grep -q 'no sections' ;;
	*stripped) [ -z "$(nm "$2" 2>/dev/null)" ] ;;
	*noseparate | *norosegment) grep -qE 'LOAD +0x0+ .* R E ' <<<"$dump" ;;
	# Then the second mapping equals the first.
	whole) awk '$1 == "LOAD" && $7 != "RW" && $2 + 0 != $3 + 0 { exit 1 }' <<<"$dump" ;;
	esac || die "$2 does not have the property of its name"
}

check_functions() { # SHAPE FILE
	local functions=(shape_first shape_first_by_address shape_second shape_compare shape_turn)

	[[ $2 == *.so ]] || functions=(main shapes_run shapes_last shapes_middle shapes_compare)
	# A file without symbols uses its twin's.
	check_table "$LIBRARIES/shapes/whole/$(basename "$2")" "${functions[@]}"
}

build_shapes() {
	local directory=$LIBRARIES/shapes shape file options

	rm -rf "$directory"
	mkdir -p "$directory/whole"
	for shape in "${program_shapes[@]}"; do
		file=$directory/shapes-$shape
		read -ra options <<<"$(shape_options "$shape" | paste -sd' ')"
		case $shape in
		*nopie*) options+=(-fno-pie -no-pie) ;;
		*) options+=(-fPIE -pie) ;;
		esac
		link_shape "$shape" "$file" "$OWN/shapes.c" "${options[@]}"
	done
	for shape in "${library_shapes[@]}"; do
		file=$directory/shape-$shape.so
		read -ra options <<<"$(shape_options "$shape" | paste -sd' ')"
		case $shape in
		notable) options+=("-Wa,--gsframe=no") ;;
		pointer) options+=("-Wa,--gsframe=no" -fno-omit-frame-pointer -DFRAME_POINTER) ;;
		esac
		link_shape "$shape" "$file" "$OWN/shape.c" -fPIC -shared "${options[@]}"
	done
}

link_shape() { # SHAPE FILE ARGUMENT...
	local shape=$1 file=$2

	shift 2
	# mold and lld make no table for the PLT: few stacks go through it.
	[[ $shape != mold* && $shape != lld* ]] || set -- "$@" -fno-plt
	logged shapes "$gcc" "${exact[@]}" -g -o "$file" "$@"
	cp "$file" "$(dirname "$file")/whole/"
	finish_shape "$shape" "$file"
	[[ $shape != lld* || $shape == lld-plain ]] || cp "$file" "$(dirname "$file")/whole/"
	check_shape "$shape" "$file"
}
