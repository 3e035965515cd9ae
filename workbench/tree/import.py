#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turn a tar archive on standard input into a bare repository with one commit.

    import.py REPOSITORY STRIP SUBJECT

STRIP leading components are cut off the names.  The commit's author, date and
message are fixed, so its id depends on nothing but the files and SUBJECT.
git fast-import writes one pack, several times faster than add and commit.
"""

import subprocess
import sys
import tarfile

import common

# Debian's source package lets git ignore everything but its own directory.
# Here this would hide each file that a developer adds.  In the kernel's
# repository, the file ends with lines like these instead.
DEBIAN_IGNORES = b"#\n# Debian packaging:"
KEPT_DOT_FILES = b"""#
# git files that we don't want to ignore even if they are dot-files
#
!.clang-format
!.cocciconfig
!.editorconfig
!.get_maintainer.ignore
!.gitattributes
!.gitignore
!.kunitconfig
!.mailmap
!.pylintrc
!.rustfmt.toml
"""


def contents(archive, member, path):
    """Mode and bytes of a member as git stores them."""
    if member.issym():
        return b"120000", member.linkname.encode()
    data = archive.extractfile(member).read()
    if path == ".gitignore":
        start = data.find(DEBIAN_IGNORES)
        if start >= 0:
            data = data[:start] + KEPT_DOT_FILES
    return (b"100755" if member.mode & 0o100 else b"100644"), data


def quoted(path):
    return b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def main():
    repository, strip, subject = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    git = common.Git(git_dir=repository)
    git("init", "--quiet", "--bare", "--initial-branch=base", repository)
    message = subject.encode() + b"\n"
    ident = f"{common.BASE_IDENT} {common.BASE_DATE}".encode()
    # Make no deltas between files: they take time and save little space.
    with subprocess.Popen(
            git.argv("-c", "core.compression=1", "fast-import", "--quiet", "--depth=0"),
            stdin=subprocess.PIPE, env=git.env) as importer:
        write = importer.stdin.write
        write(b"commit refs/heads/base\ncommitter " + ident
              + b"\ndata %d\n%s" % (len(message), message))
        count = 0
        with tarfile.open(fileobj=sys.stdin.buffer, mode="r|", bufsize=1 << 20) as archive:
            for member in archive:
                if not (member.isreg() or member.issym()):
                    continue
                path = "/".join([p for p in member.name.split("/") if p != "."][strip:])
                mode, data = contents(archive, member, path)
                write(b"M %s inline %s\ndata %d\n" % (mode, quoted(path), len(data)))
                write(data)
                write(b"\n")
                count += 1
        importer.stdin.close()
        if importer.wait() != 0 or count == 0:
            common.die(f"git fast-import did not make {repository}")


if __name__ == "__main__":
    common.run(main)
