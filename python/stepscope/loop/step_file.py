# SPDX-License-Identifier: Apache-2.0
"""The file of one rank's steps that `stepscope live` follows: a line of JSON per step, appended when
the step has ended (docs/reference/live.md). Needs the standard library only."""

from __future__ import annotations

import json
import os
import socket
import time

MOST_BYTES = 64 << 20  # then the file becomes NAME.1 in place of an older one, and a new one begins


class StepFile:
    """Raises OSError where a step cannot be written. The next line that is written begins on a line
    of its own and says how many were lost."""

    def __init__(self, folder, rank: int, world: int, peers=None, most_bytes: int = MOST_BYTES):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(os.fspath(folder), f"steps-rank{rank}.jsonl")
        self._most_bytes = most_bytes
        head = {"stepscope": "step", "rank": rank, "world": world}
        if peers is not None:
            head |= {"peers": min(peers), "peer_count": len(peers)}
        head |= {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "run": time.time_ns() // 1000,
        }
        self._head = json.dumps(head, separators=(",", ":"))[:-1]
        self._lost = 0
        self._file = -1
        self._open()

    def write(self, step: int, wall_ns: int, wait_ns: int, phases_ns: dict[str, int]) -> None:
        """phases_ns: parts of the time that is not waiting."""
        row = {
            "step": step,
            "end_us": time.time_ns() // 1000,
            "wall_ns": wall_ns,
            "wait_ns": wait_ns,
            **({"lost": self._lost} if self._lost else {}),
            "phases_ns": {name: ns for name, ns in phases_ns.items() if ns > 0},
        }
        line = self._head + "," + json.dumps(row, separators=(",", ":"))[1:] + "\n"
        data = (("\n" if self._torn else "") + line).encode()
        self._lost += 1
        if self._bytes >= self._most_bytes:
            os.replace(self.path, self.path + ".1")
            os.close(self._file)
            self._file = -1
        if self._file < 0:
            self._open()
        written = os.write(self._file, data)
        self._bytes += written
        self._torn = written < len(data)
        if self._torn:
            raise OSError(f"{self.path}: a step was not written whole: the disk is full")
        self._lost = 0

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(self.path, flags, 0o644)
        self._bytes = os.fstat(self._file).st_size
        self._torn = self._bytes > 0  # an empty line is nothing to a reader
