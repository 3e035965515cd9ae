# SPDX-License-Identifier: GPL-2.0
"""The kernel's stacks as perf prints them, and their checks.

For compare and judge in the other directories, and for workbench/demo/report.
"""

import bisect
import collections
import itertools
import pathlib
import re
import sys

# A signal handler returns to this function; below it are the interrupted registers.
SIGNAL = "__restore_rt"

# Start-up code without CFI, which is called once before and once after main(): each
# unwinder has to guess.
GUESSED = {"_init", "_fini", "__do_global_dtors_aux", "frame_dummy", "register_tm_clones",
           "deregister_tm_clones"}

# System calls from which a task does not return with the same stack, or not at all.
# The stack is walked on the return to user space.
LAST = {"execve", "_Exit", "__unmapself", "__pthread_exit"}

# Kernel functions in which a task's samples have no user stack: that of the kernel entry is
# gone.
NO_STACK = {
    "bprm_execve": "in execve()",
    "do_exit": "in exit()",
}

# A few samples may lack a stack without such a reason: a flush is about to begin another
# stack, or the recording ends before the stack is written.
HANDFUL = 5

# The maximal number of samples in execve() and exit(), as a share of the others.
LEAVING = 0.05

HEADER = re.compile(r"^\s*(?P<comm>\S.*?)\s+(?P<tid>\d+)\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+"
                    r"(?P<event>\S+):\s*(?P<what>.*?)\s*$")

# perf's last line of a stack that the kernel did not report as complete, with the reason.
END = "[stack ends: "
FAULT_END = END + "unreadable memory"
# The stack is complete if the guesses are right, as in start-up code.
GUESSED_END = END + "complete, guessed]"
NO_TABLE_END = END + "no unwind information in "
# perf's line of the registers of a sample without a deferred stack.
REGISTERS = " ABI:"
# perf has the sample, but not its stack.
MISSING_END = END + "user part missing]"

Sample = collections.namedtuple("Sample", "comm tid time event what deferred kernel chain end")


def blocks(path):
    """The header of each record of perf, its frames, and perf's line about their end or its registers, or None."""
    header, frames, end = None, [], None
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in itertools.chain(file, [""]):
            if not line.strip() or line.startswith(REGISTERS):
                end = line.strip() or end
                if header is not None:
                    yield header, frames, end
                header, frames, end = None, [], None
            elif header is None:
                header = HEADER.match(line)
                if header is None:
                    sys.exit(f"error: {path}: not the header of a sample: {line}")
            elif line.lstrip().startswith(END):
                end = line.strip()
            else:
                address, _, name = line.strip().partition(" ")
                frames.append((int(address, 16), name.strip()))


def address_of(address, _):
    return address


def lines_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines()


def identity(header):
    return header["tid"], header["s"], header["ns"], header["event"]


def samples(path, comm, frame=address_of):
    """The samples of a command, or of all, by time, and all their user frames, as perf joins them.

    FRAME makes a frame of its address and of the text that perf prints behind it. The file with
    the suffix .at-once lists the samples whose stack is not a deferred one.
    """
    path = pathlib.Path(path)
    at_once = set(map(identity, map(HEADER.match, lines_of(path.with_suffix(".at-once")))))
    found = []
    for header, frames, end in blocks(path):
        if comm not in (None, header["comm"]):
            continue
        deferred = identity(header) not in at_once
        # A kernel address below a user frame is a value that was taken for an address.
        user = list(itertools.dropwhile(lambda each: each[0] >> 63, frames))
        kernel = {name.partition(" ")[0] for _, name in frames[:len(frames) - len(user)]}
        chain = [frame(*each) for each in user]
        found.append(Sample(header["comm"], int(header["tid"]), int(header["s"]) * 10**9 + int(header["ns"]),
                            header["event"], header["what"], deferred, kernel, chain, end))
    return sorted(found, key=lambda sample: sample.time)


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def result(self, good, name):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} {name}", flush=True)

    def end(self):
        """Print the plan; return the exit status."""
        print(f"1..{self.number}")
        return self.failed > 0


def show_counts(name, counts, most=None):
    for what, number in counts.most_common(most):
        print(f"# {name}: {number} {what or 'UNKNOWN'}")


def with_stack(recorded, name):
    """The samples that have a stack, and the number of others by cause: None if it is unknown."""
    found, gone = [], collections.Counter()
    for sample in recorded:
        if sample.deferred and sample.end != MISSING_END:
            found.append(sample)
            continue
        where = None if sample.deferred else next(
            (where for function, where in NO_STACK.items() if function in sample.kernel), None)
        gone[where] += 1
        # In that case perf guesses by frame pointer.
        if where is None and gone[where] <= 10:
            print(f"# {name}: {sample.end or 'not deferred'}, in the kernel: {' '.join(sorted(sample.kernel))}")
    show_counts(f"{name}: without a stack", gone)
    return found, gone


def all_have_stacks(found, gone, leaving=LEAVING):
    """Whether nearly all samples have one, as with_stack() counts them."""
    return gone[None] <= HANDFUL and gone.total() <= leaving * len(found)


def shifted(pairs):
    """The number of chains that differ from the one before."""
    return sum(ours != theirs for (ours, _), (_, theirs) in zip(pairs, pairs[1:]))


def stops_of(stops, samples_of):
    """gdb's report on each stop, and the trap at which it stopped, or None.

    gdb stopped at the thread's last trap before its report.
    """
    traps = collections.defaultdict(list)
    for sample in samples_of:
        traps[sample.tid].append(sample)
    taken = set()
    for line in pathlib.Path(stops).read_text(encoding="ascii").splitlines():
        time, tid, *chain = line.split()
        of_thread = traps[int(tid)]
        at = bisect.bisect_right([trap.time for trap in of_thread], int(time)) - 1
        if at < 0 or (tid, at) in taken:
            # gdb may report a step into a signal handler without a trap.
            print(f"# no trap was recorded for the stop at {time} of thread {tid}")
            yield chain, None
            continue
        taken.add((tid, at))
        yield chain, of_thread[at]


def hits_of(recorded):
    """Pairs of our stack and the copied one of the same hit; None for a missing one."""
    hits = collections.defaultdict(list)
    for sample in recorded:
        hits[sample.tid, sample.event].append(sample)
    for of_thread in hits.values():
        at = 0
        while at + 1 < len(of_thread):
            # Their order differs among threads, and perf may have had no room for a copy.
            # The arguments of a call, or the address of a fault, identify a hit.
            ours, theirs = sorted(of_thread[at:at + 2], key=lambda sample: not sample.deferred)
            if ours.deferred == theirs.deferred or ours.what != theirs.what:
                yield of_thread[at], None
                at += 1
            else:
                yield ours, theirs
                at += 2


def changed(program, ours, theirs):
    """Whether the stack has changed when it is walked."""
    if not theirs.chain:
        return False
    # A handler returns: the walk is in the interrupted code.
    returns = program.function(program.before(theirs.chain[0])) == SIGNAL
    return returns or (program.function(theirs.chain[0]) in LAST and not ours.chain)
