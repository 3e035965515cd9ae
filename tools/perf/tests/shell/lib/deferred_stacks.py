#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write recorded deferred user stacks, as perf record writes them to a pipe.

With the argument --file, write a regular perf.data file.

There is one thread, whose program is /deferred/prog, with a library
/deferred/libfoo.so.  Each line of the standard input is a sample: the number of
its end, 'g' if it was guessed or '-', then the user stack in hexadecimal.  A
line 'late' is another sample of the last stack, after it; 'lost' one whose
stack never came.  A line 'exit' lets the thread exit between the next sample and
its stack, as on kernels that write the stack last.

Other lines are single records, of any thread of the process:

  sample TID COOKIE     a sample that refers to a stack
  stack TID COOKIE IP   the stack
  plain TID             a sample whose stack is not deferred
  comm TID NAME         the thread gets a name
  gone TID              the thread exits
  round                 all records up to the one before the last round are there
  pause                 two seconds pass
"""

import struct
import sys

MMAP, COMM, EXIT, SAMPLE, DEFERRED, ATTR, ROUND = 1, 3, 4, 9, 22, 64, 68
USER, GUESSED, END_SHIFT = 2, 1 << 7, 8
CONTEXT_USER, CONTEXT_USER_DEFERRED = (1 << 64) - 512, (1 << 64) - 640

# IP, TID, TIME, CALLCHAIN, IDENTIFIER
SAMPLE_TYPE = 1 | 2 | 4 | 1 << 5 | 1 << 16
# sample_id_all, exclude_callchain_kernel, defer_callchain, defer_output: bit
# fields, which begin at the other end of the word on big-endian machines.
FLAGS = sum(1 << (bit if sys.byteorder == "little" else 63 - bit) for bit in (18, 21, 38, 39))
ATTR_SIZE, FILE_HEADER_SIZE, ID, PID = 136, 104, 1, 100

out = bytearray()
time = 0


def words(*values):
    return struct.pack(f"={len(values)}Q", *values)


def write(kind, misc, body):
    out.extend(struct.pack("=IHH", kind, misc, 8 + len(body)) + body)


def write_with_id(kind, misc, body, tid=PID):
    global time
    time += 1000
    write(kind, misc, body + struct.pack("=II", PID, tid) + words(time, ID))


def text(string):
    string = string.encode() + b"\0"
    return string + bytes(-len(string) % 8)


def write_sample(ip, callchain, tid=PID):
    global time
    time += 1000
    write(SAMPLE, USER, words(ID, ip) + struct.pack("=II", PID, tid) +
          words(time, len(callchain), *callchain))


def write_deferred_sample(cookie, ip, tid=PID):
    write_sample(ip, (CONTEXT_USER_DEFERRED, cookie), tid)


def write_comm(name, tid=PID):
    write_with_id(COMM, 0, struct.pack("=II", PID, tid) + text(name), tid)


def write_exit(tid=PID):
    # The process and its parent, the thread and its parent.
    write_with_id(EXIT, 0, struct.pack("=IIIIQ", PID, 1, tid, 1, time + 1000), tid)


def write_record(kind, *args):
    """Write what a line of words stands for; return whether it is known."""
    global time
    if kind == "sample":
        write_deferred_sample(int(args[1]), 0x400000, int(args[0]))
    elif kind == "stack":
        write_with_id(DEFERRED, USER | 1 << END_SHIFT, words(int(args[1]), 1, int(args[2], 16)),
                      int(args[0]))
    elif kind == "plain":
        write_sample(0x400020, (CONTEXT_USER, 0x400020), int(args[0]))
    elif kind == "comm":
        write_comm(args[1], int(args[0]))
    elif kind == "gone":
        write_exit(int(args[0]))
    elif kind == "round":
        write(ROUND, 0, b"")
    elif kind == "pause":
        time += 2 * 10**9
    else:
        return False
    return True


# A software event, the clock of CPUs, of period 1.
attr = struct.pack("=II", 1, ATTR_SIZE) + words(0, 1, SAMPLE_TYPE, 0, FLAGS)
attr += bytes(ATTR_SIZE - len(attr))

write_comm("prog")
for start, name in (0x400000, "/deferred/prog"), (0x7f0000000000, "/deferred/libfoo.so"):
    write_with_id(MMAP, USER, struct.pack("=II", PID, PID) + words(start, 0x10000, 0) + text(name))

cookie = 0
exits = False
for line in sys.stdin:
    line = line.split()
    if not line or write_record(*line):
        continue
    if line[0] == "late":
        write_deferred_sample(cookie, 0x400000)
        continue
    if line[0] == "exit":
        exits = True
        continue
    cookie += 1
    if line[0] == "lost":
        write_deferred_sample(cookie, 0x400000)
        continue
    ips = [int(ip, 16) for ip in line[2:]]
    write_deferred_sample(cookie, ips[0] if ips else 0x400000)
    if exits:
        write_exit()
        exits = False
    misc = USER | int(line[0]) << END_SHIFT | (GUESSED if line[1] == "g" else 0)
    write_with_id(DEFERRED, misc, words(cookie, len(ips), *ips))

if sys.argv[1:] == ["--file"]:
    # Sections: the attribute with the place of its id, the data, no event types.
    attr += words(FILE_HEADER_SIZE + len(attr) + 16, 8)
    data_at = FILE_HEADER_SIZE + len(attr) + 8
    head = b"PERFILE2" + words(FILE_HEADER_SIZE, len(attr), FILE_HEADER_SIZE, len(attr),
                               data_at, len(out), 0, 0, 0, 0, 0, 0) + attr + words(ID)
else:
    head = b"PERFILE2" + words(16) + struct.pack("=IHH", ATTR, 0, 8 + ATTR_SIZE + 8) + attr + words(ID)
sys.stdout.buffer.write(head + out)
