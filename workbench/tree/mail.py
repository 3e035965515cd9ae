#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the series as patches that can be mailed.

    mail.py TREE DIRECTORY [--no-signoff]
"""

import argparse
import os
import shutil

import common
from assemble import Tree, identity, make_commits
from repository import SERIES, Repository

COVER = "0000-cover-letter.patch"


def fill_cover(top, directory):
    with open(os.path.join(top, SERIES, "cover"), encoding="utf-8") as file:
        subject, _, blurb = file.read().partition("\n")
    name = os.path.join(directory, COVER)
    with open(name, encoding="utf-8") as file:
        text = file.read()
    text = text.replace("*** SUBJECT HERE ***", subject.strip(), 1)
    text = text.replace("*** BLURB HERE ***", blurb.strip("\n"), 1)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


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
    head = make_commits(tree.git, repository, tree.state["base"])
    partial = options.directory + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    cover = os.path.exists(os.path.join(top, SERIES, "cover"))
    tree.git(
        "format-patch", "--quiet", "--zero-commit", "--no-renames", "--abbrev=12", "--binary",
        "--numbered", "--no-signature", "--cover-letter" if cover else "--no-cover-letter",
        *signoff, "-o", os.path.abspath(partial), f"{tree.state['base']}..{head}",
        env=identity())
    if cover:
        fill_cover(top, partial)
    shutil.rmtree(options.directory, ignore_errors=True)
    os.rename(partial, options.directory)
    count = len([n for n in os.listdir(options.directory) if n != COVER])
    common.say(f"{options.directory}: {count} patches" + (" and a cover letter" if cover else ""))


if __name__ == "__main__":
    common.run(main)
