# SPDX-License-Identifier: Apache-2.0
"""What compare() takes as the launches of a side, and check() as its inputs: paths, results, numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping

from stepscope.errors import UsageError
from stepscope.results import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stepscope.inputs import files
    from stepscope.kinds import Inputs, Launches, StepTimes


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


def checked_paths(inputs: Inputs | StepTimes, unit: str | None, place: files) -> list[str]:
    """The paths of what check() reads. Numbers become a table: a column for each rank or phase."""
    columns = _columns_of(inputs)
    if columns is None:
        return place.paths_of(inputs)  # type: ignore[arg-type]
    rows = max(len(times) for times in columns.values())
    lines = [",".join(f"{name}_{unit or 's'}" for name in columns)]
    for i in range(rows):
        lines.append(
            ",".join(
                _cell(name, i, times[i]) if i < len(times) else ""
                for name, times in columns.items()
            )
        )
    return [place.write("step_times.csv", "\n".join(lines) + "\n")]


def _columns_of(inputs: object) -> dict[str, list[object]] | None:
    """Lists of numbers by column; None where the inputs are paths or file objects."""
    if isinstance(inputs, (str, os.PathLike)) or hasattr(inputs, "read"):
        return None
    if isinstance(inputs, Mapping):
        return {
            f"rank{name}" if isinstance(name, int) else _header(name): _list_of(times)
            for name, times in inputs.items()
        } or None
    if not isinstance(inputs, (list, tuple)) and not hasattr(inputs, "__array__"):
        return None
    items = list(inputs)  # type: ignore[arg-type]
    if items and all(map(_is_number, items)):
        return {"step_time": items}
    if items and all(_is_list(item) for item in items):
        return {f"rank{rank}": _list_of(times) for rank, times in enumerate(items)}
    return None


def _header(name: object) -> str:
    if not isinstance(name, str) or not name or set(name) & set(',;\t"\r\n'):
        raise UsageError(
            f"{name!r} is no name of a rank or a phase", remedy='name them "rank0" or "forward"'
        )
    return name


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not (
        isinstance(value, (str, bytes, os.PathLike, Mapping)) or hasattr(value, "read")
    )


def _list_of(times: object) -> list[object]:
    return list(times) if _is_list(times) else [times]  # type: ignore[call-overload]


def _cell(column: str, at: int, time: object) -> str:
    return repr(_step_time(f"{column}[{at}]", time))


def _step_time(name: str, time: object) -> float:
    number = float(time) if _is_number(time) else math.nan  # type: ignore[arg-type]
    if not number > 0 or math.isinf(number):
        raise UsageError(
            f"{name} is {time!r}, which is no step time",
            remedy="give positive numbers: seconds, or another unit with unit='ms'",
        )
    return number


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
    lines += [repr(_step_time(f"{side}[{i}]", time)) for i, time in enumerate(times)]
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
    if _columns_of(inputs) is not None:
        return checked_paths(inputs, None, place)[0]
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
