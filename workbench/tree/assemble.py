#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make or update the working tree: the base, then the series as commits.

    assemble.py TREE BASE-REPOSITORY [--discard | --or-keep] [--objects REPOSITORY]...

It makes the commits without the working tree, and then writes only the files that
differ, so that a kernel build rebuilds no others.
"""

import argparse
import hashlib
import json
import os
import shutil

import common
from repository import SERIES, STEPS, Repository

BRANCH = "refs/heads/series"
TOPICS = "refs/topics/"
SHOWN = 10
# git's values for a file that does not exist.
NOTHING = ("000000", "0" * 40)


def identity():
    """The user's identity, found by the caller, as variables for git."""
    name = os.environ.get("UNWIND_NAME") or common.FALLBACK_NAME
    email = os.environ.get("UNWIND_EMAIL") or common.FALLBACK_EMAIL
    return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email}


def dated(number):
    seconds, zone = common.BASE_DATE.split()
    date = f"{int(seconds) + 60 * number} {zone}"
    return {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}


def fingerprints(repository):
    return {path: hashlib.sha256(mode.encode() + data).hexdigest()
            for path, (mode, data) in repository.files.items()}


def apply(git, patches, failed, *options):
    """Apply patches, path -> patch, to the index; merge those that do not apply."""
    options = ("apply", "--cached", "--whitespace=nowarn", *options)
    if not patches:
        return
    try:
        git(*options, "-", data=b"".join(patches.values()))
        return
    except common.GitError:
        pass    # find the patch that fails, and merge it if possible
    conflicts = []
    for path, patch in patches.items():
        try:
            git(*options, "-", data=patch)
        except common.GitError as error:
            try:
                git(*options, "--3way", "-", data=patch)
                common.say(f"{path}.patch was merged")
            except common.GitError:
                conflicts += [failed(path), *(f"  git: {line}" for line in str(error).split("\n"))]
    if conflicts:
        common.die("\n".join(conflicts))


def add_files(git, repository):
    """Put the files that are new to the kernel into the index."""
    paths = [p for p in repository.paths() if not repository.is_patch(p)]
    for path in entries(git, paths):
        common.die(f"{path} is stored whole in the repository, but the base has this file, too")
    found = {}
    for path in paths:
        mode, data = repository.files[path]
        found[path] = mode, git("hash-object", "-w", "--stdin", data=data)
    put(git, found)


def entries(git, paths):
    """path -> (mode, object) of the paths that are in the index"""
    out = git.fields("ls-files", "-s", "-z", "--", *[f":(literal){p}" for p in paths]) if paths else []
    return {line.split("\t", 1)[1]: tuple(line.split(" ")[:2]) for line in out}


def put(git, found):
    """Set these entries of the index, path -> (mode, object) or NOTHING."""
    info = [f"{mode} {blob}\t{path}\0" for path, (mode, blob) in found.items()]
    git("update-index", "-z", "--index-info", data="".join(info))


def states(git, repository):
    """The state of the touched paths after each commit; the index is the base's."""
    in_base = entries(git, repository.paths())
    apply(git, {p: repository.files[p + ".patch"][1] for p in repository.paths()
                if repository.is_patch(p)},
          lambda path: f"{path}.patch does not apply, of "
                       + ", ".join(c.name for c in repository.commits if path in c.paths))
    add_files(git, repository)
    left = []
    for commit in reversed(repository.commits):
        found = entries(git, commit.paths)
        left.append({p: found.get(p, NOTHING) for p in commit.paths})
        steps = f"{SERIES}/{commit.name}{STEPS}"
        kinds = {kind: {p: s.patch() for p, s in commit.steps.items() if s.kind == kind}
                 for kind in ("step", "before")}
        apply(git, kinds["step"],
              lambda path, steps=steps: f"{steps} does not fit what {path} is afterwards",
              "--reverse", "--unidiff-zero")
        put(git, {p: in_base.get(p, NOTHING) for p in commit.paths if p not in kinds["step"]})
        apply(git, kinds["before"],
              lambda path, steps=steps: f"{steps} does not fit what {path} is in the base")
    return left[::-1]


def make_commits(git, repository, base):
    """The series on top of base, without a working tree: topic -> its last commit, in order."""
    index = os.path.join(git.git_dir, "unwind-index")
    bare = common.Git(git.git_dir, index=index)
    head = base
    ends = {}
    try:
        bare("read-tree", base)
        left = states(bare, repository)
        for number, commit in enumerate(repository.commits, 1):
            put(bare, left[number - 1])
            head = bare("commit-tree", bare("write-tree"), "-p", head,
                        data=commit.message + "\n", env=identity() | dated(number))
            ends[commit.topic] = head
    finally:
        for name in (index, index + ".lock"):
            if os.path.exists(name):
                os.unlink(name)
    return ends


class Tree:
    """A working tree, and its sources (in its .git/unwind.json)."""

    def __init__(self, path):
        self.path = path
        self.git = common.Git(os.path.join(path, ".git"), work_tree=path)
        self.state_file = os.path.join(path, ".git", "unwind.json")
        try:
            with open(self.state_file, encoding="utf-8") as file:
                self.state = json.load(file)
        except FileNotFoundError:
            self.state = None

    def create(self):
        os.makedirs(self.path)
        common.Git(self.git.git_dir)("init", "--quiet", "--initial-branch=series", self.path)
        # An ordinary user has another id in the root file system. git, used on
        # both sides, must not treat each file as changed because of that.
        self.git("config", "core.checkStat", "minimal")

    def borrow(self, repositories):
        """Let git read objects of these repositories, too."""
        name = os.path.join(self.git.git_dir, "objects", "info", "alternates")
        with open(name, "w", encoding="utf-8") as file:
            file.write("".join(os.path.abspath(r) + "/objects\n" for r in repositories))

    def record(self, **state):
        with open(self.state_file + ".new", "w", encoding="utf-8") as file:
            json.dump(state, file, indent=1)
        os.rename(self.state_file + ".new", self.state_file)
        self.state = state

    def recover(self):
        """Finish an interrupted update."""
        if not self.state or "pending" not in self.state:
            return
        common.say("finishing an update of the tree that was interrupted")
        lock = os.path.join(self.git.git_dir, "index.lock")
        if os.path.exists(lock):
            os.unlink(lock)
        self.move(self.state["pending"], hard=True)

    def move(self, state, hard=False):
        """Check out state["head"], without writing files that are the same."""
        self.record(pending=state)
        if not hard:
            try:
                self.git("update-index", "-q", "--refresh")
            except common.GitError:
                pass    # it fails when entries need an update, which the next step does
        self.git("read-tree", "--reset", "-u", state["head"])
        self.set_head(state["head"], state.get("topics", {}))
        self.record(**state)

    def set_head(self, commit, topics):
        """Name the last commit, and that of each topic, topic -> commit."""
        self.git("symbolic-ref", "HEAD", BRANCH)
        self.git("update-ref", BRANCH, commit)
        for ref in self.git.lines("for-each-ref", "--format=%(refname)", TOPICS):
            self.git("update-ref", "-d", ref)
        for topic, end in topics.items():
            self.git("update-ref", TOPICS + topic, end)

    def head(self):
        return self.git("rev-parse", "HEAD")

    def capture(self):
        """The tree with all uncommitted edits, and its index."""
        index = os.path.join(self.git.git_dir, "unwind-capture")
        # Keep the time of the index: by it, git recognises entries that it cannot trust.
        shutil.copy2(os.path.join(self.git.git_dir, "index"), index)
        git = self.git.with_index(index)
        git("add", "--all")
        return git("write-tree"), index

    def edits(self):
        """A message about edits in the tree that are not in the repository."""
        told = []
        head = self.head()
        if head != self.state["head"]:
            try:
                commits = self.git.lines("log", "--format=commit %h (%s)",
                                         f"{self.state['head']}..{head}")
            except common.GitError:
                commits = []
            told += commits or [f"another HEAD: {head[:12]}"]
        tree, index = self.capture()
        os.unlink(index)
        told += self.git.fields("diff-tree", "-r", "-z", "--name-only", head, tree)
        return told

    def discard(self):
        self.git("reset", "--quiet", "--hard")
        self.git("clean", "-ffdq")


def refuse(tree, edits):
    shown = "".join(f"\n  {e}" for e in edits[:SHOWN])
    more = f"\n  and {len(edits) - SHOWN} more" if len(edits) > SHOWN else ""
    name = os.path.relpath(tree.path, os.environ.get("UNWIND_TOP", os.curdir))
    common.die(f"{name} holds edits that are not in the repository:{shown}{more}\n"
               "run 'make refresh' to bring them there, or 'make tree DISCARD=1' to drop them")


def update(tree, repository, base, options):
    """Bring an existing tree to the state of the repository."""
    tree.recover()
    if tree.state is None:
        common.die(f"{tree.path} was not made by this tool: remove it")
    edits = tree.edits()
    if edits and options.discard:
        common.say("dropping edits in the tree that are not in the repository")
        tree.discard()
    elif edits and options.or_keep:
        common.say(f"using {tree.path} as it stands, with edits that are not in the repository")
        return
    elif edits:
        refuse(tree, edits)
    elif (tree.state["base"] == base and tree.state["files"] == fingerprints(repository)
          and tree.state["identity"] == identity()):
        common.say(f"{tree.path} is up to date: {len(repository.commits)} commits")
        return
    old = tree.git("rev-parse", tree.state["head"] + "^{tree}")
    state = new_state(tree, repository, base)
    tree.move(state)
    count = len(tree.git.fields("diff-tree", "-r", "-z", "--name-only", old, state["tree"]))
    common.say(f"{tree.path}: {len(repository.commits)} commits, {count} files differ from before")


def new_state(tree, repository, base):
    topics = make_commits(tree.git, repository, base)
    head = [base, *topics.values()][-1]
    return {"head": head, "topics": topics, "tree": tree.git("rev-parse", head + "^{tree}"), "base": base,
            "identity": identity(), "files": fingerprints(repository)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tree")
    parser.add_argument("base")
    parser.add_argument("--discard", action="store_true")
    parser.add_argument("--or-keep", action="store_true")
    parser.add_argument("--objects", action="append", default=[])
    options = parser.parse_args()

    repository = Repository.read(os.environ["UNWIND_TOP"])
    base = common.Git(options.base)("rev-parse", "refs/heads/base")
    lenders = [options.base] + [o for o in options.objects if o != options.base]
    if os.path.exists(options.tree):
        tree = Tree(options.tree)
        tree.borrow(lenders)
        update(tree, repository, base, options)
        return
    partial = options.tree + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    tree = Tree(partial)
    tree.create()
    tree.borrow(lenders)
    state = new_state(tree, repository, base)
    common.say(f"writing {options.tree}: {len(repository.commits)} commits on "
               + tree.git("log", "-1", "--format=%s", base))
    tree.move(state)
    os.rename(partial, options.tree)


if __name__ == "__main__":
    common.run(main)
