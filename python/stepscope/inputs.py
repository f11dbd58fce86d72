# SPDX-License-Identifier: Apache-2.0
"""Values of parameters as the arguments that the library parses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from stepscope.errors import Error, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tempfile
    from typing import TypeVar

    from stepscope.kinds import Axes, Input, Inputs, Named, Numbers, Settings, Span

    T = TypeVar("T")
    F = TypeVar("F", bound=Callable[..., object])


class files:
    """Inputs as paths: writes what is no file yet into a folder, which is gone after the `with` block."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = (
            None  # made when something is written
        )
        self._count = 0
        self._made: dict[str, str] = {}  # what a path was made of

    def __enter__(self) -> files:
        return self

    def __exit__(self, _: object, error: object, __: object) -> None:
        if isinstance(error, Error) and error.file in self._made:
            error._of_argument(self._made[error.file])
        if self._folder is not None:
            self._folder.cleanup()

    def path_of(self, source: Input) -> str:
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
        path = self.write(os.path.basename(name) if isinstance(name, str) else "input", read())
        self._made[path] = f"the file object {name}" if isinstance(name, str) else "the file object"
        return path

    def value_of(self, value: Named) -> str:
        """A name or path, or a mapping as the path of a JSON file."""
        if isinstance(value, Mapping):
            import json

            path = self.write("given.json", json.dumps(dict(value)))
            self._made[path] = _short(dict(value))
            return path
        return os.fspath(value)

    def values_of(self, values: Named | Sequence[Named]) -> list[str]:
        """One such value, or several."""
        given = [values] if isinstance(values, (str, os.PathLike, Mapping)) else values
        return [self.value_of(value) for value in given]

    def paths_of(self, sources: Inputs) -> list[str]:
        if (
            isinstance(sources, (str, os.PathLike))
            or hasattr(sources, "read")
            or not isinstance(sources, Iterable)
        ):
            sources = [sources]
        paths = [self.path_of(source) for source in sources]
        if not paths:
            raise UsageError("the list of inputs is empty", remedy="give a path, or several")
        return paths

    def folder_of(self, paths: Iterable[str]) -> str:
        """A folder with links to the paths, which are the files of one run."""
        folder = os.path.dirname(self.write("run", ""))
        os.remove(os.path.join(folder, "run"))
        for path in map(os.path.abspath, paths):
            link = os.path.join(folder, os.path.basename(path))
            if os.path.lexists(link):  # the ranks are then numbered by their folders
                inner = os.path.join(folder, os.path.basename(os.path.dirname(path)))
                os.makedirs(inner, exist_ok=True)
                link = os.path.join(inner, os.path.basename(path))
            os.symlink(path, link)
        return folder

    def write(self, name: str, text: str | bytes) -> str:
        """The path of a file with this text."""
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


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def likely(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'kernels'?" or nothing."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def named(function: F) -> F:
    """A function whose error about an unknown parameter says which one may be meant."""
    import functools

    code = function.__code__  # type: ignore[attr-defined]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*args: object, **parameters: object) -> object:
        for name in parameters:
            if name not in names:
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {name!r}"
                    + likely(name, names)
                )
        return function(*args, **parameters)

    return call  # type: ignore[return-value]


def span_text(value: Span) -> str:
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


def list_text(value: Numbers | Iterable[object]) -> str:
    """Numbers or words: "0,2,8-15", 3, [0, 2]."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    return ",".join(str(item) for item in value)


def settings_text(value: Settings) -> str:
    """ "tp=8,zero=1" or {"tp": 8, "zero": 1}."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_plain(item)}" for name, item in value.items())
    return str(value)


def axes_of(value: Axes) -> list[str]:
    """{"zero": [0, 1], "tp": [1, 2]}, "zero=0,1" or a list of such."""
    if isinstance(value, Mapping):
        return [
            f"{name}={list_text([_plain(item) for item in items])}" for name, items in value.items()
        ]
    return [value] if isinstance(value, str) else list(value)


def plans_of(value: Settings | Sequence[Settings]) -> list[str]:
    """A plan or several: "tp=8,zero=1", {"tp": 8}, a path."""
    plans = [value] if isinstance(value, (str, os.PathLike, Mapping)) else value
    return [settings_text(plan) if isinstance(plan, Mapping) else os.fspath(plan) for plan in plans]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def words_of(command: str | Sequence[str]) -> list[str]:
    import shlex

    return shlex.split(command) if isinstance(command, str) else [str(word) for word in command]


def share_text(share: float | str) -> str:
    return share if isinstance(share, str) else f"{share * 100:.12g}%"


def texts_of(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else [*value]


def flag(name: str, value: T | None, as_text: Callable[[T], object] | None = None) -> list[str]:
    """The arguments of one flag: none for None, one for each item of a list."""
    if value is None:
        return []
    made = value if as_text is None else as_text(value)
    values = made if isinstance(made, list) else [made]
    return [f"--{name}={_plain(item)}" for item in values]


class Options:
    """Options of a group. What is None is not given."""

    def __new__(cls, *_: object, **fields: object) -> Options:
        known = getattr(cls, "__dataclass_fields__", fields)
        for name in fields:
            if name not in known:
                raise TypeError(
                    f"{cls.__name__}() got an unexpected keyword argument {name!r}"
                    + likely(name, known)
                )
        return super().__new__(cls)

    def _arguments(self, place: files) -> dict[str, list[str]]:
        """The arguments of each field."""
        raise NotImplementedError

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if v is not None)
        return f"{type(self).__name__}({given})"

    def _name_of(self, flag: str) -> str:
        return f"{type(self).__name__}.{flag.replace('-', '_')}"


def options_from(kind: str, value: object, first: str | None = None) -> Options | None:
    """An object of the class of options: itself, made of a mapping, or made of the field `first` alone."""
    if value is None or isinstance(value, Options):
        if value is not None and type(value).__name__ != kind:
            raise UsageError(
                f"{type(value).__name__} stands where {kind} is meant",
                remedy=f"give {kind.lower()}={kind}(...)",
            )
        return value
    from stepscope import options

    made: type[Options] = getattr(options, kind)
    if first == "file" or (first is not None and not isinstance(value, Mapping)):
        return made(**{first: value})
    if isinstance(value, Mapping):
        return made(**value)
    raise UsageError(f"{kind.lower()}={value!r} is no {kind}", remedy=f"give {kind}(...)")


def arguments_of(
    verb: str,
    takes: str,
    parameters: dict[str, list[str]],
    objects: Iterable[Options | None],
    place: files,
) -> list[str]:
    """All arguments of a call. `takes`: the flags that the verb has of option objects."""
    given = {name: (name.replace("-", "_"), made) for name, made in parameters.items() if made}
    allowed = takes.split()
    for options in objects:
        if options is None:
            continue
        for name, made in options._arguments(place).items():
            if not made:
                continue
            said = options._name_of(name)
            if name not in allowed and name not in parameters:
                raise UsageError(f"{verb}() does not take {said}", remedy="leave it out")
            if name in given:
                raise UsageError(
                    f"{given[name][0]} and {said} are the same", remedy="give one of them"
                )
            given[name] = (said, made)
    return [argument for _, made in given.values() for argument in made]
