#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Rewrite an ELF file as other tools do: rewrite.py headers|index FILE OUTPUT.

headers   moves the program headers into a segment of their own behind all others, as BOLT
          does when it needs room for more of them
index     writes an entry of .eh_frame_hdr for each FDE, as mold did before 2.42.1: also for
          those that cover nothing, which come after the others of the same address
"""

import pathlib
import struct
import sys

PAGE = 4096
PHOFF, PHENTSIZE, PHNUM = 32, 54, 56
HEADER = struct.Struct("<IIQQQQQQ")     # type, flags, offset, address twice, size twice, alignment
LOAD, PHDR, EH_FRAME = 1, 6, 0x6474E550
READ = 4


def headers_of(data):
    offset, = struct.unpack_from("<Q", data, PHOFF)
    size, count = struct.unpack_from("<HH", data, PHENTSIZE)
    return [HEADER.unpack_from(data, offset + number * size) for number in range(count)]


def up(address):
    return (address + PAGE - 1) // PAGE * PAGE


def move_headers(data):
    old = headers_of(data)
    loads = [number for number, header in enumerate(old) if header[0] == LOAD]
    offset = up(len(data))
    address = up(max(old[number][3] + old[number][6] for number in loads)) + 16 * PAGE
    size = (len(old) + 1) * HEADER.size
    place = offset, address, address, size, size
    new = [(*header[:2], *place, header[7]) if header[0] == PHDR else header for header in old]
    new.insert(loads[-1] + 1, (LOAD, READ, *place, PAGE))
    data += bytes(offset - len(data)) + b"".join(HEADER.pack(*header) for header in new)
    struct.pack_into("<Q", data, PHOFF, offset)
    struct.pack_into("<H", data, PHNUM, len(new))


def write_index(data):
    index = next(header[2] for header in headers_of(data) if header[0] == EH_FRAME)
    # The records are in the same segment as the index.
    at = index + 4 + struct.unpack_from("<i", data, index + 4)[0]
    entries = []
    while length := struct.unpack_from("<I", data, at)[0]:
        if struct.unpack_from("<I", data, at + 4)[0]:
            start, size = struct.unpack_from("<iI", data, at + 8)
            entries.append((at + 8 - index + start, -size, at - index))
        at += 4 + length
    most, = struct.unpack_from("<I", data, index + 8)
    empty = sum(size == 0 for _, size, _ in entries)
    if len(entries) > most or not empty:
        sys.exit(f"error: {len(entries)} FDEs, of which {empty} cover nothing; the index has room for {most}")
    struct.pack_into("<I", data, index + 8, len(entries))
    for number, (start, _, record) in enumerate(sorted(entries)):
        struct.pack_into("<ii", data, index + 12 + number * 8, start, record)


def main():
    what, path, output = sys.argv[1:]
    data = bytearray(pathlib.Path(path).read_bytes())
    {"headers": move_headers, "index": write_index}[what](data)
    pathlib.Path(output).write_bytes(data)


if __name__ == "__main__":
    main()
