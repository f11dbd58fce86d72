# SPDX-License-Identifier: Apache-2.0
"""Lines in the training log, and the words in them."""

from __future__ import annotations

import logging
import sys

_logger = logging.getLogger("stepscope")


def say(text: str, level: int = logging.INFO) -> None:
    """Each line of `text` goes to the logger `stepscope`. If logging is not set up for it (no
    handler, or a level above), it goes to standard error. Never raises."""
    try:
        if _logger.disabled:
            return
        lines = [f"stepscope: {line}" for line in text.splitlines()]
        if _logger.hasHandlers() and _logger.isEnabledFor(level):
            for line in lines:
                _logger.log(level, "%s", line)
        else:
            print("\n".join(lines), file=sys.stderr, flush=True)
    except Exception:  # a closed standard error, a handler that fails
        pass


def warn(text: str) -> None:
    say(text, logging.WARNING)


def span(ns: float) -> str:
    """A time with three digits: 18.1 ms, 203 ms, 1.20 s, 4 min 10 s."""
    if abs(ns) >= 999.5e9:
        minutes, seconds = divmod(round(ns / 1e9), 60)
        return f"{minutes} min {seconds} s"
    units = (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9))
    unit, size = next(entry for entry in units if abs(ns) < 999.5 * entry[1])
    value = ns / size
    digits = 0 if abs(value) >= 99.95 or unit == "ns" else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{digits}f} {unit}"


def ranks(numbers) -> str:
    """rank 3; ranks 0, 2-5, 7. At most eight stretches, then how many more ranks."""
    numbers = sorted(set(numbers))
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    parts = []
    for stretch in stretches[:8]:
        if len(stretch) > 2:
            parts.append(f"{stretch[0]}-{stretch[-1]}")
        else:
            parts.extend(str(number) for number in stretch)
    left = sum(len(stretch) for stretch in stretches[8:])
    more = f" and {left} more" if left else ""
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {', '.join(parts)}{more}"


def steps(first: int, last: int) -> str:
    return f"step {first}" if first == last else f"steps {first}-{last}"
