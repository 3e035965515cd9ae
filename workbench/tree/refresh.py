#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Bring the working tree's commits and edits back into the repository.

    refresh.py TREE [--discard]

It makes the repository's files anew from the commits after the base. Uncommitted
edits go into the commit that last touched the file.
"""

import argparse
import os
import re

import common
from assemble import NOTHING, SHOWN, TOPICS, Tree, fingerprints, identity, make_commits, put
from repository import SERIES, SERIES_NAME, STEPS, Commit, Repository, Step, is_kernel_part

FIRST_TOPIC = "01-all"
# An edit of a file reaches the commit that wrote the line through steps only.
SPARED = 6
DIFF = ("diff-tree", "-p", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
        "--binary", "--abbrev=12", "--inter-hunk-context=0", "--indent-heuristic",
        "--diff-algorithm=histogram", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")


class Change:
    """One commit of the tree, with the edits folded into it."""

    def __init__(self, subject, message, files, topic):
        self.subject = subject
        self.message = message
        self.files = files  # path -> (mode, object) after this commit
        self.topic = topic  # that the tree says it is of, or None
        self.name = None


def differences(git, old, new):
    """path -> ((mode, object) before, the same after)"""
    out = git.fields("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    found = {}
    for meta, path in zip(out[::2], out[1::2]):
        old_mode, new_mode, old_id, new_id, _ = meta[1:].split(" ")
        found[path] = ((old_mode, old_id), (new_mode, new_id))
    return found


def read_commits(git, base, head):
    if git("merge-base", base, head) != base:
        common.die("the tree's commits are no longer on top of the base: rebase them onto "
                   + base[:12])
    changes = []
    topics = topics_of_commits(git, base)
    for line in git.lines("rev-list", "--reverse", "--topo-order", "--parents", f"{base}..{head}"):
        commit, *parents = line.split(" ")
        message = git("log", "-1", "--format=%B", commit).strip("\n")
        subject = message.split("\n", 1)[0]
        if len(parents) != 1:
            common.die(f"commit {commit[:12]} ({subject}) is a merge: the series must be a line")
        if any(c.subject == subject for c in changes):
            common.die(f"two commits have the subject '{subject}'")
        after = {p: new for p, (_, new) in differences(git, parents[0], commit).items()}
        changes.append(Change(subject, message, after, topics.get(commit)))
    return changes


def topics_of_commits(git, base):
    """commit -> its topic, as the references to the ends of topics say"""
    found = {}
    for line in git.lines("for-each-ref", "--format=%(refname)", TOPICS):
        for commit in git.lines("rev-list", f"{base}..{line}"):
            found.setdefault(commit, line[len(TOPICS):])
    return found


def home_of(path, changes):
    """The last commit with the path, or else with a file in the nearest directory."""
    for change in reversed(changes):
        if path in change.files:
            return change
    directory = os.path.dirname(path)
    while directory:
        for change in reversed(changes):
            if any(os.path.dirname(p) == directory for p in change.files):
                return change
        for change in reversed(changes):
            if any(p.startswith(directory + "/") for p in change.files):
                return change
        directory = os.path.dirname(directory)
    return changes[-1]


def fold_edits(git, changes, head, tree):
    for path, (_, after) in differences(git, head, tree).items():
        if not changes:
            common.die(f"{path} is edited, but there is no commit to put it in: commit it")
        change = home_of(path, changes)
        change.files[path] = after
        common.say(f"{path}: put into '{change.subject}'")


def base_files(git, base, paths):
    """The base's entries at these paths."""
    out = git.fields("ls-tree", "-r", "-z", base, "--", *paths) if paths else []
    return {line.split("\t", 1)[1]: (line.split(" ")[0], line.split("\t")[0].split(" ")[2])
            for line in out}


def drop_undone(changes, base):
    """Forget changes that leave a file as it was before them."""
    now = {}
    for change in changes:
        for path, after in list(change.files.items()):
            before = now.get(path, base.get(path, NOTHING))
            if after == before:
                del change.files[path]
            now[path] = after


def last_states(changes):
    """path -> (mode, object) after all of them"""
    return {path: after for change in changes for path, after in change.files.items()}


def check_kept(changes, base):
    """Refuse a file that comes and goes again: the repository cannot store its steps."""
    for path, after in last_states(changes).items():
        if after == base.get(path, NOTHING):
            common.die(f"{path} is the same in the base and after the last commit, but commits touch it:"
                       + "".join(f"\n  {c.subject}" for c in changes if path in c.files)
                       + "\nfold them into one (git rebase -i)")


def slug(subject):
    words = re.sub(r"[^A-Za-z0-9]+", "-", subject).strip("-").lower()
    return words[:52].rstrip("-") or "commit"


def name_commits(changes, known):
    """Names of series files: kept by subject, and renumbered only where needed.

    A commit that is in no topic yet goes into the one of the commit before it.
    """
    kept = {c.subject: c.name.split("/") for c in known}
    topic = next((kept[c.subject][0] if c.subject in kept else c.topic for c in changes
                  if c.subject in kept or c.topic), FIRST_TOPIC)
    topics = {}
    for change in changes:
        before = topic
        topic = kept[change.subject][0] if change.subject in kept else change.topic or topic
        if topic < before:
            common.die(f"'{change.subject}' is of {topic}, but is behind commits of {before}")
        topics.setdefault(topic, []).append(change)
    for topic, within in topics.items():
        name_commits_of_topic(topic, within, kept)


def name_commits_of_topic(topic, changes, kept):
    parts = {s: SERIES_NAME.fullmatch(name).groups() for s, (_, name) in kept.items()}
    numbers = []
    for i, change in enumerate(changes):
        number = parts.get(change.subject, (None,))[0]
        numbers.append(int(number) if number else (numbers[-1] if i else 0) + 1)
    if any(a >= b for a, b in zip(numbers, numbers[1:])):
        numbers = list(range(1, len(changes) + 1))
    for number, change in zip(numbers, changes):
        rest = parts.get(change.subject, (None, slug(change.subject)))[1]
        change.name = f"{topic}/{number:02d}-{rest}"


def make_trees(git, base, changes):
    """The tree after each commit, edits included."""
    index = os.path.join(git.git_dir, "unwind-index")
    bare = common.Git(git.git_dir, index=index)
    trees = []
    try:
        bare("read-tree", base)
        for change in changes:
            put(bare, change.files)
            trees.append(bare("write-tree"))
    finally:
        if os.path.exists(index):
            os.unlink(index)
    return trees


def difference(git, old, new, path, context=3):
    return git.raw(*DIFF, f"--unified={context}", old, new, "--", f":(literal){path}")


def make_step(git, base, before, after, path):
    """What a file is before a commit: as a step, unless the other way spares many lines."""
    step = Step.of_patch("step", path, difference(git, before, after, path, context=1))
    from_base = difference(git, base, before, path, context=1)
    if not from_base:
        return step
    other = Step.of_patch("before", path, from_base)
    return other if other.text.count(b"\n") + SPARED <= step.text.count(b"\n") else step


def make_files(git, base, changes, in_base):
    """The repository's files, as the tree has them."""
    files = {}
    before, touched = base, set()
    for change, tree in zip(changes, make_trees(git, base, changes)):
        paths = sorted(change.files)
        again = [p for p in paths if p in touched]
        if again:
            files[f"{SERIES}/{change.name}{STEPS}"] = (
                "100644", b"".join(make_step(git, base, before, tree, p).section() for p in again))
        files[f"{SERIES}/{change.name}"] = (
            "100644", Commit(change.name, change.message, paths).text())
        before = tree
        touched.update(paths)
    for path, (mode, blob) in last_states(changes).items():
        if path in in_base:
            files[path + ".patch"] = ("100644", difference(git, base, before, path))
        elif is_kernel_part(path) and not path.endswith(".patch"):
            files[path] = (mode, git.raw("cat-file", "blob", blob))
        else:
            common.die(f"{path} is new in the tree, but the repository has no place for a file "
                       "of the kernel under this name")
    return files


def write_file(full, mode, data):
    os.makedirs(os.path.dirname(full), exist_ok=True)
    partial = full + ".partial"
    if mode == "120000":
        os.symlink(data, partial)
    else:
        with open(partial, "wb") as file:
            file.write(data)
        os.chmod(partial, 0o755 if mode == "100755" else 0o644)
    os.rename(partial, full)


def write_repository(top, old, new):
    for path in sorted(old.keys() - new.keys()):
        os.unlink(os.path.join(top, path))
        common.say(f"removed {path}")
        directory = os.path.dirname(path)
        while directory and directory != SERIES and not os.listdir(os.path.join(top, directory)):
            os.rmdir(os.path.join(top, directory))
            directory = os.path.dirname(directory)
    changed = [p for p in sorted(new) if old.get(p) != new[p]]
    for path in changed:
        write_file(os.path.join(top, path), *new[path])
        common.say(f"{'wrote' if path in old else 'added'} {path}")


def check_repository(tree, repository, discard):
    """Edits made on the repository's side must not be overwritten."""
    was, now = tree.state["files"], fingerprints(repository)
    differ = sorted(p for p in was.keys() | now.keys() if was.get(p) != now.get(p))
    if differ and not discard:
        shown = "".join(f"\n  {p}" for p in differ[:SHOWN])
        common.die("these files of the repository changed after the tree was assembled, and "
                   f"refresh would overwrite them:{shown}\nrun 'make tree' to bring them into "
                   "the tree, or 'make refresh DISCARD=1' to overwrite them")


def check_tree(tree):
    for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD"):
        if os.path.exists(os.path.join(tree.git.git_dir, name)):
            common.die(f"{tree.path} is in the middle of a rebase, merge or cherry-pick: finish it")
    unmerged = tree.git.lines("diff", "--name-only", "--diff-filter=U")
    if unmerged:
        common.die(f"{unmerged[0]} has conflicts in {tree.path}: resolve them")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tree")
    parser.add_argument("--discard", action="store_true")
    options = parser.parse_args()
    top = os.environ["UNWIND_TOP"]
    if not os.path.exists(options.tree):
        common.die(f"there is no {options.tree}: run 'make tree'")

    tree = Tree(options.tree)
    tree.recover()
    git, base = tree.git, tree.state["base"]
    check_tree(tree)
    old = Repository.read(top, check=not options.discard)
    check_repository(tree, old, options.discard)

    head = tree.head()
    captured, index = tree.capture()
    changes = read_commits(git, base, head)
    fold_edits(git, changes, head, captured)
    in_base = base_files(git, base, sorted({p for c in changes for p in c.files}))
    drop_undone(changes, in_base)
    for change in [c for c in changes if not c.files]:
        common.say(f"'{change.subject}' changes nothing and is left out")
        changes.remove(change)
    check_kept(changes, in_base)
    name_commits(changes, old.commits)

    new = Repository(make_files(git, base, changes, in_base))
    topics = make_commits(git, new, base)
    made = [base, *topics.values()][-1]
    if git("rev-parse", made + "^{tree}") != captured:
        common.die("refresh would write files that do not assemble to the same tree: "
                   "nothing was written")
    write_repository(top, old.files, new.files)
    # The files in the tree are right already: only git's view of them moves.
    os.rename(index, os.path.join(git.git_dir, "index"))
    tree.set_head(made, topics)
    tree.record(head=made, topics=topics, tree=captured, base=base, identity=identity(),
                files=fingerprints(new))
    common.say(f"the repository assembles to the same tree: {captured[:12]}, "
               f"{len(changes)} commits")


if __name__ == "__main__":
    common.run(main)
