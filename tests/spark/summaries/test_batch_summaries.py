"""Stream summaries on batch DataFrames: with every plan, the answers are those in process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

import ostinato as ost
from ostinato.errors import QueryError, unwrap

BEGIN = datetime(2024, 5, 1, 12, tzinfo=UTC)


def orders(count: int = 600) -> pa.Table:
    """Events with ties in time, NULLs everywhere, and columns whose names need quoting."""
    drawn = np.random.default_rng(5)
    seconds, kinds = drawn.integers(0, 400, count), drawn.integers(0, 5, count)
    times = [None if i % 97 == 0 else BEGIN + timedelta(seconds=int(at)) for i, at in enumerate(seconds)]
    zeros = [0.0, -0.0, float("nan"), None, 1.5]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "tick": pa.array(seconds, pa.int32()),
            "kind": pa.array([("A", "B", "C", "X", None)[k] for k in kinds]),
            "my account": pa.array([None if d == 6 else int(d) for d in drawn.integers(0, 7, count)], pa.int32()),
            "x.y": pa.array([zeros[d] for d in drawn.integers(0, 5, count)]),
            "price": pa.array([None if p == 3 else float(p) / 4 for p in drawn.integers(-4, 20, count)]),
            "fare": pa.array([Decimal(int(f)) / 100 for f in drawn.integers(0, 5_000, count)], pa.decimal128(8, 2)),
            "n": pa.array(drawn.integers(-3, 9, count), pa.int16()),
        }
    )


TABLE = orders()


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(TABLE).repartition(3)


def order_summary(expression: str = "A (B|C)* C", **options: Any) -> ost.StreamSummary:
    defaults = {"type": "kind", "time": "ts", "within": "1 minute", "size": 7}
    return ost.summary(expression, **{**defaults, **options})


def rows(result: DataFrame | pa.Table) -> list[str]:
    table = result if isinstance(result, pa.Table) else result.toArrow()
    zone = pa.timestamp("us", "UTC")
    time_index = table.schema.get_field_index("asked_at")
    if pa.types.is_timestamp(table.schema.field(time_index).type):
        table = table.set_column(time_index, "asked_at", table.column(time_index).cast(zone))
    return sorted(repr(_in_utc(row)) for row in table.to_pylist())


def _in_utc(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _in_utc(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_in_utc(item) for item in value]
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


QUERIES: dict[str, dict[str, Any]] = {
    "no keys": {},
    "one key": {"keys": "my account"},
    "keys of doubles": {"keys": ("x.y", "my account"), "aggregate": "SUM(price)"},
    "sum": {"keys": "my account", "aggregate": "SUM(fare)"},
    "mean": {"keys": "my account", "aggregate": "AVG(n)", "eviction": ost.Eviction(strategy="fifo")},
    "text": {"keys": "my account", "aggregate": "SUM(n)", "numbers": "text"},
    "logarithms": {"keys": "my account", "numbers": "log10"},
    "whole numbers as times": {"time": ("tick", "n"), "within": 60, "keys": "my account"},
    "keyed types": {"keys": "my account", "event_types": ost.EventTypes(keyed=("A", "C"))},
    "next": {"selection": "skip till next match", "keys": "my account"},
    "random": {"eviction": ost.Eviction(strategy="random", seed=9), "keys": "my account"},
}


@pytest.mark.parametrize("options", QUERIES.values(), ids=QUERIES)
def test_answers_are_those_in_process(df: DataFrame, options: dict[str, Any]) -> None:
    result = df.transform(order_summary(**options))
    table = order_summary(**options).feed(TABLE).ask_all()
    assert result.columns == table.column_names
    assert rows(result) == rows(table)


def test_types(df: DataFrame) -> None:
    fields = {field.name: field.dataType for field in df.transform(order_summary(aggregate="SUM(fare)")).schema}
    assert fields == {
        "asked_at": s.TimestampType(),
        "value": s.DecimalType(38, 2),
        "count": s.DecimalType(38, 0),
        "seen": s.LongType(),
        "kept": s.ArrayType(
            s.StructType(
                [
                    s.StructField("number", s.LongType()),
                    s.StructField("time", s.TimestampType()),
                    s.StructField("type", s.StringType()),
                    s.StructField("value", s.DecimalType(8, 2)),
                    s.StructField("contribution", s.DecimalType(38, 0)),
                ]
            )
        ),
    }


def fed_until(moment: datetime, **options: Any) -> list[tuple[Any, ...]]:
    mask = [at is not None and at <= moment for at in TABLE.column("ts").to_pylist()]
    result = order_summary(**options).feed(TABLE.filter(pa.array(mask))).ask_all().to_pylist()
    return sorted(((row["my account"], row["count"], row["seen"]) for row in result), key=repr)


def counted(result: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in result.select("my account", "count", "seen").collect()), key=repr)


def test_answers_at_a_list_of_times(df: DataFrame) -> None:
    early, late = BEGIN + timedelta(seconds=50), BEGIN + timedelta(seconds=300)
    result = order_summary(keys="my account").run(df, at=[early, late]).table
    assert result.count() == 14
    for moment in (early, late):
        there = result.where(F.col("asked_at") == F.lit(moment))
        assert counted(there) == fed_until(moment, keys="my account")


def test_times_are_those_of_the_sessions_clock(df: DataFrame) -> None:
    session = df.sparkSession.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    there = session.createDataFrame(TABLE)
    summary, moment = order_summary(keys="my account"), BEGIN + timedelta(seconds=120)
    on_clock = ["2024-05-01 21:02:00", datetime(2024, 5, 1, 21, 2), moment]
    for written in on_clock:
        assert counted(summary.run(there, at=[written]).table) == fed_until(moment, keys="my account")


def test_answers_at_trigger_rows(df: DataFrame) -> None:
    flagged = df.withColumn("ask", F.expr("kind = 'X' AND n = 2"))
    result = order_summary(keys="my account").run(flagged, at="ASK").table
    triggers = {(row["my account"], row["ts"]) for row in flagged.where("ask AND ts IS NOT NULL").collect()}
    assert {(row["my account"], row["asked_at"]) for row in result.collect()} == triggers
    assert len(triggers) == result.count() > 5
    one = result.orderBy("asked_at").first()
    assert one is not None
    moment = one["asked_at"].astimezone(UTC)
    assert (one["my account"], one["count"], one["seen"]) in fed_until(moment, keys="my account")


def test_answers_without_rows(df: DataFrame) -> None:
    nothing = df.where("1 = 0")
    assert nothing.transform(order_summary(keys="my account")).collect() == []
    answer = nothing.transform(order_summary(aggregate="SUM(n)")).collect()
    assert [tuple(row) for row in answer] == [(None, None, 0, 0, [])]
    assert [row["count"] for row in order_summary().run(nothing, at=[BEGIN]).table.collect()] == [0]


def test_nothing_runs_before_an_action(df: DataFrame) -> None:
    broken = df.withColumn("kind", F.expr("CASE WHEN n = 2 THEN CAST(raise_error('read') AS STRING) ELSE kind END"))
    assert broken.transform(order_summary()).columns == ["asked_at", "value", "count", "seen", "kept"]


@pytest.mark.parametrize(
    ("options", "at", "code"),
    [
        ({"type": "knid"}, None, "UNKNOWN_COLUMN.*\nhint: did you mean 'kind'"),
        ({"type": "tick"}, None, "TYPE_MISMATCH"),
        ({"within": 60}, None, "INVALID_WITHIN"),
        ({"aggregate": "SUM(kind)"}, None, "UNSUPPORTED_TYPE"),
        ({}, "kind", "INVALID_OPTION"),
        ({}, "asked", "UNKNOWN_COLUMN"),
        ({}, ["noon"], "INVALID_OPTION"),
        ({}, [12], "INVALID_OPTION"),
        ({"time": "tick", "within": 60}, ["2024-05-01"], "INVALID_OPTION"),
    ],
)
def test_refused_before_anything_runs(df: DataFrame, options: dict[str, Any], at: Any, code: str) -> None:
    with pytest.raises(QueryError, match=code):
        order_summary(**options).run(df, at=at)


def test_trigger_events_are_for_streams(df: DataFrame) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        order_summary().run(df, trigger_events="kind = 'X'")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"event_types": ost.EventTypes(unknown="refuse")}, "SUMMARY_UNKNOWN_TYPE"),
        ({"aggregate": "SUM(n / 0D)"}, "UNKNOWN_COLUMN"),
        ({"size": 600, "within": "1 day", "expression": "A (B|C|X)* C"}, "NUMBER_TOO_LARGE"),
    ],
)
def test_errors_of_tasks_are_ours(df: DataFrame, options: dict[str, Any], code: str) -> None:
    with pytest.raises(Exception) as caught:
        df.transform(order_summary(options.pop("expression", "A C"), **options)).collect()
    error = unwrap(caught.value)
    assert error is not None
    assert error.code == code
