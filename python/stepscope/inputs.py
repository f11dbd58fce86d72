# SPDX-License-Identifier: Apache-2.0
"""Values of keywords as the arguments that the library parses."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from stepscope.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class files:
    """Inputs as paths: writes what is no file yet into a folder, which is gone after the `with` block."""

    def __init__(self) -> None:
        self._folder: Any = None  # made when something is written
        self._count = 0

    def __enter__(self) -> files:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def path_of(self, source: Any) -> str:
        """The path of a str, path or file object. A file object without a file of its own is copied."""
        if isinstance(source, (str, os.PathLike)):
            return os.fspath(source)
        read = getattr(source, "read", None)
        if read is None:
            raise UsageError(
                f"{source!r} is no input", remedy="give a path, a pattern or a file object"
            )
        name = getattr(source, "name", None)
        if isinstance(name, str) and os.path.isfile(name):
            return name
        text = read()
        return self._write(os.path.basename(name) if isinstance(name, str) else "input", text)

    def value_of(self, value: Any) -> str:
        """A name or path, or a mapping as the path of a JSON file."""
        if isinstance(value, Mapping):
            import json

            return self._write("given.json", json.dumps(dict(value)))
        return os.fspath(value)

    def paths_of(self, sources: Any) -> list[str]:
        if (
            isinstance(sources, (str, os.PathLike))
            or hasattr(sources, "read")
            or not isinstance(sources, Iterable)
        ):
            sources = [sources]
        return [self.path_of(source) for source in sources]

    def _write(self, name: str, text: str | bytes) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.TemporaryDirectory(prefix="stepscope-")
        self._count += 1
        folder = os.path.join(self._folder.name, str(self._count))
        os.mkdir(folder)
        path = os.path.join(folder, name or "input")
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return path


def span_text(value: Any) -> str:
    """A range of numbers or times: "3:5", 3, (3, 5), (3, None), range(3, 6)."""
    if isinstance(value, range):
        if value.step != 1 or not value:
            raise UsageError(
                f"{value!r} is no range of steps", remedy="give range(first, last + 1)"
            )
        return f"{value.start}:{value.stop - 1}"
    if isinstance(value, tuple):
        if len(value) != 2:
            raise UsageError(f"{value!r} is no range", remedy="give (first, last)")
        return ":".join("" if end is None else str(end) for end in value)
    return str(value)


def list_text(value: Any) -> str:
    """Numbers or words: "0,2,8-15", 3, [0, 2]."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    return ",".join(str(item) for item in value)


def settings_text(value: Any) -> str:
    """ "tp=8,zero=1" or {"tp": 8, "zero": 1}."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_plain(item)}" for name, item in value.items())
    return str(value)


def axes_of(value: Any) -> list[str]:
    """{"zero": [0, 1], "tp": [1, 2]}, "zero=0,1" or a list of such."""
    if isinstance(value, Mapping):
        return [
            f"{name}={list_text([_plain(item) for item in items])}" for name, items in value.items()
        ]
    return [value] if isinstance(value, str) else list(value)


def plans_of(value: Any) -> list[str]:
    """A plan or several: "tp=8,zero=1", {"tp": 8}, a path."""
    plans = [value] if isinstance(value, (str, os.PathLike, Mapping)) else value
    return [settings_text(plan) if isinstance(plan, Mapping) else os.fspath(plan) for plan in plans]


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flag(name: str, value: Any) -> list[str]:
    """The arguments of one flag: none for None, one for each item of a list."""
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    return [f"--{name}={_plain(item)}" for item in values]
