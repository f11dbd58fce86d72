# SPDX-License-Identifier: Apache-2.0
"""Processes beside training take only the time that training leaves.

SCHED_IDLE (Linux) weighs 3 where training weighs 1024; nice 19 weighs 15.
"""

import contextlib
import os
import shutil


def idle_command(*command: str) -> list[str]:
    """The command, of the lowest priority from its first instruction on, where util-linux is there."""
    chrt = shutil.which("chrt")
    return [*([chrt, "--idle", "0"] if chrt else []), *command]


def take_idle_time() -> None:
    """The lowest priority for this process and its later threads."""
    os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(OSError):  # a container may forbid it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
