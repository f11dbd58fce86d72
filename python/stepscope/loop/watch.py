# SPDX-License-Identifier: Apache-2.0
"""The judge of a running job: takes the records of its ranks and says what has changed.

As a program it is a process of its own on the host of rank 0: records on standard input, each behind its
length (4 bytes, little endian). The length 0 asks for a judgement: one line of JSON {lines, state}
on standard output. It ends with its standard input. Needs the native module, and no torch.

A record: a line of JSON {rank, world, peers, phase, age_s}, then a row of 64-bit integers for each
step that has ended: its number and its times by phase (lateness.PHASES), in ns. `peers` are the
ranks that do the same work (null: all). `phase` is where the rank is now, for `age_s` seconds since
its last step ended."""

from __future__ import annotations

import array
import json
import os
import sys
import time
from dataclasses import replace

if __name__ == "__main__":  # the package's own folder is no place to import from
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from stepscope.loop import lateness, words

KEPT = 100  # last steps of a rank
COLUMNS = 1 + len(lateness.PHASES)


def encode(rank: int, world: int, peers, phase: str, age_s: float, steps) -> bytes:
    """`steps`: rows (number, times by phase)."""
    head = {"rank": rank, "world": world, "peers": peers, "phase": phase, "age_s": age_s}
    rows = array.array("q")
    for number, times in steps:
        rows.append(number)
        rows.extend(times)
    return json.dumps(head).encode() + b"\n" + rows.tobytes()


def decode(data: bytes):
    """The head, and the steps as encode() takes them. Raises ValueError."""
    head, _, rest = data.partition(b"\n")
    rows = array.array("q")
    rows.frombytes(rest)
    if len(rows) % COLUMNS:
        raise ValueError("a record ends within a step")
    return json.loads(head), [
        (rows[at], tuple(rows[at + 1 : at + COLUMNS])) for at in range(0, len(rows), COLUMNS)
    ]


class Watch:
    """Records go in by add(), what has changed since the last call comes out of judge()."""

    def __init__(self, silent_s: float = 60.0, start: float | None = None):
        self._silent_s = silent_s
        self._start = time.monotonic() if start is None else start
        self._peers: dict[int, tuple[int, ...]] = {}  # by rank
        self._recent: dict[int, dict[int, lateness.Times]] = {}  # by rank and step
        self._first: dict[int, dict[int, lateness.Times]] = {}  # the first steps of each rank
        self._heard: dict[int, tuple[float, str, float]] = {}  # by rank: when, phase, age_s
        self._groups: dict[tuple[int, ...], lateness.Group] = {}  # by their ranks
        self._late: dict[int, int] = {}  # ranks that were reported, and their lateness in ns
        self._slower: float = 1.0  # the ratio that was reported
        self._since = 0  # from which step on
        self._lost: set[int] = set()
        self._stands = False

    def add(self, data: bytes, now: float) -> None:
        """`now`: time.monotonic() of the arrival."""
        head, steps = decode(data)
        rank = head["rank"]
        for other in range(head["world"]):
            self._heard.setdefault(other, (self._start, "other", 0.0))
        self._peers[rank] = tuple(head["peers"] or range(head["world"]))
        self._heard[rank] = (now, head["phase"], head["age_s"])
        recent = self._recent.setdefault(rank, {})
        first = self._first.setdefault(rank, {})
        for number, times in steps:
            recent[number] = times
            if len(first) < lateness.REFERENCE:
                first[number] = times
        for number in sorted(recent)[:-KEPT]:
            del recent[number]

    def judge(self, now: float) -> list[str]:
        return self._silence(now) + self._lateness() + self._change()

    def state(self) -> dict:
        """Flat numbers for W&B, MLflow and TensorBoard: of the last steps, of all ranks."""
        last = {rank: list(times.values())[-20:] for rank, times in self._recent.items() if times}
        if not last:
            return {}
        flat = {"stepscope/step": max(max(times) for times in self._recent.values() if times)}
        works = {r: lateness.median(map(lateness.own, t)) for r, t in last.items()}
        flat["stepscope/step_ms"] = lateness.median(sum(s) for t in last.values() for s in t) / 1e6
        flat["stepscope/own_ms_median"] = lateness.median(works.values()) / 1e6
        flat["stepscope/own_ms_max"] = max(works.values()) / 1e6
        flat["stepscope/late_ranks"] = len(self._late)
        flat["stepscope/late_ms"] = max(self._late.values(), default=0) / 1e6
        if self._late:
            flat["stepscope/late_rank"] = max(self._late, key=self._late.get)
        return flat

    def _lateness(self) -> list[str]:
        found = []
        for peers in sorted(set(self._peers.values())):
            if peers not in self._groups:
                self._groups[peers] = lateness.Group(peers)
            group = self._groups[peers]
            told = {rank: self._recent.get(rank, {}) for rank in peers if rank not in self._lost}
            if len(told) > 1:
                group.add(told)
            found += [entry for entry in group.late() if entry.rank not in self._lost]
        found.sort(key=lambda entry: -entry.late_ns)
        lines = []
        for entry in found:
            before = self._late.get(entry.rank)
            if before is None or entry.late_ns > 2 * before or entry.late_ns < before / 2:
                self._late[entry.rank] = entry.late_ns
                lines.append(entry.sentence(words))
        for rank in sorted(set(self._late) - {entry.rank for entry in found}):
            del self._late[rank]
            if rank not in self._lost:
                lines.append(f"rank {rank} is no longer late")
        return lines

    def _change(self) -> list[str]:
        last = {
            rank: {n: times[n] for n in sorted(times)[-lateness.REFERENCE :]}
            for rank, times in self._recent.items()
            if rank not in self._lost
        }
        first = {rank: self._first[rank] for rank in last}
        if not last or any(
            len(first[rank]) < lateness.REFERENCE or min(last[rank]) <= max(first[rank])
            for rank in last
        ):
            return []  # the two stretches overlap
        entry = lateness.slower(first, last)
        if entry is None:
            if self._slower > 1.0:
                self._slower = 1.0
                return ["steps take as long as the first ones again"]
            return []
        ratio = entry.now_ns / entry.before_ns
        if ratio < 1.1 * self._slower and self._slower > 1.0:
            return []
        if self._slower == 1.0:
            self._since = entry.since
        self._slower = ratio
        return [replace(entry, since=self._since).sentence(words, len(last))]

    def _silence(self, now: float) -> list[str]:
        """Ranks that send nothing, and a job that stands still."""
        lines = []
        heard = {rank for rank, (when, _, _) in self._heard.items() if now - when < self._silent_s}
        lost = set(self._heard) - heard
        for rank in sorted(lost - self._lost):
            steps = self._recent.get(rank)
            last = f"its last step was {max(steps)}" if steps else "it has ended no step"
            lines.append(
                f"rank {rank} has sent nothing for {now - self._heard[rank][0]:.0f} s ({last}): it"
                " has ended, its Python threads do not run, or it cannot reach the others"
            )
        for rank in sorted(self._lost & heard):
            lines.append(f"rank {rank} sends again")
        self._lost = lost
        ages = {rank: self._heard[rank][2] + now - self._heard[rank][0] for rank in heard}
        ended = {rank: max(self._recent[rank]) for rank in heard if self._recent.get(rank)}
        usual = (
            lateness.median(
                sum(times) for steps in self._recent.values() for times in steps.values()
            )
            if ended
            else 0
        )
        stands = bool(ended) and min(ages.values()) > max(self._silent_s, 10 * usual / 1e9)
        if stands and not self._stands:
            where: dict[str, list[int]] = {}
            for rank in sorted(heard):
                where.setdefault(self._heard[rank][1], []).append(rank)
            told = "; ".join(
                f"{words.ranks(ranks)} {'is' if len(ranks) == 1 else 'are'} "
                + ("waiting for a collective" if phase == "wait" else lateness.WHERE[phase])
                for phase, ranks in sorted(where.items(), key=lambda item: len(item[1]))
            )
            lines.append(
                f"no rank has ended a step for {min(ages.values()):.0f} s"
                f" (the last was {max(ended.values())}): {told}"
            )
        if self._stands and not stands:
            lines.append("steps end again")
        self._stands = stands
        return lines


def main() -> None:
    watch = Watch(float(sys.argv[1]))
    source = sys.stdin.buffer
    while len(size := source.read(4)) == 4:
        length = int.from_bytes(size, "little")
        if length:
            watch.add(source.read(length), time.monotonic())
            continue
        lines = watch.judge(time.monotonic())
        print(json.dumps({"lines": lines, "state": watch.state()}), flush=True)


if __name__ == "__main__":
    main()
