#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test the tools for the series on a tiny base. Prints TAP."""

import os
import shutil
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SERIES = "workbench/series"
TOPIC = SERIES + "/01-core"
BASE = {
    "Makefile": "VERSION = 7\nPATCHLEVEL = 3\n",
    "fs/exec.c": "".join(f"int line{i};\n" for i in range(40)),
    "fs/Makefile": "obj-y += exec.o\n",
    "kernel/fork.c": "int fork;\n",
    "scripts/run": "#!/bin/sh\n",
    # It knows one maintainer and one list.
    "scripts/get_maintainer.pl": 'print "@ARGV" =~ /--no-m/ ? "list\\@localhost (a list)\\n" : '
                                 '"M Aintainer <m\\@localhost>\\n";\n',
    ".gitignore": "*.o\n",
}


class Sandbox:
    """A fake repository, its base and its tree."""

    def __init__(self, root):
        self.top = os.path.join(root, "top")
        self.tree = os.path.join(self.top, "build/tree")
        self.base = os.path.join(root, "base.git")
        source = os.path.join(root, "linux")
        for path, text in BASE.items():
            self.write(path, text, source)
        os.chmod(os.path.join(source, "scripts/run"), 0o755)
        tar = subprocess.run(["tar", "-C", root, "-cf", "-", "linux"], check=True,
                             capture_output=True).stdout
        self.tool("import.py", self.base, "1", "Linux 7.3.4", data=tar)
        self.write(".gitignore", "/build/\n/out/\n")
        self.write("README.md", "not the kernel's\n")
        os.makedirs(os.path.join(self.top, TOPIC))

    def tool(self, name, *args, data=None, fails=False):
        """Run a tool and return its output; a failure must come with an error message."""
        env = os.environ | {"UNWIND_TOP": self.top, "UNWIND_NAME": "A U Thor",
                            "UNWIND_EMAIL": "author@localhost"}
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, name), *args],
                              env=env, input=data, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout.decode()
        if (done.returncode != 0) != fails or "Traceback" in text:
            raise AssertionError(f"{name} ended with {done.returncode}:\n{text}")
        return text

    def assemble(self, *args, **kwargs):
        return self.tool("assemble.py", self.tree, self.base, *args, **kwargs)

    def refresh(self, *args, **kwargs):
        return self.tool("refresh.py", self.tree, *args, **kwargs)

    def git(self, *args, where=None):
        identity = ["-c", "user.name=D E Veloper", "-c", "user.email=dev@localhost"]
        done = subprocess.run(["git", *identity, *args], cwd=where or self.tree,
                              check=True, capture_output=True)
        return done.stdout.decode().rstrip("\n")

    def tree_hash(self, what="HEAD"):
        return self.git("rev-parse", what + "^{tree}")

    def write(self, path, text, root=None):
        full = os.path.join(root or self.top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path, root=None):
        with open(os.path.join(root or self.top, path), encoding="utf-8") as file:
            return file.read()

    def exists(self, path):
        return os.path.lexists(os.path.join(self.top, path))

    def edit(self, path, old, new):
        text = self.read(path, self.tree)
        assert old in text, f"no '{old}' in {path}"
        self.write(path, text.replace(old, new), self.tree)

    def round_trip(self):
        """A tree made anew from the repository equals the existing one."""
        want = self.tree_hash()
        assert self.git("status", "--porcelain") == "", "the tree is not clean"
        shutil.move(self.tree, self.tree + ".old")
        self.assemble()
        shutil.rmtree(self.tree + ".old")
        assert self.tree_hash() == want, "the repository assembles to another tree"


def patch(path, old, new, line, *context):
    return (f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
            f"@@ -{line},{len(context) + 1} +{line},{len(context) + 1} @@\n-{old}\n+{new}\n"
            + "".join(f" {c}\n" for c in context))


PATCH = patch("fs/exec.c", "int line20;", "int second;", 21, "int line21;", "int line22;")
STEP = "step fs/exec.c\n" + "".join(PATCH.splitlines(keepends=True)[3:])


def assemble_from_nothing(box):
    box.write("fs/unwind.c", "int unwind;\n")
    box.write("tools/unwind.sh", "#!/bin/sh\n")
    os.chmod(os.path.join(box.top, "tools/unwind.sh"), 0o755)
    box.write("fs/exec.c.patch",
              patch("fs/exec.c", "int line0;", "int first;", 1, "int line1;", "int line2;")
              + "".join(PATCH.splitlines(keepends=True)[3:]))
    box.write(f"{TOPIC}/02-tools.steps", STEP)
    box.write(f"{TOPIC}/01-unwind", "fs: unwind\n\nA body.\n---\nfs/unwind.c\nfs/exec.c\n")
    box.write(f"{TOPIC}/02-tools", "tools: a script\n---\ntools/unwind.sh\nfs/exec.c\n")
    box.assemble()
    assert box.git("log", "--format=%s").split("\n") == ["tools: a script", "fs: unwind", "Linux 7.3.4"]
    text = box.read("fs/exec.c", box.tree)
    assert "int first;" in text and "int second;" in text
    assert "second" not in box.git("show", "HEAD~1:fs/exec.c")
    assert os.access(os.path.join(box.tree, "tools/unwind.sh"), os.X_OK)
    assert "Makefile.patch" not in os.listdir(box.top)


def old_times(box):
    """Give each file of the tree an old time that is in git's index."""
    for directory, names, files in os.walk(box.tree):
        if ".git" in names:
            names.remove(".git")
        for name in files:
            os.utime(os.path.join(directory, name), (1000000000, 1000000000))
    box.git("update-index", "-q", "--refresh")


def untouched(box, path):
    return os.stat(os.path.join(box.tree, path)).st_mtime == 1000000000


def incremental(box):
    old_times(box)
    box.write("fs/unwind.c", "int unwind;\nint more;\n")
    box.assemble()
    assert "more" in box.read("fs/unwind.c", box.tree)
    assert not untouched(box, "fs/unwind.c")
    for path in ("fs/exec.c", "kernel/fork.c", "tools/unwind.sh", "Makefile"):
        assert untouched(box, path), f"{path} was written again"
    assert "up to date" in box.assemble()


def interrupted(box):
    good = box.tree_hash()
    name = os.path.join(box.tree, ".git/unwind.json")
    state = box.read(name)
    box.write(name, '{"pending": ' + state + "}")
    box.write("fs/unwind.c", "half", box.tree)
    box.write(".git/index.lock", "", box.tree)
    assert "interrupted" in box.assemble()
    assert box.tree_hash() == good and box.git("status", "--porcelain") == ""


def refuses_to_drop(box):
    box.edit("kernel/fork.c", "fork", "spoon")
    box.write("fs/new.c", "int new;\n", box.tree)
    text = box.assemble(fails=True)
    assert "kernel/fork.c" in text and "fs/new.c" in text and "make refresh" in text
    assert "spoon" in box.read("kernel/fork.c", box.tree)
    assert "as it stands" in box.assemble("--or-keep")
    assert "spoon" in box.read("kernel/fork.c", box.tree)
    box.assemble("--discard")
    assert "spoon" not in box.read("kernel/fork.c", box.tree)
    assert not os.path.exists(os.path.join(box.tree, "fs/new.c"))
    box.git("commit", "-q", "--allow-empty", "-m", "mine")
    assert "mine" in box.assemble(fails=True)
    box.assemble("--discard")


def bad_patch(box):
    good = box.read("fs/exec.c.patch")
    head = box.git("rev-parse", "HEAD")
    box.write("fs/exec.c.patch", good.replace("-int line20;", "-int other;"))
    text = box.assemble(fails=True)
    for word in ("fs/exec.c.patch", "patch failed"):
        assert word in text, text
    box.write("fs/exec.c.patch", good)
    for step in (STEP.replace("+int second;", "+int other;"), STEP.replace(" int line21;", " int line;")):
        box.write(f"{TOPIC}/02-tools.steps", step)
        text = box.assemble(fails=True)
        for word in ("02-tools.steps", "fs/exec.c", "patch failed"):
            assert word in text, text
    box.write(f"{TOPIC}/02-tools.steps", STEP)
    assert box.git("rev-parse", "HEAD") == head and box.git("status", "--porcelain") == ""


def bad_lists(box):
    name = f"{TOPIC}/02-tools"
    good = box.read(name)
    for text, word in ((good + "fs/none.c\n", "fs/none.c"),
                       (good.replace("tools/unwind.sh\n", ""), "tools/unwind.sh belongs to no commit"),
                       (good.replace("fs/exec.c\n", ""), "02-tools does not list"),
                       (good + "fs/unwind.c\n", "02-tools.steps must say"),
                       ("no paths\n", "expected")):
        box.write(name, text)
        assert word in box.assemble(fails=True)
    box.write(name, good)
    for path, text, word in ((f"{TOPIC}/01-unwind.steps", STEP, "no earlier commit touches"),
                             (f"{TOPIC}/03-none.steps", STEP, "belongs to no commit"),
                             (f"{TOPIC}/01-unwind.steps", "text\n", "is expected first"),
                             (f"{TOPIC}/1-short", "text\n---\n", "are named"),
                             (f"{SERIES}/01-stray", "text\n---\n", "are named")):
        box.write(path, text)
        assert word in box.assemble(fails=True)
        os.unlink(os.path.join(box.top, path))
    assert "up to date" in box.assemble()


def refresh_edits(box):
    old_times(box)
    box.edit("fs/unwind.c", "int more;", "int edited;")
    box.edit("fs/exec.c", "int second;", "int second_edited;")
    box.edit("kernel/fork.c", "int fork;", "int fork_edited;")
    box.write("tools/other.sh", "#!/bin/sh\n", box.tree)
    os.chmod(os.path.join(box.tree, "tools/other.sh"), 0o755)
    text = box.refresh()
    assert "same tree" in text and "tools/other.sh: put into 'tools: a script'" in text
    assert "edited" in box.read("fs/unwind.c")
    assert "second_edited" in box.read("fs/exec.c.patch")
    assert "second_edited" in box.read(f"{TOPIC}/02-tools.steps")
    assert "second" not in box.git("show", "HEAD~1:fs/exec.c")
    assert os.access(os.path.join(box.top, "tools/other.sh"), os.X_OK)
    assert box.exists("kernel/fork.c.patch")
    assert untouched(box, "Makefile") and untouched(box, "tools/unwind.sh")
    assert "up to date" in box.assemble()
    box.round_trip()


def refresh_commit(box):
    box.write("mm/table.c", "int table;\n", box.tree)
    box.edit("fs/Makefile", "exec.o", "exec.o unwind.o")
    box.git("add", "-A")
    box.git("commit", "-q", "-m", "mm: a table\n\nWhy.")
    box.refresh()
    assert box.read(f"{TOPIC}/03-mm-a-table") == \
        "mm: a table\n\nWhy.\n---\nfs/Makefile\nmm/table.c\n"
    assert box.exists("fs/Makefile.patch") and box.exists("mm/table.c")
    box.round_trip()


def refresh_amended(box):
    box.git("commit", "-q", "--amend", "-m", "mm: the table")
    box.refresh()
    assert box.exists(f"{TOPIC}/03-mm-the-table")
    assert not box.exists(f"{TOPIC}/03-mm-a-table")
    box.round_trip()


def refresh_inserted(box):
    table = box.git("rev-parse", "HEAD")
    box.git("reset", "-q", "--hard", "HEAD~1")
    box.edit("scripts/run", "sh", "bash")
    box.git("commit", "-q", "-a", "-m", "scripts: bash")
    box.git("cherry-pick", table)
    box.refresh()
    names = sorted(os.listdir(os.path.join(box.top, TOPIC)))
    assert names == ["01-unwind", "02-tools", "02-tools.steps", "03-scripts-bash",
                     "04-mm-the-table"], names
    assert "fs/Makefile" in box.read(f"{TOPIC}/04-mm-the-table")
    assert not box.exists(f"{TOPIC}/04-mm-the-table.steps")
    box.round_trip()


def refresh_removed(box):
    box.git("rm", "-q", "mm/table.c")
    box.edit("kernel/fork.c", "int fork_edited;", "int fork;")
    text = box.refresh()
    assert "removed mm/table.c" in text, text
    assert not box.exists("mm") and not box.exists("kernel")
    box.round_trip()
    os.unlink(os.path.join(box.tree, "kernel/fork.c"))
    box.refresh()
    assert "deleted file" in box.read("kernel/fork.c.patch")
    box.round_trip()


def edited_patch(box):
    """A patch, edited by hand, reaches the commit that wrote the line."""
    box.write("fs/exec.c.patch", box.read("fs/exec.c.patch").replace("+int first;", "+int by_hand;"))
    assert "overwrite" in box.refresh(fails=True)
    box.assemble()
    assert "by_hand" in box.git("show", "HEAD~3:fs/exec.c")
    assert "second" not in box.git("show", "HEAD~3:fs/exec.c")
    box.write("lib/stray.c", "int in_no_commit;\n")
    assert "lib/stray.c belongs to no commit" in box.refresh(fails=True)
    box.refresh("--discard")
    assert not box.exists("lib")
    box.edit("fs/exec.c", "int by_hand;", "int by_tree;")
    box.refresh()
    assert "by_tree" in box.read("fs/exec.c.patch")
    box.round_trip()


def comes_and_goes(box):
    box.write("fs/gone.c", "int gone;\n", box.tree)
    box.git("add", "-A")
    box.git("commit", "-q", "-m", "fs: it comes")
    box.git("rm", "-q", "fs/gone.c")
    box.git("commit", "-q", "-m", "fs: it goes")
    text = box.refresh(fails=True)
    assert "fs/gone.c" in text and "fs: it comes" in text and "fs: it goes" in text
    box.assemble("--discard")


def grows(box):
    """A new file and a changed one grow over three commits, and one in their middle."""
    hashes = []
    for number in range(3):
        box.write("lib/grown.c", "".join(f"int grown{i};\n" for i in range(10 * number + 40)), box.tree)
        box.edit("fs/Makefile", "\n", f" grown{number}.o\n")
        os.chmod(os.path.join(box.tree, "lib/grown.c"), 0o755 if number == 1 else 0o644)
        box.git("add", "-A")
        box.git("commit", "-q", "-m", f"lib: grow {number}")
        hashes.append(box.tree_hash())
    box.refresh()
    assert "grown59" in box.read("lib/grown.c")
    assert "+int grown0;" not in box.read(f"{TOPIC}/06-lib-grow-1.steps")
    assert "grown.c" not in box.read(f"{TOPIC}/05-lib-grow-0.steps")
    box.round_trip()
    assert hashes == [box.tree_hash(f"HEAD~{i}") for i in (2, 1, 0)]

    last = box.git("rev-parse", "HEAD")
    box.git("reset", "-q", "--hard", "HEAD~1")
    box.edit("lib/grown.c", "int grown3;", "int middle;")
    box.git("commit", "-q", "-a", "-m", "lib: middle")
    box.git("cherry-pick", last)
    box.refresh()
    assert "middle" in box.read("lib/grown.c")
    assert "middle" in box.read(f"{TOPIC}/07-lib-middle.steps")
    box.round_trip()

    # An edit goes to the commit that wrote the line.
    box.write("lib/grown.c", box.read("lib/grown.c").replace("int grown10;", "int by_hand;"))
    box.assemble()
    assert "by_hand" in box.git("show", "HEAD~3:lib/grown.c")
    # A step that contains the line has to change as well.
    good = box.read("lib/grown.c")
    box.write("lib/grown.c", good.replace("int grown45;", "int by_hand;"))
    text = box.assemble(fails=True)
    assert "06-lib-grow-1.steps does not fit what lib/grown.c is" in text, text
    box.write("lib/grown.c", good)
    box.assemble()
    # A file that is removed at the end disappears from the repository.
    box.git("reset", "-q", "--hard", "HEAD~4")
    box.refresh()
    assert not box.exists("lib") and not box.exists(f"{TOPIC}/07-lib-middle.steps")
    box.round_trip()


def other_point_release(box):
    """The patches apply to a base with moved lines, and merge with its objects."""
    root = os.path.dirname(box.top)
    source = os.path.join(root, "linux")
    box.write("fs/exec.c", BASE["fs/exec.c"].replace("line3;", "moved3;\nint new;"), source)
    tar = subprocess.run(["tar", "-C", root, "-cf", "-", "linux"], check=True,
                         capture_output=True).stdout
    other = os.path.join(root, "other.git")
    box.tool("import.py", other, "1", "Linux 7.3.5", data=tar)
    tree = box.tree + "-other"
    assert "merged" in box.tool("assemble.py", tree, other, "--objects", box.base)
    text = box.read("fs/exec.c", tree)
    assert "by_tree" in text and "second_edited" in text and "moved3" in text


def topics(box):
    """A commit that is moved into another folder is of another topic, and so is what follows."""
    os.makedirs(os.path.join(box.top, SERIES, "02-mm"))
    os.rename(os.path.join(box.top, TOPIC, "04-mm-the-table"), os.path.join(box.top, SERIES, "02-mm/01-mm-the-table"))
    head = box.git("rev-parse", "HEAD")
    box.assemble()
    assert box.git("rev-parse", "HEAD", "refs/topics/01-core", "refs/topics/02-mm").split() == \
        [head, box.git("rev-parse", "HEAD~1"), head]
    box.write("mm/more.c", "int more;\n", box.tree)
    box.git("add", "-A")
    box.git("commit", "-q", "-m", "mm: more")
    box.edit("scripts/run", "bash", "zsh")
    box.refresh()
    assert box.exists(f"{SERIES}/02-mm/02-mm-more") and "zsh" in box.git("show", "refs/topics/01-core:scripts/run")
    box.round_trip()
    # A commit with a new subject belongs where the tree says that it is.
    box.git("commit", "-q", "--amend", "-m", "mm: still more")
    box.git("update-ref", "refs/topics/03-more", "HEAD")
    box.refresh()
    assert box.exists(f"{SERIES}/03-more/01-mm-still-more")
    box.git("reset", "-q", "--hard", "HEAD~1")
    box.refresh()
    assert not box.exists(f"{SERIES}/03-more")
    # Topics stay in their order.
    last = box.git("rev-parse", "HEAD")
    box.git("reset", "-q", "--hard", "HEAD~2")
    box.git("cherry-pick", last)
    box.git("cherry-pick", "ORIG_HEAD~1")
    assert "is behind commits of 02-mm" in box.refresh(fails=True)
    box.assemble("--discard")


def shorter_step(box):
    """A stub that becomes a whole file is stored as it was, and not as a step."""
    box.write("lib/stub.c", "int stub;\n", box.tree)
    box.git("add", "-A")
    box.git("commit", "-q", "-m", "lib: a stub")
    box.write("lib/stub.c", "".join(f"int whole{i};\n" for i in range(40)), box.tree)
    os.chmod(os.path.join(box.tree, "lib/stub.c"), 0o755)
    box.edit("fs/exec.c", "int line30;\n", "")
    box.git("commit", "-q", "-a", "-m", "lib: the whole")
    hashes = [box.tree_hash("HEAD~1"), box.tree_hash()]
    box.refresh()
    steps = box.read(f"{SERIES}/02-mm/03-lib-the-whole.steps")
    assert "before lib/stub.c\nnew file mode 100644\n" in steps and "whole" not in steps, steps
    assert "step fs/exec.c\n" in steps and "index " not in steps and "+++" not in steps, steps
    box.round_trip()
    assert [box.tree_hash("HEAD~1"), box.tree_hash()] == hashes
    # The stub does not change with the file.
    box.write("lib/stub.c", box.read("lib/stub.c").replace("int whole0;", "int by_hand;"))
    box.assemble()
    assert box.git("show", "HEAD~1:lib/stub.c") == "int stub;" and "by_hand" in box.git("show", "HEAD:lib/stub.c")
    box.git("reset", "-q", "--hard", "HEAD~2")
    box.refresh()


def mailable(box):
    out = os.path.join(box.top, "out/series")
    assert "01-core has 3 commits, but no cover letter" in box.tool("mail.py", box.tree, out, fails=True)
    box.write(f"{TOPIC}/cover", "A cover\n\nIts text.\n")
    box.tool("mail.py", box.tree, out)
    names = sorted(f"{t}/{n}" for t in os.listdir(out) for n in os.listdir(os.path.join(out, t)))
    assert len(names) == 5, names
    cover = box.read(names[0], out)
    for line in ("Subject: [PATCH 0/3] A cover", "To: M Aintainer <m@localhost>", "Cc: list@localhost (a list)",
                 "Its text.", "base-commit: v7.3.4"):
        assert f"\n{line}\n" in cover, cover
    last = box.read(names[4], out)
    assert "Subject: [PATCH 1/1] mm: the table" in last and "To: M Aintainer" in last, last
    assert "To:" not in box.read(names[1], out)
    assert "Signed-off-by: A U Thor <author@localhost>" in box.read(names[1], out)
    clone = os.path.join(os.path.dirname(box.top), "am")
    box.git("clone", "-q", box.base, clone, where=box.top)
    box.git("am", "-q", *[os.path.join(out, n) for n in names[1:]], where=clone)
    assert box.git("rev-parse", "HEAD^{tree}", where=clone) == box.tree_hash()
    box.tool("mail.py", box.tree, out, "--no-signoff")
    assert "Signed-off-by" not in box.read(names[1], out)

    # A later version, and what it stands on.
    box.write(f"{SERIES}/02-mm/cover", "Another\nVersion: 2\n\nText.\n")
    box.tool("mail.py", box.tree, out)
    cover = box.read("02-mm/0000-cover-letter.patch", out)
    assert "Subject: [PATCH v2 0/1] Another" in cover and "after the topics: 01-core" in cover, cover
    assert "[PATCH v2 1/1]" in box.read("02-mm/0001-mm-the-table.patch", out)
    box.write(f"{SERIES}/02-mm/cover", "Another\nmore\n\nText.\n")
    assert "are expected first" in box.tool("mail.py", box.tree, out, fails=True)
    os.unlink(os.path.join(box.top, SERIES, "02-mm/cover"))


TESTS = [
    (assemble_from_nothing, "a tree is assembled from nothing"),
    (incremental, "an update does not touch files that stay the same"),
    (interrupted, "an interrupted update is finished"),
    (refuses_to_drop, "edits are dropped only on request"),
    (bad_patch, "a patch that does not apply is named, and the tree is left alone"),
    (bad_lists, "mistakes in the series files are named"),
    (refresh_edits, "edits and new files come back, and assemble to the same tree"),
    (refresh_commit, "a new commit comes back"),
    (refresh_amended, "an amended commit comes back"),
    (refresh_inserted, "a commit in the middle comes back"),
    (refresh_removed, "removed files and undone changes come back"),
    (edited_patch, "a patch of two commits can be edited on both sides"),
    (comes_and_goes, "a file that comes and goes again is refused"),
    (grows, "files grow over several commits"),
    (other_point_release, "the series goes onto another point release"),
    (topics, "commits are of the topic in whose folder they are"),
    (shorter_step, "a step is stored in the shorter of two ways"),
    (mailable, "the mailed topics apply to the base and give the same tree"),
]


def main():
    failed = 0
    print(f"1..{len(TESTS)}", flush=True)
    with tempfile.TemporaryDirectory() as root:
        box = None
        for number, (test, title) in enumerate(TESTS, 1):
            try:
                box = box or Sandbox(root)
                test(box)
                print(f"ok {number} - {title}", flush=True)
            except Exception:
                failed += 1
                print(f"not ok {number} - {title}", flush=True)
                for line in traceback.format_exc().splitlines():
                    print(f"# {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
