# SPDX-License-Identifier: GPL-2.0
"""The inputs that fuzzing starts from: seeds, and packs of those that are kept.

A pack is a small text file that holds hundreds of inputs: a line for each in
hexadecimal, all compressed, and that in base64.
"""

import base64
import hashlib
import lzma
import pathlib
import struct

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


# The files that `elf` starts from: where the program headers are, and of each its
# type, flags, place, address and size.
FILES = [
    (64, [(1, 4, 0, 0, 0x628), (1, 5, 0x1010, 0x2010, 0x1825),
          (0x6474e554, 4, 0x3148, 0x4148, 0x5c)]),
    (65, [(0x6474e554, 4, 0x3010, 0x403010, 0x80), (1, 5, 0, 0x400000, 0x1234),
          (1, 5, 0x1240, 0x402240, 0x800), (1, 5, 0x1800, 0x501800, 0x1000),
          (1, 4, 0x3000, 0x403000, 0x90)]),
]


def variants(offset, address, size):
    """A segment's place, address, size and size in memory: as they are, and at their limits."""
    yield offset, address, size, size
    for size_at_limit in 0, (1 << 32) - 1, 1 << 32:
        yield offset, address, size_at_limit, size_at_limit
    for end in (1 << 63) - 1, 1 << 63, 1 << 64:
        # Places and addresses are alike in their pages.
        page = (end + 1) // 0x1000 * 0x1000 - 0x2000
        start = page + offset % 0x1000
        yield start, address, end - start, end - start
        start = page + address % 0x1000
        yield offset, start, end - start, end - start
        yield offset, address, size, (end - address) % (1 << 64)


def file_seeds(directory):
    """As the package's `Input` has them, with nothing in the script."""
    def entry(kind, flags, offset, address, size, memory):
        return struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, size, memory, 8)

    for place, entries in FILES:
        header = struct.pack("<4s4B8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, 62, 1, 0, place, 0,
                             0, 64, 56, len(entries), 64, 0, 0).ljust(place, b"\0")
        packed = [entry(*numbers, numbers[-1]) for numbers in entries]
        for nth, (kind, flags, *numbers) in enumerate(entries):
            for variant in variants(*numbers):
                changed = [*packed[:nth], entry(kind, flags, *variant), *packed[nth + 1:]]
                asked = struct.pack("<BBQQqH", 0, 0, 0, variant[0], 0, 0)
                store(directory, asked + header + b"".join(changed))


def seeds(target, tables, directory):
    """One from each function of each table, some from each segment of each file; none for eh_frame.

    As the package's `Input` has them; what `changing` also has is empty.
    """
    if target == "elf":
        file_seeds(directory)
        return
    # Its inputs are all kept ones.
    if target == "eh_frame":
        return
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
