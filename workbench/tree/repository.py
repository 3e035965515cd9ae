# SPDX-License-Identifier: GPL-2.0
"""The repository's kernel part and its series, as files in memory.

The kernel part holds `<path>` for a file that is new to the kernel and
`<path>.patch` for one that is changed.  workbench/series/NNNN-name holds one
commit: its message, a line `---`, and the paths that it touches.  A patch has
one section per commit that changes its file, under a line `# commit: NAME`.
"""

import os
import re
import stat
import subprocess
import tempfile

import common

SERIES = "workbench/series"
SERIES_NAME = re.compile(r"(\d{4})-([A-Za-z0-9][A-Za-z0-9._+-]*)")
SECTION = "# commit: "
# What stands at the repository's top and is no part of the kernel.  Of names
# with a leading dot only patches are the kernel's.
OWN_NAMES = {"workbench", "build", "out", "README.md", "Makefile", "COPYING"}


def is_kernel_part(path):
    first = path.split("/", 1)[0]
    return first not in OWN_NAMES and (first[0] != "." or path.endswith(".patch"))


def patch_sections(name, text):
    """(commit or None, text) of each section of a patch."""
    sections = []
    for line in text.splitlines(keepends=True):
        if line.startswith(SECTION.encode()):
            sections.append([line[len(SECTION):].strip().decode(), b""])
        elif sections:
            sections[-1][1] += line
        elif line.strip():
            sections.append([None, line])
    if not sections or any(b"diff --git " not in body for _, body in sections):
        common.die(f"{name}: holds no patch, or a section without one")
    return sections


class Commit:
    """One file of the series."""

    def __init__(self, name, message, paths):
        self.name = name
        self.message = message.strip("\n")
        self.paths = paths

    @property
    def subject(self):
        return self.message.split("\n", 1)[0]

    def text(self):
        return "".join([self.message, "\n---\n"] + [f"{p}\n" for p in self.paths]).encode()

    @staticmethod
    def parse(name, data):
        message, line, paths = data.decode().rpartition("\n---\n")
        message = message.strip("\n")
        if not line or not message:
            common.die(f"{SERIES}/{name}: a message, a line '---' and paths are expected")
        body = message.split("\n")
        if len(body) > 1 and body[1]:
            common.die(f"{SERIES}/{name}: the line after the subject must be blank")
        return Commit(name, message, [p.strip() for p in paths.split("\n") if p.strip()])


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
                self.commits.append(Commit.parse(name, files[path][1]))
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
            common.die(f"{path} stands in the repository both whole and as a patch")
        return found[0] if found else None

    def is_patch(self, path):
        return self.stored_as(path) != path

    def section(self, path, commit):
        """What one commit does to a changed file, as a patch."""
        sections = patch_sections(path + ".patch", self.files[path + ".patch"][1])
        if len(sections) == 1 and sections[0][0] is None:
            return sections[0][1]
        return dict(sections)[commit.name]

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
                owners.setdefault(stored, []).append(commit.name)
        for stored in self.kernel_files():
            names = owners.get(stored)
            if not names:
                common.die(f"{stored} belongs to no commit: list it in a file of {SERIES}/")
            if stored.endswith(".patch"):
                self._check_sections(stored, names)
            elif len(names) > 1:
                common.die(f"{stored} is a whole file and belongs to two commits: "
                           + ", ".join(names))

    def _check_sections(self, stored, names):
        found = [name for name, _ in patch_sections(stored, self.files[stored][1])]
        if found == [None] and len(names) == 1:
            return
        if None in found:
            common.die(f"{stored} is changed by {', '.join(names)}: each section "
                       f"must begin with a line '{SECTION}NAME'")
        if len(set(found)) != len(found):
            common.die(f"{stored} has two sections of one commit")
        for name in sorted(set(found) ^ set(names)):
            if name in names:
                common.die(f"{SERIES}/{name} lists {stored[:-6]}, but {stored} "
                           "has no section of this commit")
            common.die(f"{stored} has a section of {name}, which does not list the file")


def list_files(top):
    """The kernel part and the series; not what git ignores.

    Asked of an empty repository, so that it does not matter where, or whether,
    the clone keeps its own .git.
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
