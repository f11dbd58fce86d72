# SPDX-License-Identifier: Apache-2.0
"""A running job, read again and again."""

from __future__ import annotations

from stepscope import _core
from stepscope.inputs import files, flag
from stepscope.results import Live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from stepscope.kinds import Inputs


def follow(
    sources: Inputs,
    *,
    interval: float | str = 1.0,
    silent: float | str | None = None,
    stuck: float | str | None = None,
) -> Iterator[Live]:
    """Follows a running job by the files that it writes: its state once an interval, until the
    caller stops. `events` of a state holds the last 256.

        for state in stepscope.follow("/shared/job42", interval=10):
            if state.late:
                print(state.sentence)

    sources, silent, stuck: as in live(). interval: seconds between two readings, or "20s"."""
    with files() as place:
        arguments = [
            *flag("interval", interval),
            *flag("silent", silent),
            *flag("stuck", stuck),
            "--",
            *place.paths_of(sources),
        ]
        follower = _core.Follower(arguments)
        try:
            while True:
                yield Live(follower.next())
        finally:
            del follower  # a traceback that is kept would keep the job's files open
