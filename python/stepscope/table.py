# SPDX-License-Identifier: Apache-2.0
"""Tables that pandas, polars, pyarrow and duckdb read in place, through Arrow's PyCapsule interface."""

from __future__ import annotations

from stepscope import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Table:
    """Named columns of one length.

    polars.DataFrame(table), pyarrow.table(table) and duckdb.from_arrow(pyarrow.table(table)) read it
    without a copy; to_pandas() needs pandas and pyarrow. Without any of them it is a sequence of
    rows, each a dict. Units are the suffixes of the names: `_ns`, `_bytes`, `_gb_per_s`.
    """

    __slots__ = ("_table",)

    def __init__(self, table: _core.Table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    @property
    def columns(self) -> list[str]:
        return self._table.columns

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, key: int | str) -> Any:
        """A row as a dict by its number, or a column as a list by its name."""
        return self._table.column(key) if isinstance(key, str) else self._table.row(key)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._table.row(row) for row in range(len(self)))

    def to_dicts(self) -> list[dict[str, Any]]:
        return list(self)

    def to_pandas(self):
        """A pandas.DataFrame. Needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def to_arrow(self):
        """A pyarrow.Table on the same memory. Needs pyarrow."""
        try:
            import pyarrow  # type: ignore[import-untyped]
        except ImportError as missing:
            raise ImportError("this needs pyarrow; pip install pyarrow") from missing
        return pyarrow.table(self)

    def to_polars(self):
        """A polars.DataFrame. Needs polars."""
        try:
            import polars
        except ImportError as missing:
            raise ImportError("this needs polars; pip install polars") from missing
        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from html import escape

        shown = min(len(self), 20)
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(_cell(value))}</td>" for value in self[row].values())
            + "</tr>"
            for row in range(shown)
        )
        more = f"<p>{shown} of {len(self)} rows</p>" if shown < len(self) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
