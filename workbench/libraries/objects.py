# SPDX-License-Identifier: GPL-2.0
"""Find the file and the function of a frame."""

import bisect
import collections
import functools
import pathlib
import re
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "walks"))
from stacks import OUTERMOST, SIGNAL, Program  # noqa: E402

PT_LOAD, PF_X = 1, 1
SHT_SYMTAB, SHF_EXECINSTR = 2, 4
STT_NOTYPE, STT_FUNC = 0, 2

# perf prints behind an address: a symbol and, in brackets, a file and an offset.
PLACE = re.compile(r".*\((?P<path>.*)\+0x(?P<offset>[0-9a-f]+)\)")

# An address, a file's name, and the offset in it.
Frame = collections.namedtuple("Frame", "address object offset")


class File:
    """An ELF file's functions by their offset in it."""

    def __init__(self, path):
        data = path.read_bytes()
        start, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, start + size * number) for number in range(count)]
        self.segments = [(offset, address, length) for kind, flags, offset, address, _, length in headers
                         if kind == PT_LOAD and flags & PF_X]
        names = self.symbols(data)
        self.starts = sorted(names)
        self.names = [min(names[start], key=lambda name: (name not in OUTERMOST, name)) for start in self.starts]

    @staticmethod
    def symbols(data):
        start, = struct.unpack_from("<Q", data, 40)
        size, count, strings = struct.unpack_from("<HHH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * number) for number in range(count)]

        def text(table, offset):
            at = sections[table][4] + offset
            return data[at:data.index(0, at)].decode()

        names = collections.defaultdict(list)
        code = set()
        for number, (name, _, flags, address, _, length, *_) in enumerate(sections):
            if flags & SHF_EXECINSTR and length:
                code.add(number)
                # A PLT has no symbols.
                names[address].append(text(strings, name))
                names[address + length].append("?")
        for _, kind, _, _, offset, length, link, _, _, each in sections:
            if kind != SHT_SYMTAB:
                continue
            for at in range(offset, offset + length, each):
                name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, at)
                if section in code and info & 15 in (STT_NOTYPE, STT_FUNC) and name:
                    # A part of a function counts as that function.
                    names[value].append(re.sub(r"(?<=.)\..*", "", text(link, name)))
        for address, of_address in names.items():
            # The section's own name is the last choice, except for the end of the symbol before.
            functions = [name for name in of_address if name != "?" and not name.startswith(".")]
            names[address] = functions or [name for name in of_address if name != "?"] or ["?"]
        return names

    def function(self, offset):
        for start, address, length in self.segments:
            if start <= offset < start + length:
                return self.names[bisect.bisect_right(self.starts, offset - start + address) - 1]
        return "?"


class Objects(Program):
    """The functions of all files below a directory; the names of the files differ."""

    def __init__(self, directory):
        self.paths = {}
        for path in directory.glob("*/**/*"):
            if path.is_file() and not {"work", "include"} & set(path.relative_to(directory).parts):
                self.paths[path.name] = path
        self.files = {}

    def file(self, name):
        if name not in self.files:
            path = self.paths.get(name)
            self.files[name] = path and File(path)
        return self.files[name]

    @staticmethod
    def frame(address, what):
        place = PLACE.fullmatch(what)
        if not place:
            return Frame(address, "?", 0)
        return Frame(address, place["path"].rpartition("/")[2], int(place["offset"], 16))

    def function(self, frame, before=0):
        return self.function_at(frame.object, frame.offset - before)

    @functools.cache
    def function_at(self, name, offset):
        file = self.file(name)
        return file.function(offset) if file else "?"

    def functions(self, chain):
        return [self.function(frame, depth > 0) for depth, frame in enumerate(chain)]

    @staticmethod
    def before(frame):
        return frame._replace(address=frame.address - 1, offset=max(frame.offset - 1, 0))

    def after_calls(self, chain):
        """perf's DWARF unwinder prints the last byte of a call, before the return address."""
        names = [SIGNAL] + [self.function(frame) for frame in chain]
        return [frame if name == SIGNAL else frame._replace(address=frame.address + 1, offset=frame.offset + 1)
                for frame, name in zip(chain, names)]

    def show(self, chain):
        return " ".join(f"{frame.object}:{name}" for frame, name in zip(chain, self.functions(chain)))


class Mapped(Program):
    """The functions of a process, by address: MAPS is its /proc/PID/maps."""

    def __init__(self, objects, maps):
        self.objects, self.maps = objects, []
        for line in pathlib.Path(maps).read_text(encoding="ascii").splitlines():
            words = line.split()
            if len(words) > 5 and "x" in words[1]:
                start, end = (int(address, 16) for address in words[0].split("-"))
                self.maps.append((start, end, int(words[2], 16), words[5].rpartition("/")[2]))

    def function(self, address):
        for start, end, offset, name in self.maps:
            if start <= address < end:
                return self.objects.function(Frame(address, name, address - start + offset))
        return "?"

    def functions(self, chain):
        """The address of a caller is its return address: its call is before that."""
        return [self.function(address - (depth > 0)) for depth, address in enumerate(chain)]

    def show(self, chain):
        return " ".join(f"{address:x}:{name}" for address, name in zip(chain, self.functions(chain)))
