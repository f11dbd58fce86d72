# SPDX-License-Identifier: Apache-2.0
"""Tables in pyarrow, pandas, polars and duckdb, each where it is installed."""

import pytest
from conftest import EXAMPLE

import stepscope as ss


@pytest.fixture(scope="module")
def tables():
    analysis = ss.analyze(EXAMPLE)
    trace = ss.read_trace(EXAMPLE, rank=0)
    named = {name: table for name, table in analysis.tables.items() if len(table)}
    return {
        **named,
        **{
            name: getattr(trace, name)
            for name in ("slices", "tracks", "collectives", "memory", "kernels")
        },
    }


def test_pyarrow_reads_each_cell(tables):
    pyarrow = pytest.importorskip("pyarrow")
    for name, table in tables.items():
        read = pyarrow.table(table)
        read.validate(full=True)
        assert read.column_names == table.columns, name
        assert read.num_rows == len(table)
        for column in table.columns:
            assert read[column].to_pylist() == table[column], (name, column)


def test_columns_of_a_trace_are_not_copied(tables):
    pyarrow = pytest.importorskip("pyarrow")
    first, second = pyarrow.table(tables["slices"]), pyarrow.table(tables["slices"])
    for column in ("start_ns", "dur_ns", "correlation"):
        buffers = [read[column].chunk(0).buffers()[1].address for read in (first, second)]
        assert buffers[0] == buffers[1]


def test_pandas_and_polars_read_the_tables(tables):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    for name, table in tables.items():
        frame = table.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == table.columns, name
        other = polars.DataFrame(table)
        assert other.columns == table.columns and other.height == len(table)
        for column in table.columns:
            assert other[column].to_list() == table[column], (name, column)


def test_duckdb_queries_them(tables):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    operators = tables["operators"].to_arrow()  # noqa: F841
    ((total,),) = duckdb.sql("select sum(calls) from operators").fetchall()
    assert total == sum(tables["operators"]["calls"])
