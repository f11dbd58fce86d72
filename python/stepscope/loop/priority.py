# SPDX-License-Identifier: Apache-2.0
"""Processes that run during training take only the time that training leaves.

SCHED_IDLE (Linux) weighs 3 where training weighs 1024; nice 19 weighs 15.
"""

# The shell becomes the command, which so has its priority from its first instruction on. A container may
# forbid SCHED_IDLE, and util-linux may be missing: then there is nice.
_IDLE = 'chrt --idle -p 0 $$ >/dev/null 2>&1; exec nice -n 19 "$0" "$@"'


def idle_command(*command: str) -> list[str]:
    """The command, of the lowest priority."""
    return ["/bin/sh", "-c", _IDLE, *command]
