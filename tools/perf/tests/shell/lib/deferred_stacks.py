#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write recorded deferred user stacks, as perf record writes them to a pipe.

There is one thread, whose program is /deferred/prog, with a library
/deferred/libfoo.so.  Each line of the standard input is a sample: the number of
its end, 'g' if it was guessed or '-', then the user stack in hexadecimal.  A
line 'late' is another sample of the last stack, after it; 'lost' one whose
stack never came.  A line 'exit' lets the thread exit between the next sample and
its stack, as on kernels that write the stack last.
"""

import struct
import sys

MMAP, COMM, EXIT, SAMPLE, DEFERRED, ATTR = 1, 3, 4, 9, 22, 64
USER, GUESSED, END_SHIFT = 2, 1 << 7, 8
CONTEXT_USER_DEFERRED = (1 << 64) - 640

# IP, TID, TIME, CALLCHAIN, IDENTIFIER
SAMPLE_TYPE = 1 | 2 | 4 | 1 << 5 | 1 << 16
# sample_id_all, exclude_callchain_kernel, defer_callchain, defer_output: bit
# fields, which begin at the other end of the word on big-endian machines.
FLAGS = sum(1 << (bit if sys.byteorder == "little" else 63 - bit) for bit in (18, 21, 38, 39))
ATTR_SIZE, ID, PID = 136, 1, 100

out = sys.stdout.buffer
time = 0


def words(*values):
    return struct.pack(f"={len(values)}Q", *values)


def write(kind, misc, body):
    out.write(struct.pack("=IHH", kind, misc, 8 + len(body)) + body)


def write_with_id(kind, misc, body):
    global time
    time += 1000
    write(kind, misc, body + struct.pack("=II", PID, PID) + words(time, ID))


def text(string):
    string = string.encode() + b"\0"
    return string + bytes(-len(string) % 8)


def write_sample(cookie, ip):
    global time
    time += 1000
    write(SAMPLE, USER, words(ID, ip) + struct.pack("=II", PID, PID) +
          words(time, 2, CONTEXT_USER_DEFERRED, cookie))


out.write(b"PERFILE2" + words(16))
# A software event, the clock of CPUs, of period 1.
attr = struct.pack("=II", 1, ATTR_SIZE) + words(0, 1, SAMPLE_TYPE, 0, FLAGS)
write(ATTR, 0, attr + bytes(ATTR_SIZE - len(attr)) + words(ID))
write_with_id(COMM, 0, struct.pack("=II", PID, PID) + text("prog"))
for start, name in (0x400000, "/deferred/prog"), (0x7f0000000000, "/deferred/libfoo.so"):
    write_with_id(MMAP, USER, struct.pack("=II", PID, PID) + words(start, 0x10000, 0) + text(name))

cookie = 0
exits = False
for line in sys.stdin:
    line = line.split()
    if line[0] == "late":
        write_sample(cookie, 0x400000)
        continue
    if line[0] == "exit":
        exits = True
        continue
    cookie += 1
    if line[0] == "lost":
        write_sample(cookie, 0x400000)
        continue
    ips = [int(ip, 16) for ip in line[2:]]
    write_sample(cookie, ips[0] if ips else 0x400000)
    if exits:
        # The process and its parent, the thread and its parent.
        write_with_id(EXIT, 0, struct.pack("=IIIIQ", PID, 1, PID, 1, time + 1000))
        exits = False
    misc = USER | int(line[0]) << END_SHIFT | (GUESSED if line[1] == "g" else 0)
    write_with_id(DEFERRED, misc, words(cookie, len(ips), *ips))
