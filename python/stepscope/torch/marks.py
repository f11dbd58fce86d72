# SPDX-License-Identifier: Apache-2.0
"""The time of a rank's steps by phase. A rank is in one phase at a time, and `enter` ends one and
begins the next, so the times of a step sum to its wall time.

HostMarks reads the host's clock. DeviceMarks records a CUDA event in the current stream at each
mark and reads it later, when the device has passed it, so nothing is synchronised. A wait then is
what the stream waits for, not the host.

Both have: phase (index of the present one), enter(phase) -> index of the phase before, end_step(),
and take() -> list of (step number, times) that are ready; take() may be called by another thread."""

from __future__ import annotations

import collections
from time import perf_counter_ns

from stepscope.loop.lateness import PHASES

_NONE = (0,) * len(PHASES)


class HostMarks:
    def __init__(self):
        self.phase = PHASES.index("other")
        self.steps = 0  # that have ended
        self._last = perf_counter_ns()
        self._times = list(_NONE)
        self._done = collections.deque(maxlen=10_000)  # (number, times)

    def enter(self, phase: int) -> int:
        now = perf_counter_ns()
        before = self.phase
        self._times[before] += now - self._last
        self._last = now
        self.phase = phase
        return before

    def end_step(self) -> None:
        self.enter(self.phase)
        self._done.append((self.steps, tuple(self._times)))
        self._times = list(_NONE)
        self.steps += 1

    def take(self) -> list:
        out = []
        while self._done:
            out.append(self._done.popleft())
        return out


class DeviceMarks:
    """`make_event()` gives an event with record(), query() and elapsed_time(later) in ms:
    torch.cuda.Event(enable_timing=True). Events are used again."""

    def __init__(self, make_event):
        self.phase = PHASES.index("other")
        self.steps = 0
        self._make_event = make_event
        self._free = collections.deque()
        self._marks = [(self.phase, self._event())]  # of the present step: phase, its begin
        self._pending = collections.deque(maxlen=1000)  # (number, marks, end)

    def _event(self):
        try:
            event = self._free.pop()
        except IndexError:
            event = self._make_event()
        event.record()
        return event

    def enter(self, phase: int) -> int:
        before = self.phase
        self.phase = phase
        self._marks.append((phase, self._event()))
        return before

    def end_step(self) -> None:
        end = self._event()
        self._pending.append((self.steps, self._marks, end))
        self._marks = [(self.phase, end)]
        self.steps += 1

    def take(self) -> list:
        out = []
        while self._pending:
            number, marks, end = self._pending[0]
            if not end.query():
                break
            self._pending.popleft()
            times = list(_NONE)
            ends = [event for _, event in marks[1:]] + [end]
            for (phase, begin), finish in zip(marks, ends):
                # Marks of different streams may be out of order: such a stretch has no length.
                times[phase] += max(0, round(begin.elapsed_time(finish) * 1e6))
            self._free.extend(event for _, event in marks)
            out.append((number, tuple(times)))
        return out
