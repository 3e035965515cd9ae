# SPDX-License-Identifier: GPL-2.0
"""The repository's kernel part and its series, as files in memory.

The kernel part is stored as the last commit leaves it: as `<path>` if the file is
new to the kernel, as `<path>.patch`, against the base, if it is changed.
workbench/series/NN-topic/ holds one topic, which is mailed as a series of its own: `cover`,
and for each commit NN-name: its message, a line `---`, and the paths that it touches.
If an earlier commit, of any topic, touches one of them as well, NN-name.steps says what
the file is before this commit.  There are two ways to say so; the second one is taken where
it is much shorter:

    step PATH      the change that this commit makes.  The state before the commit is the
                   state afterwards, with the step reverted.  So an edit by hand becomes part
                   of the commit that wrote the line.
    before PATH    how the file differs from the base before this commit; all of it, if it is
                   new to the kernel.

What follows is a patch without the lines that name the file, and with little context.
"""

import os
import re
import stat
import subprocess
import tempfile

import common

SERIES = "workbench/series"
SERIES_NAME = re.compile(r"(\d\d)-([A-Za-z0-9][A-Za-z0-9._+-]*)")
STEPS = ".steps"
COVER = "cover"
SECTION = re.compile(rb"^(step|before) (.+)\n", re.MULTILINE)
MODE = re.compile(rb"(old|new|deleted file|new file) mode ")
# How many characters are found again at their place.
ENOUGH = 24
HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*\n")
# Names at the top of the repository that are no part of the kernel.  Of names
# with a leading dot, only patches belong to the kernel.
OWN_NAMES = {"workbench", "results", "pictures", "build", "out", "README.md", "RESULTS.md", "CONTRIBUTING.md",
             "Makefile", "COPYING"}
# What stands beside the files of the kernel, but is in no series.
APART = ("tools/unwind-tables/", "tools/unwind-jit/crate/")


def is_kernel_part(path):
    first = path.split("/", 1)[0]
    return (not path.startswith(APART) and first not in OWN_NAMES and
            (first[0] != "." or path.endswith(".patch")))


def trimmed(hunk):
    """A hunk without the context around it, if what it adds is enough to find its place."""
    head, *lines = hunk.splitlines(keepends=True)
    if sum(len(line.strip()) for line in lines if line[:1] == b"+") < ENOUGH:
        return hunk
    old, old_count, new, new_count = (int(n) if n else 1 for n in HUNK.match(head).groups())
    first = next(i for i, line in enumerate(lines) if line[:1] != b" ")
    last = next(i for i, line in enumerate(reversed(lines)) if line[:1] != b" ")
    old_count -= first + last
    # A place without lines is that of the line before it.
    old += first - (not old_count)
    return (f"@@ -{old},{old_count} +{new + first},{new_count - first - last} @@\n".encode()
            + b"".join(lines[first:len(lines) - last]))


def hunks_of(text):
    starts = [m.start() for m in re.finditer(rb"^@@ ", text, re.MULTILINE)]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)])]


class Step:
    """What a file is before a commit: kind is "step" or "before", text a patch without names."""

    def __init__(self, kind, path, text):
        self.kind = kind
        self.path = path
        self.text = text

    @staticmethod
    def of_patch(kind, path, patch):
        """From what git says, of one file."""
        header, at, hunks = patch.partition(b"\n@@ ")
        if b"\nGIT binary patch" in header:
            common.die(f"{path} is binary: only one commit may touch it")
        modes = [line for line in header.split(b"\n") if MODE.match(line)]
        hunks = hunks_of(at.lstrip(b"\n") + hunks)
        if kind == "step":
            hunks = [trimmed(hunk) for hunk in hunks]
        return Step(kind, path, b"".join([*(line + b"\n" for line in modes), *hunks]))

    def patch(self):
        """What git can apply."""
        header, at, hunks = (b"\n" + self.text).partition(b"\n@@ ")
        header = header.strip(b"\n")
        header += b"\n" if header else b""
        path = self.path.encode()
        names = b""
        if at:
            old = b"/dev/null" if b"new file mode" in header else b"a/" + path
            new = b"/dev/null" if b"deleted file mode" in header else b"b/" + path
            names = b"--- " + old + b"\n+++ " + new + b"\n"
        return b"diff --git a/" + path + b" b/" + path + b"\n" + header + names + at.lstrip(b"\n") + hunks

    def section(self):
        return f"{self.kind} {self.path}\n".encode() + self.text

    @staticmethod
    def parse(name, data):
        """path -> Step"""
        found = list(SECTION.finditer(data))
        if not found or found[0].start():
            common.die(f"{name}: a line 'step PATH' or 'before PATH' is expected first")
        ends = [m.start() for m in found[1:]] + [len(data)]
        steps = [Step(m[1].decode(), m[2].decode(), data[m.end():end]) for m, end in zip(found, ends)]
        return {step.path: step for step in steps}


class Commit:
    """One commit of the series; steps: path -> Step, for files that an earlier commit touches.

    name is that of its file, TOPIC/NN-name.
    """

    def __init__(self, name, message, paths, steps=None):
        self.name = name
        self.message = message.strip("\n")
        self.paths = paths
        self.steps = steps or {}

    @property
    def topic(self):
        return self.name.split("/")[0]

    @property
    def subject(self):
        return self.message.split("\n", 1)[0]

    def text(self):
        return "".join([self.message, "\n---\n"] + [f"{p}\n" for p in self.paths]).encode()

    @staticmethod
    def parse(name, data, steps):
        message, line, paths = data.decode().rpartition("\n---\n")
        message = message.strip("\n")
        if not line or not message:
            common.die(f"{SERIES}/{name}: a message, a line '---' and paths are expected")
        body = message.split("\n")
        if len(body) > 1 and body[1]:
            common.die(f"{SERIES}/{name}: the line after the subject must be blank")
        return Commit(name, message, [p.strip() for p in paths.split("\n") if p.strip()],
                      steps and Step.parse(f"{SERIES}/{name}{STEPS}", steps))


class Repository:
    """files: repository path -> (git mode, bytes), kernel part and series."""

    def __init__(self, files, check=True):
        self.files = files
        self.commits = []
        for path in sorted(files):
            if path.startswith(SERIES + "/"):
                name = path[len(SERIES) + 1:]
                if [bool(SERIES_NAME.fullmatch(part)) for part in name.split("/")] != [True, True]:
                    common.die(f"{path}: files of the series are named NN-topic/NN-name")
                if name.endswith(STEPS):
                    if path[:-len(STEPS)] not in files:
                        common.die(f"{path} belongs to no commit")
                    continue
                steps = files.get(path + STEPS, (None, None))[1]
                self.commits.append(Commit.parse(name, files[path][1], steps))
        if check:
            self._check()

    @staticmethod
    def read(top, check=True):
        files = {}
        for path in list_files(top):
            full = os.path.join(top, path)
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                files[path] = ("120000", os.readlink(full).encode())
            else:
                with open(full, "rb") as file:
                    files[path] = ("100755" if mode & 0o100 else "100644", file.read())
        return Repository(files, check)

    def kernel_files(self):
        return [p for p in self.files if not p.startswith("workbench/")]

    def stored_as(self, path):
        """The repository's file for a path of the kernel, or None."""
        found = [p for p in (path, path + ".patch") if p in self.files]
        if len(found) == 2:
            common.die(f"{path} is in the repository both whole and as a patch")
        return found[0] if found else None

    def is_patch(self, path):
        return self.stored_as(path) != path

    def paths(self):
        return sorted({p for c in self.commits for p in c.paths})

    def _check(self):
        owners = {}
        subjects = {}
        for commit in self.commits:
            where = f"{SERIES}/{commit.name}"
            if subjects.setdefault(commit.subject, commit.name) != commit.name:
                common.die(f"{where} has the subject of {subjects[commit.subject]}")
            if len(set(commit.paths)) != len(commit.paths):
                common.die(f"{where} lists a path twice")
            for path in commit.paths:
                stored = None if path.startswith("workbench/") else self.stored_as(path)
                if not stored:
                    common.die(f"{where} lists {path}: the repository has neither "
                               f"{path} nor {path}.patch")
                first = owners.setdefault(stored, commit.name)
                if first == commit.name and path in commit.steps:
                    common.die(f"{where}{STEPS} changes {path}, which no earlier commit touches")
                if first != commit.name and path not in commit.steps:
                    common.die(f"{where} lists {path} as {first} does: {where}{STEPS} must say "
                               "how this commit changes it")
            for path in commit.steps:
                if path not in commit.paths:
                    common.die(f"{where}{STEPS} changes {path}, which {where} does not list")
        for stored in self.kernel_files():
            if stored not in owners:
                common.die(f"{stored} belongs to no commit: list it in a file of {SERIES}/")


def list_files(top):
    """The kernel part and the series, without files that git ignores.

    An empty repository answers this, so that the place and existence of the clone's
    own .git do not matter.
    """
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["git", "init", "--quiet", "--bare", scratch], check=True)
        git = common.Git(scratch, work_tree=top)
        found = git.fields("ls-files", "--others", "--exclude-standard", "-z")
    files = [p for p in found if is_kernel_part(p)]
    for directory, _, names in os.walk(os.path.join(top, SERIES)):
        files += [os.path.relpath(os.path.join(directory, n), top) for n in names
                  if n != COVER and not n.startswith(".") and not n.endswith("~")]
    return sorted(files)
