"""Funnels on DataFrames: a batch has the rows and the report of the same call in process, a stream its attempts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.funnels.letters import attempts
from tests.spark.streams.spark_streams import START, Source, pieces, rows, seconds

import ostinato as ost

MODES = ("any", "strict_order", "strict_increase")


def clicks(count: int = 400, seed: int = 11) -> pa.Table:
    """Events in the order of their times, with ties, and NULLs as key and type."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["view", "cart", "pay", "view", "other", None], dtype=object)
    users = np.array([*"abcdefgh", None], dtype=object)
    return pa.table(
        {
            "user": pa.array(users[rng.integers(0, len(users), count)].tolist(), pa.string()),
            "ts": seconds(*np.sort(rng.integers(0, count, count))),
            "kind": pa.array(kinds[rng.integers(0, len(kinds), count)].tolist(), pa.string()),
        }
    )


def checkout(**options: Any) -> ost.FunnelQuery:
    given = {"keys": "user", "type": "kind", "time": "ts", "within": "40 seconds", **options}
    return ost.funnel(["view", "cart", "pay"], **given)


@pytest.mark.parametrize(("mode", "within"), [*((mode, "40 seconds") for mode in MODES), ("any", None)])
def test_a_batch_has_the_rows_of_the_process(spark: SparkSession, mode: str, within: str | None) -> None:
    query = checkout(mode=mode, within=within)
    found, wanted = query.run(spark.createDataFrame(clicks())), query.run(clicks())
    table = found.table.toArrow()
    assert table.schema.names == wanted.table.schema.names
    assert rows(table) == rows(wanted.table)
    assert found.report.numbers.keys == wanted.report.numbers.keys
    for ours, theirs in zip(found.report.numbers.times, wanted.report.numbers.times, strict=True):
        assert ours.median_seconds == pytest.approx(theirs.median_seconds)
        assert ours.p90_seconds == pytest.approx(theirs.p90_seconds)


@pytest.mark.parametrize("kind", ["date", "timestamp_ntz"])
def test_other_times(spark: SparkSession, kind: str) -> None:
    """Daylight saving time begins between the steps. A time without a zone doesn't know of it."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    df = session.sql(
        f"""SELECT 'a.b' AS `the key.`, kind, CAST(at AS {kind}) AS `t.s` FROM VALUES
            ('view', '2024-03-30 12:00:00'), ('cart', '2024-03-31 12:00:00'), ('pay', '2024-04-01 12:00:00')
            AS t(kind, at)"""
    )
    result = checkout(keys="the key.", time="t.s", within="3 days").run(df)
    assert [time.median_seconds for time in result.report.numbers.times] == [None, 86_400.0, 86_400.0]
    assert result.table.first()["the key."] == "a.b"


def test_the_report_of_no_keys(spark: SparkSession) -> None:
    result = checkout().run(spark.createDataFrame(clicks()).where("kind = 'pay'"))
    assert result.report.numbers.keys == (0, 0, 0)
    assert result.report.numbers.times[1].median_seconds is None


def test_the_statement_finds_the_attempts(spark: SparkSession) -> None:
    query = checkout(mode="strict_order")
    found = ost.sql(query.to_sql("clicks"), clicks=spark.createDataFrame(clicks())).toArrow()
    assert rows(found) == rows(attempts(query, clicks()))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"type": "sort"}, "UNKNOWN_COLUMN"),
        ({"keys": "usr"}, "UNKNOWN_COLUMN"),
        ({"time": "kind"}, "INVALID_TIME"),
    ],
)
def test_refused_dataframes(spark: SparkSession, options: dict[str, Any], code: str) -> None:
    df = spark.createDataFrame(clicks())
    with pytest.raises(ost.QueryError) as refused:
        checkout(**options).run(df)
    assert refused.value.code == code
    with pytest.raises(ost.QueryError, match="INVALID_OPTION"):
        checkout().run(df, timezone="Europe/Berlin")


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["any", "strict_order"])
def test_the_best_attempts_of_a_stream_are_the_rows_of_a_batch(source: Source, mode: str) -> None:
    table, query = clicks(), checkout(mode=mode)
    found = source.add(*pieces(table, 150, 300)).run(source.read().transform(query))
    rest = source.finish()
    assert rows(found, rest) == rows(attempts(query, table))
    shown = [tuple(row.values()) for row in [*found.to_pylist(), *rest.to_pylist()]]
    best: dict[str | None, tuple[Any, ...]] = {}
    for attempt in sorted(shown, key=lambda row: (-row[1], [at for at in row[3:] if at is not None])):
        best.setdefault(attempt[0], attempt)
    assert sorted(map(repr, best.values())) == rows(query.run(table).table)
    assert rest.num_rows and found.num_rows > 20


def test_an_abandoned_attempt_is_reported_once_and_in_time(source: Source) -> None:
    """The key is idle after three views. Only events of another key move the watermark."""
    quiet = pa.table({"user": ["q"] * 3, "ts": seconds(0, 10, 20), "kind": ["view"] * 3})
    others = [pa.table({"user": ["z"], "ts": seconds(at), "kind": ["other"]}) for at in (40, 70, 100)]
    found = source.add(quiet, *others).run(source.read().transform(checkout())).to_pylist()
    assert [(row["user"], row["level"], row["view_at"]) for row in found] == [("q", 1, START + timedelta(seconds=20))]


def test_refused_streams(source: Source) -> None:
    source.add(clicks())
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SUPPORTED"):
        source.read().transform(checkout(within=None))
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SUPPORTED"):
        checkout().run(source.read())
    with pytest.raises(ost.QueryError, match="STREAM_NEEDS_WATERMARK"):
        source.read(delay=None).transform(checkout())
