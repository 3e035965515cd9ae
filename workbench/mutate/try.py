#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Try mutants, inside the tool-chain root file system: see workbench/mutate/run.

  try.py TOP [--host] [--list | --check | --random N | NAME...]

The file `mutants' says what they are. A mutant is tried with one kind of tests after the other: see
part_mutant() in workbench/check/checks.sh. Before a kind is used, its tests must pass without a mutant.
"""

import argparse
import collections.abc
import contextlib
import dataclasses
import os
import pathlib
import random
import re
import subprocess
import sys
import typing

# What each kind of tests builds on, in build/: copied once, then kept up to date by its own build.
KINDS = {
    "host": ("cargo",),
    "host-full": ("cargo",),
    "quick": ("kernel-series",),
    "full": ("kernel-series",),
    "once": ("kernel-series", "perf", "stock"),
    "ftrace": ("kernel-series", "perf"),
    "bpf": ("kernel-bpf", "perf", "stock", "bpf"),
    "arm64": ("kernel-arm64",),
    "arm64-stock": ("kernel-arm64", "perf", "stock-arm64"),
    "arm64-abi": ("kernel-arm64", "arm64"),
}
HOST = {"host", "host-full"}
PARSER = "kernel/unwind/tables/parse/"

HEADER = re.compile(r"\[(?P<name>[a-z0-9-]+)\](?P<kinds>( [a-z0-9-]+)*)")
# Lines of check/run: a check or a test that failed, and a test of cargo that did.
FAILED = re.compile(r"FAILED +(?P<name>.*?)(?:: (?:see |\d+ tests, see ).*)?")
CARGO = re.compile(r" +\| test (?P<name>\S+) \.\.\. FAILED")
# These contain others, which say more.
VAGUE = re.compile(r"(guest|arm64 guest|parser)\b.*")


def die(message: str) -> typing.NoReturn:
    sys.exit(f"error: {message}")


@dataclasses.dataclass
class Mutant:
    """A replacement of some lines of a file by others."""

    name: str
    kinds: list[str]
    about: str = ""
    file: str = ""
    old: str = ""
    new: str = ""

    def apply(self, path: pathlib.Path) -> tuple[str, str]:
        """What the file is, and what the mutant makes of it."""
        text = path.read_text(encoding="utf-8")
        found = ("\n" + text).count("\n" + self.old)
        if found != 1:
            die(f"mutant {self.name} is stale: its lines are {found} times in {path}")
        return text, ("\n" + text).replace("\n" + self.old, "\n" + self.new)[1:]


def parse(path: pathlib.Path) -> list[Mutant]:
    """A mutant is a line `[NAME] KIND...', one that says what it breaks, the file's name, and the
    lines: those with - go, those with + come, those with a space are there."""
    mutants: list[Mutant] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = HEADER.fullmatch(line)
        if match:
            mutants.append(Mutant(match["name"], match["kinds"].split()))
        elif not line or line.startswith("#"):
            continue
        elif not mutants:
            die(f"{path}:{number}: not in a mutant")
        elif not mutants[-1].about:
            mutants[-1].about = line
        elif not mutants[-1].file:
            mutants[-1].file = line
        else:
            if line[0] not in " -+":
                die(f"{path}:{number}: neither ` ', `-' nor `+'")
            mutants[-1].old += line[1:] + "\n" if line[0] != "+" else ""
            mutants[-1].new += line[1:] + "\n" if line[0] != "-" else ""
    for mutant in mutants:
        if not mutant.kinds:
            mutant.kinds = ["host", "host-full"] if mutant.file.startswith(PARSER) else ["quick", "full"]
        if not set(mutant.kinds) <= KINDS.keys():
            die(f"mutant {mutant.name}: there are the kinds {', '.join(KINDS)}")
        if not mutant.old or mutant.old == mutant.new:
            die(f"mutant {mutant.name} changes nothing")
    if len({mutant.name for mutant in mutants}) != len(mutants):
        die("two mutants have one name")
    return mutants


def roots(top: pathlib.Path, mutant: Mutant) -> list[pathlib.Path]:
    """Where the file is: in the repository, for the parser on the host, and in the kernel's tree."""
    kinds = set(mutant.kinds)
    return ([top] if kinds & HOST else []) + ([top / "build/tree"] if kinds - HOST else [])


def check(top: pathlib.Path, mutants: list[Mutant]) -> None:
    """Each fits, but in a clone without a kernel's tree only those of the host can be looked at."""
    for mutant in mutants:
        for root in roots(top, mutant):
            path = root / mutant.file
            if path.exists():
                mutant.apply(path)
            elif (root / "kernel").exists():
                die(f"mutant {mutant.name} is stale: there is no {path}")


def copy(top: pathlib.Path, kinds: set[str]) -> None:
    """Bring the copy up to date, and put it in the clone's place.

    What changes gets the time of now: objects there may be of a mutant, and make compares times. Only
    what is copied for the first time keeps its times, or all would be built again.
    """
    def call(*command: str | pathlib.Path) -> None:
        subprocess.run(command, check=True)

    there = top / "build/mutants/copy"
    update = ["rsync", "-rlp", "--checksum", "--delete"]
    (there / "build/guest").mkdir(parents=True, exist_ok=True)
    call(*update, "--exclude=/build/", "--exclude=/out/", f"{top}/", there)
    for name in sorted({name for kind in kinds for name in KINDS[kind]} | ({"tree"} if kinds - HOST else set())):
        ours, theirs = top / "build" / name, there / "build" / name
        if theirs.exists() and name == "tree":
            call(*update, f"{ours}/", theirs)
        elif ours.exists() and not theirs.exists():
            print(f"# copying build/{name}", file=sys.stderr, flush=True)
            call("cp", "-a", "--reflink=auto", ours, f"{theirs}.new")
            call("mv", f"{theirs}.new", theirs)
    if (top / "build/guest/kvm").exists():
        call("cp", top / "build/guest/kvm", there / "build/guest/kvm")
    call("mount", "--bind", there, top)
    os.chdir(top)


def tests(top: pathlib.Path, kind: str) -> str:
    """Run the tests of a kind. Returns what failed first, or nothing."""
    env = dict(os.environ, MUTANT_TESTS=kind, UNWIND_READY=f":{top}/build/tree:", UNWIND_OUT=f"{top}/out")
    failed: list[str] = []
    with subprocess.Popen([top / "workbench/check/run", "mutant"], env=env, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        for line in process.stdout or ():
            print("#   " + line, end="", file=sys.stderr, flush=True)
            match = FAILED.fullmatch(line.strip("\n")) or CARGO.fullmatch(line.strip("\n"))
            failed += [match["name"]] if match else []
    if process.returncode and not failed:
        die(f"the tests `{kind}' did not get to their end")
    return next((name for name in failed if not VAGUE.fullmatch(name)), failed[0] if failed else "")


@contextlib.contextmanager
def applied(top: pathlib.Path, mutant: Mutant) -> collections.abc.Iterator[None]:
    """The copy with the mutant."""
    before = {}
    try:
        for root in roots(top, mutant):
            path = root / mutant.file
            before[path], after = mutant.apply(path)
            path.write_text(after, encoding="utf-8")
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def judge(top: pathlib.Path, mutant: Mutant, good: set[str]) -> tuple[bool, str]:
    """Whether the tests notice a mutant, and which one."""
    for kind in mutant.kinds:
        if kind not in good:
            print(f"# {kind}: without a mutant", file=sys.stderr, flush=True)
            if failed := tests(top, kind):
                die(f"without a mutant, {failed} fails")
            good.add(kind)
        print(f"# {kind}: {mutant.name}", file=sys.stderr, flush=True)
        with applied(top, mutant):
            failed = tests(top, kind)
        if re.search(r"\bbuilds?$", failed):
            return False, f"does not compile: {failed}"
        if failed:
            return True, f"noticed by {failed}"
    return False, "survived"


def main() -> None:
    parser = argparse.ArgumentParser(prog="run")
    parser.add_argument("top", type=pathlib.Path)
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()

    mutants = parse(pathlib.Path(__file__).with_name("mutants"))
    check(args.top, mutants)
    if unknown := set(args.names) - {mutant.name for mutant in mutants}:
        die(f"there is no mutant {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants
              if (not args.host or set(mutant.kinds) <= HOST) and (not args.names or mutant.name in args.names)]
    if args.random:
        chosen = random.sample(chosen, min(args.random, len(chosen)))
    if args.list:
        for mutant in chosen:
            print(f"{mutant.name:22} {' '.join(mutant.kinds):20} {mutant.about}")
        return
    if args.check:
        print(f"{len(mutants)} mutants fit")
        return

    copy(args.top, {kind for mutant in chosen for kind in mutant.kinds})
    good: set[str] = set()
    bad = 0
    print(f"TAP version 13\n1..{len(chosen)}", flush=True)
    for number, mutant in enumerate(chosen, 1):
        noticed, how = judge(args.top, mutant, good)
        bad += not noticed
        print(f"{'ok' if noticed else 'not ok'} {number} {mutant.name}: {how}", flush=True)
    sys.exit(bad > 0)


main()
