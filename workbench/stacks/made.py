# SPDX-License-Identifier: GPL-2.0
"""The stacks of programs that call in a known order, compared with their source.

many runs chains of calls through 200 libraries, and prints the functions of each.  In swap, two
libraries with other tables replace each other at the same place; it maps them itself.  swap-dlopen
does so by dlopen(), on glibc, for which the libraries' SFrame tables are the only ones.
"""

import collections
import itertools
import re

from stacks import samples, show_counts, with_stack

ENOUGH = 500
SHARE = 0.995

LIBC = "libc.so"
# Functions of the C library that call functions of the program. `@' stands for them.
CALLING = {"qsort", "__qsort_r", "qsort_r", "wrapper_cmp", "sift", "trinkle", "bsearch"}

# The outermost functions of a program and of a thread.
MAIN = ["_start", "libc_start_main_stage2", "main"]
THREAD = ["__clone", "start"]


def outwards(files, chain):
    """The functions of a stack, outermost first, and their files.

    The C library's have no names, but `@'.  Those at the top, or on the way to another file, are left out.
    """
    names = [(name, place.object.rpartition("/")[2]) for name, place in zip(files.functions(chain), chain)]
    inner = list(itertools.dropwhile(lambda each: each[1] == LIBC or each[0].startswith(".plt"), names))
    return [name for name, _ in itertools.groupby(
        ("@", LIBC) if file == LIBC and name in CALLING else (name, file) for name, file in reversed(inner))]


def outcome(sample, functions, patterns):
    """Whether a stack is whole, as one of PATTERNS; early or guessed, as reported; or wrong."""
    if sample.end is None:
        return "whole" if any(functions == pattern[:len(functions)] for pattern in patterns) else "wrong"
    # It may begin anywhere, and behind a guess, callers may be missing.
    left = (iter(pattern) for pattern in patterns)
    return "early" if any(all(name in pattern for name in functions if name != "@") for pattern in left) else "wrong"


def judge_stacks(tap, files, name, stacks):
    """Judge triples of a sample, its functions, and the patterns that are right."""
    outcomes, ends = collections.Counter(), collections.Counter()
    for sample, functions, patterns in stacks:
        result = outcome(sample, functions, patterns)
        outcomes[result] += 1
        if result == "early":
            ends[sample.end] += 1
        elif result == "wrong" and outcomes[result] <= 10:
            print(f"# {sample.end or 'reported complete'}: {files.show(sample.chain)}")
    show_counts(name, ends, 5)
    count = outcomes.total()
    tap.result(count >= ENOUGH and outcomes["whole"] >= SHARE * count,
               f"{name}: {outcomes['whole']} of {count} stacks are as in the source, "
               f"{100 * outcomes['whole'] / max(count, 1):.2f} %")
    tap.result(count > 0 and not outcomes["wrong"], f"{name}: {outcomes['wrong']} stacks are wrong")


def judge_many(tap, files, name, output, recorded):
    chains = {}
    for line in output.splitlines():
        if line.startswith("chain "):
            chain = line.partition(":")[2].split()
            chains[chain[0]] = [MAIN + ["run_chains"] + chain, THREAD + ["run_thread", "run_chains"] + chain]
    every = list(itertools.chain(*chains.values()))
    stacks, libraries, kinds, most = [], collections.Counter(), set(), 0
    for sample, frames in recorded:
        # Libraries that are still being opened have initial functions.
        names = [name for name, file in frames if re.fullmatch(r"m\d{3}\.so", file) and name.startswith("m")]
        if names:
            # The first function of a chain is in no other chain.  It may be missing.
            stacks.append((sample, [name for name, _ in frames], chains.get(names[0], every)))
            if sample.end is None:
                libraries.update({name[:4] for name in names})
                kinds.update(name[5:] for name in names)
                most = max(most, len({file for _, file in frames}))
    judge_stacks(tap, files, name, stacks)
    tap.result(len(libraries) == 200 and len(kinds) == 8 and min(libraries.values()) >= 10,
               f"{name}: {len(libraries)} of 200 libraries and {len(kinds)} of 8 kinds of frames are in complete "
               f"stacks, which go through up to {most} files")


def judge_swap(tap, files, name, output, recorded):
    swaps, moved, *_ = map(int, re.findall(r"\d+", output))
    tap.result(swaps >= 2500 and moved < swaps / 10, f"{name}: {swaps} swaps, {moved} of them to another place")
    stacks, seen = [], collections.Counter()
    for sample, frames in recorded:
        functions = [function for function, _ in frames]
        letters = [file[5] for _, file in frames if file in ("swap-a.so", "swap-b.so")]
        marked = [function[-1] for function in functions if function.startswith("main_calls_")]
        # In a C library without a table, a guess finds remains of other frames.
        if not letters and not marked and not (name == "swap" and "decoy" in functions):
            continue
        # The library that perf names; or, on the way to it, the marker.
        letter = min(letters) if letters else marked[0] if marked else "?"
        seen[letter] += 1
        begins = [THREAD + ["runner", "run"], MAIN + ["run"]]
        if name == "swap-dlopen":
            # What calls it is glibc's.
            if "run" in functions:
                functions, sample = functions[functions.index("run"):], sample._replace(end=None)
            begins = [["run"]]
        stacks.append((sample, functions, [
            begin + [f"main_calls_{letter}", f"{letter}_entry", f"{letter}_inner", last]
            for begin in begins for last in ("swap_last", f"{letter}_turn")]))
    judge_stacks(tap, files, name, stacks)
    tap.result(min(seen["a"], seen["b"]) >= ENOUGH,
               f"{name}: {seen['a']} stacks are of the first library, {seen['b']} of the second")


def judge_source(tap, files, recordings, name):
    output = (recordings / f"{name}.clock.out").read_text(encoding="ascii")
    found, _ = with_stack(samples(recordings / f"{name}.clock.script", None, files.frame), name)
    recorded = [(sample._replace(end=None) if files.is_known(sample) else sample, outwards(files, sample.chain))
                for sample in found if sample.chain]
    (judge_many if name == "many" else judge_swap)(tap, files, name, output, recorded)
