# SPDX-License-Identifier: Apache-2.0
"""Tables that pandas, polars, pyarrow and duckdb read in place, through Arrow's PyCapsule interface."""

from __future__ import annotations

from stepscope import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias, overload

    import pandas
    import polars
    import pyarrow

    Cell: TypeAlias = None | bool | int | float | str
    Row: TypeAlias = dict[str, Cell]
else:

    def overload(function):
        return function


_SHOWN = 20  # rows of a notebook or text
_WIDTH = 120  # of the text


class Table:
    """Named columns of one length: a sequence of rows, each a dict. (It is no collections.abc.Sequence,
    which polars would read row by row.)

    table[0] is a row, table[-1] the last one, table[:10] a table, table["name"] a column as a list.
    polars.DataFrame(table), pyarrow.table(table) and duckdb.from_arrow(pyarrow.table(table)) read it
    without a copy; to_pandas() needs pandas and pyarrow. Units are the suffixes of the names: `_ns`,
    `_bytes`, `_gb_per_s`.
    """

    __slots__ = ("_table",)

    def __init__(self, table: _core.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> Table: ...

    @overload
    def __getitem__(self, key: str) -> list[Cell]: ...

    def __getitem__(self, key: int | slice | str) -> Row | Table | list[Cell]:
        if isinstance(key, str):
            try:
                return self._table.column(key)
            except KeyError:
                raise KeyError(f"no column {key!r}; there are {', '.join(self.columns)}") from None
        if isinstance(key, slice):
            rows = range(len(self))[key]
            return Table(self._table.rows(rows.start, rows.step, len(rows)))
        try:
            number = key.__index__()
        except AttributeError:
            raise TypeError(
                f"a row is an int or a slice, and a column a str, not {type(key).__name__}"
            ) from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"row {number} of a table of {len(self)}")
        return self._table.row(number)

    def __iter__(self) -> Iterator[Row]:
        return (self._table.row(row) for row in range(len(self)))

    def __reversed__(self) -> Iterator[Row]:
        return (self._table.row(row) for row in reversed(range(len(self))))

    def index(self, row: Row) -> int:
        """The number of the first row that is equal."""
        return self.to_dicts().index(row)

    def count(self, row: Row) -> int:
        """How many rows are equal."""
        return self.to_dicts().count(row)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and self.columns == other.columns
            and all(self[name] == other[name] for name in self.columns)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_dicts(self) -> list[Row]:
        """All rows."""
        return list(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame. Needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table on the same memory. Needs pyarrow."""
        try:
            import pyarrow
        except ImportError as missing:
            raise ImportError("this needs pyarrow; pip install pyarrow") from missing
        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars.DataFrame. Needs polars."""
        try:
            import polars
        except ImportError as missing:
            raise ImportError("this needs polars; pip install polars") from missing
        return polars.DataFrame(self)

    def _ipython_key_completions_(self) -> list[str]:
        return self.columns

    def __repr__(self) -> str:
        """The first rows, each column as wide as its values."""
        shown = self.to_dicts() if len(self) <= _SHOWN else self[:_SHOWN].to_dicts()
        columns, hidden = self._fitting(shown)
        cells = [columns] + [[_cell(row[name]) for name in columns] for row in shown]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
        numbers = [
            all(isinstance(row[name], (int, float, type(None))) for row in shown)
            for name in columns
        ]
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, numbers)
            ).rstrip()
            for line in cells
        ]
        more = f", the first {len(shown)} below" if len(shown) < len(self) else ""
        head = f"<Table: {len(self)} {'row' if len(self) == 1 else 'rows'}{more}>"
        left = [f"and the columns {', '.join(hidden)}"] if hidden else []
        return "\n".join([head, *lines, *left])

    def _fitting(self, rows: list[Row]) -> tuple[list[str], list[str]]:
        """The columns that a line of text has room for, and the others."""
        room = _WIDTH
        columns = self.columns
        for i, name in enumerate(columns):
            room -= 2 + max([len(name), *(len(_cell(row[name])) for row in rows)])
            if room < 0 and i > 0:
                return columns[:i], columns[i:]
        return columns, []

    def _repr_html_(self) -> str:
        from html import escape

        shown = min(len(self), _SHOWN)
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{escape(_cell(value))}</td>" for value in self[row].values())
            + "</tr>"
            for row in range(shown)
        )
        more = f"<p>{shown} of {len(self)} rows</p>" if shown < len(self) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
