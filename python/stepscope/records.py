# SPDX-License-Identifier: Apache-2.0
"""Objects of a result. Their attributes are the keys of the JSON that the command writes
(docs/reference/json.md). A time has two attributes: `gain_ns` is integer nanoseconds, as in the JSON,
and `gain` the same in seconds. What is not known is None.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView
    from typing import Any, TypeAlias

    # A value of a JSON.
    Tree: TypeAlias = None | bool | int | float | str | "list[Tree]" | "dict[str, Tree]"

_missing: Any = object()


def _seconds(value: object) -> object:
    if isinstance(value, dict):
        return {key: _seconds(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_seconds(inner) for inner in value]
    return value / 1e9 if isinstance(value, (int, float)) else value


def record_of(value: Any, kind: type[Record] | None = None) -> Any:
    """`value` of a tree with its objects as records."""
    if isinstance(value, dict):
        return (kind or Record)(value)
    if isinstance(value, list):
        return [record_of(inner, kind) for inner in value]
    return value


class Record:
    """An object of a result: attributes are its keys. record["key"] is the value as it is in the JSON."""

    __slots__ = ("_tree",)
    _kinds: dict[str, type[Record]] = {}  # of attributes that are objects

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    if not TYPE_CHECKING:  # the attributes that there are have types in shapes.pyi

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            tree = self._tree
            value = tree.get(name, _missing)
            if value is not _missing:
                return record_of(value, self._kinds.get(name))
            nanoseconds = tree.get(name + "_ns", _missing)
            if nanoseconds is not _missing:
                return _seconds(nanoseconds)
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}{self._likely(name)}; it has "
                + ", ".join(self._names()),
                name=name,
                obj=self,
            )

    def _names(self) -> list[str]:
        """The attributes that are data."""
        times = [key[:-3] for key in self._tree if key.endswith("_ns")]
        return list(dict.fromkeys([*self._tree, *times]))

    def _likely(self, name: str) -> str:
        from stepscope.inputs import likely

        return likely(name, (n for n in dir(self) if not n.startswith("_")))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._tree)

    def __getitem__(self, key: str) -> Tree:
        try:
            return self._tree[key]
        except KeyError:
            raise KeyError(f"no key {key!r}; there are {', '.join(self._tree)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, key: object) -> bool:
        return key in self._tree

    def keys(self) -> KeysView[str]:
        return self._tree.keys()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._tree == other._tree

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Tree]]]:
        return type(self), (self._tree,)

    def to_dict(self) -> dict[str, Tree]:
        """The object as it is in the JSON, as a copy."""
        import copy

        return copy.deepcopy(self._tree)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in self._tree.items())})"
        )


def _short(value: object) -> str:
    """A list or object that is not small as its size."""
    if isinstance(value, (list, dict)) and len(repr(value)) > 40:
        return f"[{len(value)} items]" if isinstance(value, list) else f"{{{len(value)} keys}}"
    return repr(value)


class Verdict(Record):
    """The one cause that the first line states, with its numbers (docs/reference/verdict.md).

    ranks: those at fault. gain_ns: what a step saves without it. share: of the step, 0 to 1.
    confidence: "low", "medium" or "high". change: for Analysis.whatif(), or None.
    """

    __slots__ = ()
    kind: str
    ranks: list[int]
    group: str | None
    dim: str | None
    stage: int | None
    steps: list[int]
    gain_ns: int | None
    gain: float | None
    share: float
    confidence: str
    sentence: str
    change: str | None
    alternatives: list[Verdict]


Verdict._kinds = {"alternatives": Verdict}


class Finding(Record):
    """Something that is worth doing (docs/reference/findings.md).

    sort: "fault", "opportunity" or "bound". gain_ns: of a step; None without a time of its own.
    """

    __slots__ = ()
    id: str
    key: str
    sort: str
    under: str | None
    what: str
    evidence: list[str]
    advice: str
    gain_ns: int | None
    gain: float | None
    gain_from: str | None
    confidence: str


class Scenario(Record):
    """The replay of one change. saved_ns: of a step. refused: why it is not answered, or None."""

    __slots__ = ()
    name: str
    words: str
    step_ns: int | None
    step: float | None
    shortest_step_ns: int | None
    saved_ns: int | None
    saved: float | None
    speedup: float | None
    refused: str | None
    notes: list[str]
