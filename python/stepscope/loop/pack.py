# SPDX-License-Identifier: Apache-2.0
"""Packs a trace with gzip: `pack.py PLAIN PACKED`, a process of its own at the lowest priority.

PACKED appears whole or not at all, PLAIN is removed in any case. Prints one line of JSON:
{bytes, tail, steps}: the size of PACKED, its last eight bytes as hexadecimal digits (check sum and
length of the plain text), and the first and last number of its ProfilerStep ranges (null without them). Fails with the
system's message on standard error. Needs the standard library only."""

import contextlib
import gzip
import json
import os
import re
import sys

STEP = re.compile(rb'"ProfilerStep#(\d+)"')
WINDOW = 1 << 20  # bytes that are read at once
OVERLAP = 64  # bytes of the window before, so that no name is cut


def pack(plain: str, packed: str) -> dict:
    part = f"{packed}.{os.getpid()}.part"
    first = last = None
    try:
        with open(plain, "rb") as source:
            with open(part, "wb") as raw, gzip.GzipFile("", "wb", 3, raw, mtime=0) as out:
                before = b""
                while window := source.read(WINDOW):
                    for match in STEP.finditer(before + window):
                        number = int(match.group(1))
                        first = number if first is None else min(first, number)
                        last = number if last is None else max(last, number)
                    before = window[-OVERLAP:]
                    out.write(window)
        with open(part, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(size - 8)
            tail = file.read().hex()
        os.replace(part, packed)
    finally:
        for left in (part, plain):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.remove(left)
    return {"bytes": size, "tail": tail, "steps": None if first is None else [first, last]}


if __name__ == "__main__":
    try:
        print(json.dumps(pack(*sys.argv[1:3])))
    except OSError as error:
        sys.exit(str(error))
