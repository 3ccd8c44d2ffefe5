"""A correlation of a stream with its own recent history is a streaming DataFrame: its rows are those of a batch."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.spark.correlations.spark_correlations import QUERY, comparable
from tests.spark.streams.spark_streams import Source, pieces, trades

import ostinato as ost

NAMED = QUERY.replace("*", "correlation_start, correlation_end, live.symbol, f, l, af, al", 1)
"""Files can't hold two columns of one name."""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return trades(160, symbols=4)


def test_stream_and_finish_are_batch(source: Source, table: pa.Table) -> None:
    source.add(*pieces(table, 50, 100))
    rows = ost.sql(NAMED, t=source.read("5 seconds"), buckets=3)
    assert rows.isStreaming
    result = source.run(rows)
    rest = ost.finish_stream(source.session, source.checkpoint)
    expected = ost.sql(NAMED, t=source.session.createDataFrame(table))
    assert rest.schema == expected.schema
    assert result.num_rows > 10
    assert comparable(result, rest) == comparable(expected)
    assert source.count("rows") == table.num_rows
    assert source.count("matches") == result.num_rows
    assert source.count("late_rows") == 0
