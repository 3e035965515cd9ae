#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The inputs that fuzzing starts from.

  corpus.py seeds TARGET TABLES DIR    one from each function of each table
  corpus.py unpack PACK DIR            one file for each input in a pack
  corpus.py pack DIR PACK              and back

A pack is a small text file that holds hundreds of inputs: a line for each in
hexadecimal, all compressed, and that in base64.
"""

import base64
import hashlib
import lzma
import pathlib
import struct
import sys

LICENCE = "# SPDX-License-Identifier: GPL-2.0\n"


def lines(path):
    """The lines of a text file that are no comments."""
    return [line for line in pathlib.Path(path).read_text(encoding="ascii").splitlines()
            if not line.startswith("#")]


def store(directory, data):
    """Write an input under the name that libFuzzer would give it."""
    (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def starts(table, order):
    """Where the functions are, from the table's address: see the format's header and index."""
    count, = struct.unpack_from(order + "I", table, 8)
    for entry in range(28, 28 + 16 * count, 16):
        offset, size = struct.unpack_from(order + "qI", table, entry)
        yield entry + offset, size


def seeds(target, tables, directory):
    """As the package's `Input` has them; what `changing` also has is empty."""
    script = b"\0\0" if target == "changing" else b""
    for line in lines(tables):
        _, address, digits = line.split()
        table = bytes.fromhex(digits)
        architecture, order = {3: (0, "<"), 2: (1, "<"), 4: (2, ">")}[table[4]]
        for start, size in starts(table, order):
            asked = struct.pack("<BBQqq", architecture, 0, int(address, 16), start + size // 2, 0)
            store(directory, asked + script + table)


def unpack(pack, directory):
    packed = base64.b64decode("".join(lines(pack)), validate=True)
    for line in lzma.decompress(packed).decode().split():
        store(directory, bytes.fromhex(line))


def pack(directory, path):
    inputs = sorted((file.read_bytes() for file in directory.iterdir()),
                    key=lambda data: (len(data), data))
    text = "".join(data.hex() + "\n" for data in inputs)
    packed = base64.encodebytes(lzma.compress(text.encode(), preset=9)).decode()
    pathlib.Path(path).write_text(LICENCE + packed, encoding="ascii")


def main():
    match sys.argv[1:]:
        case ["seeds", target, tables, directory]:
            seeds(target, tables, pathlib.Path(directory))
        case ["unpack", path, directory]:
            unpack(path, pathlib.Path(directory))
        case ["pack", directory, path]:
            pack(pathlib.Path(directory), path)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
