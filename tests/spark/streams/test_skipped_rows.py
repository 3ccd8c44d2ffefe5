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


@pytest.mark.parametrize("b", ["price >= PREV(price)", "price >= PREV(price) AND price >= A.price"])
def test_a_stream_that_stopped_at_a_row_goes_on_without_it(source: Source, b: str) -> None:
    """The first clause only appends rows to its state, the second writes them again."""
    clause = f"""
        PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l, count(*) AS n
        PATTERN (A B*) WITHIN INTERVAL '30' SECOND DEFINE A AS 12 / size > 2, B AS {b}"""
    first, second, third = pieces(with_sizes(), 100, 200)
    first = first.filter(pc.not_equal(first["size"], 0))
    source.add(first, second, third)
    with pytest.raises(Exception) as caught:
        source.run(source.read().transform(matching(clause)))
    error = ost.unwrap(caught.value)
    assert error is not None
    assert error.code == "DIVIDE_BY_ZERO"
    assert " in 12 / size, in the row with symbol = " in error.message
    assert ", ts = 2" in error.message
    result = source.run(source.read().transform(matching(clause, on_error="skip")))
    expected = ost.match(clause, pa.concat_tables([first, second, third]), on_error="skip")
    good, rest = result.filter(pc.is_null(result["error"])).drop_columns("error"), source.finish()
    assert rest.num_rows > 0
    assert rows(good, rest) == without_errors(expected)
    assert result.num_rows - good.num_rows == expected.num_rows - expected["error"].null_count > 0


def test_an_expression_that_only_spark_knows_is_refused_by_name(source: Source) -> None:
    source.add(with_sizes())
    clause = "PARTITION BY symbol ORDER BY ts MEASURES LAST(id) AS id PATTERN (A) DEFINE A AS hex(size) = 'A'"
    with pytest.raises(ost.QueryError, match="hex") as caught:
        source.read().transform(matching(clause, on_error="skip"))
    assert caught.value.hint is not None
    assert "on_error" in caught.value.hint
