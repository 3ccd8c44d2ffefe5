"""A correlation of a stream with its own recent history is a streaming DataFrame: its rows are those of a batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.spark.correlations.spark_correlations import ARCHIVE, QUERY, comparable, in_process
from tests.spark.streams.spark_streams import Source, pieces, seconds, trades

import ostinato as ost

NAMED = QUERY.replace("*", "correlation_start, correlation_end, live.symbol, f, l, af, al", 1)
"""Files can't hold two columns of one name."""
BY_NUMBER = NAMED.replace("ts, id", "id").replace("INTERVAL '20' SECOND", "25 ROWS")
TWO_CLOCKS = NAMED.replace(ARCHIVE, ARCHIVE.replace("ts, id", "ts2, id"))
FALLS = """MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l
    PATTERN (A B) DEFINE B AS price < PREV(price))"""
WAITING = f"""SELECT correlation_start, correlation_end, f, af FROM t {FALLS} AS live JOIN t {ARCHIVE} AS archive
    ON live.symbol = archive.symbol AND RECENT(archive, live, INTERVAL '20' SECOND)"""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return trades(160, symbols=4)


def test_stream_and_finish_are_batch(source: Source, table: pa.Table) -> None:
    source.add(*pieces(table, 50, 100))
    rows = ost.sql(NAMED, t=source.read("5 seconds"), buckets=3)
    assert rows.isStreaming
    result = source.run(rows)
    rest = ost.finish_stream(source.session, source.checkpoint)
    expected = ost.sql(NAMED, t=source.session.createDataFrame(table))
    assert rest.schema == expected.schema
    assert result.num_rows > 10
    assert comparable(result, rest) == comparable(expected)
    assert source.count("rows") == table.num_rows
    assert source.count("matches") == result.num_rows
    assert source.count("late_rows") == 0
    with pytest.raises(ost.QueryError, match="rows of the recent past"):
        ost.stream_state(source.session, source.checkpoint)
    changed = NAMED.replace("'20' SECOND", "'30' SECOND")
    source.add(table.slice(0, 1))
    for other, difference in (
        (ost.correlate(changed, buckets=3), "distance"),
        (ost.correlate(NAMED, buckets=3, cache=False), "searches archive starts once"),
    ):
        with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY") as caught:
            source.run(other(source.read("5 seconds")))
        assert difference in str(ost.unwrap(caught.value))


def test_a_result_of_a_silent_key_comes_by_a_timer(source: Source) -> None:
    """Symbol A is silent from second 4 on. Its result waits while a rise from second 2 on may still be joined."""
    prices = [("A", at, price) for at, price in enumerate([9, 5, 8, 10, 9])]
    prices += [("B", at, 1) for at in (10, 40, 60)]
    names, ats, values = zip(*prices, strict=True)
    table = pa.table({"symbol": names, "ts": seconds(*ats), "price": values, "id": range(len(names))})
    source.add(*pieces(table, 5, 6, 7))
    result = source.run(ost.correlate(WAITING, buckets=2)(source.read("0 seconds")))
    expected = in_process(WAITING, table)
    assert len(expected) == 1
    assert comparable(result) == expected


def test_started_into_a_folder_with_numbers_as_a_clock(source: Source, table: pa.Table) -> None:
    late = pa.concat_tables([table.slice(110), table.slice(0, 7)])  # seven rows come far too late
    source.add(table.slice(0, 60), table.slice(60, 50), late)
    correlation = ost.correlate(BY_NUMBER, delay=10, buckets=3, recent_rows=4)
    folders: dict[str, Any] = {"output": source.output, "checkpoint": source.checkpoint}
    started = correlation.start(source.read(None), **folders, trigger={"availableNow": True})
    assert started.awaitTermination(120)
    written = source.session.read.parquet(source.output)
    assert {row[0] for row in written.select("batch_id").distinct().collect()} >= {1, 2}
    rest = correlation.finish(source.session, source.checkpoint)
    assert comparable(written.drop("batch_id"), rest) == in_process(BY_NUMBER, table)


def test_refused(source: Source, table: pa.Table) -> None:
    live = source.add(table.slice(0, 5)).read(None)
    marked = live.withWatermark("ts", "1 second")
    folders: dict[str, Any] = {"output": source.output, "checkpoint": source.checkpoint}
    cases = [
        (lambda: ost.correlate(NAMED, delay="1 second")(marked), "has a watermark already"),
        (lambda: ost.correlate(NAMED, delay=5)(live), "delay can't be 5"),
        (lambda: ost.correlate(NAMED, buckets=0), "buckets is a whole number"),
        (lambda: ost.correlate(TWO_CLOCKS, recent_rows=5)(marked.selectExpr("*", "ts AS ts2")), "have different ones"),
        (lambda: ost.correlate(NAMED, archive="old")(live), "STREAM_NOT_SUPPORTED"),
        (lambda: ost.correlate(NAMED).start(live, **folders, write_archive=True), "needs a path"),
        (lambda: ost.correlate(BY_NUMBER)(marked), "STREAM_NEEDS_WATERMARK"),
        (lambda: ost.correlate(NAMED.replace("JOIN t", "JOIN old"))(live), "archive= isn't given"),
        (lambda: ost.sql(NAMED, t=live, late="show"), "takes max_partial_matches"),
        (lambda: ost.sql(f"{NAMED} AND l > :least", t=live, args={"least": 3}), "can't have parameters"),
        (lambda: ost.sql(NAMED.replace("JOIN t", "JOIN old"), t=live, old=live), "STREAM_NOT_SUPPORTED"),
        (lambda: ost.sql(f"{NAMED} LIMIT 3", t=marked), "CORRELATION_NOT_SUPPORTED"),
    ]
    for call, message in cases:
        with pytest.raises(ost.QueryError, match=message):
            call()
