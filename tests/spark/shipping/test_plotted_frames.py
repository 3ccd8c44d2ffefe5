"""`ost.plot` of Spark DataFrames draws the same as of tables, and fetches only the rows that it draws."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from tests.pictures.drawings import aria_labels, marks, read_svg

import ostinato as ost

START = datetime(2024, 1, 1, 9, tzinfo=UTC)
QUERY = (
    ost.pattern("TOP FALL+ RISE+")
    .define(FALL="price < PREV(price)", RISE="price > PREV(price)")
    .measures(began="FIRST(ts)", ended="LAST(ts)")
    .partition_by("`k.k`")
    .order_by("ts")
)


def table_of(ts: list) -> pa.Table:
    prices = [9.0, 8.0, 6.0, 7.0, 9.5, 9.5, 9.5, 9.5]
    return pa.table({"k.k": [None] * 8 + ["b"] * 8, "ts": ts * 2, "price": prices * 2})


TIMES = {
    "timestamps": [START + timedelta(minutes=minute) for minute in range(8)],
    "without a zone": [datetime(2024, 1, 1, 9, minute) for minute in range(8)],
    "dates": [date(2024, 1, day) for day in range(1, 9)],
    "numbers": list(range(8)),
}


@pytest.mark.parametrize("kind", TIMES)
def test_a_query_and_its_matches(spark, kind) -> None:
    table = table_of(TIMES[kind])
    df = spark.createDataFrame(table)
    local, on_spark = ost.plot(QUERY, table), ost.plot(QUERY, df)
    assert on_spark.title == local.title
    assert sorted(marks(read_svg(on_spark.svg))) == sorted(marks(read_svg(local.svg)))
    found = ost.match(QUERY, table)
    plot = ost.plot(spark.createDataFrame(found), df, x="ts")
    assert plot.title == local.title
    charts = [label for label in aria_labels(read_svg(plot.svg)) if label.endswith("5 rows")]
    assert len(charts) == 2


def test_event_queries(spark) -> None:
    table = pa.table({"ts": [1, 2, 3, 4], "kind": list("RTTP"), "rider": ["a"] * 4})
    query = ost.events("PATTERN SEQ(R, T+, P) GROUP BY rider RETURN COUNT(*)", type="kind", time="ts")
    assert ost.plot(query, spark.createDataFrame(table)).title == ost.plot(query, table).title


def test_only_a_few_rows_are_fetched(spark) -> None:
    df = spark.range(10_000_000).selectExpr("id", "id AS start", "id + 1 AS end", "id % 7 AS value")
    plot = ost.plot(df.select("start", "end"), df, x="id", y="value", limit=10)
    assert plot.title.startswith("at least 10 matches")


def test_a_stream_is_refused(spark) -> None:
    stream = spark.readStream.format("rate").load()
    for arguments in ((QUERY, stream), (stream,)):
        with pytest.raises(ost.QueryError, match="STREAM_NOT_SUPPORTED"):
            ost.plot(*arguments)
