#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_digest_seeds.py STEPSCOPE DIR: writes the seeds of the fuzz target for digests into DIR/digest: digests of seeds
of other readers, and their heads and columns without compression (pip install zstandard)."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import zstandard

PROGRAM, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve() / "digest"
CORPUS = Path(__file__).parent / "corpus"
SEEDS = {"kernels": "kineto/full", "edges": "kineto/edges", "ranks": "perfetto/ranks", "counters": "perfetto/counters",
         "nsys": "nsys/whole"}


def inflate(frame, size):
    return zstandard.ZstdDecompressor().decompress(frame, max_output_size=max(size, 1))


def parts(digest):
    size, stored = (int.from_bytes(digest[at:at + 4], "little") for at in (14, 18))
    head = inflate(digest[22:22 + stored], size)
    at, size, columns = 22 + stored, 0, b""
    for trace in json.loads(head)["traces"]:
        for table in trace["tables"]:
            for column in table["columns"]:
                size += column["bytes"]
                if "stored" in column:  # the frame's end
                    columns += inflate(digest[at:at + column["stored"]], size)
                    at, size = at + column["stored"], 0
    return head + b"\0" + columns


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, seed in SEEDS.items():
        if not (CORPUS / seed).exists():
            sys.exit("no seed %s" % seed)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "digest", seed, "--out", folder], cwd=CORPUS, check=True, stdout=subprocess.DEVNULL)
            digest = next(Path(folder).iterdir()).read_bytes()
        (OUT / (name + "_parts")).write_bytes(parts(digest))
        if name in ("kernels", "ranks"):
            (OUT / name).write_bytes(digest)


main()
