# SPDX-License-Identifier: Apache-2.0
"""The exceptions of stepscope."""

from __future__ import annotations


class Error(Exception):
    """An input or the system failed.

    what: what went wrong. file: the file at fault, or None. byte: the byte of its (inflated) text
    where, or None. remedy: what can be done about it, or None. code: "failed", "refused" (the request
    is wrong; nothing was begun) or "interrupted".
    """

    what: str
    file: str | None
    byte: int | None
    remedy: str | None
    code: str

    def __init__(
        self,
        what: str,
        file: str | None = None,
        byte: int | None = None,
        remedy: str | None = None,
        code: str = "failed",
    ) -> None:
        self.what = what
        self.file = file
        self.byte = byte
        self.remedy = remedy
        self.code = code
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        place = "" if self.file is None else f"{self.file}: "
        if self.byte is not None:
            place += f"byte {self.byte}: "
        return place + self.what + ("" if self.remedy is None else f"; {self.remedy}")

    def _of_argument(self, what: str) -> None:
        """The file at fault was made of an argument, whose path and lines nobody has seen."""
        import re

        self.what = f"{what}: " + re.sub(r"^line \d+, column \d+: ", "", self.what)
        self.file = self.byte = None
        self.args = (self._sentence(),)

    def __reduce__(self) -> tuple[type[Error], tuple[object, ...]]:
        return type(self), (self.what, self.file, self.byte, self.remedy, self.code)


class UsageError(Error, ValueError):
    """An argument is wrong; nothing was begun. `code` is "refused"."""

    def __init__(
        self,
        what: str,
        file: str | None = None,
        byte: int | None = None,
        remedy: str | None = None,
        code: str = "refused",
    ) -> None:
        super().__init__(what, file, byte, remedy, code)


class InputWarning(UserWarning):
    """An input could not be used, while the work went on with the others."""
