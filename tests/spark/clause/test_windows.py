"""Windows with a row pattern on Spark: the rows of the hand-worked cases, and those of the in-process engine."""

from __future__ import annotations

import warnings

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.cases.windows import WindowCase, load_windows

import ostinato as ost
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import QueryError
from ostinato.local.local_windows import window_columns
from ostinato.spark.clause.clause_options import BatchOptions, ClauseOptions
from ostinato.spark.clause.window_dataframe import with_window_columns

ALWAYS = {
    "measures and a count",
    "functions over no rows",
    "seek: measures see rows of the frame before the match",
    "seek: skip to the first row of the match is an error although the current row comes before",
}
"""Each covers another step on Spark. The matcher is the same as in process, so the slow tier sees the others."""
CASES = [
    pytest.param(case, id=case.id, marks=[] if case.case.name in ALWAYS else [pytest.mark.slow])
    for case in load_windows()
    if not case.case.arrival_order
]


def dataframe(spark: SparkSession, case: WindowCase) -> DataFrame:
    schema = ", ".join(f"`{column.name}` {column.type_text}" for column in case.case.columns)
    return spark.createDataFrame([tuple(row) for row in case.case.rows], schema)


@pytest.mark.parametrize("case", CASES)
def test_case(spark: SparkSession, case: WindowCase) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.case.error is not None:
            with pytest.raises(Exception) as caught:  # ours, or Spark's with ours inside
                with_window_columns(dataframe(spark, case), case.pattern()).collect()
            ours = ost.unwrap(caught.value)
            assert ours is not None, str(caught.value)
            assert ours.code == case.case.error
            return
        found = with_window_columns(dataframe(spark, case), case.pattern())
        assert case.difference(row.asDict() for row in found.collect()) is None


def test_two_windows_and_sorting_by_spark(spark: SparkSession) -> None:
    """A window over the columns of another, with names that need quotes, as in process."""
    df = spark.range(200).selectExpr("id", "id % 3 AS `the key`", "id * 7919 % 101 AS v")
    rising = WindowPattern(
        parse_clause(
            "PARTITION BY `the key` ORDER BY id MEASURES count(*) AS `rows.matched` PATTERN (A B+) "
            "DEFINE B AS v > PREV(v)"
        ),
        frame_functions=frozenset({"rows.matched"}),
    )
    over_it = WindowPattern(
        parse_clause(
            "ORDER BY id MEASURES sum(`rows.matched`) AS total, LAST(v) AS v_last AFTER MATCH SKIP TO NEXT ROW "
            "PATTERN (A B*) DEFINE B AS `rows.matched` < 3"
        ),
        frame_end=4,
        seek=True,
    )
    options = ClauseOptions(batch=BatchOptions(sort="spark"))
    found = with_window_columns(with_window_columns(df, rising, options), over_it, options)
    expected = window_columns(over_it, window_columns(rising, df.toPandas()))
    assert found.columns == expected.column_names
    assert sorted(map(tuple, found.collect())) == sorted(tuple(row.values()) for row in expected.to_pylist())


def test_streams_are_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    window = WindowPattern(parse_clause("ORDER BY value MEASURES count(*) AS n PATTERN (A) DEFINE A AS TRUE"))
    with pytest.raises(QueryError) as caught:
        with_window_columns(stream, window)
    assert caught.value.code == "WINDOW_ON_STREAM"
