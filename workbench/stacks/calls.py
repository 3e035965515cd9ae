# SPDX-License-Identifier: GPL-2.0
"""Check stacks against the calls in the code.

Each frame except the innermost continues behind a call.  The target of that call is the
function of the next inner frame.
"""

import collections
import functools
import pathlib
import re

from cfi import File, output_of

LINE = re.compile(r"^ *(?P<address>[0-9a-f]+):\t(?:[0-9a-f]{2} )+ *\t?(?P<what>.*)")
CALL = re.compile(r"(?:notrack |bnd )*call +(?:(?P<target>[0-9a-f]+) <(?P<name>[^>]*)>|\*)")
JUMP = re.compile(r"(?:notrack |bnd )*j[a-z]+ +(?:(?P<target>[0-9a-f]+) <|\*)")

# LuaJIT's interpreter is written by hand: its parts jump to each other.
VM, VM_BEGIN, VM_END = "the interpreter", "lj_BC_ISLT", "lj_vm_ffi_call"

# Code that was compiled at run time, and perf's name for its file.
JIT, JIT_OBJECT = "compiled code", re.compile(r"perf-\d+\.map")

# In libgcc's functions that throw, a call writes the handler's registers over the function's own
# saved ones, and the handler's return address over its own. It returns the distance of the two
# frames, by which the function stores where to go, and then goes there. Behind that call, the CFI
# is wrong: the handler's frame seems to be where that of the function's caller is.
RESULT = re.compile(r"mov +%rax,(%r\w+)")
STORE = re.compile(r"mov +%r\w+,0x8\(%rbp,(%r\w+),1\)")
GO = re.compile(r"(?:notrack |bnd )?jmp +\*%rcx")
LIBGCC = "libgcc_s.so.1"

# The end of a call through a register or memory.
INDIRECT = re.compile(rb".*(\xff[\xd0-\xd7]|\xff[\x10-\x13\x16\x17]|\xff[\x50-\x57].|\xff[\x15\x90-\x97].{4}|"
                      rb"\xff\x14.{1,5}|\xff\x54..)", re.DOTALL)

# The target is unknown.
ANYWHERE = "anywhere"
PLT = "@plt"

# An address, a file's name, the offset in it, and perf's name of the function.
Frame = collections.namedtuple("Frame", "address object offset symbol")
PLACE = re.compile(r"(?P<symbol>\S+) \((?:.*/)?(?P<object>[^/]*)\+0x(?P<offset>[0-9a-f]+)\)")


def frame_of(address, what):
    place = PLACE.fullmatch(what)
    if not place:
        return Frame(address, "?", 0, "?")
    return Frame(address, place["object"], int(place["offset"], 16), place["symbol"])


def is_jit(frame):
    return bool(JIT_OBJECT.fullmatch(frame.object))


def instructions(path):
    """The address and the text of each instruction."""
    lines = output_of("objdump", "-d", "--insn-width=16", path).splitlines()
    for found in filter(None, map(LINE.match, lines)):
        yield int(found["address"], 16), found["what"]


class Program(File):
    """A file's functions, the targets of their calls, and the functions to which they jump."""

    def __init__(self, path):
        super().__init__(path)
        self.path, self.name = path, path.name
        self.places = {name: address for address, names in self.symbols(path).items() for name in names}
        self.vm = range(self.places.get(VM_BEGIN, 0), self.places.get(VM_END, 0))
        # Maps the address behind a call to the address or name of its target.
        self.calls, self.jumps = {}, collections.defaultdict(set)
        called = None
        for address, what in instructions(path):
            if called is not None:
                self.calls[address] = called
            call, jump = CALL.match(what), JUMP.match(what)
            called = self.target(call) if call else None
            function = self.function_at(address)
            if jump and jump["target"]:
                self.jumps[function].add(self.function_at(int(jump["target"], 16)))
            elif jump and function != VM:
                self.jumps[function].add(ANYWHERE)

    @staticmethod
    def target(call):
        if call["target"] is None:
            return ANYWHERE
        return call["name"] if call["name"].endswith(PLT) else int(call["target"], 16)

    @functools.cache
    def function_at(self, address):
        return VM if address in self.vm else super().function_at(address)

    @functools.cache
    def reached(self, address):
        """The functions to which a call of an address leads, directly or by jumps."""
        functions = [self.function_at(address)]
        for function in functions:
            functions.extend(self.jumps[function].difference(functions))
        return set(functions)


class Thrower(Program):
    """libgcc, with the calls that overwrite a function's frame, and the places where its CFI is wrong."""

    def __init__(self):
        super().__init__(pathlib.Path("/usr/lib/x86_64-linux-gnu") / LIBGCC)
        self.overwriting, self.wrong = [], []
        call, behind, results, stores = None, None, {}, None
        for address, what in instructions(self.path):
            if call is not None and behind is None:
                behind = address
            if CALL.match(what):
                call, behind = address, None
            if found := RESULT.match(what):
                results[found[1]] = call, behind
            if found := STORE.match(what):
                stores = results[found[1]]
            if stores and GO.match(what):
                self.overwriting.append(stores[0])
                self.wrong.append(range(stores[1], address + 1))
                stores = None

    def offset(self, address):
        return next(offset + address - start for offset, start, length in self.segments
                    if start <= address < start + length)

    def overwrites(self, frame):
        return frame.object == self.name and self.address(frame.offset) in self.overwriting

    def is_wrong(self, frame):
        return frame.object == self.name and any(self.address(frame.offset) in places for places in self.wrong)


class Compiled:
    """The compiled code, as it was at the end of the program."""

    def __init__(self, path):
        self.areas, data, at = [], path.read_bytes(), 0
        while at < len(data):
            end = data.index(b"\n", at)
            start, size = data[at:end].split()
            self.areas.append((int(start, 16), data[end + 1:end + 1 + int(size)]))
            at = end + 1 + int(size)

    def called(self, address, base):
        """The target of the call before an address, relative to the program at BASE; or None."""
        for start, code in self.areas:
            if start + 8 <= address <= start + len(code):
                code = code[address - start - 8:address - start]
                if code[3] == 0xe8:
                    return address + int.from_bytes(code[4:], "little", signed=True) - base
                return ANYWHERE if INDIRECT.fullmatch(code) else None
        return None


class Judge:
    """Checks stacks of a program, by its files, their libraries, and the code that it compiled."""

    def __init__(self, program, libraries, compiled):
        self.program = program
        self.programs = {each.name: each for each in [program] + libraries}
        self.compiled = compiled

    def function(self, frame, behind):
        """The function of a frame.  A caller's address is the return address, BEHIND its call."""
        program = self.programs.get(frame.object)
        if program:
            return program.function_at(program.address(frame.offset) - behind)
        return JIT if is_jit(frame) else frame.symbol

    def functions(self, chain):
        return [self.function(frame, depth > 0) for depth, frame in enumerate(chain)]

    def wrong(self, chain):
        """The error in a chain, innermost frame first, or None."""
        functions = self.functions(chain)
        base = next((frame.address - self.program.address(frame.offset) for frame in chain
                     if frame.object == self.program.name), 0)
        for depth, (callee, caller) in enumerate(zip(chain, chain[1:])):
            what = self.wrong_call(callee, functions[depth], caller, functions[depth + 1:], base)
            if what:
                return f"{what}: {functions[depth]} called by {functions[depth + 1]}"
        return None

    def wrong_call(self, callee, function, caller, callers, base):
        program = self.programs.get(caller.object)
        if program:
            target = program.calls.get(program.address(caller.offset))
        elif is_jit(caller):
            program = self.program
            # Code that is gone cannot be checked.
            target = self.compiled.called(caller.address, base) if self.compiled else ANYWHERE
        elif function in (JIT, VM, "lj_vm_ffi_callback"):
            # The C library's sort function calls back.
            return None if "work_call_back" in callers else "not a callback"
        else:
            return None
        if target is None:
            return "not behind a call"
        if target == ANYWHERE:
            # Only the interpreter calls a trace.
            return "no direct call" if function == JIT else None
        if isinstance(target, str):
            # The call may still be in the PLT.
            if callee.object == program.name:
                return None if function.startswith(".plt") else "not in another file"
            name = target.removesuffix(PLT)
            program = next((each for each in self.programs.values() if each != program and name in each.places), None)
            if not program:
                return None
            target = program.places[name]
        reached = program.reached(target)
        if (function in reached or (function == JIT and VM in reached) or
                (ANYWHERE in reached and function not in (JIT, VM)) or
                (callee.object != program.name and any(each.startswith(".plt") for each in reached))):
            return None
        return "not what is called"

    def show(self, chain):
        return " ".join(f"{frame.address:x}:{function}" for frame, function in zip(chain, self.functions(chain)))
