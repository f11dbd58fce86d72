# SPDX-License-Identifier: Apache-2.0
"""The rows of traces, as tables on the memory of the reader."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property

from stepscope import _core
from stepscope.errors import Error, InputWarning, UsageError
from stepscope.inputs import files
from stepscope.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import overload

    from stepscope.kinds import Inputs
else:

    def overload(function):
        return function


class RankTrace:
    """The trace of one rank. Instants are nanoseconds on the clock of the trace.

    slices: every event with a duration (start_ns, dur_ns, name, category, class, track, correlation,
    external_id; 0 in the last two: not recorded). kernels: those of a device. tracks: host threads and
    streams; `track` of a slice is a row of it. collectives, memory, counters: what was recorded of them.
    """

    def __init__(self, trace: _core.RankTables) -> None:
        self._trace = trace

    @property
    def rank(self) -> int:
        """Its number."""
        return self._trace.rank

    @cached_property
    def slices(self) -> Table:
        """Every event with a duration."""
        return Table(self._trace.slices)

    @cached_property
    def kernels(self) -> Table:
        """Kernels, copies and memsets of a device."""
        return Table(self._trace.kernels)

    @cached_property
    def tracks(self) -> Table:
        """Host threads and streams."""
        return Table(self._trace.tracks)

    @cached_property
    def collectives(self) -> Table:
        """What was recorded of collectives."""
        return Table(self._trace.collectives)

    @cached_property
    def memory(self) -> Table:
        """Allocations."""
        return Table(self._trace.memory)

    @cached_property
    def counters(self) -> Table:
        """Values of counters over time."""
        return Table(self._trace.counters)

    def __repr__(self) -> str:
        tables = ("slices", "kernels", "tracks", "collectives", "memory", "counters")
        sizes = ", ".join(f"{len(getattr(self, name))} {name}" for name in tables)
        return f"<RankTrace: rank {self.rank}, {sizes}>"


class TraceSet(Sequence[RankTrace]):
    """The traces of one run: a sequence of RankTrace in the order of their ranks. traces[0] is the
    first of them, which is rank 0 only if rank 0 was recorded; traces[:2] is a TraceSet. failures:
    what could not be read."""

    __slots__ = ("_ranks", "failures")
    failures: list[Error]

    def __init__(self, ranks: list[RankTrace], failures: list[Error]) -> None:
        self._ranks = ranks
        self.failures = failures

    def __len__(self) -> int:
        return len(self._ranks)

    def __iter__(self) -> Iterator[RankTrace]:
        return iter(self._ranks)

    @overload
    def __getitem__(self, index: int) -> RankTrace: ...

    @overload
    def __getitem__(self, index: slice) -> TraceSet: ...

    def __getitem__(self, index: int | slice) -> RankTrace | TraceSet:
        if isinstance(index, slice):
            return TraceSet(self._ranks[index], self.failures)
        return self._ranks[index]

    @property
    def ranks(self) -> list[int]:
        """The numbers of the ranks."""
        return [trace.rank for trace in self._ranks]

    def __repr__(self) -> str:
        ranks = self.ranks
        shown = ", ".join(map(str, ranks[:16])) + (f" … {ranks[-1]}" if len(ranks) > 16 else "")
        return f"<TraceSet: {len(ranks)} {'rank' if len(ranks) == 1 else 'ranks'} ({shown})>"


def read_traces(inputs: Inputs, *, ranks: int | Iterable[int] | None = None) -> TraceSet:
    """Reads the traces of one run: paths, directories, patterns or file objects. ranks: only these."""
    wanted = [] if ranks is None else [ranks] if isinstance(ranks, int) else list(ranks)
    with files() as place:
        run = _core.read_traces(place.paths_of(inputs), wanted)
    for failure in run.failures:
        warnings.warn(str(failure), InputWarning, stacklevel=2)
    return TraceSet([RankTrace(trace) for trace in run.ranks], run.failures)


def read_trace(inputs: Inputs, *, rank: int | None = None) -> RankTrace:
    """Reads the trace of one rank. rank: which one, where the inputs hold several."""
    found = read_traces(inputs, ranks=rank)
    if len(found) != 1:
        raise UsageError(
            f"the inputs hold {len(found)} ranks", remedy="give rank=N, or call read_traces()"
        )
    return found[0]
