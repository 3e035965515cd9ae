# SPDX-License-Identifier: GPL-2.0
"""C calls Python, by code that libffi makes at run time: callback.py LIBRARY."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)


@kind
def back(number):
    return library.mid(number)


while library.more():
    library.call_back(back, 100000)
