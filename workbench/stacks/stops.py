# SPDX-License-Identifier: GPL-2.0
"""Take gdb's stacks at many places of a program; for `gdb -batch -x stops.py --args PROGRAM...`.

The environment sets the number of stops (STOPS), the functions (FUNCTIONS, a file with an address
on each line, and a file's name behind it if the address is relative to the place of that file),
a function to stop at in every run, if any (ALWAYS, in the same form), and the output file
(STACKS): it gets a line for each stop, with the time, the thread, the frames, topmost first, each
as ADDRESS@OFFSET@FILE, and the reason why gdb's stack ends.

Breakpoints in a file are set when it is mapped: libraries may come and go.  A share of the runs
uses the mappings before the program's first instruction.

Functions are drawn with a generator that has a fixed seed.  gdb stops at one of the
first calls of each.  From there it steps the program: each step ends in a trap, and
the registers at a trap are the program's own.  Those at a breakpoint are not: the
instruction pointer is one byte behind the start of the replaced instruction.
"""

import contextlib
import os
import platform
import random
import time

import gdb

# The number of breakpoints at a time: gdb writes each of them anew whenever it continues.
# A process and its libraries never call most of their functions.
CHUNK = 60
STEPS = 3   # from each
PATIENCE = 12   # the script ends after this number of runs without a stop
# When this is called, all libraries are mapped that the program needs.
START = "__libc_start_main"
EARLY = 0.1   # the share of runs that use the mappings before
SYSCALL = {"x86_64": b"\x0f\x05", "aarch64": b"\x01\x00\x00\xd4"}[platform.machine()]

wanted = int(os.environ["STOPS"])


def places(lines):
    """The address and the file, or None, of each line."""
    return sorted({(int(address, 16), *(file or [""])) for address, *file in map(str.split, lines)})


with open(os.environ["FUNCTIONS"], encoding="ascii") as file:
    functions = places(file)
always = places([os.environ["ALWAYS"]] if os.environ["ALWAYS"] else [])
stacks = open(os.environ["STACKS"], "w", encoding="ascii")
draw = random.Random(1)

for setting in ("confirm off", "pagination off", "debuginfod enabled off", "startup-with-shell off",
                "suppress-cli-notifications on", "print frame-arguments none", "print thread-events off",
                "print inferior-events off", "backtrace past-main on", "inferior-tty /dev/null",
                "backtrace limit 600",
                # What starts the program may be in a library.
                "breakpoint pending on",
                # gdb must not execute an instruction under a breakpoint elsewhere.
                "displaced-stepping off"):
    gdb.execute("set " + setting)
gdb.execute("handle all nostop noprint pass", to_string=True)


def chain():
    """The frames on the stack, without inlined and tail calls; and the reason for the end."""
    frame, found, reason = gdb.newest_frame(), [], "?"
    while frame is not None:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            found.append(frame.pc())
        try:
            reason = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
            frame = frame.older()
        except gdb.error:   # memory that cannot be read
            break
    return found, reason


def alive():
    return gdb.selected_thread() is not None


def maps_of_process():
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="ascii") as maps:
        return maps.read()


def words_of(pcs):
    """Each address, with its file and its offset in that file."""
    mappings = []
    for words in map(str.split, maps_of_process().splitlines()):
        low, high = (int(address, 16) for address in words[0].split("-"))
        mappings.append((low, high, int(words[2], 16), words[5] if len(words) > 5 else "?"))
    for pc in pcs:
        low, offset, name = next(((low, offset, name) for low, high, offset, name in mappings if low <= pc < high),
                                 (pc, 0, "?"))
        yield f"{pc:x}@{pc - low + offset:x}@{name}"


def record():
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    thread = gdb.selected_thread().ptid[1]
    pcs, reason = chain()
    stacks.write(f"{now} {thread} {' '.join([*words_of(pcs), reason.replace(' ', '-')])}\n")


def burst(room):
    """Step up to a system call, which may wait for a thread that is stopped."""
    for step in range(room):
        pc = gdb.newest_frame().pc()
        if gdb.selected_inferior().read_memory(pc, len(SYSCALL)).tobytes() == SYSCALL:
            return step
        gdb.execute("stepi", to_string=True)
        if not alive():
            return step
        record()
    return room


@contextlib.contextmanager
def gone():
    """Report errors of gdb and go on: the process may have ended before gdb notices.

    gdb's error depends on its current action.  A check of the number of stops finds
    other reasons.
    """
    try:
        yield
    except gdb.error as error:
        gdb.write(f"gone: {error}\n", gdb.STDERR)


def mapped(early):
    """Continue until libraries are mapped; return the address of the first byte of each file."""
    if early:
        gdb.execute("starti", to_string=True)
    else:
        gdb.execute(f"tbreak {START}", to_string=True)
        gdb.execute("run", to_string=True)
    return bases_of(maps_of_process())


def bases_of(maps):
    bases = {"": 0}
    for line in maps.splitlines():
        words = line.split()
        if len(words) > 5:
            bases.setdefault(words[5], int(words[0].partition("-")[0], 16))
    return bases


def run(chosen, child, early):
    """Run the program once with breakpoints; return the number of stacks."""
    got = 0
    breakpoints = {}
    later = set()

    def place_in(bases, chosen):
        """Set the breakpoints whose files are mapped; return the others."""
        for address, file in sorted(chosen):
            if file in bases:
                place = gdb.Breakpoint(f"*{bases[file] + address:#x}", internal=True)
                place.silent = True
                place.ignore_count = 0 if (address, file) in always else draw.choice((0, 0, 2, 9, 30))
                breakpoints[bases[file] + address] = place
        return {(address, file) for address, file in chosen if file not in bases}

    def loaded(_):
        nonlocal later
        if later and alive():
            later = place_in(bases_of(maps_of_process()), later)

    later = place_in(mapped(early), chosen)
    gdb.events.new_objfile.connect(loaded)
    gdb.execute("set follow-fork-mode " + ("child" if child else "parent"))
    gdb.execute("continue", to_string=True)
    if alive():
        # Step only one thread.
        gdb.execute("set scheduler-locking step")
    with gone():
        while alive() and got < wanted:
            place = breakpoints.pop(gdb.newest_frame().pc(), None)
            if place is not None:
                place.delete()
            got += burst(min(STEPS, wanted - got))
            if alive() and got < wanted:
                gdb.execute("continue", to_string=True)
    gdb.events.new_objfile.disconnect(loaded)
    with gone():
        if alive():
            gdb.execute("kill", to_string=True)
    for place in breakpoints.values():
        with gone():
            place.delete()
    return got


left = PATIENCE
while wanted and left:
    draw.shuffle(functions)
    got = run(set(functions[:CHUNK] + always), draw.random() < 0.3, draw.random() < EARLY)
    wanted -= got
    left = PATIENCE if got else left - 1
stacks.close()
