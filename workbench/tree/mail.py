#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the series as patches that can be mailed.

    mail.py TREE DIRECTORY [--no-signoff]

The numbers in the cover letter are made here. workbench/series/cover has marks in their
place. NAME is that of a patch's file in workbench/series, without its number:

    {{NAME}} text    a line of the table of groups: this patch is the first of its
                     group, which ends where the group of the next line begins
    {NAME...}        the numbers of the patches of the group that begins with this one
    {NAME}           the number of this patch
"""

import argparse
import os
import re
import shutil

import common
from assemble import Tree, identity, make_commits
from repository import SERIES, SERIES_NAME, Repository

COVER = "0000-cover-letter.patch"
GROUP = re.compile(r"^( *)\{\{(.*?)\}\}", re.MULTILINE)
MARK = re.compile(r"\{(.*?)(\.\.\.)?\}")


def number_patches(text, names):
    """The cover letter with numbers in place of its marks; names are those of the patches."""
    numbers = {name: number for number, name in enumerate(names, 1)}

    def number_of(name):
        if name not in numbers:
            common.die(f"{SERIES}/cover: no patch of the series is called '{name}'")
        return numbers[name]

    firsts = [number_of(name) for _, name in GROUP.findall(text)]
    if firsts and (firsts[0] != 1 or any(a >= b for a, b in zip(firsts, firsts[1:]))):
        common.die(f"{SERIES}/cover: the groups must begin with the first patch, and be in the "
                   "order of the series")
    last = {first: following - 1 for first, following in zip(firsts, [*firsts[1:], len(names) + 1])}
    width = len(str(len(names)))

    def table_line(match):
        first = number_of(match[2])
        if last[first] == first:
            return f"{match[1]}{'':{width}}   {first:{width}}"
        return f"{match[1]}{first:{width}} - {last[first]:{width}}"

    def in_text(match):
        first = number_of(match[1])
        if not match[2]:
            return str(first)
        if first not in last:
            common.die(f"{SERIES}/cover: no group begins with '{match[1]}'")
        if last[first] == first:
            return str(first)
        return f"{first} {'and' if last[first] == first + 1 else 'to'} {last[first]}"

    return MARK.sub(in_text, GROUP.sub(table_line, text))


def fill_cover(top, directory, names):
    with open(os.path.join(top, SERIES, "cover"), encoding="utf-8") as file:
        subject, _, blurb = number_patches(file.read(), names).partition("\n")
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
    names = [SERIES_NAME.fullmatch(c.name)[2] for c in repository.commits]
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
        fill_cover(top, partial, names)
    shutil.rmtree(options.directory, ignore_errors=True)
    os.rename(partial, options.directory)
    count = len([n for n in os.listdir(options.directory) if n != COVER])
    common.say(f"{options.directory}: {count} patches" + (" and a cover letter" if cover else ""))


if __name__ == "__main__":
    common.run(main)
