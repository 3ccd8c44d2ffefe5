"""Event queries on DataFrames: the rows are those of `ost.match`, whatever the plan."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost
from ostinato.errors import QueryError, unwrap

KINDS = ("Request", "Travel", "Pickup", "Idle")


def rides(count: int) -> pa.Table:
    """Rides with ties in time, NULLs, and columns whose names need quoting."""
    drawn = np.random.default_rng(17)
    begin = datetime(2024, 5, 1, tzinfo=UTC)
    seconds, speeds = drawn.integers(0, 600, count), drawn.integers(0, 40, count)
    times = [None if i % 97 == 0 else begin + timedelta(seconds=int(at)) for i, at in enumerate(seconds)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "kind": pa.array([KINDS[k] for k in drawn.integers(0, 4, count)]),
            "driver": pa.array([None if d == 9 else int(d) for d in drawn.integers(0, 12, count)], pa.int32()),
            "my district": pa.array([None if d == 5 else f"d{d}" for d in drawn.integers(0, 6, count)]),
            "speed": pa.array([None if s == 7 else float(s) for s in speeds]),
            "fare": pa.array([Decimal(int(f)) / 100 for f in drawn.integers(0, 5_000, count)], pa.decimal128(8, 2)),
            "x.y": pa.array(drawn.integers(-5, 6, count)),
        }
    )


def rows(result: DataFrame | pa.Table) -> list[str]:
    if isinstance(result, pa.Table):
        return sorted(repr(_plain(list(row.values()))) for row in result.to_pylist())
    return sorted(repr(_plain(row)) for row in result.collect())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [_plain(each) for each in value.values()]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return value


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "70")
    return session


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return rides(400)


@pytest.fixture(scope="module")
def df(session: SparkSession, table: pa.Table) -> DataFrame:
    mixed = table.take(np.random.default_rng(5).permutation(table.num_rows))
    return session.createDataFrame(mixed).repartition(4).cache()


QUERIES = {
    "groups": (
        "PATTERN SEQ(Request r, Travel+ t) WHERE SAME[driver] AND t.speed < 30 GROUP BY `my district` "
        "RETURN `my district`, COUNT(*) AS n, COUNT(t) AS k, SUM(t.`x.y`) AS s, SUM(t.fare) AS f, AVG(t.speed) AS a, "
        "MIN(t.fare) AS l, MAX(t.ts) AS h"
    ),
    "windows": (
        "PATTERN SEQ(Request r, Travel+ t, NOT Idle i, Pickup p) WHERE SAME[driver] GROUP BY driver "
        "WITHIN 60 SECONDS SLIDE 20 SECONDS RETURN driver, COUNT(*), SUM(t.speed)"
    ),
    "no group, by SAME": "PATTERN SEQ(Request r, Travel t, Pickup p) WHERE SAME[driver] RETURN COUNT(*), MIN(t.`x.y`)",
    "no group, by SAME, windows": (
        "PATTERN SEQ(Request r, Travel+ t) WHERE SAME[driver, `my district`] WITHIN 100 SECONDS TUMBLE "
        "RETURN COUNT(*) AS n, SUM(t.fare) AS f, AVG(t.speed) AS a, MAX(t.speed) AS m"
    ),
    "no group": "PATTERN SEQ(Request r, Travel t) WHERE t.speed > 35 AND r.speed > 35 RETURN COUNT(*) AS n",
    "one of many types at once": (
        "TYPE Slow AS speed < 10, Fast AS speed >= 8 PATTERN SEQ(Slow s, Fast f) WHERE SAME[driver] "
        "GROUP BY `my district` RETURN COUNT(*) AS n, `my district`"
    ),
    "windows of events": (
        "PATTERN SEQ(Request r, Travel t) GROUP BY `my district` WITHIN 10 EVENTS SLIDE 3 EVENTS "
        "RETURN `my district`, COUNT(*) AS n"
    ),
    "windows of events without a group": (
        "PATTERN SEQ(Request r, Travel t) WITHIN 10 EVENTS SLIDE 5 EVENTS RETURN COUNT(*) AS n"
    ),
    "the very next without a group": "PATTERN SEQ(Travel a, Travel b) STRICT RETURN COUNT(*) AS n",
    "strict": "PATTERN SEQ(Travel a, Travel b) STRICT WHERE SAME[driver] RETURN COUNT(*) AS n",
    "between neighbours": (
        "PATTERN SEQ(Request r, Travel+ t) WHERE SAME[driver] AND NEXT(t).speed >= t.speed GROUP BY driver "
        "RETURN driver, COUNT(*) AS n"
    ),
    "between neighbours, as texts": (
        "PATTERN SEQ(Request r, Travel+ t) WHERE SAME[driver] AND NEXT(t).`my district` >= t.`my district` "
        "GROUP BY driver RETURN driver, COUNT(*) AS n"
    ),
    "pairs": "PATTERN SEQ(Request r, Travel t) AND SEQ(Request r, Travel t) WHERE SAME[driver] RETURN COUNT(*) AS n",
    "a counted repetition": (
        "PATTERN SEQ(Request r, Travel{2,3} t) WHERE SAME[driver] GROUP BY driver WITHIN 100 SECONDS TUMBLE "
        "RETURN driver, COUNT(*) AS n, SUM(t.fare) AS f"
    ),
    "nothing inside of a repetition": (
        "PATTERN SEQ(Request r, Travel+ t WITHOUT (Idle i OR Pickup p)) WHERE SAME[driver] AND p.speed < 20 "
        "GROUP BY driver RETURN driver, COUNT(*) AS n, SUM(t.fare) AS f"
    ),
    "consecutive among some types": (
        "PATTERN SEQ(Request r, Travel+ t) STRICT ON (Request, Travel) WHERE SAME[driver] AND Travel.speed < 30 "
        "RETURN COUNT(*) AS n"
    ),
    "matches": (
        "PATTERN SEQ(Request r, Travel+ t, Pickup p) WHERE SAME[driver] AND t.speed > 30 GROUP BY driver "
        "WITHIN 50 SECONDS RETURN MATCHES"
    ),
    "matches over several variables": (
        "PATTERN SEQ(Request r, Travel+ t, Pickup p) WHERE SAME[driver] AND r.speed + p.speed > SUM(t[i].speed) "
        "WITHIN 40 SECONDS TUMBLE RETURN MATCHES LIMIT 3"
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_spark_gives_the_rows_of_a_match_in_process(df: DataFrame, table: pa.Table, name: str) -> None:
    query = ost.events(QUERIES[name], type=None if "TYPE" in QUERIES[name] else "kind", time="ts")
    query = ost.events(query, numbers="text", match_id="found" if "RETURN MATCHES" in QUERIES[name] else None)
    expected = ost.match(query, table)
    result = df.transform(query)
    assert result.columns == expected.column_names
    assert expected.num_rows
    assert rows(result) == rows(expected)


def test_types(df: DataFrame) -> None:
    result = df.transform(ost.events(QUERIES["groups"], type="kind", time="ts"))
    assert [(field.name, field.dataType.simpleString()) for field in result.schema.fields] == [
        ("my district", "string"),
        ("n", "decimal(38,0)"),
        ("k", "decimal(38,0)"),
        ("s", "decimal(38,0)"),
        ("f", "decimal(38,2)"),
        ("a", "double"),
        ("l", "decimal(8,2)"),
        ("h", "timestamp"),
    ]
    matches = df.transform(ost.events(QUERIES["matches"], type="kind", time="ts"))
    assert matches.schema["events"].dataType.simpleString() == (
        "array<struct<variable:string,ts:timestamp,kind:string,driver:int,my district:string,speed:double,"
        "fare:decimal(8,2),x.y:bigint>>"
    )


@pytest.mark.parametrize("same", ["", "WHERE SAME[driver]"])
def test_arithmetic_gives_what_spark_computes_from_the_aggregates(df: DataFrame, table: pa.Table, same: str) -> None:
    aggregates = {"n": "COUNT(*)", "f": "SUM(t.fare)", "s": "SUM(t.speed)", "l": "MIN(t.fare)", "x": "MAX(t.`x.y`)"}
    items = ["f / n", "n * 2 - 1", "-(l + n) * 1.5", "s / n", "x / 2", "l / n", "(f - l) / 3"]
    computed = [re.sub(r"[a-z]", lambda name: aggregates[name[0]], item) for item in items]
    head = f"PATTERN SEQ(Request r, Travel t) {same} RETURN "
    plain_items = ", ".join(f"{text} AS {name}" for name, text in aggregates.items())
    computed_items = ", ".join(f"{text} AS m{i}" for i, text in enumerate(computed))
    plain, query = (ost.events(head + each, type="kind", time="ts") for each in (plain_items, computed_items))
    expected = df.transform(plain).selectExpr(*(f"{item} AS m{i}" for i, item in enumerate(items)))
    result = df.transform(query)
    assert [field.dataType for field in result.schema] == [field.dataType for field in expected.schema]
    assert rows(result) == rows(expected) == rows(ost.match(query, table))


# --- no rows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no group, by SAME", "no group"])
def test_without_groups_and_windows_there_is_always_a_row(df: DataFrame, name: str) -> None:
    query = ost.events(QUERIES[name], type="kind", time="ts")
    (row,) = df.where("false").transform(query).collect()
    assert row[0] == 0


def test_without_rows_there_are_no_groups(df: DataFrame) -> None:
    query = ost.events(QUERIES["groups"], type="kind", time="ts")
    assert df.where("false").transform(query).collect() == []


# --- workloads --------------------------------------------------------------------------------------------------------


def test_a_workload_is_one_dataframe(df: DataFrame, table: pa.Table) -> None:
    queries = {name: text for name, text in QUERIES.items() if "TYPE" not in text}
    workload = ost.Workload(queries, type="kind", time="ts", numbers="text")
    expected, result = workload.run(table), workload.run(df)
    assert result.table.columns == expected.table.column_names
    assert rows(result.table) == rows(expected.table)
    for name in ("groups", "windows", "matches"):
        assert rows(result[name]) == rows(expected[name])


def test_queries_with_one_group_by_are_shuffled_once(df: DataFrame) -> None:
    texts = [
        f"PATTERN SEQ({first} r, Travel+ t) {same} GROUP BY driver RETURN driver, COUNT(*)"
        for first in ("Request", "Pickup")
        for same in ("", "WHERE SAME[`my district`]")
    ]
    result = ost.Workload(texts, type="kind", time="ts").run(df).table
    result.createOrReplaceTempView("ost_plan")
    plan = str(df.sparkSession.sql("EXPLAIN SELECT * FROM ost_plan").collect()[0][0])
    df.sparkSession.catalog.dropTempView("ost_plan")
    assert plan.count("Exchange hashpartitioning") == 1


# --- errors -----------------------------------------------------------------------------------------------------------


def test_a_number_that_is_too_large_raises(session: SparkSession) -> None:
    df = session.range(200).selectExpr("id AS ts", "IF(id = 0, 'A', 'B') AS kind", "'x' AS g")
    query = ost.events("PATTERN SEQ(A, B+) GROUP BY g RETURN g, COUNT(*) AS n", type="kind", time="ts")
    with pytest.raises(Exception) as caught:  # an exception of Spark
        df.transform(query).collect()
    error = unwrap(caught.value)
    assert error is not None
    assert error.code == "NUMBER_TOO_LARGE"
    assert "g = 'x'" in error.message
    assert df.transform(ost.events(query, numbers="text")).first().n == str(2**199 - 1)  # type: ignore[union-attr]
    assert df.transform(ost.events(query, approximate=True)).first().n == pytest.approx(2.0**199)  # type: ignore[union-attr]
    assert df.transform(ost.events(query, numbers="log10")).first().n == pytest.approx(199 * np.log10(2))  # type: ignore[union-attr]


def test_errors_of_spark_have_a_caret(df: DataFrame) -> None:
    text = "PATTERN SEQ(Request r, Travel t) WHERE nosuch(t.speed) > 1 RETURN COUNT(*)"
    query = ost.events(text, type="kind", time="ts")
    with pytest.raises(QueryError) as caught:
        df.transform(query)
    assert caught.value.code == "UNKNOWN_FUNCTION"
    assert "^^^^^^" in str(caught.value)


def test_a_function_that_only_spark_knows(df: DataFrame) -> None:
    query = ost.events("PATTERN (Travel t) WHERE soundex(t.kind) = 'T614' RETURN COUNT(*) AS n", type="kind", time="ts")
    assert df.transform(query).first().n == df.where("kind = 'Travel' AND ts IS NOT NULL").count()  # type: ignore[union-attr]
