# SPDX-License-Identifier: GPL-2.0
"""Programs and libraries: their functions, and the part that has CFI, according to readelf.

Stock files have symbols only for dynamic linking, so a function is an FDE of
.eh_frame.  As a script, `cfi.py FILE...` prints functions to stop in, in the format of
workbench/stacks/stops.py.
"""

import bisect
import collections
import functools
import os
import pathlib
import re
import struct
import subprocess
import sys

from stacks import GUESSED_END, SIGNAL

IS_ARM64 = os.environ.get("UNWIND_ARCH") == "arm64"

ET_EXEC = 2
PT_LOAD, PF_X = 1, 1
# readelf's line of a section of code: its name, address and length.
SECTION = re.compile(r"\] (\S+) +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +[A-Z]*X")

# perf prints behind an address: a symbol and, in brackets, a file and an offset.
PLACE = re.compile(r".*\((?P<path>.*)\+0x(?P<offset>[0-9a-f]+)\)")

# An address, a file's name, and the offset in it.
Frame = collections.namedtuple("Frame", "address object offset")

# Where the files of the guest are, if not here.
ROOT = os.environ.get("GUEST_ROOT", "")
# Libraries that were copied into the guest's memory.
BUILT = pathlib.Path(__file__).resolve().parents[2] / "build/musl"
# musl's CFI describes the creating thread's frame, also for the first frame of a new thread.
MUSL, THREAD = "/libc.so", "__clone"
# The number of functions to take from each file, besides imported ones: thousands would take long.
ENOUGH = 1500

CIE = re.compile(r'^(?P<at>[0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE "(?P<kind>[^"]*)"')
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=(?P<cie>[0-9a-f]+) "
                 r"pc=(?P<start>[0-9a-f]+)\.\.(?P<end>[0-9a-f]+)")
ROW = re.compile(r"^[0-9a-f]{16} ")
# The names above rows.
COLUMNS = ["LOC", "CFA"]
# The registers by which the kernel finds a frame: functions preserve them for their callers.
BY_REGISTER = re.compile(r"(rsp|rbp|rbx|r1[2-5]|sp|x29|x19|x2[0-8])[+-]\d+")

# Where CFI says that the return address is in the caller's frame: it forgets what a PLT has pushed, so
# the caller's stack pointer is wrong. Only ld.so for arm64 has that, in _dl_runtime_resolve().
IN_CALLER = re.compile(r"c\+\d+")
# The return address is in a register that calls do not preserve.
IN_REGISTER = re.compile(r"[rx]\d+")

# The places of the caller's frame and of the return address: None if nothing is said of it.
Rule = collections.namedtuple("Rule", "cfa ra")
UNDEFINED = "u"


class Entry:
    """A function's CFI: whether it is a signal frame; and its rules, with their start addresses."""

    def __init__(self, start, end, common):
        self.start, self.end, self.signal = start, end, common.signal
        # The initial rules hold from the first instruction on; a row at the start replaces them.
        self.rules = common.rules[-1:]
        self.rows = [start] * len(self.rules)

    def rule(self, address):
        return self.rules[max(bisect.bisect_right(self.rows, address) - 1, 0)]

    def outermost(self, address):
        """Whether there is no caller.

        readelf also prints `u' where the return address is still in a register, in functions that
        say anything of it: those save it later.
        """
        return self.rule(address).ra == UNDEFINED and (
            self.rules[0].ra is not None or all(rule.ra == UNDEFINED for rule in self.rules[1:]))


class Common:
    """The common rules of many functions, as `Entry'."""

    def __init__(self, signal):
        self.signal, self.rows, self.rules = signal, [], []


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class File:
    """An ELF file's functions by their offset in it."""

    def __init__(self, path):
        data = path.read_bytes()
        start, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, start + size * number) for number in range(count)]
        self.segments = [(offset, address, length) for kind, flags, offset, address, _, length in headers
                         if kind == PT_LOAD and flags & PF_X]
        names = self.symbols(path)
        self.starts = sorted(names)
        self.names = [min(names[start]) for start in self.starts]

    @staticmethod
    def symbols(path):
        """The functions at each address.  A section has no more names than its own, as a PLT, and has an end."""
        names = collections.defaultdict(list)
        for *address, kind, name in map(str.split, output_of("nm", "--defined-only", path).splitlines()):
            if kind in "tTwWi":
                # A part of a function counts as that function.
                names[int(address[0], 16)].append(re.sub(r"(?<=.)\..*", "", name))
        sections = [(name, int(start, 16), int(length, 16))
                    for name, start, length in SECTION.findall(output_of("readelf", "-SW", path)) if int(length, 16)]
        for name, start, _ in sections:
            names.setdefault(start, [name])
        for _, start, length in sections:
            names.setdefault(start + length, ["?"])
        return names

    def address(self, offset):
        """The address in the file's numbering, or None."""
        return next((offset - start + address for start, address, length in self.segments
                     if start <= offset < start + length), None)

    def function(self, offset):
        address = self.address(offset)
        return "?" if address is None else self.function_at(address)

    def function_at(self, address):
        return self.names[bisect.bisect_right(self.starts, address) - 1]


def dynamic_symbols(path):
    """The functions that a file exports, and the names that it imports."""
    defined, wanted = {}, set()
    for *address, kind, name in map(str.split, output_of("nm", "-D", path).splitlines()):
        name = name.partition("@")[0]
        if kind in "UwW" and not address:
            wanted.add(name)
        elif kind in "tTwWi":
            defined.setdefault(int(address[0], 16), name)
    return defined, wanted


class Stock(File):
    """An ELF file with its CFI."""

    def __init__(self, path):
        path = pathlib.Path(path)
        super().__init__(path)
        kind, self.start = struct.unpack_from("<H6xQ", path.read_bytes(), 16)
        self.fixed = kind == ET_EXEC
        self.defined, self.wanted = dynamic_symbols(path)
        entries, commons, entry, of_ra = {}, {}, Common(False), None
        # The kernel does not use the C library's debug information.
        command = ["readelf", "--debug-dump=no-follow-links", "--debug-dump=frames-interp", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as readelf:
            for line in readelf.stdout:
                if ROW.match(line):
                    address, cfa, *values = line.split()
                    entry.rows.append(int(address, 16))
                    entry.rules.append(Rule(cfa, None if of_ra is None else values[of_ra]))
                elif (words := line.split())[:2] == COLUMNS:
                    of_ra = words.index("ra") - 2 if "ra" in words else None
                elif found := FDE.match(line):
                    start, end = int(found["start"], 16), int(found["end"], 16)
                    entry = entries.setdefault(start, Entry(start, end, commons[found["cie"]]))
                elif found := CIE.match(line):
                    entry = commons[found["at"]] = Common("S" in found["kind"])
        if readelf.returncode:
            sys.exit(f"error: readelf cannot read {path}")
        self.entries = [entries[start] for start in sorted(entries)]
        self.first = sorted(entries)
        for entry in self.entries:
            # musl's CFI does not tell.
            entry.signal = entry.signal or self.symbol(entry.start) == SIGNAL

    def symbol(self, address):
        """The function or PLT that begins at an address, if it has a name."""
        at = bisect.bisect_left(self.starts, address)
        name = self.names[at] if self.starts[at:at + 1] == [address] else "?"
        return name if name.startswith(".plt") or name[0] not in ".?" else self.defined.get(address)

    def entry(self, address):
        at = bisect.bisect_right(self.first, address) - 1
        found = self.entries[at] if at >= 0 else None
        return found if found and address < found.end else None

    def begins(self, address):
        """Whether this is the start-up code of the dynamic linker, which has no CFI."""
        if not 0 < self.start <= address or self.entry(self.start) or self.entry(address):
            return False
        # It extends to the next function with CFI.
        return bisect.bisect_right(self.first, address) == bisect.bisect_right(self.first, self.start)

    def name(self, offset):
        address = self.address(offset)
        if address is None:
            return "?"
        entry = self.entry(address)
        if entry and entry.signal:
            return SIGNAL
        # Without CFI, use the name of the section.
        return self.symbol(entry.start) or f"{entry.start:x}" if entry else self.function(offset)


# The vDSO is not a file: gdb reads its CFI from memory, and perf has a copy of it.
VDSO = "[vdso]"
# The kernel starts Go programs in these. Their CFI does not say that nobody has called.
GO_BEGINS = {"_rt0_amd64_linux", "_rt0_amd64"}
VDSO_COPY = "/tmp/perf-vdso.so-"
# So perf calls a process's code that is in no file.
NO_FILE = re.compile(r"/tmp/perf-\d+\.map|//anon")
ANY = Common(False)
# It calls nothing: what returns there is a signal handler, if the program has no restorer.
RESTORER = Common(True)

# The reasons for the end of a stack: the last frame has no caller, according to CFI or
# because the process begins there; there is no CFI, or it is wrong; or frames may be missing.
NOBODY, BEGINS, NO_CFI, WRONG_CFI, CUT = "nobody called", "it begins", "no CFI", "wrong CFI", "cut"


class Files:
    """The functions of all files that a process may have mapped."""

    @staticmethod
    @functools.cache
    def file(path):
        """The guest's file: it has this clone at its own path."""
        place = pathlib.Path(ROOT + path if pathlib.Path(ROOT + path).exists() else path)
        return Stock(place if place.exists() else next(BUILT.glob(f"*/{place.name}"), place))

    @staticmethod
    def make(address, path, offset):
        """Only the offsets of a file are the same for all unwinders."""
        if path.startswith(VDSO_COPY):
            path = VDSO
        is_file = path.startswith("/") and not NO_FILE.fullmatch(path)
        return Frame(address, path, offset) if path == VDSO or is_file else Frame(address, "?", 0)

    def frame(self, address, what):
        """The place, from a line of perf's output."""
        place = PLACE.fullmatch(what)
        return self.make(address, place["path"], int(place["offset"], 16)) if place else Frame(address, "?", 0)

    def frame_of_gdb(self, word):
        address, offset, path = word.split("@", 2)
        return self.make(int(address, 16), path, int(offset, 16))

    @staticmethod
    def before(frame):
        return frame._replace(address=frame.address - 1, offset=max(frame.offset - 1, 0))

    def entry(self, frame):
        if not frame.object.startswith("/"):
            return {VDSO: ANY, SIGNAL: RESTORER}.get(frame.object)
        file = self.file(frame.object)
        address = file.address(frame.offset)
        return file.entry(address) if address is not None else None

    def function(self, frame):
        return self.file(frame.object).name(frame.offset) if frame.object.startswith("/") else frame.object

    def places(self, chain):
        """The place of each frame: for a caller that no signal interrupted, before the return address."""
        signal = True
        for frame in chain:
            place = frame if signal else frame._replace(object=SIGNAL) if frame.object == VDSO else self.before(frame)
            # The restorer begins there. musl's CFI says nothing of the byte before.
            if self.begins_restorer(frame):
                place = frame
            yield place
            entry = self.entry(place)
            signal = bool(entry and entry.signal)

    def functions(self, chain):
        return [self.function(place) for place in self.places(chain)]

    def known(self, chain):
        """The number of frames to which CFI leads, the place of its end, and the reason."""
        depth, place = 0, Frame(0, "?", 0)
        for depth, place in enumerate(self.places(chain), start=1):
            entry = self.entry(place)
            if entry in (ANY, RESTORER):
                continue
            if depth > 1 and self.begins_thread(place):
                return depth, place, BEGINS
            file = place.object.startswith("/") and self.file(place.object)
            if entry is None:
                return depth, place, BEGINS if file and file.begins(file.address(place.offset) or 0) else NO_CFI
            if entry.outermost(file.address(place.offset)):
                return depth, place, NOBODY
            if IN_CALLER.match(entry.rule(file.address(place.offset)).ra or ""):
                # The address of the caller itself is right.
                return depth + 1, place, WRONG_CFI
        return depth, place, CUT

    def begins_restorer(self, frame):
        entry = self.entry(frame)
        return entry not in (None, ANY, RESTORER) and entry.signal and \
            entry.start == self.file(frame.object).address(frame.offset)

    def begins_thread(self, place):
        return place.object.endswith(MUSL) and self.function(place) == THREAD

    def is_known(self, sample):
        """Whether a stack is complete without a guess.

        musl's tables do not mark __clone() as the start of a thread: the end is recognised by its
        frame pointer of 0, which the kernel reports as a guess.
        """
        return sample.end is None or (sample.end == GUESSED_END and len(sample.chain) > 1
                                      and self.begins_thread(list(self.places(sample.chain))[-1]))

    def is_complete(self, chain):
        """Whether the last frame has no caller, according to CFI or because the process begins there."""
        *_, last = self.places(chain)
        entry, file = self.entry(last), self.file(last.object) if last.object.startswith("/") else None
        if self.function(last) in GO_BEGINS or len(chain) > 1 and self.begins_thread(last):
            return True
        if entry in (None, ANY, RESTORER):
            return bool(file) and file.begins(file.address(last.offset) or 0)
        return entry.outermost(file.address(last.offset))

    def odd(self, chain):
        """The rule for the last frame's caller, if the kernel does not support it."""
        *_, place = self.places(chain)
        entry = self.entry(place)
        if entry in (None, ANY, RESTORER):
            return None
        rule = entry.rule(self.file(place.object).address(place.offset))
        if len(chain) > 1 and IN_REGISTER.fullmatch(rule.ra or ""):
            return rule.ra
        return None if BY_REGISTER.fullmatch(rule.cfa) else rule.cfa

    def after_calls(self, chain):
        """perf prints the last byte of a call, except for signal frames and interrupted frames."""
        after, signal = [], True
        for frame in chain:
            entry = self.entry(frame)
            plain, signal = signal, bool(entry and entry.signal)
            after.append(frame if plain or signal else
                         frame._replace(address=frame.address + 1, offset=frame.offset + (frame.object != "?")))
        return after

    def place(self, chain):
        """The file of the last frame, and the function."""
        if not chain:
            return "nothing"
        return f"{chain[-1].object.rpartition('/')[2]}+{chain[-1].offset:x} ({self.function(chain[-1])})"

    def show(self, chain):
        return " ".join(f"{frame.object.rpartition('/')[2]}+{frame.offset:x}:{name}" if frame.object != "?" else
                        f"{frame.address:x}:?" for frame, name in zip(chain, self.functions(chain)))


def main():
    paths = dict.fromkeys(str(pathlib.Path(ROOT + path).resolve()).removeprefix(ROOT) for path in sys.argv[1:])
    files = {path: Files.file(path) for path in paths}
    if without := [path for path, file in files.items() if not file.entries]:
        sys.exit(f"error: readelf finds no CFI in {' '.join(without)}")
    wanted = set().union(*(file.wanted for file in files.values()))
    for path, file in files.items():
        # A breakpoint in a restorer would hide it, since its code identifies it.
        starts = [entry.start for entry in file.entries if not entry.signal]
        chosen = {start for start in starts if file.defined.get(start) in wanted}
        chosen.update(starts[::len(starts) // ENOUGH + 1])
        for start in sorted(chosen):
            print(f"{start:x}" if file.fixed else f"{start:x} {path}")


if __name__ == "__main__":
    main()
