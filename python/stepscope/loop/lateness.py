# SPDX-License-Identifier: Apache-2.0
"""Late ranks and steps that become longer, from the times of the ranks of a running job.

All ranks of a synchronous job have the same step time, because they wait for each other. The late
rank is the one that does not wait. So the *own work* of a step is compared: its wall time without
the time in which the rank waited for a collective. No clocks are compared between ranks.

A rank is late in a step if its own work takes longer than the median of its peers' (of an even
number the earlier middle, as in telemetry) by at least LEAST_NS and LEAST_SHARE of the step. It is
reported if that holds in more steps than chance explains, and if most of the others wait for it.
Chance: a rank that is like its peers is above their median in at most half of the steps. The sign
test gives the probability of so many late steps, times the number of ranks (Bonferroni); at most
CHANCE. With two ranks 18 of 18 steps are enough, or 73 of 100; nothing is assumed of the noise but
that steps are independent. The last SHORT and the last RECENT steps are judged, so that a rank that
becomes late is named soon, and one that is late now and then too.

Units: integer nanoseconds. Pure functions and plain data; no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

PHASES = ("data", "forward", "loss", "backward", "wait", "after_backward", "optimizer", "other")
WAIT = PHASES.index("wait")

WHERE = {
    "data": "in loading data",
    "forward": "in forward",
    "loss": "between forward and backward",
    "backward": "in backward",
    "after_backward": "between backward and the optimizer",
    "optimizer": "in the optimizer",
    "other": "outside forward, backward, optimizer and data loading",
}

LEAST_NS = 1_000_000
LEAST_SHARE = 0.03
CHANCE = 1e-5
SHORT = 30  # steps
RECENT = 100
SLOWER_SHARE = 0.05  # a smaller change of the step time is not reported
REFERENCE = 50  # steps that a change of the step time is compared with

# Times of a step by phase, in the order of PHASES. Their sum is the step's wall time.
Times = tuple[int, ...]


def own(times: Times) -> int:
    return sum(times) - times[WAIT]


def median(values) -> int:
    """Of an even number the earlier middle."""
    values = sorted(values)
    return values[(len(values) - 1) // 2]


def chance_of(times: int, trials: int) -> float:
    """The probability of at least `times` heads in `trials` throws of a fair coin."""
    return sum(math.comb(trials, k) for k in range(times, trials + 1)) / 2**trials


@dataclass(frozen=True)
class Late:
    """A late rank. Times are medians over the judged steps, in ns."""

    rank: int
    steps: int  # that were judged
    late_steps: int
    late_ns: int  # own work beyond the median of the peers
    step_ns: int
    where: str  # the phase with most of it
    where_ns: int  # own work beyond the peers' median in that phase
    waiting: tuple[int, ...]  # ranks that wait at least half of late_ns longer than it
    wait_ns: int  # how much longer, median over them

    def sentence(self, words) -> str:
        most = WHERE[self.where]
        if self.where_ns < 0.8 * self.late_ns:
            most = f"{words.span(self.where_ns)} of it {most}"
        one = len(self.waiting) == 1
        return (
            f"rank {self.rank} is late: its own work takes {words.span(self.late_ns)} longer than"
            f" its peers' in a step of {words.span(self.step_ns)}, {most};"
            f" {words.ranks(self.waiting)} {'waits' if one else 'wait'}"
            f" {words.span(self.wait_ns)} longer than it"
            f" ({self.late_steps} of the last {self.steps} steps)"
        )


def late_ranks(group: dict[int, dict[int, Times]]) -> list[Late]:
    """`group`: times by rank and step, of ranks that do the same work. Only steps that all ranks
    have count. The latest rank first."""
    if len(group) < 2:
        return []
    steps = sorted(set.intersection(*(set(rank) for rank in group.values())))[-RECENT:]
    found = _late_in(group, steps[-SHORT:])
    if len(steps) > SHORT:
        named = {entry.rank for entry in found}
        found += [entry for entry in _late_in(group, steps) if entry.rank not in named]
    return sorted(found, key=lambda entry: -entry.late_ns)


def _late_in(group: dict[int, dict[int, Times]], steps: list[int]) -> list[Late]:
    if not steps:
        return []
    late: dict[int, list[int]] = {rank: [] for rank in group}
    hits = dict.fromkeys(group, 0)
    for step in steps:
        works = {rank: own(times[step]) for rank, times in group.items()}
        middle = median(works.values())
        least = max(LEAST_NS, LEAST_SHARE * median(sum(times[step]) for times in group.values()))
        for rank, work in works.items():
            late[rank].append(work - middle)
            hits[rank] += work - middle >= least
    waits = {rank: [times[step][WAIT] for step in steps] for rank, times in group.items()}
    suspects = [rank for rank in group if len(group) * chance_of(hits[rank], len(steps)) <= CHANCE]
    others = [rank for rank in group if rank not in suspects]
    out = []
    for rank in suspects:
        late_ns = median(late[rank])
        longer = {
            other: median(w - mine for w, mine in zip(waits[other], waits[rank]))
            for other in others
        }
        waiting = tuple(other for other in others if longer[other] >= late_ns / 2)
        if not waiting or 2 * len(waiting) <= len(others):
            continue
        where, where_ns = _where(group, rank, steps)
        out.append(
            Late(
                rank,
                len(steps),
                hits[rank],
                late_ns,
                median(sum(group[rank][step]) for step in steps),
                where,
                where_ns,
                waiting,
                median(longer[other] for other in waiting),
            )
        )
    return out


def _where(group, rank: int, steps) -> tuple[str, int]:
    best, most = "other", 0
    for index, phase in enumerate(PHASES):
        if index == WAIT:
            continue
        more = median(
            group[rank][step][index] - median(times[step][index] for times in group.values())
            for step in steps
        )
        if more > most:
            best, most = phase, more
    return best, most


@dataclass(frozen=True)
class Slower:
    """Steps have become longer. Times are medians, in ns."""

    before_ns: int  # of the first REFERENCE steps
    now_ns: int  # of the last REFERENCE steps
    since: int  # the step from which on most are longer
    where: str  # the phase of own work that grew most
    where_ns: int
    ranks: tuple[int, ...]  # whose own work grew by at least half of the change; all if equal

    def sentence(self, words, world: int) -> str:
        who = f" of {words.ranks(self.ranks)}"
        if len(self.ranks) == world:
            who = " of all ranks" if world > 1 else ""
        text = (
            f"steps have become longer since about step {self.since}:"
            f" {words.span(self.now_ns)} instead of {words.span(self.before_ns)}"
            f" (+{100 * (self.now_ns / self.before_ns - 1):.0f} %)"
        )
        if self.ranks and self.where_ns > 0:
            return text + f"; most of it {WHERE[self.where]}{who} (+{words.span(self.where_ns)})"
        return text + "; own work has not grown so much: communication takes longer"


def slower(first: dict[int, dict[int, Times]], last: dict[int, dict[int, Times]]) -> Slower | None:
    """`first` and `last`: times by rank and step, REFERENCE steps each. The step times of `last`
    are compared with the median of `first`: by the sign test as above, and by their ratio."""
    ranks = sorted(set(first) & set(last))
    if not ranks:
        return None

    def walls(times):
        steps = sorted(set.intersection(*(set(times[rank]) for rank in ranks)))
        return {step: median(sum(times[rank][step]) for rank in ranks) for step in steps}

    before, now = walls(first), walls(last)
    if len(before) < REFERENCE // 2 or len(now) < REFERENCE // 2:
        return None
    usual = median(before.values())
    longer = sum(wall > usual * (1 + SLOWER_SHARE / 2) for wall in now.values())
    now_ns = median(now.values())
    if now_ns < usual * (1 + SLOWER_SHARE) or chance_of(longer, len(now)) > CHANCE:
        return None

    def grown(rank, index):
        return median(last[rank][step][index] for step in now) - median(
            first[rank][step][index] for step in before
        )

    def own_grown(rank):
        return median(own(last[rank][step]) for step in now) - median(
            own(first[rank][step]) for step in before
        )

    change = now_ns - usual
    who = tuple(rank for rank in ranks if own_grown(rank) >= change / 2)
    phases = [index for index in range(len(PHASES)) if index != WAIT]
    where = max(phases, key=lambda i: median(grown(rank, i) for rank in who or ranks))
    since = next(step for step, wall in now.items() if wall > usual * (1 + SLOWER_SHARE / 2))
    return Slower(
        usual,
        now_ns,
        since,
        PHASES[where],
        median(grown(rank, where) for rank in who or ranks),
        who,
    )
