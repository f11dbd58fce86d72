# SPDX-License-Identifier: Apache-2.0
"""Types of parameters.

Input: a path, a pattern, a directory or a file object. Inputs: one or several of them.
Named: a name of the catalogue, a file, or a dict that is the content of such a file.
Span: 3, (3, 5), (3, None), range(3, 6) or "3:5". Numbers: 3, [0, 2] or "0,2,8-15".
Settings: {"tp": 8} or "tp=8,zero=1". Axes: {"tp": [1, 2]} or "tp=1,2".
Launch: what compare() takes for one launch or several: a path, a result of analyze() or check(), or
the times of its steps as numbers. StepTimes: what check() takes besides files: times as numbers, a
list of them for each rank, or a dict of lists by rank or phase.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, SupportsFloat, Union

if TYPE_CHECKING:
    from stepscope.results import Analysis, Check

Input = str | os.PathLike[str] | IO[str] | IO[bytes]
Inputs = Input | Iterable[Input]
Named = str | os.PathLike[str] | Mapping[str, object]
Span = int | str | tuple[int | str | None, int | str | None] | range
Numbers = int | str | Iterable[int]
Settings = str | Mapping[str, object]
Axes = str | Sequence[str] | Mapping[str, Iterable[object]]
Launch = Union[Input, "Analysis", "Check", Iterable[SupportsFloat]]
Launches = Launch | Sequence[Launch]
StepTimes = (
    Sequence[SupportsFloat]
    | Sequence[Sequence[SupportsFloat]]
    | Mapping[str, SupportsFloat | Sequence[SupportsFloat]]
    | Mapping[int, Sequence[SupportsFloat]]
)
