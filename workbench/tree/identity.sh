# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The user's git identity, for the tools that run in the root file system, where the
# user's configuration is not visible.  Empty if the user has none.

UNWIND_NAME=${GIT_AUTHOR_NAME:-$(git -C "$TOP" config user.name || :)}
UNWIND_EMAIL=${GIT_AUTHOR_EMAIL:-$(git -C "$TOP" config user.email || :)}
[ -n "$UNWIND_NAME" ] && [ -n "$UNWIND_EMAIL" ] || UNWIND_NAME='' UNWIND_EMAIL=''
export UNWIND_NAME UNWIND_EMAIL UNWIND_TOP=$TOP
