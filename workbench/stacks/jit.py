# SPDX-License-Identifier: GPL-2.0
"""The stacks of LuaJIT, whose compiled code is in no file.

plain is not patched; tables is, and registers tables of its code; churn is the patched one while its
code is often given up.  Each return address must be behind a call of the next inner function.
"""

import collections
import functools
import pathlib
import re

from calls import JIT, LIBGCC, VM, Compiled, Judge, Program, Thrower, frame_of, is_jit
from stacks import FAULT_END, GUESSED, LAST, all_have_stacks, samples, show_counts, with_stack

LUAJIT = pathlib.Path(__file__).resolve().parents[2] / "build/luajit"

ENOUGH = 1000
SHARE = 0.995
# The minimal share of samples in compiled code itself; and the share of stacks through
# it that may be complete by chance if no table describes its frames.
JIT_SHARE, CHANCE = 0.3, 0.01
# The minimal number of stacks of each part of the workload through compiled code.
OF_PART = 10
# The maximal share of complete stacks that are wrong where libgcc's CFI is; and the minimal number
# of stacks taken at one place there.
THROWN, ENOUGH_THROWN = 0.005, 20
# The maximal number of calls of prctl() for each trace.
CALLS = 0.5

PARTS = {"numbers", "strings", "tables", "sorting", "errors", "foreign", "callbacks", "coroutines", "traces"}
CHURN = {"flushing", "filling"}

# The outermost functions of a process, outermost first.
BEGIN = [{"_start"}, {"__libc_start_main@@GLIBC_2.34", "__libc_start_main_impl"}, {"__libc_start_call_main"}, {"main"},
         {"lua_cpcall"}, {VM}, {"pmain"}, {"docall"}, {"lua_pcall"}, {VM, JIT}]
# Those of the dynamic linker.
LINKER = {"_start", "_dl_start_user", "_dl_start"}

libgcc = functools.cache(Thrower)


def cause_of(sample, functions):
    """The reason why a stack is not complete, if it is a good one."""
    if not sample.chain:
        return None
    # The end of this function sets the stack pointer, and start-up code has no CFI.
    if sample.chain[0].object == LIBGCC:
        return "where libgcc throws, or starts"
    # It may have called others.
    if any(function in GUESSED or function in (".init", ".fini") for function in functions):
        return "no CFI"
    if sample.chain[0].object == "ld-linux-x86-64.so.2":
        return "in the dynamic linker"
    return None


def begins(chain, functions):
    """Whether the outermost functions are the expected ones."""
    outermost = functions[::-1]
    if chain[-1].object.startswith("ld-"):
        return outermost[0] in LINKER and not any(map(is_jit, chain))
    # Before main() there are constructors, and after it, destructors.
    count = len(BEGIN) if any(map(is_jit, chain)) else 4 if "main" in functions else 1
    return len(outermost) >= count and all(function in of for function, of in zip(outermost, BEGIN[:count]))


def marks_of(functions):
    return [function[5:] for function in functions if function.startswith("mark_")]


def deferred_of(tap, recordings, name):
    """The samples that have a stack; each other sample must lack it for a known reason."""
    recorded, gone = with_stack(samples(recordings / f"{name}.clock.script", None, frame_of), name)
    found = [sample for sample in recorded
             if not (sample.chain and sample.chain[0].symbol in LAST and (sample.end or "").startswith(FAULT_END))]
    cut = len(recorded) - len(found)
    tap.result(len(found) >= ENOUGH and all_have_stacks(recorded, gone) and cut < len(found) / 20,
               f"{name}: {len(found)} samples have a stack, {gone.total()} have none, {cut} end where "
               "the kernel did not wait for a page")
    return found


def judge_plain(tap, judge, found, name):
    """Without the patch: check that the comparison can fail."""
    through = [sample for sample in found if any(map(is_jit, sample.chain))]
    good = sum(sample.end is None for sample in through)
    tap.result(len(through) >= JIT_SHARE * len(found) and good <= CHANCE * len(through),
               f"{name}: {good} of {len(through)} stacks with compiled code are complete")
    vm = [sample for sample in found if sample not in through and VM in judge.functions(sample.chain)]
    print(f"# {name}: {sum(sample.end is None for sample in vm)} of {len(vm)} others with the interpreter are complete")


def judge_complete(tap, judge, found, name, least):
    complete = [sample for sample in found if sample.end is None]
    causes, unknown = collections.Counter(), 0
    for sample in found:
        if sample.end is not None:
            functions = judge.functions(sample.chain) or ["nowhere"]
            cause = cause_of(sample, functions)
            unknown += cause is None
            causes[f"{sample.end} from {functions[0]} to {functions[-1]}: {cause or 'UNKNOWN'}"] += 1
    show_counts(name, causes)
    tap.result(len(complete) >= SHARE * len(found) and not unknown,
               f"{name}: {len(complete)} of {len(found)} stacks are complete and not guessed, "
               f"{100 * len(complete) / max(len(found), 1):.2f} %, {unknown} others have no known reason")
    top = sum(bool(sample.chain) and is_jit(sample.chain[0]) for sample in found)
    through = sum(any(map(is_jit, sample.chain[1:])) for sample in found)
    tap.result(top >= least * len(found), f"{name}: {top} of {len(found)} samples are in compiled code, "
               f"{100 * top / max(len(found), 1):.1f} %; {through} in functions that it has called")
    return complete


def judge_right(tap, judge, complete, name, parts):
    wrong, of_part, chains, thrown = collections.Counter(), collections.Counter(), set(), 0
    for sample in complete:
        functions = judge.functions(sample.chain)
        marks = marks_of(functions)
        what = judge.wrong(sample.chain)
        if not what and not begins(sample.chain, functions):
            what = "begins otherwise"
        if not what and (len(marks) > 1 or not parts.issuperset(marks)):
            what = "of two parts, or of another"
        # The function may have called another one.
        if what and any(map(libgcc().is_wrong, sample.chain[:2])):
            thrown += 1
            print(f"# {name}: where libgcc's CFI is wrong: {judge.show(sample.chain)}")
        elif what:
            wrong[what] += 1
            if wrong.total() <= 10:
                print(f"# {name}: {what}: {judge.show(sample.chain)}")
        elif JIT in functions:
            of_part.update(marks)
            chains.add(tuple(frame.address for frame in sample.chain))
    tap.result(len(complete) > 0 and not wrong and thrown <= THROWN * len(complete),
               f"{name}: {wrong.total()} of {len(complete)} complete stacks are wrong, "
               f"and {thrown} where libgcc's CFI is")
    tap.result(all(of_part[part] >= OF_PART for part in parts),
               f"{name}: {len(chains)} different stacks lead through compiled code: "
               f"{', '.join(f'{number} of {part}' for part, number in of_part.most_common())}")


def judge_thrown(tap, judge, recordings):
    """Stacks before libgcc overwrites its frame, and behind that: its CFI is right, and then wrong."""
    found = [sample for sample in samples(recordings / "thrown.clock.script", None, frame_of) if sample.chain]
    before = [sample for sample in found if libgcc().overwrites(sample.chain[0])]
    behind = [sample for sample in found if libgcc().is_wrong(sample.chain[0])]
    good = [sample for sample in before if sample.end is None and not judge.wrong(sample.chain)
            and begins(sample.chain, judge.functions(sample.chain))]
    tap.result(len(good) == len(before) >= ENOUGH_THROWN,
               f"thrown: {len(good)} of {len(before)} stacks are complete and right before libgcc overwrites its frame")
    handlers = [sample for sample in behind if judge.functions(sample.chain)[1:2] in ([VM], [JIT])]
    tap.result(len(handlers) == len(behind) >= ENOUGH_THROWN and len(before) + len(behind) == len(found),
               f"thrown: {len(handlers)} of {len(behind)} stacks lead to the handler's function behind that")


def ranges(lines, path):
    found = (re.match(rf"{path}\t([0-9a-f]+)-([0-9a-f]+) ", line) for line in lines)
    return [range(int(each[1], 16), int(each[2], 16)) for each in found if each]


def judge_tables(tap, lines, name):
    """Tables describe existing code, and no code that was given up."""
    after = lines.index("flushed")
    counts, stray = [], 0
    for part in (lines[:after], lines[after:]):
        tables, code = ranges(part, "/proc/self/unwind_tables"), ranges(part, "/proc/self/maps")
        counts.append(len(tables))
        stray += sum(not any(table.start in area and table.stop - 1 in area for area in code) for table in tables)
    bad = sum("disabled" in line for line in lines)
    # The tables of stubs, of traces, and of callbacks; those of callbacks stay.
    tap.result(counts[0] >= 3 and counts[1] == 1 and not stray and not bad,
               f"{name}: {counts[0]} tables in the end, {counts[1]} when all code was given up, "
               f"{stray} of code that is gone, {bad} disabled")


def traces_of(lines):
    """The numbers of traces that were begun, finished and given up, and of flushes."""
    return next([int(word) for word in line.split()[1:]] for line in lines if line.startswith("traces\t"))


def judge_prctl(tap, recordings):
    _, finished, _, _ = traces_of((recordings / "calls.out").read_text().splitlines())
    # Filters have counted the calls that register, and those that take that back.
    counts = [int(line.split()[0]) for line in (recordings / "tables.stat").read_text().splitlines()
              if "sys_enter_prctl" in line]
    registered, removed = counts
    tap.result(finished >= 100 and 0 < registered + removed <= CALLS * finished and registered > 0,
               f"calls: {registered} of prctl() that register and {removed} that remove, for {finished} traces")


def judge_calls(tap, recordings):
    work = Program(LUAJIT / "work.so")
    judge_plain(tap, Judge(Program(LUAJIT / "plain/luajit"), [work], None),
                deferred_of(tap, recordings, "plain"), "plain")
    program = Program(LUAJIT / "tables/luajit")
    for name, parts, least in (("tables", PARTS, JIT_SHARE), ("churn", CHURN, 0)):
        lines = (recordings / f"{name}.clock.out").read_text().splitlines()
        # If code is given up, the code at the end is not all code that was compiled.
        judge = Judge(program, [work], Compiled(recordings / f"{name}.code") if parts is PARTS else None)
        found = deferred_of(tap, recordings, name)
        complete = judge_complete(tap, judge, found, name, least)
        judge_right(tap, judge, complete, name, parts)
        judge_tables(tap, lines, name)
        _, finished, _, flushed = traces_of(lines)
        tap.result(finished > 50 and (flushed >= 5 if parts is CHURN else flushed == 0),
                   f"{name}: {finished} traces, all given up {flushed} times")
    judge_thrown(tap, Judge(program, [work], None), recordings)
    judge_prctl(tap, recordings)
