# SPDX-License-Identifier: GPL-2.0
"""Deferred stacks by their cookies: those of perf, beside those that others took.

Stacks are the same if their addresses, the reason for their end and the guess are.  A cookie
says which entry of the kernel they are of.  For judge in the other directories.
"""

import collections
import re
import sys

from stacks import lines_of

# The least number of stacks that both have.
COMMON = 300

# enum unwind_user_end, as perf prints it.
REASONS = ["not taken", "complete", "no information", "unreadable memory", "malformed table", "bad frame",
           "too many frames", "too much work", "32-bit or x32 code", "unsupported rule"]
COMPLETE = REASONS.index("complete")

DEFERRED = re.compile(r"\s*\S.*?\s+(?P<tid>\d+)\s+\d+\.\d{9}: DEFERRED CALLCHAIN \[cookie: (?P<cookie>[0-9a-f]+)\]"
                      r" \[end: (?P<reason>[^,]*?)(?P<guessed>, guessed)?\]")

Stack = collections.namedtuple("Stack", "tid reason guessed frames")


class Stacks:
    """Stacks by their cookies.  A stack may be asked for again after its callback."""

    def __init__(self):
        self.by_cookie, self.again, self.changed = {}, 0, 0

    def add(self, cookie, stack):
        self.again += cookie in self.by_cookie
        self.changed += self.by_cookie.setdefault(cookie, stack) != stack

    def complete(self):
        return sum(stack.reason == COMPLETE for stack in self.by_cookie.values())

    def share(self):
        return self.complete() / max(len(self.by_cookie), 1)

    def show(self):
        return f"{self.complete()} of {len(self.by_cookie)}, {100 * self.share():.2f} %"


def of_perf(path, tids):
    """Those of the threads that are in both."""
    found, frames = Stacks(), None
    for line in lines_of(path):
        if header := DEFERRED.fullmatch(line):
            frames = []
            if int(header["tid"]) in tids:
                found.add(int(header["cookie"], 16), Stack(int(header["tid"]), REASONS.index(header["reason"]),
                                                           bool(header["guessed"]), frames))
        elif "DEFERRED" in line:
            sys.exit(f"error: {path}: not the header of a stack: {line}")
        elif not line.strip() or ":" in line:
            frames = None
        elif frames is not None:
            frames.append(int(line.split()[0], 16))
    return found


def compare(tap, name, kind, found, perf):
    """Compare the stacks of a kind with perf's."""
    common = [(stack, perf.by_cookie[cookie]) for cookie, stack in found.by_cookie.items() if cookie in perf.by_cookie]
    different = [(ours, theirs) for ours, theirs in common if ours != theirs]
    for pair in different[:5]:
        for stack in pair:
            print(f"# {name}: {stack.tid} {REASONS[stack.reason]} {stack.guessed} {' '.join(map(hex, stack.frames))}")
    # If all were the same, stacks of other entries would pass, too.
    changes = sum(left.frames != right.frames for (left, _), (right, _) in zip(common, common[1:]))
    tap.result(len(common) >= COMMON and not different and changes > len(common) / 10,
               f"{name}: {len(common) - len(different)} of {len(common)} stacks with the same cookie are the same, "
               f"{changes} differ from the one before")
    tap.result(not found.changed and not perf.changed,
               f"{name}: {found.again} of {kind}'s stacks and {perf.again} of perf's have the cookie of an earlier "
               f"one, {found.changed} and {perf.changed} of these are other stacks")
