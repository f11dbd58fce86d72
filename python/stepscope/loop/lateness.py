# SPDX-License-Identifier: Apache-2.0
"""Late ranks and steps that become longer, from the times of the ranks of a running job.

All ranks of a synchronous job have the same step time, because they wait for each other. The late
rank is the one that does not wait. So the *own work* of a step is compared: its wall time without
the time in which the rank waited for a collective. No clocks are compared between ranks.

How much longer than the median of its peers' (of an even number the earlier middle) a rank's own
work takes is given to the native module. It decides who is late (stepscope/stats/lateness): the
rule for a stream of steps, as for `stepscope live`, names a rank soon. The test of a batch, as for
`stepscope analyze`, finds in the last SHORT and the last RECENT steps what is small in the noise. A
rank that is named is reported if most of the others wait for it.

Units: integer nanoseconds. No torch."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from stepscope._core import LateRule, stands_out

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

SHORT = 30  # steps of a batch
RECENT = 100
SURE = 5  # standard errors of a batch; plus a third for each doubling of the ranks
SLOWER_SHARE = 0.05  # a smaller change of the step time is not reported
REFERENCE = 50  # steps that a change of the step time is compared with

# Times of a step by phase, in the order of PHASES. Their sum is the step's wall time.
Times = tuple[int, ...]


def own(times: Times) -> int:
    return sum(times) - times[WAIT]


def median(values) -> int:
    """The middle value; the earlier one of an even number of values."""
    values = sorted(values)
    return values[(len(values) - 1) // 2]


@dataclass(frozen=True)
class Late:
    """A late rank, in the last steps since it was late."""

    rank: int
    late_ns: int  # own work beyond the median of the peers, mean of the late steps
    step_ns: int  # this and the others: medians
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
        )


class Group:
    """Ranks that do the same work. Steps go in by add(), the late ranks come out of late()."""

    def __init__(self, ranks):
        self.ranks = tuple(ranks)
        self._rule = LateRule(len(self.ranks))
        self._sure = SURE + math.log2(len(self.ranks)) / 3
        self._last: deque[dict[int, Times]] = deque(maxlen=RECENT)
        self._walls: deque[int] = deque(maxlen=RECENT)  # of each of these steps, median
        self._late_by: deque[list[float]] = deque(maxlen=RECENT)  # of each of these steps, by rank
        self._step = -1  # the last one that went in

    def add(self, told: dict[int, dict[int, Times]]) -> None:
        """`told`: times by rank and step, of two ranks or more. The steps that are new and that all
        of them have count."""
        for step in sorted(set.intersection(*map(set, told.values()))):
            if step > self._step:
                self._step = step
                self._add_step({rank: times[step] for rank, times in told.items()})

    def _add_step(self, times: dict[int, Times]) -> None:
        middle = median(map(own, times.values()))
        late = [own(times[r]) - middle if r in times else math.nan for r in self.ranks]
        self._walls.append(median(map(sum, times.values())))
        self._rule.add(late, self._walls[-1])
        self._last.append(times)
        self._late_by.append(late)

    def late(self) -> list[Late]:
        """The latest rank first."""
        named: dict[int, tuple[int, float]] = {}  # by rank: how many of the last steps, and ns
        for at, rank in enumerate(self.ranks):
            if self._rule.named(at):
                named[rank] = (self._rule.rounds_late(at), self._rule.lateness(at))
        for steps in (SHORT, RECENT):
            if len(self._last) < steps:
                break
            least = LateRule.least(median(list(self._walls)[-steps:]))
            for rank, late in zip(self.ranks, zip(*list(self._late_by)[-steps:])):
                if rank in named or any(map(math.isnan, late)) or median(late) < least:
                    continue
                if stands_out(list(late), self._sure):
                    named[rank] = (steps, median(late))
        found = [self._late(rank, steps, round(ns), named) for rank, (steps, ns) in named.items()]
        return sorted(filter(None, found), key=lambda entry: -entry.late_ns)

    def _late(self, rank: int, last: int, late_ns: int, named) -> Late | None:
        steps = [step for step in list(self._last)[-last:] if rank in step]
        others = [r for r in self.ranks if r not in named and all(r in step for step in steps)]
        longer = {r: median(step[r][WAIT] - step[rank][WAIT] for step in steps) for r in others}
        waiting = tuple(r for r in others if longer[r] >= late_ns / 2)
        if 2 * len(waiting) <= len(others):
            return None
        more = {
            phase: median(
                step[rank][index] - median(times[index] for times in step.values())
                for step in steps
            )
            for index, phase in enumerate(PHASES)
            if index != WAIT
        }
        where = max(more, key=more.get)
        return Late(
            rank,
            late_ns,
            median(sum(step[rank]) for step in steps),
            where,
            more[where],
            waiting,
            median(longer[r] for r in waiting),
        )


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
    are compared with the median of `first`: by the test of lateness, and by their ratio."""
    ranks = sorted(set(first) & set(last))
    if not ranks:
        return None

    def walls(times):
        steps = sorted(set.intersection(*(set(times[rank]) for rank in ranks)))
        return {step: median(sum(times[rank][step]) for rank in ranks) for step in steps}

    before, now = walls(first), walls(last)
    if len(before) < REFERENCE // 2 or len(now) < REFERENCE // 2:
        return None
    usual, now_ns = median(before.values()), median(now.values())
    if now_ns < usual * (1 + SLOWER_SHARE) or not stands_out([w - usual for w in now.values()]):
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
