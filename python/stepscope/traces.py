# SPDX-License-Identifier: Apache-2.0
"""The rows of traces, as tables on the memory of the reader."""

from __future__ import annotations

import warnings
from functools import cached_property

from stepscope import _core
from stepscope.errors import InputWarning, UsageError
from stepscope.inputs import files
from stepscope.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class RankTrace:
    """The trace of one rank. Instants are nanoseconds on the clock of the trace.

    slices: every event with a duration (start_ns, dur_ns, name, category, class, track, correlation,
    external_id; 0 in the last two: not recorded). kernels: those of a device. tracks: host threads and
    streams; `track` of a slice is a row of it. collectives, memory, counters: what was recorded of them.
    """

    def __init__(self, trace: _core.RankTables):
        self._trace = trace

    @property
    def rank(self) -> int:
        return self._trace.rank

    @cached_property
    def slices(self) -> Table:
        return Table(self._trace.slices)

    @cached_property
    def kernels(self) -> Table:
        return Table(self._trace.kernels)

    @cached_property
    def tracks(self) -> Table:
        return Table(self._trace.tracks)

    @cached_property
    def collectives(self) -> Table:
        return Table(self._trace.collectives)

    @cached_property
    def memory(self) -> Table:
        return Table(self._trace.memory)

    @cached_property
    def counters(self) -> Table:
        return Table(self._trace.counters)

    def __repr__(self) -> str:
        return f"<RankTrace of rank {self.rank}: {len(self.slices)} slices>"


class TraceSet:
    """The traces of one run: a sequence of RankTrace in the order of their ranks."""

    __slots__ = ("_ranks", "failures")

    def __init__(self, run: _core.ReadRun):
        self._ranks = [RankTrace(trace) for trace in run.ranks]
        self.failures = run.failures
        for failure in self.failures:
            warnings.warn(str(failure), InputWarning, stacklevel=3)

    def __len__(self) -> int:
        return len(self._ranks)

    def __iter__(self) -> Iterator[RankTrace]:
        return iter(self._ranks)

    def __getitem__(self, index: int) -> RankTrace:
        return self._ranks[index]

    @property
    def ranks(self) -> list[int]:
        return [trace.rank for trace in self._ranks]

    def __repr__(self) -> str:
        return f"<TraceSet of ranks {', '.join(map(str, self.ranks))}>"


def read_traces(inputs: Any, *, ranks: int | list[int] | None = None) -> TraceSet:
    """Reads the traces of one run: paths, directories, patterns or file objects. ranks: only these."""
    wanted = [] if ranks is None else [ranks] if isinstance(ranks, int) else list(ranks)
    with files() as place:
        return TraceSet(_core.read_traces(place.paths_of(inputs), wanted))


def read_trace(inputs: Any, *, rank: int | None = None) -> RankTrace:
    """Reads the trace of one rank. rank: which one, where the inputs hold several."""
    found = read_traces(inputs, ranks=rank)
    if len(found) != 1:
        raise UsageError(
            f"the inputs hold {len(found)} ranks", remedy="give rank=N, or call read_traces()"
        )
    return found[0]
