# SPDX-License-Identifier: GPL-2.0
"""Work in modules that are shared objects: work.py ITERATIONS.

At the end it prints its mappings, and the kernel's list of tables.
"""

import hashlib
import json
import random
import sqlite3
import ssl
import sys
import zlib


def rows(count):
    base = sqlite3.connect(":memory:")
    base.create_function("spell", 1, lambda number: json.dumps([number, str(number)]))
    base.execute("create table t (a integer, b text)")
    base.executemany("insert into t values (?, ?)", ((random.randrange(1000), str(i)) for i in range(count)))
    return base.execute("select spell(a), count(b) from t group by a order by a").fetchall()


def work():
    text = json.dumps(rows(1500))
    again = json.loads(text, object_hook=dict)
    packed = zlib.compress(text.encode())
    return len(again), hashlib.sha256(packed).hexdigest()[:8], hashlib.blake2b(packed).hexdigest()[:8]


random.seed(1)
print(ssl.OPENSSL_VERSION)
for _ in range(int(sys.argv[1])):
    print(*work())
ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
for path in "/proc/self/maps", "/proc/self/unwind_tables":
    with open(path, encoding="utf-8") as file:
        print("==", path)
        print(file.read(), end="")
