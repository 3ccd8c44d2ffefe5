"""Operators after a clause order its rows by decision time: a second clause, a windowed aggregation."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, trades

import ostinato as ost

DIPS = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l, count(*) AS n
    PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
GROWING = """
    PARTITION BY symbol ORDER BY decided, f MEASURES FIRST(f) AS f, LAST(l) AS l, count(*) AS dips
    PATTERN (SMALL LARGER+) WITHIN INTERVAL '5' MINUTE DEFINE LARGER AS n >= PREV(n)"""


def first_answer(source: Source) -> pa.Table:
    """The dips by themselves, with the decision times that the same files give in any query."""
    alone = Source(source.folder / "alone", source.session)
    alone.folder.mkdir()
    alone.add(*pieces(trades(), 150, 300, 450))
    return alone.run(alone.read().transform(matching(DIPS, decision_time="decided")))


def test_a_second_clause_over_the_first(source: Source) -> None:
    dips = first_answer(source)
    source.add(*pieces(trades(), 150, 300, 450))
    first = source.read().transform(matching(DIPS, decision_time="decided"))
    result = source.run(first.transform(matching(GROWING)))
    assert source.count("late_rows") == 0
    second = max(operators(source), key=lambda operator: count_names(source, operator, "dips"))
    rest = ost.finish_stream(source.session, source.checkpoint, operator=second).toArrow()
    assert rows(result, rest) == rows(ost.match(GROWING, dips))
    assert result.num_rows > 3
    (first_operator,) = set(operators(source)) - {second}
    last_dips = ost.finish_stream(source.session, source.checkpoint, operator=first_operator)
    fed = last_dips.where("symbol <> 'A'")  # a step between the two clauses
    rest = ost.finish_stream(source.session, source.checkpoint, operator=second, arriving=fed).toArrow()
    all_dips = pa.concat_tables([dips, fed.toArrow().cast(dips.schema)])
    assert rows(result, rest) == rows(ost.match(GROWING, all_dips))
    assert rows(result, rest) != rows(ost.match(GROWING, dips))
    refused = {"UNKNOWN_COLUMN": last_dips.drop("n"), "TYPE_MISMATCH": last_dips.withColumn("n", F.lit("1"))}
    for code, arriving in refused.items():
        with pytest.raises(ost.QueryError, match=code):
            ost.finish_stream(source.session, source.checkpoint, operator=second, arriving=arriving)
    with pytest.raises(ost.QueryError, match="is a DataFrame, not 5"):
        ost.finish_stream(source.session, source.checkpoint, operator=second, arriving=5)  # type: ignore[arg-type]


def operators(source: Source) -> list[int]:
    frame = source.session.read.format("state-metadata").load(source.checkpoint)
    return sorted({row[0] for row in frame.select("operatorId").collect()})


def count_names(source: Source, operator: int, name: str) -> int:
    return ost.finish_stream(source.session, source.checkpoint, operator=operator).columns.count(name)


def test_a_windowed_aggregation_over_the_decision_time(source: Source) -> None:
    dips = first_answer(source)
    source.add(*pieces(trades(), 150, 300, 450))
    answer = source.read().transform(matching(DIPS, decision_time="decided"))
    counted = answer.groupBy(F.window("decided", "30 seconds").alias("w")).count().select("w.start", "w.end", "count")
    result = source.run(counted)
    dropped = sum(operator.numRowsDroppedByWatermark for batch in source.progress for operator in batch.stateOperators)
    assert dropped == 0
    times = dips.column("decided")
    expected = [
        {"start": row["start"], "end": row["end"], "count": pc.sum(inside(times, row["start"], row["end"])).as_py()}
        for row in result.to_pylist()
    ]
    assert result.to_pylist() == expected
    assert result.num_rows >= 2


def inside(times: pa.ChunkedArray, start: object, end: object) -> pa.ChunkedArray:
    return pc.and_(pc.greater_equal(times, pa.scalar(start, times.type)), pc.less(times, pa.scalar(end, times.type)))
