# SPDX-License-Identifier: Apache-2.0
"""What compare() takes as the launches of a side: paths, results, and lists of numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

from stepscope.errors import UsageError
from stepscope.results import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stepscope.inputs import files
    from stepscope.kinds import Launches


def launches_of(side: str, given: Launches | None, unit: str | None, place: files) -> list[str]:
    """The paths of the launches. `side` is the name of the parameter, `unit` that of numbers."""
    if given is None:
        return []
    if _is_single(given):
        return [_path_of(side, given, unit, place)]
    launches = list(given)  # type: ignore[arg-type]
    if not launches:
        raise UsageError(f"{side} is empty", remedy="give a path, a result or step times")
    if all(map(_is_number, launches)):
        return [_path_of(side, launches, unit, place)]
    return [
        _path_of(side if len(launches) == 1 else f"{side}[{i}]", launch, unit, place)
        for i, launch in enumerate(launches)
    ]


def label_of(given: Launches | None) -> str | None:
    """The name of a side in the answer, where its launches are numbers: its paths are no names then."""
    if given is None or _is_single(given) and isinstance(given, (str, os.PathLike, Result)):
        return None
    if isinstance(given, (list, tuple)) and isinstance(given[:1], (list, tuple)):
        first = next(iter(given), None)
        return None if isinstance(first, (str, os.PathLike, Result)) else "step times"
    return None if hasattr(given, "read") else "step times"


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not getattr(value, "ndim", 0)


def _is_single(given: object) -> bool:
    """Whether `given` is one launch, and no list."""
    if isinstance(given, (str, os.PathLike, Result)) or hasattr(given, "read"):
        return True
    return not isinstance(given, Iterable) or getattr(given, "ndim", 2) == 1


def _path_of(side: str, launch: object, unit: str | None, place: files) -> str:
    if isinstance(launch, Result):
        return _path_of_result(side, launch, place)
    if isinstance(launch, (str, os.PathLike)) or hasattr(launch, "read"):
        return place.path_of(launch)  # type: ignore[arg-type]
    if isinstance(launch, Iterable):
        return _path_of_numbers(side, list(launch), unit, place)
    raise UsageError(
        f"{side} is {type(launch).__name__}, which is no launch",
        remedy="give a path, a result of analyze() or check(), or step times",
    )


def _path_of_numbers(side: str, times: list[object], unit: str | None, place: files) -> str:
    """A list of step times. Seconds, or in `unit`."""
    lines = [f"step_time_{unit or 's'}"]
    for i, time in enumerate(times):
        number = float(time) if _is_number(time) else math.nan  # type: ignore[arg-type]
        if not number > 0 or math.isinf(number):
            raise UsageError(
                f"{side}[{i}] is {time!r}, which is no step time",
                remedy="give positive numbers: seconds, or another unit with unit='ms'",
            )
        lines.append(repr(number))
    return place.write(f"{side}.csv", "\n".join(lines) + "\n")


def _path_of_result(side: str, result: Result, place: files) -> str:
    """The inputs of a result, as one launch."""
    name = type(result).__name__
    kind = f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
    if result._inputs is None:
        raise UsageError(
            f"{side} is {kind}, which is no launch",
            remedy="give a result of analyze() or check(), a path, or step times",
        )
    if result._part:
        raise UsageError(
            f"{side} is {kind} of a part of its inputs ({', '.join(result._part)})",
            remedy="give a result without these, or step times: a.steps['wall_ns'] with unit='ns'",
        )
    inputs = result._inputs
    sources = (
        [inputs]
        if isinstance(inputs, (str, os.PathLike)) or hasattr(inputs, "read")
        else list(inputs)
    )
    if not all(isinstance(source, (str, os.PathLike)) for source in sources):
        raise UsageError(
            f"{side} is {kind} of file objects, which are read once", remedy="give their paths"
        )
    paths = [os.fspath(source) for source in sources]
    return paths[0] if len(paths) == 1 else place.folder_of(paths)
