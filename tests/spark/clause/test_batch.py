"""One clause on a DataFrame: keys, ties, batches and sorts. Whatever the plan, the rows are those of `ost.match`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost

COUNTS = "PARTITION BY k ORDER BY id MEASURES count(*) AS n, min(id) AS f, max(id) AS l PATTERN (A+)"


def rows(result: DataFrame | pa.Table) -> list[tuple[Any, ...]]:
    if isinstance(result, pa.Table):
        return sorted((tuple(row.values()) for row in result.to_pylist()), key=repr)
    return sorted((tuple(row) for row in result.collect()), key=repr)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """A session whose Arrow batches are small, so that keys span them."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
    return session


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["worker", "spark"])
def test_null_nan_and_negative_zero_keys(session: SparkSession, sort: Any) -> None:
    values = [0.0, -0.0, math.nan, -math.nan, None, 1.5]
    data = [(i, values[i % 6]) for i in range(60)]
    df = session.createDataFrame(data, "id int, k double").repartition(5)
    result = rows(df.transform(ost.match_recognize(COUNTS, sort=sort)))
    assert sorted(row[1:] for row in result) == [(10, 4, 58), (10, 5, 59), (20, 0, 55), (20, 2, 57)]
    assert {repr(row[0]).lstrip("-") for row in result} == {"0.0", "nan", "None", "1.5"}


@pytest.mark.parametrize("sort", ["worker", "spark"])
def test_nan_and_negative_zero_inside_structs_and_arrays(session: SparkSession, sort: Any) -> None:
    values = [0.0, -0.0, math.nan, -math.nan, None, 1.5]
    df = session.createDataFrame([(i, values[i % 6]) for i in range(60)], "id int, v double").repartition(5)
    df = df.selectExpr("id", "struct(v, array(struct(v AS w))) AS k")
    result = rows(df.transform(ost.match_recognize(COUNTS, sort=sort)))
    assert sorted(row[1:] for row in result) == [(10, 4, 58), (10, 5, 59), (20, 0, 55), (20, 2, 57)]


@pytest.mark.parametrize("sort", ["worker", "spark"])
def test_several_keys_with_nulls(session: SparkSession, sort: Any) -> None:
    data = [(i, None if i % 2 else "a", None if i % 3 else i % 5) for i in range(60)]
    df = session.createDataFrame(data, "id int, k string, j int")
    clause = "PARTITION BY k, j ORDER BY id MEASURES count(*) AS n PATTERN (A+)"
    wanted: dict[tuple[Any, Any], int] = {}
    for _, k, j in data:
        wanted[k, j] = wanted.get((k, j), 0) + 1
    assert {row[:2]: row[2] for row in rows(df.transform(ost.match_recognize(clause, sort=sort)))} == wanted


def test_keys_that_are_all_null(session: SparkSession) -> None:
    df = session.range(100).selectExpr("id", "CAST(NULL AS INT) AS k")
    assert rows(df.transform(ost.match_recognize(COUNTS))) == [(None, 100, 0, 99)]


def test_an_empty_table(session: SparkSession) -> None:
    df = session.createDataFrame([], "id int, k string")
    for clause in (COUNTS, "ORDER BY id ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A*)"):
        for sort in ("worker", "spark"):
            assert df.transform(ost.match_recognize(clause, sort=sort)).collect() == []  # type: ignore[arg-type]


def test_a_query_that_needs_no_column(session: SparkSession) -> None:
    with pytest.warns(UserWarning, match="without ORDER BY"):
        result = session.range(3000).transform(ost.match_recognize("MEASURES count(*) AS n PATTERN (A+)"))
    assert rows(result) == [(3000,)]


def test_named_arguments_of_spark(session: SparkSession) -> None:
    df = session.createDataFrame([(1, "aB1"), (2, "b"), (3, "C")], "id int, s string")
    clause = """ORDER BY id MEASURES listagg(mask(s, lowerChar => 'q', digitChar => NULL), ',') AS masked
        PATTERN (A+) DEFINE A AS mask(s, upperChar => 'U') <> 'U'"""
    assert rows(df.transform(ost.match_recognize(clause))) == [("qX1,q",)]


def test_skewed_keys(session: SparkSession) -> None:
    """One key has most rows and spans many batches. A hundred keys have a few rows each, and share batches."""
    df = session.range(9_000).selectExpr("id", "IF(id % 30 = 0, id % 100, -1) AS k")
    result = rows(df.transform(ost.match_recognize(COUNTS)))
    expected = rows(df.groupBy("k").agg({"id": "count"}))
    assert [(row[0], row[1]) for row in result] == expected


def test_many_result_rows(session: SparkSession) -> None:
    df = session.range(70_000).repartition(3)
    clause = "ORDER BY id MEASURES MATCH_NUMBER() AS m, PREV(id) AS p ALL ROWS PER MATCH PATTERN (A)"
    result = df.transform(ost.match_recognize(clause))
    assert result.where("m = id + 1 AND p <=> IF(id = 0, NULL, id - 1)").count() == 70_000


# --- the same rows whatever the plan ----------------------------------------------------------------------------------

RISE = "DEFINE UP AS v > PREV(v), DOWN AS v < PREV(v)"
QUERIES = {
    "shifts": (
        "PARTITION BY k ORDER BY id MEASURES LAST(id) AS l, A.v + C.v AS s AFTER MATCH SKIP TO NEXT ROW "
        "PATTERN (A B C) DEFINE B AS v > A.v + 10, C AS v < 50 AND v < PREV(v)"
    ),
    "search": (
        "PARTITION BY k ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l, count(UP.*) AS u, CLASSIFIER() AS c "
        f"PATTERN (S DOWN+ UP+ (DOWN UP)?) {RISE}"
    ),
    "run-dependent": (
        "PARTITION BY k ORDER BY id MEASURES FIRST(id) AS f, count(*) AS n, sum(v) AS s, avg(A.v) AS a "
        "PATTERN (A+ B) DEFINE A AS sum(A.v) < 200, B AS v > avg(A.v) AND v < FIRST(A.v) + count(A.v) * 5"
    ),
    "general condition": (
        "PARTITION BY k ORDER BY id MEASURES FIRST(id) AS f, count(*) AS n PATTERN (A B{1,3}) "
        "DEFINE B AS concat(CAST(A.v AS STRING), '!') < concat(CAST(v AS STRING), '!')"
    ),
    "all rows": (
        "PARTITION BY k ORDER BY id DESC MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c, FINAL sum(v) AS s "
        f"ALL ROWS PER MATCH PATTERN (S {{- DOWN+ -}} UP+) {RISE}"
    ),
    "unmatched": (
        "PARTITION BY k ORDER BY id MEASURES MATCH_NUMBER() AS m, count(*) AS n "
        f"ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO LAST UP PATTERN (DOWN UP+) {RISE}"
    ),
    "no key": f"ORDER BY id MEASURES LAST(id) AS l PATTERN (S DOWN{{4,}}? UP) {RISE}",
}


def numbers(count: int) -> pa.Table:
    drawn = np.random.default_rng(11)
    keys = drawn.zipf(1.6, count) % 40
    return pa.table(
        {
            "id": np.arange(count),
            "k": pa.array([None if key == 7 else f"k{key}" for key in keys]),
            "v": drawn.integers(0, 100, count),
        }
    )


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return numbers(20_000)


@pytest.fixture(scope="module")
def shuffled(session: SparkSession, table: pa.Table) -> DataFrame:
    mixed = table.take(np.random.default_rng(5).permutation(table.num_rows))
    return session.createDataFrame(mixed).repartition(4).cache()


@pytest.mark.parametrize("name", QUERIES)
def test_spark_gives_the_rows_of_a_match_in_process(
    session: SparkSession, shuffled: DataFrame, table: pa.Table, name: str
) -> None:
    """Two plans: sorted by the worker with adaptive execution, and sorted by Spark in one partition."""
    expected = ost.match(QUERIES[name], table)
    assert expected.num_rows > 50
    plans = [("worker", "true", "3"), ("spark", "false", "1")]
    for sort, adaptive, partitions in plans:
        session.conf.set("spark.sql.adaptive.enabled", adaptive)
        session.conf.set("spark.sql.shuffle.partitions", partitions)
        result = shuffled.transform(ost.match_recognize(QUERIES[name], sort=sort))  # type: ignore[arg-type]
        assert result.columns == expected.column_names
        assert sorted(rows(result), key=repr) == rows(expected), sort
    session.conf.set("spark.sql.adaptive.enabled", "true")
    session.conf.set("spark.sql.shuffle.partitions", "3")


def test_ties_do_not_depend_on_the_order_of_arrival(session: SparkSession) -> None:
    """ORDER BY leaves ties. The other shipped columns break them."""
    drawn = np.random.default_rng(3)
    data = pa.table(
        {"t": drawn.integers(0, 40, 2_000), "k": drawn.integers(0, 3, 2_000), "v": drawn.integers(0, 9, 2_000)}
    )
    clause = (
        "PARTITION BY k ORDER BY t MEASURES FIRST(v) AS f, LAST(v) AS l, count(*) AS n "
        "PATTERN (A B+ C) DEFINE B AS v >= PREV(v), C AS v < PREV(v)"
    )
    expected = rows(ost.match(clause, data))
    for seed, sort in ((1, "worker"), (2, "spark")):
        mixed = session.createDataFrame(data.take(np.random.default_rng(seed).permutation(2_000))).repartition(seed + 1)
        assert rows(mixed.transform(ost.match_recognize(clause, sort=sort))) == expected  # type: ignore[arg-type]


def test_sorting_by_spark_or_by_the_worker(session: SparkSession) -> None:
    def plan(**options: Any) -> str:
        clause = "PARTITION BY k ORDER BY id DESC MEASURES 1 AS x PATTERN (A)"
        result = session.range(1000).selectExpr("id", "id AS k").transform(ost.match_recognize(clause, **options))
        result.createOrReplaceTempView("ost_plan")
        text = session.sql("EXPLAIN SELECT * FROM ost_plan").collect()[0][0]
        session.catalog.dropTempView("ost_plan")
        return str(text)

    assert "Sort [" not in plan()
    assert "Sort [" not in plan(sort="worker", memory_budget=1)
    assert "Sort [" in plan(sort="spark")
    assert "DESC NULLS LAST" in plan(memory_budget=100)
    assert "Sort [" not in plan(sort="spark", skew="slice")  # a task orders its slice itself


def test_only_needed_columns_are_shipped(session: SparkSession) -> None:
    df = session.range(10).selectExpr("id", "id AS unused", "id * 2 AS v", "id AS k")
    clause = "PARTITION BY k ORDER BY id MEASURES LAST(v) AS x PATTERN (A) DEFINE A AS unused + v > 3"
    result = df.transform(ost.match_recognize(clause))
    result.createOrReplaceTempView("ost_plan")
    text = session.sql("EXPLAIN SELECT * FROM ost_plan").collect()[0][0]
    session.catalog.dropTempView("ost_plan")
    shipped_columns = text.split("MapInArrow SparkTask(")[1].split(")")[0].split(", ")
    assert len(shipped_columns) == 4  # k, id, v and the bits of the condition


def test_the_settings_of_the_session_stay(session: SparkSession, shuffled: DataFrame) -> None:
    names = ("shuffle.partitions", "execution.arrow.maxRecordsPerBatch", "session.timeZone", "adaptive.enabled")
    before = [session.conf.get(f"spark.sql.{name}") for name in names]
    shuffled.transform(ost.match_recognize(COUNTS)).collect()
    assert [session.conf.get(f"spark.sql.{name}") for name in names] == before


def test_a_pattern_in_place_of_text(session: SparkSession) -> None:
    df = session.range(10).selectExpr("id", "id % 2 AS k")
    query = ost.pattern("A B").partition_by("k").order_by("id").measures(f="A.id", l="B.id").define(B="id > PREV(id)")
    result = rows(df.transform(ost.match_recognize(query)))
    assert result == [(0, 0, 2), (0, 4, 6), (1, 1, 3), (1, 5, 7)]


def test_months_of_within_are_those_of_the_session(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    at = ("2023-02-26 02:30:00", "2023-03-26 03:30:00", "2023-03-26 03:31:00", "2023-10-29 02:10:00")
    df = session.sql(
        f"SELECT id, to_timestamp(ts) AS ts, 1 AS k FROM VALUES {', '.join(map(repr, enumerate(at)))} t(id, ts)"
    )
    shape = "PARTITION BY k ORDER BY ts MEASURES A.id AS a, LAST(id) AS b AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*)"
    wanted = df.transform(ost.match_recognize(f"{shape} DEFINE B AS ts <= A.ts + INTERVAL '1' MONTH")).collect()
    assert [row["b"] for row in wanted] == [1, 2, 2, 3]  # in March the clock leaves out the hour after 2
    assert df.transform(ost.match_recognize(f"{shape} WITHIN INTERVAL '1' MONTH")).collect() == wanted
