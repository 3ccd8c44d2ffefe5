"""Rows that can't be evaluated leave a stream with their error, and a stream that stopped at one goes on without it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, trades

import ostinato as ost

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id
    MEASURES FIRST(id) AS f, LAST(id) AS l, 12 / (LAST(size) - 4) AS q, count(*) AS n
    PATTERN (A B+) WITHIN INTERVAL '30' SECOND
    DEFINE A AS 12 / size > 2, B AS price >= PREV(price) AND size / (A.price - 1) < 40"""


def with_sizes() -> pa.Table:
    """Every 13th row has the size 0, by which the clause divides."""
    table = trades(rows=300)
    sizes = pa.array([row % 13 if row % 7 else 3 for row in range(300)], pa.int64())
    return table.append_column("size", sizes)


def without_errors(*tables: pa.Table) -> list[str]:
    kept = (table.filter(pc.is_null(table["error"])).drop_columns("error") for table in tables)
    return rows(*kept)


def test_stream_finish_and_batches_give_the_same_rows(source: Source) -> None:
    table = with_sizes()
    expected = ost.match(CLAUSE, table, on_error="skip")
    source.add(*pieces(table, 100, 200))
    batch = source.session.read.parquet(source.input).transform(ost.match_recognize(CLAUSE, on_error="skip"))
    assert rows(batch.toArrow()) == rows(expected)
    result = source.run(source.read().transform(matching(CLAUSE, on_error="skip", decision_time="at")))
    rest = source.finish()
    assert result.schema.names == rest.schema.names == [*expected.schema.names, "at"]
    assert rows(*(part.drop_columns("at") for part in (result, rest))) == rows(expected)
    assert 20 <= expected.num_rows - expected["error"].null_count < expected.num_rows
    assert source.count("rows") == 300


def test_a_stream_that_stopped_at_a_row_goes_on_without_it(source: Source) -> None:
    first, second, third = pieces(with_sizes().filter(pc.not_equal(with_sizes()["id"], -1)), 100, 200)
    is_good = pc.not_equal(first["size"], 0)
    source.add(first.filter(is_good), second, third)
    with pytest.raises(Exception) as caught:
        source.run(source.read().transform(matching(CLAUSE)))
    error = ost.unwrap(caught.value)
    assert error is not None
    assert error.code == "DIVIDE_BY_ZERO"
    result = source.run(source.read().transform(matching(CLAUSE, on_error="skip")))
    seen = pa.concat_tables([first.filter(is_good), second, third])
    expected = ost.match(CLAUSE, seen, on_error="skip")
    assert rows(result) != []
    assert set(without_errors(result)) <= set(without_errors(expected))


def test_an_expression_that_only_spark_knows_is_refused_by_name(source: Source) -> None:
    source.add(with_sizes())
    clause = "PARTITION BY symbol ORDER BY ts MEASURES LAST(id) AS id PATTERN (A) DEFINE A AS hex(size) = 'A'"
    with pytest.raises(ost.QueryError, match="hex") as caught:
        source.read().transform(matching(clause, on_error="skip"))
    assert caught.value.hint is not None
    assert "on_error" in caught.value.hint
