"""The same words on Spark as in process: every kind of query with `df.transform`, `run` and `ost.explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.api.test_one_face import CLAUSE, CLICKS, EVENTS, QUERIES, WITH_REPORT, table_of

import ostinato as ost


@pytest.fixture
def frame(spark: SparkSession) -> Callable[[ost.Query], DataFrame]:
    return lambda query: spark.createDataFrame(table_of(query))


@pytest.mark.parametrize("make", QUERIES, ids=lambda make: make.__name__)
def test_every_kind_is_a_function_for_transform(make: Callable[[], Any], frame: Callable[..., DataFrame]) -> None:
    query = make()
    rows = frame(query).transform(query)
    assert isinstance(rows, DataFrame)
    right = ost.match(query, table_of(query))
    assert rows.columns == [name for name in right.column_names if name in rows.columns]  # joins give no score
    assert rows.count() == right.num_rows


@pytest.mark.parametrize("make", WITH_REPORT, ids=lambda make: make.__name__)
def test_a_result_is_the_same_on_spark(make: Callable[[], Any], frame: Callable[..., DataFrame]) -> None:
    query = make()
    result, local = query.run(frame(query)), query.run(table_of(query))
    assert type(result) is type(local)
    assert isinstance(result.table, DataFrame)
    assert isinstance(result.report.table, DataFrame)
    result.report.table.collect()
    assert str(result.report)
    assert result.explain().text
    assert len(repr(result).splitlines()) == 1


def test_a_select_around_a_clause(spark: SparkSession) -> None:
    text = f"SELECT n + 1 AS more, user FROM clicks MATCH_RECOGNIZE ({CLAUSE}) AS m"
    query = ost.match_recognize(text, keys="user", time="ts")
    assert spark.createDataFrame(CLICKS).transform(query).collect() == [(2**60 + 2, "u")]


def test_sql_says_where_event_queries_go(spark: SparkSession) -> None:
    with pytest.raises(ost.QueryError, match="NOT_A_QUERY") as caught:
        ost.sql(EVENTS, spark=spark)
    assert caught.value.hint is not None and "ost.events" in caught.value.hint
