# SPDX-License-Identifier: Apache-2.0
"""The traces of one capture, gathered on rank 0. Each rank leaves a record of its trace at the
meeting place; rank 0 finds the file in a shared folder, or asks for its bytes through the place.
All of it runs in a thread during training. Waiting is bounded.

A record: {rank, path, bytes, tail, steps, error}. `tail` distinguishes a file from an older one of the same name.
`error` is why the rank has no trace, or null."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field

CHUNK = 4 << 20  # bytes of a trace in one record
POLL_S = 0.05  # between looks for a record
SHARED_S = 2.0  # a file of another host appears in a shared folder within this time
SENDING_S = 10.0  # a part of a trace arrives within this time


@dataclass
class Gathered:
    """What rank 0 has. `files` in the order of `ranks`; `lost` sent no record; `failed` says why by
    rank; `steps` are the recorded steps by rank (None: the trace names no step)."""

    files: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    steps: dict[int, list[int] | None] = field(default_factory=dict)
    sent: list[int] = field(default_factory=list)  # ranks whose files came through the place
    lost: list[int] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)


def is_here(record: dict) -> bool:
    """Whether this host sees the file that the record describes."""
    try:
        os.listdir(os.path.dirname(record["path"]))  # makes a network file system look again
        with open(record["path"], "rb") as file:
            if file.seek(0, os.SEEK_END) != record["bytes"]:
                return False
            file.seek(record["bytes"] - 8)
            return file.read().hex() == record["tail"]
    except OSError:
        return False


def wait_for(place, key: str, until: float, pause_s: float = POLL_S) -> bytes | None:
    """The record, or None at `until` (time.monotonic)."""
    while True:
        data = place.get(key)
        if data is not None or time.monotonic() >= until:
            return data
        time.sleep(pause_s)


def offer(place, record: dict, until: float) -> None:
    """Leaves this rank's record, then sends the file if rank 0 asks for it."""
    rank = record["rank"]
    place.put(f"record{rank}", json.dumps(record).encode())
    if record["error"]:
        return
    wanted = 0
    while True:
        request = wait_for(place, f"ask{rank}", until)
        if request is None or request == b"done":
            return
        number = int(request)
        if number != wanted:
            if time.monotonic() >= until:
                return
            time.sleep(POLL_S / 10)
            continue
        with open(record["path"], "rb") as file:
            file.seek(number * CHUNK)
            place.put(f"part{rank}.{number}", file.read(CHUNK))
        wanted += 1
        until = max(until, time.monotonic() + SENDING_S)


def fetch(place, record: dict, target: str, until: float) -> None:
    """Writes the file of another rank to `target`. Raises OSError."""
    rank = record["rank"]
    part = f"{target}.{os.getpid()}.part"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        with open(part, "wb") as out:
            for number in range(-(-record["bytes"] // CHUNK)):
                place.put(f"ask{rank}", str(number).encode())
                key = f"part{rank}.{number}"
                data = wait_for(place, key, max(until, time.monotonic() + SENDING_S), POLL_S / 10)
                if data is None:
                    raise OSError(f"rank {rank} stopped sending its trace")
                place.drop(key)
                out.write(data)
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.remove(part)


def gather(place, own: dict, world: int, folder: str, timeout_s: float) -> Gathered:
    """Rank 0 of `world` ranks: `own` is its record. Files that this host does not see are written
    into `folder`. Ranks without a record after `timeout_s` are lost."""
    records = {own["rank"]: own}
    until = time.monotonic() + timeout_s
    missing = [rank for rank in range(world) if rank not in records]
    while missing:
        for rank in missing:
            data = place.get(f"record{rank}")
            if data is not None:
                records[rank] = json.loads(data)
        missing = [rank for rank in missing if rank not in records]
        if not missing or time.monotonic() >= until:
            break
        time.sleep(POLL_S)
    out = Gathered(lost=missing)
    here = time.monotonic() + SHARED_S
    for rank in sorted(records):
        record = records[rank]
        path = record["path"]
        try:
            if record["error"]:
                out.failed[rank] = record["error"]
                continue
            while not is_here(record) and time.monotonic() < here:
                time.sleep(POLL_S)
            if not is_here(record):
                path = os.path.join(folder, os.path.basename(record["path"]))
                fetch(place, record, path, until)
                out.sent.append(rank)
        except OSError as error:
            out.failed[rank] = str(error)
            continue
        finally:
            if rank != own["rank"]:
                place.drop(f"record{rank}")
                place.put(f"ask{rank}", b"done")
        out.files.append(path)
        out.ranks.append(rank)
        out.steps[rank] = record["steps"]
    return out


def common_steps(steps: dict[int, list[int] | None]) -> list[int] | None:
    """First and last step that all ranks recorded; empty without such a step; None if all recorded the
    same steps, or some rank's trace names no step."""
    known = list(steps.values())
    if not known or any(entry is None for entry in known):
        return None
    if all(entry == known[0] for entry in known):
        return None
    first = max(entry[0] for entry in known)
    last = min(entry[1] for entry in known)
    return [first, last] if first <= last else []
