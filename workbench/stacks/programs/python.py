# SPDX-License-Identifier: GPL-2.0
"""Work for the profiler: python.py ITERATIONS.

Usual work of stock Python: text to data and back, regular expressions, compression,
sorting.  C calls back into Python on the way.  The output depends only on the number of
iterations.
"""

import collections
import json
import re
import sys
import zlib


def tree(depth):
    return {"name": f"n{depth}", "of": [tree(depth - 1) for _ in range(3)]} if depth else depth


def depth_of(node):
    return 1 + max(map(depth_of, node["of"])) if isinstance(node, dict) else 0


def round_trip():
    text = json.dumps(tree(6), indent=1)
    again = json.loads(text, object_hook=lambda node: dict(sorted(node.items())))
    words = collections.Counter(re.findall(r"\w+", re.sub(r"n(\d)", lambda found: found[1] + "x", text)))
    return depth_of(again), len(zlib.compress(text.encode())), sorted(words, key=lambda word: (-words[word], word))[:3]


for _ in range(int(sys.argv[1])):
    print(*round_trip())
