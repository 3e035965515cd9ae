# SPDX-License-Identifier: GPL-2.0
"""Common parts of the tools for the series: messages and git."""

import os
import subprocess
import sys

BASE_IDENT = "linux <linux@localhost>"
BASE_DATE = "1767225600 +0000"
FALLBACK_NAME = "unwind tables"
FALLBACK_EMAIL = "series@localhost"

# The user's configuration must not change the result. The repository may belong
# to another id than the one of this process.
FIXED_CONFIG = {
    "advice.detachedHead": "false",
    "commit.gpgSign": "false",
    "core.autocrlf": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "format.signOff": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.directory": "*",
}


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def die(text):
    sys.exit(f"error: {text}")


class GitError(Exception):
    """A git command failed; str() is its message."""


def run(main):
    try:
        main()
    except GitError as error:
        die(f"git: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


class Git:
    """Calls git on one repository: git("log", ...) returns its output."""

    def __init__(self, git_dir, work_tree=None, index=None):
        self.git_dir = os.path.abspath(git_dir)
        self.work_tree = work_tree and os.path.abspath(work_tree)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        self.env.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
                        GIT_TERMINAL_PROMPT="0", LC_ALL="C.UTF-8")
        if index:
            self.env["GIT_INDEX_FILE"] = os.path.abspath(index)

    def with_index(self, index):
        return Git(self.git_dir, self.work_tree, index)

    def argv(self, *args):
        command = ["git", f"--git-dir={self.git_dir}"]
        if self.work_tree:
            command.append(f"--work-tree={self.work_tree}")
        for key, value in FIXED_CONFIG.items():
            command += ["-c", f"{key}={value}"]
        return command + list(args)

    def raw(self, *args, data=None, env=None):
        """The output as bytes."""
        done = subprocess.run(self.argv(*args), input=data, capture_output=True, check=False,
                              env=self.env | (env or {}), cwd=self.work_tree)
        if done.returncode != 0:
            said = (done.stderr + done.stdout).decode(errors="replace").strip()
            raise GitError(said or f"git {args[0]} failed with status {done.returncode}")
        return done.stdout

    def __call__(self, *args, data=None, env=None):
        if isinstance(data, str):
            data = data.encode()
        return self.raw(*args, data=data, env=env).decode(errors="surrogateescape").rstrip("\n")

    def lines(self, *args, **kwargs):
        out = self(*args, **kwargs)
        return out.split("\n") if out else []

    def fields(self, *args, **kwargs):
        """The output of a command with -z."""
        out = self.raw(*args, **kwargs).decode(errors="surrogateescape")
        return out.rstrip("\0").split("\0") if out else []
