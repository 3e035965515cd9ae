#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write each topic of the series as patches that can be mailed, to DIRECTORY/TOPIC.

    mail.py TREE DIRECTORY [--no-signoff]

workbench/series/TOPIC/cover is the cover letter: its subject, lines such as `Version: 2` if
this is not the first one, a blank line and its text. `git send-email --to-cover --cc-cover
DIRECTORY/TOPIC/*.patch` sends all to those whom scripts/get_maintainer.pl of the tree names.
"""

import argparse
import os
import re
import shutil
import subprocess

import common
from assemble import Tree, identity, make_commits
from repository import COVER, SERIES, Repository

VERSION = re.compile(r"^Version: ([1-9]\d*)\n", re.MULTILINE)
MAINTAINER = ("--no-git", "--no-git-fallback", "--no-rolestats", "--no-remove-duplicates")


class Cover:
    """The cover letter of a topic."""

    def __init__(self, name):
        with open(name, encoding="utf-8") as file:
            head, _, self.text = file.read().partition("\n\n")
        found = VERSION.search(head + "\n")
        self.version = f" v{found[1]}" if found else ""
        self.subject, *rest = VERSION.sub("", head + "\n").rstrip("\n").split("\n")
        if rest:
            common.die(f"{name}: a subject, perhaps 'Version: N', and a blank line are expected first")

    @staticmethod
    def read(top, topic):
        """None, if the topic has none."""
        name = os.path.join(top, SERIES, topic, COVER)
        return Cover(name) if os.path.exists(name) else None


def addresses(tree, patches, *options):
    """Whom the tree's get_maintainer.pl names for patches."""
    script = os.path.join(tree, "scripts/get_maintainer.pl")
    done = subprocess.run(["perl", script, *MAINTAINER, *options, *patches], cwd=tree, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        common.die(f"{script}: {done.stderr.strip()}")
    return [a for a in dict.fromkeys(done.stdout.split("\n")) if a]


def address(tree, letter, patches):
    """Put the recipients of the patches into the head of the letter."""
    to = addresses(tree, patches, "--no-l", "--no-r")
    cc = [a for a in addresses(tree, patches, "--no-m") if a not in to]
    head = "".join(f"{name}: " + ",\n ".join(found) + "\n"
                   for name, found in (("To", to), ("Cc", cc)) if found)
    with open(letter, encoding="utf-8") as file:
        text = file.read()
    with open(letter, "w", encoding="utf-8") as file:
        file.write(text.replace("\n\n", "\n" + head + "\n", 1))


def fill_cover(name, cover, release, needs):
    with open(name, encoding="utf-8") as file:
        text = file.read()
    blurb = cover.text.strip("\n") + f"\n\nbase-commit: {release}"
    if needs:
        blurb += "\nIt applies after the topics: " + ", ".join(needs)
    text = text.replace("*** SUBJECT HERE ***", cover.subject.strip(), 1)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text.replace("*** BLURB HERE ***", blurb, 1))


def write_topic(tree, top, directory, topic, span, needs, signoff):
    """Write the commits of a topic; return how many there are."""
    cover = Cover.read(top, topic)
    count = int(tree.git("rev-list", "--count", span))
    if not cover and count > 1:
        common.die(f"{SERIES}/{topic} has {count} commits, but no cover letter: {SERIES}/{topic}/{COVER}")
    tree.git(
        "format-patch", "--quiet", "--zero-commit", "--no-renames", "--abbrev=12", "--binary",
        "--numbered", "--no-signature", "--cover-letter" if cover else "--no-cover-letter",
        f"--subject-prefix=PATCH{cover.version if cover else ''}", *signoff, "-o",
        os.path.abspath(directory), span, env=identity())
    letter, *patches = [os.path.join(directory, n) for n in sorted(os.listdir(directory))]
    if cover:
        release = tree.git("log", "-1", "--format=%s", tree.state["base"]).replace("Linux ", "v")
        fill_cover(letter, cover, release, needs)
    address(tree.path, letter, [os.path.abspath(p) for p in patches or [letter]])
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tree")
    parser.add_argument("directory")
    parser.add_argument("--no-signoff", action="store_true")
    options = parser.parse_args()
    top = os.environ["UNWIND_TOP"]

    signoff = [] if options.no_signoff else ["--signoff"]
    if signoff and not (os.environ.get("UNWIND_NAME") and os.environ.get("UNWIND_EMAIL")):
        common.die("the patches are signed off with your git identity, and none is set: "
                   "git config --global user.name ..., user.email ...")
    repository = Repository.read(top)
    if not repository.commits:
        common.die(f"there is no commit in {SERIES}/")
    tree = Tree(options.tree)
    # Make the commits anew, so that the author is the current user.
    ends = make_commits(tree.git, repository, tree.state["base"])
    partial = options.directory + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    before, done, count = tree.state["base"], [], 0
    for topic, end in ends.items():
        os.makedirs(os.path.join(partial, topic))
        count += write_topic(tree, top, os.path.join(partial, topic), topic, f"{before}..{end}",
                             done, signoff)
        before = end
        done.append(topic)
    shutil.rmtree(options.directory, ignore_errors=True)
    os.rename(partial, options.directory)
    common.say(f"{options.directory}: {count} patches in {len(ends)} topics")


if __name__ == "__main__":
    common.run(main)
