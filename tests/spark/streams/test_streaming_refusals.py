"""Queries that a stream can't run are refused while planning, with a reason and a hint. No stream starts here."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost
from ostinato.errors import OstinatoError, OstinatoWarning
from ostinato.spark.streams.stream_checks import STATE_STORE

CLAUSE = "PARTITION BY value ORDER BY timestamp MEASURES count(*) AS n PATTERN (A B) DEFINE A AS value > 1"


@pytest.fixture(scope="module")
def clock(streaming: SparkSession) -> DataFrame:
    """A stream with the columns timestamp and value, without a watermark."""
    return streaming.readStream.format("rate").load()


@pytest.fixture(scope="module")
def marked(clock: DataFrame) -> DataFrame:
    return clock.selectExpr("*", "timestamp AS other").withWatermark("timestamp", "1 minute")


def refused(df: DataFrame, clause: str = CLAUSE, **options: Any) -> OstinatoError:
    with pytest.raises(OstinatoError) as caught:
        df.transform(ost.match_recognize(clause, **options))
    return caught.value


def test_a_stream_without_order_by_is_refused(marked: DataFrame) -> None:
    error = refused(marked, CLAUSE.replace("ORDER BY timestamp ", ""))
    assert error.code == "STREAM_NOT_SUPPORTED"
    assert "ORDER BY" in str(error)


def test_a_descending_order_is_refused(marked: DataFrame) -> None:
    error = refused(marked, CLAUSE.replace("timestamp", "timestamp DESC"))
    assert error.code == "STREAM_NOT_SUPPORTED"
    assert "backwards" in str(error)
    assert "^" in str(error)


def test_an_expression_as_first_order_is_refused(marked: DataFrame) -> None:
    error = refused(marked, CLAUSE.replace("ORDER BY timestamp", "ORDER BY date_trunc('second', timestamp)"))
    assert error.code == "STREAM_NEEDS_WATERMARK"
    assert "order by the time column first" in str(error)


def test_an_order_without_a_time_is_refused(marked: DataFrame) -> None:
    error = refused(marked, CLAUSE.replace("ORDER BY timestamp", "ORDER BY value, timestamp"))
    assert error.code == "STREAM_NOT_SUPPORTED"
    assert "BIGINT" in str(error)


def test_a_stream_without_a_watermark_is_refused(clock: DataFrame) -> None:
    error = refused(clock)
    assert error.code == "STREAM_NEEDS_WATERMARK"
    assert 'df.withWatermark("timestamp", "10 minutes")' in str(error)
    assert clock.transform(ost.match_recognize(CLAUSE, eager=True)).isStreaming


def test_a_watermark_on_another_column_is_refused(marked: DataFrame) -> None:
    error = refused(marked, CLAUSE.replace("timestamp", "other"))
    assert error.code == "STREAM_NEEDS_WATERMARK"
    assert "order by that first" in str(error)


def test_another_state_store_is_refused(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set(STATE_STORE, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    df = other.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    error = refused(df)
    assert error.code == "STATE_STORE_NOT_SUPPORTED"
    assert "HDFSBackedStateStoreProvider" in str(error)
    assert f'spark.conf.set("{STATE_STORE}", ' in str(error)


def test_invalid_options_are_refused(marked: DataFrame) -> None:
    assert refused(marked, late="keep").code == "INVALID_OPTION"
    assert refused(marked, buckets=0).code == "INVALID_OPTION"
    assert refused(marked, decision_time="n").code == "DUPLICATE_COLUMN"
    assert refused(marked, CLAUSE.replace("AS n", "AS late"), late="show").code == "DUPLICATE_COLUMN"


def test_options_of_streams_on_a_batch(streaming: SparkSession) -> None:
    df = streaming.sql("SELECT current_timestamp() AS timestamp, 1 AS value")
    assert refused(df, decision_time="at").code == "INVALID_OPTION"
    assert refused(df, forget_keys_after="1 day").code == "INVALID_OPTION"


def test_errors_of_the_clause_keep_their_caret(marked: DataFrame) -> None:
    error = refused(marked, CLAUSE.replace("value > 1", "vlaue > 1"))
    assert error.code == "UNKNOWN_COLUMN"
    assert "^" in str(error)


@pytest.mark.parametrize(
    ("pattern", "is_bounded"),
    [("A B", True), ("A B+", False), ("A B+) WITHIN INTERVAL '1' HOUR", True), ("A B+) MAXLENGTH 9", True)],
)
def test_unbounded_state_raises_a_warning(marked: DataFrame, pattern: str, is_bounded: bool) -> None:
    clause = CLAUSE.replace("A B)", pattern if ")" in pattern else f"{pattern})")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        marked.transform(ost.match_recognize(clause))
    messages = [warning for warning in caught if issubclass(warning.category, OstinatoWarning)]
    assert [("WITHIN" in str(warning.message)) for warning in messages] == ([] if is_bounded else [True])


def test_a_silence_shorter_than_within_raises_a_warning(marked: DataFrame) -> None:
    clause = CLAUSE.replace("A B)", "A B) WITHIN INTERVAL '2' HOUR")
    with pytest.warns(OstinatoWarning, match="forgotten after 1 hour"):
        marked.transform(ost.match_recognize(clause, forget_keys_after="1 hour"))


def test_columns_and_mark_of_the_decision_time(marked: DataFrame) -> None:
    answer = marked.transform(ost.match_recognize(CLAUSE, decision_time="decided", late="show"))
    assert answer.columns == ["value", "timestamp", "n", "late", "decided"]
    assert answer.schema["decided"].metadata["spark.watermarkDelayMs"] == 60_000


def test_options_of_a_batch(marked: DataFrame) -> None:
    assert refused(marked, skew="slice").code == "INVALID_OPTION"
    assert refused(marked, sort="spark").code == "INVALID_OPTION"
