# SPDX-License-Identifier: GPL-2.0
"""The repository's kernel part and its series, as files in memory.

The kernel part is stored as the last commit leaves it: as `<path>` if the file is
new to the kernel, as `<path>.patch`, against the base, if it is changed.
workbench/series/NNNN-name holds one commit: its message, a line `---`, and the
paths that it touches.  If an earlier commit touches one of them as well,
NNNN-name.steps is a patch with the change that this commit makes to it.  The state
of a file before the commit is its state afterwards, with the step reverted.  So an
edit by hand becomes part of the commit that wrote the line.
"""

import os
import re
import stat
import subprocess
import tempfile

import common

SERIES = "workbench/series"
SERIES_NAME = re.compile(r"(\d{4})-([A-Za-z0-9][A-Za-z0-9._+-]*)")
STEPS = ".steps"
# Names at the top of the repository that are no part of the kernel.  Of names
# with a leading dot, only patches belong to the kernel.
OWN_NAMES = {"workbench", "results", "build", "out", "README.md", "Makefile", "COPYING"}


def is_kernel_part(path):
    first = path.split("/", 1)[0]
    return first not in OWN_NAMES and (first[0] != "." or path.endswith(".patch"))


def split_patch(name, data):
    """path -> the change that a patch makes to it"""
    parts = {}
    path = None
    for line in data.splitlines(keepends=True):
        if line.startswith(b"diff --git "):
            names = line.decode().rstrip("\n")[len("diff --git "):]
            path = names[len("a/"):len(names) // 2]
            parts[path] = b""
        if path is None:
            common.die(f"{name}: holds no patch, or text before the patch")
        parts[path] += line
    if not parts:
        common.die(f"{name}: holds no patch")
    return parts


class Commit:
    """One commit of the series; steps: path -> patch, for files that an earlier commit touches."""

    def __init__(self, name, message, paths, steps=None):
        self.name = name
        self.message = message.strip("\n")
        self.paths = paths
        self.steps = steps or {}

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
                      steps and split_patch(f"{SERIES}/{name}{STEPS}", steps))


class Repository:
    """files: repository path -> (git mode, bytes), kernel part and series."""

    def __init__(self, files, check=True):
        self.files = files
        self.commits = []
        for path in sorted(files):
            if path.startswith(SERIES + "/"):
                name = path[len(SERIES) + 1:]
                if not SERIES_NAME.fullmatch(name):
                    common.die(f"{path}: files of the series are named NNNN-name")
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
    directory = os.path.join(top, SERIES)
    if os.path.isdir(directory):
        files += [f"{SERIES}/{n}" for n in os.listdir(directory)
                  if n != "cover" and not n.startswith(".") and not n.endswith("~")]
    return sorted(files)
