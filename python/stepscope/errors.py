# SPDX-License-Identifier: Apache-2.0
"""The exceptions of stepscope."""

from __future__ import annotations

import re


class Error(Exception):
    """An input or the system failed.

    what: what went wrong. file: the file at fault, or None. byte: the byte of its (inflated) text
    where, or None. remedy: what can be done about it, or None.
    """

    def __init__(
        self, what: str, file: str | None = None, byte: int | None = None, remedy: str | None = None
    ):
        self.what = what
        self.file = file
        self.byte = byte
        self.remedy = remedy
        place = "" if file is None else f"{file}: "
        if byte is not None:
            place += f"byte {byte}: "
        super().__init__(place + what + ("" if remedy is None else f"; {remedy}"))

    def __reduce__(self):
        return type(self), (self.what, self.file, self.byte, self.remedy)


class UsageError(Error, ValueError):
    """An argument is wrong; nothing was begun. The text names keywords where the command's names flags."""

    def __init__(
        self, what: str, file: str | None = None, byte: int | None = None, remedy: str | None = None
    ):
        super().__init__(
            _with_keywords(what), file, byte, None if remedy is None else _with_keywords(remedy)
        )


def _with_keywords(text: str) -> str:
    """ "--global-batch N" as "global_batch=N"; a flag that no value follows as the keyword alone."""
    return re.sub(
        r"--([a-z][a-z0-9-]*)( (?=[A-Z0-9]))?",
        lambda flag: flag[1].replace("-", "_") + ("=" if flag[2] else ""),
        text,
    )


class InputWarning(UserWarning):
    """An input could not be used, while the work went on with the others."""
